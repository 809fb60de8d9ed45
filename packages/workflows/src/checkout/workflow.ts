import { formatInstant, plus, type CheckoutStatus } from '@tillflow/domain';
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  log,
  makeContinueAsNewFunc,
  setDefaultSignalHandler,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { begin, cancel, cancelRequest, hint, view } from '../messages.js';
import { toCheckout, type CheckoutIntent } from '../view.js';
import { awaitPayment } from './await-payment.js';
import { CheckoutBook, type CheckoutRecord } from './book.js';
import { clock } from './clock.js';
import { News } from './news.js';
import { openAttempt } from './open-attempt.js';
import { look, LooksOwed } from './look.js';
import { DEFAULT_POLICY, type CheckoutPolicy } from './policy.js';
import { report } from './report.js';

export type CheckoutInput = {
  readonly intent: CheckoutIntent;
  /** What differs from {@link DEFAULT_POLICY}. */
  readonly policy?: Partial<CheckoutPolicy>;
  /** What an earlier run of the same checkout knew, when it continued as new. */
  readonly resume?: CheckoutRecord;
};

/** One reference, from QR to final state. Source: API reference, "Merchant-presented QR payment". */
export async function checkout(input: CheckoutInput): Promise<CheckoutStatus> {
  const { intent, resume } = input;
  const policy = { ...DEFAULT_POLICY, ...input.policy };
  const book =
    resume === undefined ? CheckoutBook.open(intent, policy, clock()) : CheckoutBook.resume(intent, policy, resume);
  const news = new News();
  handleMessages(book, news);

  // Money may be in flight: a cancellation from the Temporal UI asks for the same orderly end as the `cancel` update.
  CancellationScope.current().cancelRequested.catch(() => book.requestCancel(clock()));
  return CancellationScope.nonCancellable(async () => {
    if (!book.isAnswered) await openAttempt(book, news);
    report(book, clock());
    await awaitPayment(book, news, () => continueWhenLong(book, news, input));
    if (!book.isPaid) await stayOpenForLateNews(book, news, () => continueWhenLong(book, news, input));
    await condition(allHandlersFinished);
    return book.status;
  });
}

function handleMessages(book: CheckoutBook, news: News): void {
  setHandler(begin, async () => {
    await condition(() => book.isAnswered);
    return book.status;
  });
  setHandler(cancel, async () => {
    book.requestCancel(clock());
    // A handler that still waits would hold up continue-as-new: it answers then with what is known so far.
    await condition(() => (book.isEnded && book.isReported) || isLong(book));
    return book.status;
  });
  setHandler(cancelRequest, () => book.requestCancel(clock()));
  setHandler(hint, ({ eventKey, eventId }) => {
    book.note(clock(), 'webhook', `${eventKey} ${eventId}`);
    news.hint();
  });
  setHandler(view, () => ({
    checkout: toCheckout(book.intent, book.state(clock())),
    refunds: [],
    timeline: book.timeline,
  }));
  setDefaultSignalHandler((name) => log.warn('A signal that no handler takes', { signal: name }));
}

/** An unpaid end stays open: a customer may have been faster than we were told, and a cancel may still come. */
async function stayOpenForLateNews(
  book: CheckoutBook,
  news: News,
  continueWhenLong: () => Promise<void>,
): Promise<void> {
  const closeAt = plus(book.endedAt, book.policy.unpaidGraceMs);
  const summary = `Stay open for late news until ${formatInstant(closeAt)}`;
  const owed = new LooksOwed();
  while (!book.isPaid && clock() < closeAt) {
    await continueWhenLong();
    const next = owed.take();
    const wait = Math.min(next ?? Number.POSITIVE_INFINITY, closeAt - clock());
    const woken = await condition(() => news.hasHint || !book.isReported, wait, { summary });
    const hinted = news.takeHint();
    if (hinted || (!woken && next !== undefined)) {
      await look(book);
      if (hinted && !book.isPaid) owed.hintFoundNothing();
    }
    report(book, clock());
  }
}

/** Keeps the history of a long or much-hinted checkout short. Nothing is lost: no handler runs and no hint waits. */
async function continueWhenLong(book: CheckoutBook, news: News, input: CheckoutInput): Promise<void> {
  if (!isLong(book) || news.hasHint || !allHandlersFinished()) return;
  report(book, clock());
  // The memo of the start would come back otherwise.
  const again = makeContinueAsNewFunc<typeof checkout>({ memo: { ...workflowInfo().memo } });
  await again({ ...input, resume: book.record });
}

function isLong({ policy }: CheckoutBook): boolean {
  return workflowInfo().historyLength >= policy.maxHistoryEvents;
}
