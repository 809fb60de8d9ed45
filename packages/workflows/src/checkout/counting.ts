import { proxySinks, workflowInfo, type Sinks } from '@temporalio/workflow';
import { newEventsBetween, type CheckoutEvent } from './published-events.js';
import type { CheckoutMemo, CheckoutState } from './types.js';

/** What happened to a checkout, for metrics. Amounts in the smallest unit of the currency. */
export type Happened = {
  readonly currency: string;
  readonly events: readonly CheckoutEvent[];
  /** What the customer paid, when this is the payment; otherwise 0. */
  readonly paid: number;
  /** What was returned since the last time. */
  readonly refunded: number;
};

/** The worker counts what it gets here. It gets nothing during a replay, and what a killed worker got is not repeated. */
export interface CheckoutSinks extends Sinks {
  checkouts: { happened(what: Happened): void };
}

const { checkouts } = proxySinks<CheckoutSinks>();

/** Reports what happens between the published state and this one. Call it before the state is published. */
export function countChange(state: CheckoutState, { amount, currency }: CheckoutMemo['intent']): void {
  const before = (workflowInfo().memo as CheckoutMemo | undefined)?.state;
  const events = newEventsBetween(before, state);
  if (events.length === 0) return;
  const refunded = Math.max(0, state.refunded_amount - (before?.refunded_amount ?? 0));
  checkouts.happened({ currency, events, paid: events.includes('paid') ? amount : 0, refunded });
}
