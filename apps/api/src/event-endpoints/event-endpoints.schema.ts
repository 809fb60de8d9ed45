import { MAX_ENDPOINT_URL } from '@tillflow/temporal';
import { CHECKOUT_EVENTS, type CheckoutEvent } from '@tillflow/workflows';
import { z } from 'zod';
import {
  checkoutId,
  cursor,
  nextCursor,
  readableTime,
  text,
  time,
  wholeNumber,
  withAnyField,
} from '../shared/fields.schema.js';

const MOST_LISTED = 100;

/** The types of events, as endpoints receive them. */
const TYPES = CHECKOUT_EVENTS.map((event) => `checkout.${event}` as const) as [
  `checkout.${CheckoutEvent}`,
  ...`checkout.${CheckoutEvent}`[],
];
export type EventType = (typeof TYPES)[number];
const eventType = z.enum(TYPES);

const url = z
  .string()
  .max(MAX_ENDPOINT_URL)
  .regex(/^https?:\/\/[!-~]+$/, 'must be an http or https address')
  .meta({
    description:
      'https to a public address, or https and http within `EVENT_ENDPOINT_NETWORKS`. Never link-local, and without a user name and a password',
    examples: ['https://orders.example/tillflow'],
  });
const events = z
  .array(eventType)
  .min(1)
  .max(TYPES.length)
  .meta({ description: 'The types that the endpoint gets; default: all' });
const description = text(200).meta({ description: 'For people' });

const endpointId = z
  .string()
  .max(64)
  .meta({ pattern: '^evep_[0-9]{2,3}[a-z2-7]{16}$', examples: ['evep_01k3x5m7p2q4r6s2t4'] });
const eventId = z.string().meta({ pattern: '^evt_[0-9A-Za-z]{26,32}$' });

export const endpointPath = z.object({ id: endpointId });
export type EndpointPath = z.output<typeof endpointPath>;

export const createEndpoint = z
  .strictObject({ url, events: events.optional(), description: description.optional() })
  .meta({
    id: 'EventEndpointCreate',
    examples: [{ url: 'https://orders.example/tillflow', events: ['checkout.paid'] }],
  });
export type CreateEndpoint = z.output<typeof createEndpoint>;

export const changeEndpoint = withAnyField(
  z.strictObject({
    url: url.optional(),
    events: events.nullable().optional().meta({ description: 'Null: all' }),
    description: description.nullable().optional(),
    enabled: z
      .boolean()
      .optional()
      .meta({ description: 'True also sends what waits, and what happened while the endpoint was disabled' }),
  }),
).meta({ id: 'EventEndpointUpdate', examples: [{ enabled: true }] });
export type ChangeEndpoint = z.output<typeof changeEndpoint>;

const endpointFields = {
  id: endpointId,
  url: z.string(),
  events: z.array(eventType),
  description: z.string().nullable(),
  enabled: z.boolean(),
  disabled_because: z.enum(['requested', 'gone', 'failing']).nullable().meta({
    description:
      '`requested` by a person; `gone`: it answered 410; `failing`: it accepted nothing for five days. Null while it is enabled',
  }),
  disabled_since: time.nullable(),
  failing_since: time.nullable().meta({
    description: 'The first failed delivery since the last accepted one; null when the last one was accepted',
  }),
  failure: z.string().nullable().meta({ description: 'For people: why the last delivery failed' }),
  created_at: time,
  updated_at: time,
  created_by: z.string().nullable(),
};

const EXAMPLE = {
  id: 'evep_01k3x5m7p2q4r6s2t4',
  url: 'https://orders.example/tillflow',
  events: ['checkout.paid' as const],
  description: null,
  enabled: true,
  disabled_because: null,
  disabled_since: null,
  failing_since: null,
  failure: null,
  created_at: '2026-11-21T05:31:02.000Z',
  updated_at: '2026-11-21T05:31:02.000Z',
  created_by: 'office',
};

export const endpointReply = z.object(endpointFields).meta({ id: 'EventEndpoint', examples: [EXAMPLE] });
export type EndpointReply = z.output<typeof endpointReply>;

export const endpointWithSecret = z
  .object({
    ...endpointFields,
    secret: z.string().meta({
      pattern: '^whsec_[A-Za-z0-9+/]{32}$',
      description: 'Signs the events. Store it: no other answer shows it',
    }),
  })
  .meta({
    id: 'EventEndpointWithSecret',
    examples: [{ ...EXAMPLE, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }],
  });
export type EndpointWithSecret = z.output<typeof endpointWithSecret>;

export const endpointsReply = z
  .object({ data: z.array(endpointReply), next_cursor: nextCursor })
  .meta({ id: 'EventEndpointPage' });
export type EndpointsReply = z.output<typeof endpointsReply>;

export const testReply = z
  .object({ id: eventId.meta({ description: 'The `webhook-id` of the event' }) })
  .meta({ id: 'EventTest', examples: [{ id: 'evt_3f1c0a5b8d2e4c6f9a7b1d3e5f7a9c0b' }] });
export type TestReply = z.output<typeof testReply>;

export const replayEvents = z.strictObject({ from: readableTime, to: readableTime }).meta({
  id: 'EventReplay',
  description: 'The time between the two, in either order',
  examples: [{ from: '2026-11-21T00:00:00Z', to: '2026-11-22T00:00:00Z' }],
});
export type ReplayEvents = z.output<typeof replayEvents>;

export const listDeliveries = z.strictObject({
  limit: wholeNumber(1, MOST_LISTED)
    .default(20)
    .meta({ description: `1 to ${MOST_LISTED}` }),
  cursor: cursor.optional(),
});
export type ListDeliveries = z.output<typeof listDeliveries>;

const DELIVERY_EXAMPLE = {
  id: 'evt_3f1c0a5b8d2e4c6f9a7b1d3e5f',
  type: 'checkout.paid',
  checkout_id: 'chk_default_till-7-000142',
  version: 3,
  attempt: 2,
  at: '2026-11-21T05:31:07.000Z',
  duration_ms: 84,
  status: 204,
  error: null,
  accepted: true,
  next_try_at: null,
};

export const deliveriesReply = z
  .object({
    data: z.array(
      z
        .object({
          id: eventId.meta({ description: 'The `webhook-id`: the same for each repetition' }),
          type: z.enum([...TYPES, 'endpoint.test']).meta({ description: 'Of the event; `endpoint.test` for a test' }),
          checkout_id: checkoutId.nullable(),
          version: z.int().nullable().meta({ description: 'The version of the checkout that caused the event' }),
          attempt: z.int().min(1),
          at: time,
          duration_ms: z.int().nonnegative(),
          status: z.int().nullable().meta({ description: 'The HTTP status of the answer; null when there was none' }),
          error: z.string().nullable().meta({ description: 'For people: why there was no answer' }),
          accepted: z.boolean(),
          next_try_at: time.nullable().meta({ description: 'Null when it was accepted, and after the last try' }),
        })
        .meta({ id: 'EventDelivery', examples: [DELIVERY_EXAMPLE] }),
    ),
    next_cursor: nextCursor,
  })
  .meta({ id: 'EventDeliveryPage', examples: [{ data: [DELIVERY_EXAMPLE], next_cursor: null }] });
export type DeliveriesReply = z.output<typeof deliveriesReply>;
