import { UsageError } from './exit.js';

/** As the API takes one: it stays in the memo that every read loads. */
const MOST = 200;
const UNREADABLE = /[\p{Cs}\p{Cc}]/u;

/** @throws {UsageError} for a reason that is too long, or not one line of text. */
export function checkReason(reason: string): void {
  if (reason.length <= MOST && !UNREADABLE.test(reason)) return;
  throw new UsageError(`--reason must be one line of at most ${MOST} characters`);
}
