import { condition, sleep } from '@temporalio/workflow';
import type { CheckoutBook } from './book.js';
import { expireCharge, sendWindow } from './calls.js';
import { clock } from './clock.js';
import { look, LooksOwed } from './look.js';
import type { News } from './news.js';
import { lookDelay } from './policy.js';
import { report } from './report.js';

/** A charge that the provider will not let go is looked at this often at least: the step of 5 min. */
const SLOWEST_CLOSING_STEP = 3;
/** Hints are coalesced: however many come, looks are at least this far apart. */
const LOOK_APART_MS = 1_000;

/**
 * Waits for hint, poll, expiry or cancel; whichever it is, the charge is retrieved and its word applied.
 * Returns only when the provider shows a final state: an expiry that it refuses, because the customer is confirming,
 * is neither expired nor cancelled.
 */
export async function awaitPayment(
  book: CheckoutBook,
  news: News,
  continueWhenLong: () => Promise<void>,
): Promise<void> {
  const { chargeId } = book.attempt;
  if (chargeId === null) return;
  const owed = new LooksOwed();
  let closings = 0;
  let lookedAt: number | null = null;
  while (!book.isEnded) {
    await continueWhenLong();
    if (!mustClose(book)) {
      await untilNews(book, news, owed.take() ?? book.policy.pollIntervalMs);
    } else if (closings > 0) {
      await condition(() => news.hasHint, lookDelay(book.policy, Math.min(closings - 1, SLOWEST_CLOSING_STEP)), {
        summary: 'Not closed yet: the provider keeps the charge pending',
      });
    }
    if (mustClose(book)) {
      book.closing(clock());
      // Before the provider is asked, which may take long: no one is shown a QR that is being withdrawn.
      report(book, clock());
      await expireCharge(book, chargeId, sendWindow(book.policy, clock()));
      closings += 1;
    }
    const hinted = news.hasHint;
    if (hinted && lookedAt !== null && clock() - lookedAt < LOOK_APART_MS) await sleep(LOOK_APART_MS);
    news.takeHint();
    const before = book.attempt.status;
    lookedAt = clock();
    if (await look(book)) book.answered(clock());
    if (hinted && book.attempt.status === before) owed.hintFoundNothing();
    book.attendTo(clock());
    report(book, clock());
  }
  book.settle('expire_refused', 'provider_unreachable');
  report(book, clock());
}

function mustClose(book: CheckoutBook): boolean {
  return book.cancelRequested || clock() >= book.expiresAt;
}

async function untilNews(book: CheckoutBook, news: News, wait: number): Promise<void> {
  const untilExpiry = Math.max(book.expiresAt - clock(), 1);
  const summary =
    wait < untilExpiry ? 'Wait for a webhook, then look anyway' : `Wait for a webhook until the QR expires`;
  await condition(() => news.hasHint || book.cancelRequested, Math.min(wait, untilExpiry), { summary });
}
