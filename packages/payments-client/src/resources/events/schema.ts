import { z } from 'zod';
import type { RecordFields } from '../resource.js';

/** Prefix `evnt_` (assumption). */
export type EventId = string;

/** Kinds of event. Source: assumption "Event kinds"; any other kind is passed on as it came. */
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
 * The record that an event is about. Its shape follows the account's API version, not the request's (assumption), and
 * it may be out of date: take the id from it and retrieve the record.
 */
export interface EventData {
  object?: string | null | undefined;
  id?: string | null | undefined;
  [field: string]: unknown;
}

/** One attempt to deliver an event. Source: assumption "`webhook_deliveries[]`". */
export interface WebhookDelivery {
  /** `webhook_delivery`. */
  object?: string | null | undefined;
  id?: string | null | undefined;
  /** The receiver's address. */
  uri?: string | null | undefined;
  /** HTTP status of the receiver's answer; null when there was none. */
  status?: number | null | undefined;
  /** The key of the event. */
  key?: string | null | undefined;
  /** Why there was no answer. */
  error?: string | null | undefined;
  /** The body that was sent. */
  payload?: unknown;
}

/** One change of a record. Source: API reference, "Event". */
export interface Event extends RecordFields {
  object: 'event';
  id: EventId;
  key: EventKey;
  data: EventData;
  /** Attempts to deliver the event to webhook endpoints. */
  webhook_deliveries?: WebhookDelivery[] | null | undefined;
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
