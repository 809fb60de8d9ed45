import { ApiError, check } from '../http/api-error.js';
import { rateLimitSchema, type FaultPlan } from '../faults/plan.js';
import type { FormMap } from '../http/form.js';
import { textOf } from '../http/params.js';
import { Router } from '../http/router.js';
import type { Control, WebhookSecrets } from './control.js';
import {
  cardSchema,
  clockSchema,
  disputeSchema,
  markSchema,
  resetSchema,
  rotationSchema,
  webhookSchema,
} from './inputs.js';
import type { Seed } from './seed-schema.js';
import { SECTIONS, type Section } from './state.js';

/** One control request; `body` is the parsed JSON, `{}` for an empty body. */
type ControlCall = { readonly id: string; readonly query: FormMap; readonly body: unknown };
export type ControlRoute = (call: ControlCall) => unknown;

/** The control routes under `/__sandbox`. They take and answer JSON, need no key, and never answer with a secret. */
export function controlRoutes(control: Control, url: () => string | null): Router<ControlRoute> {
  const router = new Router<ControlRoute>();
  const clockJson = () => ({ now: control.now(), frozen: control.frozen });

  router.add('GET', '/health', () => ({ status: 'ok', url: url(), now: control.now() }));
  router.add('GET', '/state', ({ query }) => control.stateStream(sectionsOf(query)));
  router.add('GET', '/log', () => control.faultLog());
  router.add('POST', '/reset', ({ body }) => {
    const { seed } = check(resetSchema, body);
    control.reset(seed === undefined ? {} : { seed });
    return { seed: control.seed, ...clockJson() };
  });
  router.add('POST', '/charges/{id}/mark', ({ id, body }) => control.mark(id, check(markSchema, body)));

  router.add('POST', '/disputes/{id}', ({ id, body }) => control.decide(id, check(disputeSchema, body).status));
  router.add('POST', '/cards/{id}', ({ id, body }) => control.setCard(id, check(cardSchema, body).failure_code));
  router.add('POST', '/events/{id}/resend', ({ id }) => ({ event: id, sent_to: control.resend(id) }));

  router.add('GET', '/clock', clockJson);
  router.add('POST', '/clock', ({ body }) => {
    control.setClock(check(clockSchema, body));
    return clockJson();
  });

  router.add('GET', '/faults', () => control.faults.list());
  router.add('POST', '/faults', ({ body }) => {
    control.faults.plan(body as FaultPlan);
    return control.faults.list();
  });
  router.add('DELETE', '/faults', () => {
    control.faults.clear();
    return control.faults.list();
  });

  router.add('GET', '/webhooks', () => control.webhooks.settings());
  router.add('POST', '/webhooks', ({ body }) => {
    control.webhooks.configure(check(webhookSchema, body));
    return control.webhooks.settings();
  });
  router.add('DELETE', '/webhooks', () => {
    control.webhooks.clear();
    return control.webhooks.settings();
  });

  const signers = ({ secrets }: WebhookSecrets) => ({ signing_with: secrets.length });
  router.add('POST', '/webhooks/rotate', ({ body }) => signers(control.webhooks.rotate(check(rotationSchema, body))));
  router.add('DELETE', '/webhooks/rotate', () => signers(control.webhooks.endRotation()));

  router.add('GET', '/rate-limit', () => ({ rate_limit: control.rateLimit }));
  router.add('POST', '/rate-limit', ({ body }) => {
    control.setRateLimit(check(rateLimitSchema, body));
    return { rate_limit: control.rateLimit };
  });
  router.add('DELETE', '/rate-limit', () => {
    control.setRateLimit(null);
    return { rate_limit: control.rateLimit };
  });

  router.add('POST', '/seed', ({ body }) => control.seedRecords(body as Seed));
  return router;
}

function sectionsOf(query: FormMap): readonly Section[] {
  const only = textOf(query, 'only');
  if (only === null) return SECTIONS;
  const names = only.split(',');
  const unknown = names.find((name) => !(SECTIONS as readonly string[]).includes(name));
  if (unknown !== undefined)
    throw new ApiError('bad_request', `only: ${unknown} is not one of ${SECTIONS.join(', ')}.`);
  return names as Section[];
}
