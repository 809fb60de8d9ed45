import { z } from 'zod';

/** Prefix `evnt_` (assumption). */
export type EventId = string;

/** Kinds of event. Source: assumption "Event kinds"; one that is not listed survives as it came. */
export type EventKey =
  | 'card.update'
  | 'card.destroy'
  | 'charge.create'
  | 'charge.update'
  | 'charge.capture'
  | 'charge.complete'
  | 'charge.expire'
  | 'charge.reverse'
  | 'customer.create'
  | 'customer.update'
  | 'customer.destroy'
  | 'customer.update.card'
  | 'dispute.create'
  | 'dispute.update'
  | 'dispute.accept'
  | 'dispute.close'
  | 'refund.create'
  | 'schedule.create'
  | 'schedule.destroy'
  | 'schedule.expire'
  | 'schedule.expiring'
  | 'schedule.suspend'
  | 'transfer.create'
  | 'transfer.update'
  | 'transfer.destroy'
  | 'transfer.send'
  | 'transfer.pay'
  | 'transfer.fail'
  | (string & {});

/**
 * The record an event concerns. Its shape follows the account's API version, not the request's (assumption), and an
 * event may be stale: take ids from it and retrieve the record.
 */
export interface EventData {
  object?: string | null | undefined;
  id?: string | null | undefined;
  [field: string]: unknown;
}

/** One try to deliver an event. Source: assumption "`webhook_deliveries[]`". */
export interface WebhookDelivery {
  /** `webhook_delivery`. */
  object?: string | null | undefined;
  id?: string | null | undefined;
  /** Where it was sent. */
  uri?: string | null | undefined;
  /** HTTP status of the receiver's answer; null when there was none. */
  status?: number | null | undefined;
  /** The event's. */
  key?: string | null | undefined;
  /** Why there was no answer. */
  error?: string | null | undefined;
  /** What was sent. */
  payload?: unknown;
}

/** Something that happened. Source: API reference, "Event". */
export interface Event {
  object: 'event';
  id: EventId;
  key: EventKey;
  data: EventData;
  livemode?: boolean | null | undefined;
  location?: string | null | undefined;
  /** Attempts to deliver the event to webhook endpoints. */
  webhook_deliveries?: WebhookDelivery[] | null | undefined;
  /** ISO 8601, UTC. */
  created_at?: string | null | undefined;
  team_uid?: string | null | undefined;
  user_uid?: string | null | undefined;
  actor_uid?: string | null | undefined;
}

export const event: z.ZodType<Event> = z.object({
  object: z.literal('event'),
  id: z.string(),
  key: z.string(),
  data: z.object({ id: z.string().nullish() }),
});
