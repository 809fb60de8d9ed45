import { formatInstant } from '@tillflow/domain';
import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  condition,
  log,
  setDefaultSignalHandler,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { CheckoutBook, Refused } from './book/book.js';
import { activityCalls } from './calls.js';
import { clock } from './clock.js';
import {
  begin,
  cancel,
  cancelRequest,
  hint,
  newAttempt,
  newAttemptRequest,
  refund,
  refundRequest,
  resolve,
  view,
  type NewAttemptRequest,
  type RefundRequest,
} from './messages.js';
import { perform } from './perform.js';
import { report } from './report.js';
import type { CheckoutMemo, CheckoutResult, Refund } from './view.js';

/** Where the run of one workflow ends and the next begins. Neither returns. */
type Continuations = {
  /** The history has grown long. Nothing is lost: no handler runs, and what was asked is in the book. */
  readonly asTheSame: () => Promise<never>;
  /** The customer's money arrived. Null where that is known already. */
  readonly asPaid: (() => Promise<never>) | null;
};

/**
 * Keeps a checkout until nothing can happen to it any more: does what its book says is due, takes what people and
 * webhooks ask, tells the world. Both workflow types are this loop, so that a message is answered by whichever is there.
 */
export async function keep(book: CheckoutBook, continuations: Continuations): Promise<CheckoutResult> {
  const desk = new Desk(book);
  desk.open();
  // Money may be in flight: a cancellation from the Temporal UI asks for the same orderly end as the `cancel` update.
  CancellationScope.current().cancelRequested.catch(() => desk.ask(() => book.requestCancel(clock())));
  return CancellationScope.nonCancellable(async () => {
    for (;;) {
      book.advance(clock());
      if (book.isPaid && continuations.asPaid !== null && allHandlersFinished()) await continuations.asPaid();
      report(book, clock());
      desk.wasTold();
      if (isLong(book) && allHandlersFinished()) await continuations.asTheSame();
      const step = book.next(clock());
      if (step.do === 'close') {
        await condition(allHandlersFinished);
        if (desk.hasNews) continue;
        return book.result(clock());
      }
      if (step.do === 'wait') await desk.untilNews(step, continuations.asPaid !== null);
      else await desk.whileUntold(perform(book, step, activityCalls, clock));
    }
  });
}

function isLong({ policy }: CheckoutBook): boolean {
  return workflowInfo().historyLength >= policy.maxHistoryEvents;
}

/** Takes every message, and lets those who wait know when it was dealt with. */
class Desk {
  #hasNews = false;
  /** Nothing is due, and everything that was asked was dealt with. */
  #isIdle = false;
  /** The memo says what the book says. */
  #isTold = false;

  constructor(private readonly book: CheckoutBook) {}

  /** Something was asked that the loop has not seen yet. */
  get hasNews(): boolean {
    return this.#hasNews;
  }

  ask(change: () => void): void {
    change();
    this.#hasNews = true;
    this.#isIdle = false;
    this.#isTold = false;
  }

  wasTold(): void {
    this.#isTold = true;
  }

  async whileUntold(work: Promise<void>): Promise<void> {
    this.#isTold = false;
    await work;
    this.#isTold = false;
  }

  /** Waits for news, or until `until`. */
  async untilNews({ until, why }: { readonly until: number; readonly why: string }, leavesWhenPaid: boolean) {
    const { book } = this;
    this.#isIdle = !this.#hasNews;
    await condition(
      () => this.#hasNews || (leavesWhenPaid && book.isPaid && allHandlersFinished()),
      Math.max(until - clock(), 1),
      { summary: `Until ${new Date(until).toISOString()}: ${why}` },
    );
    this.#hasNews = false;
    this.#isIdle = false;
  }

  open(): void {
    const { book } = this;
    setHandler(begin, async () => {
      await condition(() => book.isAnswered && this.#isTold);
      const { opener } = workflowInfo().memo as CheckoutMemo;
      return { opener, state: book.state(clock()) };
    });
    setHandler(cancel, async () => {
      this.ask(() => book.requestCancel(clock()));
      await this.#until(() => (book.isPaid || book.isEnded) && this.#isTold);
      return book.status;
    });
    setHandler(newAttempt, (request) => this.#newAttempt(request), {
      validator: (request) => refuse(book.refuseAttempt(request)),
    });
    setHandler(refund, (request) => this.#refund(request), {
      validator: (request) => refuse(book.refuseRefund(clock(), request)),
    });
    setHandler(
      resolve,
      async (resolution) => {
        this.ask(() => book.resolve(clock(), resolution));
        await this.#until(() => this.#isIdle);
        return book.status;
      },
      { validator: (resolution) => refuse(book.refuseResolution(resolution)) },
    );
    setHandler(cancelRequest, () => this.ask(() => book.requestCancel(clock())));
    setHandler(newAttemptRequest, (request) => this.ask(() => book.requestAttempt(clock(), request)));
    setHandler(refundRequest, (request) => this.ask(() => book.requestRefund(clock(), request)));
    setHandler(hint, (news) => this.ask(() => book.hint(clock(), news)));
    setHandler(view, () => book.result(clock()));
    setDefaultSignalHandler((name) => log.warn('A signal that no handler takes', { signal: name }));
  }

  async #newAttempt(request: NewAttemptRequest): Promise<number> {
    const { book } = this;
    // Between the validator's look and this line another message may have changed the book.
    refuse(book.refuseAttempt(request));
    this.ask(() => book.requestAttempt(clock(), request));
    await this.#until(() => book.isAttemptAnswered(request.after + 1) && this.#isTold);
    if (book.attempt.number <= request.after) refuse(book.refuseAttempt(request));
    return book.attempt.number;
  }

  async #refund(request: RefundRequest): Promise<Refund> {
    const { book } = this;
    refuse(book.refuseRefund(clock(), request));
    this.ask(() => book.requestRefund(clock(), request));
    await this.#until(() => book.refund(request.key)?.status !== 'pending' && this.#isTold);
    const entry = book.refund(request.key);
    if (entry === null) throw ApplicationFailure.nonRetryable(`No refund ${request.key} at ${formatInstant(clock())}`);
    return entry;
  }

  /** A handler that still waits would hold up continue-as-new: it answers then with what is known so far. */
  async #until(done: () => boolean): Promise<void> {
    await condition(() => done() || isLong(this.book));
  }
}

/** @throws {ApplicationFailure} of the refusal's code, when there is one: the update fails, the workflow goes on. */
function refuse(refused: Refused | null): void {
  if (refused !== null) throw ApplicationFailure.nonRetryable(refused.message, refused.code);
}
