import { AsyncLocalStorage } from 'node:async_hooks';
import type { ServerResponse } from 'node:http';

/** What a request may still cost: how long its caller waits, and whether it still does. */
export type RequestBudget = {
  /** Until then the answer is waited for, in milliseconds of `performance.now()`. */
  readonly answerBy: number;
  /** Until then Temporal is asked: the same, but at least 1.3 s after the request, however little a test allows. */
  readonly askBy: number;
  /** Aborted when the caller's connection has closed. */
  readonly gone: AbortSignal;
};

/** A look at Temporal on a busy machine. Milliseconds. */
export const LEAST_LOOK_MS = 1_300;

/** The caller waits from now on, its request having arrived whole. */
export function budgetOf(response: ServerResponse, answerWithinMs: number): RequestBudget {
  const left = new AbortController();
  response.once('close', () => left.abort());
  const now = performance.now();
  return { answerBy: now + answerWithinMs, askBy: now + Math.max(answerWithinMs, LEAST_LOOK_MS), gone: left.signal };
}

const current = new AsyncLocalStorage<RequestBudget>();

/** Runs what answers one request; everything that it starts can read the request's budget. */
export function withBudget<T>(budget: RequestBudget, work: () => T): T {
  return current.run(budget, work);
}

/** The budget of the request that is being answered; undefined outside of any. */
export function currentBudget(): RequestBudget | undefined {
  return current.getStore();
}

/** Milliseconds until the request that is being answered has to be answered; infinite outside of any. */
export function timeLeft(): number {
  const budget = current.getStore();
  return budget === undefined ? Number.POSITIVE_INFINITY : budget.answerBy - performance.now();
}

/**
 * How long the API may wait for an update, in milliseconds, so that a read fits behind it: seven eighths of the time that
 * remains, or all but 500 ms.
 */
export function timeBeforeLook(): number {
  return before(500, 1 / 8);
}

/** The same where a signal and a read follow: three quarters of the time that remains, or all but 900 ms. */
export function timeBeforeFollowUp(): number {
  return before(900, 1 / 4);
}

function before(mostMs: number, share: number): number {
  const left = timeLeft();
  return left - Math.min(mostMs, left * share);
}
