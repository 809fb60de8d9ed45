import { z } from 'zod';
import { ApiError } from './api-error.js';
import { check } from './check.js';
import { faultSchema } from './faults.js';
import type { FormMap } from './form.js';
import { textOf } from './params.js';
import { FAILURE_CODES } from './records.js';
import { Router } from './router.js';
import type { Sandbox } from './sandbox.js';
import { SECTIONS, type Section } from './state.js';
import { webhookSchema } from './webhooks.js';

/** One control call; `body` is the parsed JSON, `{}` when there was none. */
type ControlCall = { readonly id: string; readonly query: FormMap; readonly body: unknown };
export type ControlRoute = (call: ControlCall) => unknown;

const seedSchema = z.union([z.string().min(1), z.number()]).transform(String);
const resetSchema = z.strictObject({ seed: seedSchema.optional() });

const markSchema = z.discriminatedUnion('status', [
  z.strictObject({ status: z.literal('successful'), force: z.boolean().optional() }),
  z.strictObject({
    status: z.literal('failed'),
    failure_code: z.enum(FAILURE_CODES).optional(),
    force: z.boolean().optional(),
  }),
]);

/** How a charge is marked. `force` also changes one that is no longer pending and was not paid. */
export type Mark = z.input<typeof markSchema>;

const clockSchema = z
  .strictObject({
    /** Seconds. */
    advance: z.number().min(0, 'must not be negative: the clock does not go backwards').optional(),
    /** ISO 8601 with a zone. */
    now: z.string().optional(),
    frozen: z.boolean().optional(),
  })
  .refine(
    ({ advance, now, frozen }) =>
      (advance ?? now ?? frozen) !== undefined && (advance === undefined || now === undefined),
    'needs advance (seconds) or now (ISO 8601), or frozen',
  );

const faultsSchema = z.union([faultSchema.transform((fault) => [fault]), z.array(faultSchema)]);

/** Kinds that can be seeded as yet: none. An empty list is accepted. */
const nothing = z.array(z.never(), 'must be a list').max(0, 'cannot be seeded yet').optional();
const seedingSchema = z.strictObject({
  customers: nothing,
  cards: nothing,
  disputes: nothing,
  schedules: nothing,
  receipts: nothing,
});

/** The control routes under `/__sandbox`: JSON in, JSON out, no key. Wrong input is a 400 that changes nothing. */
export function controlRoutes(sandbox: Sandbox): Router<ControlRoute> {
  const router = new Router<ControlRoute>();
  const clockJson = () => ({ now: sandbox.now(), frozen: sandbox.frozen });

  router.add('GET', '/health', () => ({ status: 'ok', url: sandbox.url, now: sandbox.now() }));
  router.add('GET', '/state', ({ query }) => sandbox.state(sectionsOf(query)));
  router.add('POST', '/reset', ({ body }) => {
    const { seed } = check(resetSchema, body);
    sandbox.reset(seed === undefined ? {} : { seed });
    return { seed: sandbox.seed, ...clockJson() };
  });
  router.add('POST', '/charges/{id}/mark', ({ id, body }) => sandbox.mark(id, check(markSchema, body)));

  router.add('GET', '/clock', clockJson);
  router.add('POST', '/clock', ({ body }) => {
    sandbox.setClock(check(clockSchema, body));
    return clockJson();
  });

  router.add('GET', '/faults', () => sandbox.faults.list());
  router.add('POST', '/faults', ({ body }) => {
    sandbox.faults.add(check(faultsSchema, body));
    return sandbox.faults.list();
  });
  router.add('DELETE', '/faults', () => {
    sandbox.faults.clear();
    return sandbox.faults.list();
  });

  router.add('GET', '/webhooks', () => sandbox.webhooks.settings());
  router.add('POST', '/webhooks', ({ body }) => {
    sandbox.webhooks.configure(check(webhookSchema, body));
    return sandbox.webhooks.settings();
  });
  router.add('DELETE', '/webhooks', () => {
    sandbox.webhooks.clear();
    return sandbox.webhooks.settings();
  });

  router.add('POST', '/seed', ({ body }) => {
    check(seedingSchema, body);
    return {};
  });
  return router;
}

function sectionsOf(query: FormMap): readonly Section[] {
  const only = textOf(query, 'only');
  if (only === null) return SECTIONS;
  const names = only.split(',');
  const unknown = names.find((name) => !(SECTIONS as readonly string[]).includes(name));
  if (unknown !== undefined) throw new ApiError('bad_request', `only: ${unknown} is none of ${SECTIONS.join(', ')}.`);
  return names as Section[];
}
