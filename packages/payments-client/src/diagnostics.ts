import { channel } from 'node:diagnostics_channel';
import type { Outcome } from './errors.js';

/** Published once for each call, after its last try, on {@link REQUEST_CHANNEL}. Holds no id and no key. */
export interface RequestReport {
  method: string;
  /** Path template, e.g. `/charges/{id}/expire`. */
  route: string;
  /** HTTP status of the last reply; undefined when there was none. */
  status: number | undefined;
  /** Requests sent, or tried to. */
  attempts: number;
  outcome: 'done' | Outcome;
  /** The error's code; undefined when done. */
  code: string | undefined;
  /** From call to answer, waits included, in milliseconds. */
  durationMs: number;
  /** The `Date` of the last reply, in epoch milliseconds, cut to whole seconds; undefined when it had none. */
  date: number | undefined;
}

/** Name of the `node:diagnostics_channel` that carries {@link RequestReport}s. */
export const REQUEST_CHANNEL = 'tillflow:payments-client:request';

const requests = channel(REQUEST_CHANNEL);

/** False when a report would reach nobody. */
export function isWatched(): boolean {
  return requests.hasSubscribers;
}

export function publish(report: RequestReport): void {
  if (requests.hasSubscribers) requests.publish(report);
}
