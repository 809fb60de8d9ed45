import { defineSignal, defineUpdate } from '@temporalio/workflow';
import type { Attributed } from '../shared/requester.js';
import type { TailNotice } from './memo.js';

/** The counts of one or more passes. */
export type EventCounts = {
  /** Events read, including those of an earlier pass. */
  readonly read: number;
  /** Checkouts that got a hint. */
  readonly hinted: number;
  /** Closed checkouts that were reopened for a payment. */
  readonly reopened: number;
  /** Events that could not be placed, and are tried again later. */
  readonly unplaced: number;
};

/** Where to read from, ISO 8601 with a zone. */
export type Backfill = Attributed & { readonly from: string };

/**
 * Reads all events from an instant on and delivers them; answers when that is done. It may be repeated: a checkout gets
 * no hint of what it shows already. @throws ApplicationFailure `invalid_backfill`; `backfill_unfinished` when the
 * events cannot be read for hours.
 */
export const backfill = defineUpdate<EventCounts, [Backfill]>('backfill');

/**
 * An operator has dealt with a notice or an unplaced event, by the id of either: the tail removes it, and with a notice
 * its event. The reason is logged.
 */
export const dismissNotice =
  defineSignal<[Attributed & { readonly id: string; readonly reason: string }]>('dismissNotice');

/** Adds a notice that no event of the provider caused. */
export const addNotice = defineSignal<[TailNotice]>('addNotice');
