import { OVER } from '../shared/over.js';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { ServerResponse } from 'node:http';

/** The time that a request has left, and whether its caller still waits. */
export type RequestBudget = {
  /** The deadline of the answer, in milliseconds of `performance.now()`. */
  readonly answerBy: number;
  /** The deadline of calls to Temporal: the same, but at least 1.3 s after the request. */
  readonly askBy: number;
  /** Aborted when the caller's connection has closed. */
  readonly gone: AbortSignal;
  /** The name of the key or the address of the link; empty for neither. */
  readonly caller: string;
};

/** A read of Temporal on a busy machine. Milliseconds. */
export const LEAST_READ_MS = 1_300;

/** The budget of a request that has arrived completely. */
export function budgetOf(response: ServerResponse, answerWithinMs: number, caller = ''): RequestBudget {
  const left = new AbortController();
  response.once('close', () => left.abort(OVER));
  const now = performance.now();
  const askBy = now + Math.max(answerWithinMs, LEAST_READ_MS);
  return { answerBy: now + answerWithinMs, askBy, gone: left.signal, caller };
}

const current = new AsyncLocalStorage<RequestBudget>();

/** Runs the work for one request. Everything that it starts can read the budget. */
export function withBudget<T>(budget: RequestBudget, work: () => T): T {
  return current.run(budget, work);
}

/** The budget of the current request; undefined outside of a request. */
export function currentBudget(): RequestBudget | undefined {
  return current.getStore();
}

/** Milliseconds until the answer is due; infinite outside of a request. */
export function timeLeft(): number {
  const budget = current.getStore();
  return budget === undefined ? Number.POSITIVE_INFINITY : budget.answerBy - performance.now();
}

/**
 * How long the API may wait for an update, in milliseconds, so that a read can follow: seven eighths of the time left,
 * or all but 500 ms.
 */
export function timeBeforeRead(): number {
  return before(500, 1 / 8);
}

/** The same when a signal and a read follow: three quarters of the time left, or all but 900 ms. */
export function timeBeforeFollowUp(): number {
  return before(900, 1 / 4);
}

function before(mostMs: number, share: number): number {
  const left = timeLeft();
  return left - Math.min(mostMs, left * share);
}
