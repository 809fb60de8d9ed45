import type { EventTailMemo, TailNotice, UnplacedEvent } from './memo.js';
import type { EventCounts } from './messages.js';

/** Parts that are empty are left out, so that a pass without events adds little to the history. */
export type ReadEventsCall = {
  /** Every event up to here is delivered: ISO 8601 UTC, by the provider's clock. Null: nothing was read yet. */
  readonly watermark: string | null;
  /** Unplaced events that are due for another try. */
  readonly retries: readonly UnplacedEvent[];
  /**
   * Ids of the events that the tail has stored: the pass skips them. Other results may have been lost on their way
   * here.
   */
  readonly remembered?: readonly string[];
  /** True for a backfill: the pass delivers events again that were already handled or stored. */
  readonly again?: boolean;
};

/** Parts that are empty are left out. */
export type EventsRead = {
  /** Every event up to here is delivered. Never later than now: an event with a time in the future skips nothing. */
  readonly watermark: string;
  /** The pause before the next pass, in milliseconds: a setting of the worker. */
  readonly intervalMs: number;
  readonly counts?: EventCounts;
  /** Events that could not be placed, at the first try or again. */
  readonly unplaced?: readonly UnplacedEvent[];
  /** Ids of the retried events that need no further try. */
  readonly settled?: readonly string[];
  readonly notices?: readonly TailNotice[];
  /** Why the pass ended early. Every event before the watermark is delivered. */
  readonly failure?: { readonly code: string; readonly message: string };
};

/** The worker's activities for the event tail. Both may be retried. */
export type EventTailActivities = {
  /** The memo of the earlier tail of this queue; null when there was none. */
  recallTail(): Promise<EventTailMemo | null>;
  /**
   * One pass: reads the provider's events from a while before the watermark. Each event that may change a checkout is
   * durable in the checkout's workflow before the watermark moves past it.
   */
  readEvents(call: ReadEventsCall): Promise<EventsRead>;
};
