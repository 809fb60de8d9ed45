import { z } from 'zod';
import { ApiError } from '../http/api-error.js';
import { check } from '../http/check.js';
import { rateLimitSchema, type FaultPlan } from '../faults/faults.js';
import type { FormMap } from '../http/form.js';
import { textOf } from '../http/params.js';
import { DISPUTE_STATUSES, FAILURE_CODES } from '../records/records.js';
import { Router } from '../http/router.js';
import type { Sandbox, WebhookSecrets } from '../sandbox.js';
import type { Seed } from './seed.js';
import { SECTIONS, type Section } from './state.js';
import { singleSecretSchema, webhookSchema } from '../provider/webhooks.js';

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
  /** The customer reviews the payment: it shows as pending and cannot be expired. */
  z.strictObject({ status: z.literal('confirming') }),
  /** The customer turned back from the review. */
  z.strictObject({ status: z.literal('pending') }),
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

const disputeSchema = z.strictObject({ status: z.enum(DISPUTE_STATUSES) });
const cardSchema = z.strictObject({ failure_code: z.enum(FAILURE_CODES).nullable() });

const rotationSchema = z.strictObject({
  /** Base64. The caller makes it up, because no answer repeats a secret. */
  secret: singleSecretSchema,
  /** Seconds on the sandbox's clock in which both sign; until the rotation is ended when left out. */
  overlap: z.number().min(0).max(31_536_000).optional(),
});

/** The control routes under `/__sandbox`: JSON in, JSON out, no key, no secret. Wrong input is a 400 that changes nothing. */
export function controlRoutes(sandbox: Sandbox): Router<ControlRoute> {
  const router = new Router<ControlRoute>();
  const clockJson = () => ({ now: sandbox.now(), frozen: sandbox.frozen });

  router.add('GET', '/health', () => ({ status: 'ok', url: sandbox.url, now: sandbox.now() }));
  router.add('GET', '/state', ({ query }) => sandbox.stateStream(sectionsOf(query)));
  router.add('GET', '/log', () => sandbox.faultLog());
  router.add('POST', '/reset', ({ body }) => {
    const { seed } = check(resetSchema, body);
    sandbox.reset(seed === undefined ? {} : { seed });
    return { seed: sandbox.seed, ...clockJson() };
  });
  router.add('POST', '/charges/{id}/mark', ({ id, body }) => sandbox.mark(id, check(markSchema, body)));

  router.add('POST', '/disputes/{id}', ({ id, body }) => sandbox.decide(id, check(disputeSchema, body).status));
  router.add('POST', '/cards/{id}', ({ id, body }) => sandbox.setCard(id, check(cardSchema, body).failure_code));
  router.add('POST', '/events/{id}/resend', ({ id }) => ({ event: id, sent_to: sandbox.resend(id) }));

  router.add('GET', '/clock', clockJson);
  router.add('POST', '/clock', ({ body }) => {
    sandbox.setClock(check(clockSchema, body));
    return clockJson();
  });

  router.add('GET', '/faults', () => sandbox.faults.list());
  router.add('POST', '/faults', ({ body }) => {
    sandbox.faults.plan(body as FaultPlan);
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

  const signers = ({ secrets }: WebhookSecrets) => ({ signing_with: secrets.length });
  router.add('POST', '/webhooks/rotate', ({ body }) => signers(sandbox.webhooks.rotate(check(rotationSchema, body))));
  router.add('DELETE', '/webhooks/rotate', () => signers(sandbox.webhooks.endRotation()));

  router.add('GET', '/rate-limit', () => ({ rate_limit: sandbox.rateLimit }));
  router.add('POST', '/rate-limit', ({ body }) => {
    sandbox.setRateLimit(check(rateLimitSchema, body));
    return { rate_limit: sandbox.rateLimit };
  });
  router.add('DELETE', '/rate-limit', () => {
    sandbox.setRateLimit(null);
    return { rate_limit: sandbox.rateLimit };
  });

  router.add('POST', '/seed', ({ body }) => sandbox.seedRecords(body as Seed));
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
