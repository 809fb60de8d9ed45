import type { EventCounts } from './messages.js';
import type { EventTailMemo, TailNotice, UnplacedEvent } from './memo.js';

export type ReadEventsCall = {
  /** Everything up to here was delivered: ISO 8601 UTC, by the provider's clock. Null: nothing was read yet. */
  readonly watermark: string | null;
  /** What could not be placed before, and is to be tried now. */
  readonly retries: readonly UnplacedEvent[];
  /**
   * Ids of what the tail remembers, told or to be tried again: read once more, it need not be dealt with. What is not
   * among them may have been lost on its way here.
   */
  readonly remembered?: readonly string[];
  /** Someone asked for it: what was dealt with before is dealt with again. */
  readonly again?: boolean;
};

/** Small when nothing happened: parts that are empty are left out. */
export type EventsRead = {
  /** Everything up to here was delivered. Never later than now: an event with a date of the future skips nothing. */
  readonly watermark: string;
  /** The pause before the next pass, in milliseconds: a setting of the worker. */
  readonly intervalMs: number;
  readonly counts?: EventCounts;
  /** Could not be placed, whether for the first time or again. */
  readonly unplaced?: readonly UnplacedEvent[];
  /** Ids of the retried events that need not be tried again. */
  readonly settled?: readonly string[];
  readonly notices?: readonly TailNotice[];
  /** Why the pass ended before all was read. What was read until then is delivered. */
  readonly failure?: { readonly code: string; readonly message: string };
};

/** What the event tail asks of the worker. */
export type EventTailActivities = {
  /** What the tail that ran before on this queue last said; null where none did. */
  recallTail(): Promise<EventTailMemo | null>;
  /**
   * One pass: reads the provider's events from a while before the watermark, and makes each that may be news of a
   * checkout durable there, before the watermark moves past it.
   */
  readEvents(call: ReadEventsCall): Promise<EventsRead>;
};
