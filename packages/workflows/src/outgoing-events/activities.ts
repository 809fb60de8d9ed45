import type { CheckoutEvent } from '../checkout/published-events.js';
import type { DueEvent, EventRange } from './messages.js';

/** One delivery as the endpoint's history keeps it. Short names: there are many. */
export type DeliveryRecord = {
  /** `webhook-id`. */
  readonly id: string;
  /** The id of the checkout; null for the event of a test. */
  readonly checkout: string | null;
  readonly event: CheckoutEvent | 'test';
  readonly version: number;
  /** When it was sent, in milliseconds since 1970 UTC. */
  readonly at: number;
  /** How long the answer took, in milliseconds. */
  readonly ms: number;
  /** The HTTP status; null when there was no answer. */
  readonly status: number | null;
  /** For people: why there was no answer; absent when there was one. */
  readonly error?: string;
  /** The failed tries before it. */
  readonly tries: number;
  /**
   * When it is tried again, in milliseconds since 1970 UTC. Null: when the endpoint accepts another delivery. Absent:
   * it was accepted, or cannot be sent.
   */
  readonly next?: number | null;
  /** The receiver asks to wait until then, in milliseconds since 1970 UTC; absent when it does not. */
  readonly notBefore?: number;
  /** The checkout is not stored any more. */
  readonly isUnsendable?: true;
  /** Tillflow could not send it. This is not a try, and says nothing about the receiver. */
  readonly isOurFailure?: true;
};

/** The events of one checkout, in the order of their versions. */
export type Delivery = {
  readonly checkout: string;
  readonly events: readonly Omit<DueEvent, 'checkout'>[];
  /** Failed tries of the first event. */
  readonly tries: number;
};

export type DeliverCall = {
  readonly endpoint: string;
  readonly url: string;
  readonly sealed: string;
  readonly retryDelaysMs: readonly number[];
  readonly deliveries: readonly Delivery[];
};

export type ListEventsCall = {
  readonly range: EventRange;
  /** Null: every event. */
  readonly events: readonly CheckoutEvent[] | null;
};

/** Newest first. `rest`: what of the range is still to be listed; null: nothing. */
export type EventsListed = { readonly due: readonly DueEvent[]; readonly rest: EventRange | null };

export type FeedCall = {
  /** The search has found every event until then, in milliseconds since 1970 UTC. */
  readonly since: number;
  /** What the endpoints got shortly before, and what each of them misses, as the activity wrote it. Empty: unknown. */
  readonly progress: string;
};

export type FeedResult = FeedCall & {
  /** Every enabled endpoint has all events until then, in milliseconds since 1970 UTC. */
  readonly completeUntil: number;
  /** False: no endpoint is left. */
  readonly hasEndpoints: boolean;
};

/** The worker's activities for outgoing events. All of them may be retried. */
export type OutgoingEventActivities = {
  /** Sends the newest state of each checkout. A repeated delivery has the same id. */
  deliver(call: DeliverCall): Promise<readonly DeliveryRecord[]>;
  /** Sends a marked event. */
  deliverTest(call: Omit<DeliverCall, 'deliveries'> & { readonly id: string }): Promise<DeliveryRecord>;
  /** Finds the newest events of a time range. */
  listEvents(call: ListEventsCall): Promise<EventsListed>;
  /** Finds events for some minutes, and hands them over to the endpoints. */
  feedEndpoints(call: FeedCall): Promise<FeedResult>;
  /** Notifies operators that an endpoint was disabled. False: no event tail runs, which keeps the notices. */
  noticeDisabled(call: { readonly endpoint: string; readonly url: string; readonly why: string }): Promise<boolean>;
};
