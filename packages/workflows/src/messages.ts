import type { CheckoutStatus } from '@tillflow/domain';
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { Checkout, TimelineEntry } from './view.js';

/** The workflow's type, as `start` names it. */
export const CHECKOUT_WORKFLOW = 'checkout';

/** The id under which `begin` is sent, so that callers of one reference wait for one and the same answer. */
export const BEGIN_UPDATE_ID = 'begin';

/** What a webhook tells a workflow: that it is worth looking. Nothing in it is believed. */
export type Hint = {
  readonly eventId: string;
  /** The kind of event, as the provider spells it, such as `charge.complete`. */
  readonly eventKey: string;
};

/**
 * Answers once the customer can pay, or never will. It never fails: a completed update repeats its first answer for
 * ever. Sent with the start; the caller then reads the checkout from the memo.
 */
export const begin = defineUpdate<CheckoutStatus>('begin');

/**
 * Asks for the end of an unpaid checkout and answers with the status it came to: `cancelled`, or `paid` when the
 * customer was faster. Waits as long as the provider has not shown a final state.
 */
export const cancel = defineUpdate<CheckoutStatus>('cancel');

/**
 * The request behind {@link cancel}, made durable: an update that no worker has accepted yet is lost when the server
 * restarts, a signal is not.
 */
export const cancelRequest = defineSignal('cancelRequest');

/** A webhook arrived. */
export const hint = defineSignal<[Hint]>('hint');

/** The checkout and its timeline, for operators. The API reads the memo instead, which needs no worker. */
export const view = defineQuery<{ checkout: Checkout; timeline: readonly TimelineEntry[] }>('view');
