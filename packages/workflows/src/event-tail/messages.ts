import { defineSignal, defineUpdate } from '@temporalio/workflow';
import type { Attributed } from '../shared/requester.js';

/** What reading events came to. */
export type EventCounts = {
  /** Events read, those that had been read before included. */
  readonly read: number;
  /** Checkouts that were told to look. */
  readonly hinted: number;
  /** Closed checkouts that were opened again, because money arrived for them. */
  readonly reopened: number;
  /** Events that could not be placed, and are tried again later. */
  readonly unplaced: number;
};

/** Where to read from, ISO 8601 with a zone. */
export type Backfill = Attributed & { readonly from: string };

/**
 * Reads all events from an instant on and delivers them; answers when that is done. Repeated, it does no harm: what
 * a checkout knows already is not delivered. @throws ApplicationFailure `invalid_backfill`; `backfill_unfinished` when
 * the events cannot be read for hours.
 */
export const backfill = defineUpdate<EventCounts, [Backfill]>('backfill');

/**
 * A person has seen to a notice, or to an event that cannot be placed, by the id of either: it is taken off the list,
 * and with a notice its event. The reason is logged.
 */
export const dismissNotice =
  defineSignal<[Attributed & { readonly id: string; readonly reason: string }]>('dismissNotice');
