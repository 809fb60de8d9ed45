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
import type { CheckoutModel } from './model/checkout-model.js';
import { TEMPORAL_CANCEL } from '../shared/requester.js';
import { activityCalls } from './provider-calls.js';
import { clock } from '../shared/clock.js';
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
  type Begun,
  type Refused,
  type NewAttemptRequest,
  type RefundRequest,
} from './messages.js';
import { executeStep } from './execute-step.js';
import { report } from './publish.js';
import type { CheckoutMemo, CheckoutResult, StoredRefund } from './types.js';

/** Where the run of one workflow ends and the next begins. Neither returns. */
type Continuations = {
  /** The history has grown long. Nothing is lost: no handler runs, and what was asked is in the model. */
  readonly asTheSame: () => Promise<never>;
  /** The customer's money arrived. Null where that is known already. */
  readonly asPaid: (() => Promise<never>) | null;
};

/**
 * Keeps a checkout until nothing can happen to it any more: does what its book says is due, takes what people and
 * webhooks ask, tells the world. Both workflow types are this loop, so that a message is answered by whichever is there.
 */
export function keep(model: CheckoutModel, continuations: Continuations): Promise<CheckoutResult> {
  const desk = new Desk(model);
  desk.open();
  // Money may be in flight: a cancellation from the Temporal UI asks for the same orderly end as the `cancel` update.
  CancellationScope.current().cancelRequested.catch(() =>
    desk.ask(() => model.requestCancel(clock(), { by: TEMPORAL_CANCEL })),
  );
  return CancellationScope.nonCancellable(async () => {
    for (;;) {
      desk.reads();
      model.advanceTo(clock());
      if (model.isPaid && continuations.asPaid !== null && allHandlersFinished()) await continuations.asPaid();
      report(model, clock());
      desk.wasTold();
      if (isLong(model) && allHandlersFinished()) await continuations.asTheSame();
      const step = model.nextStep(clock());
      if (step.do === 'close') {
        if (await desk.hasNewsBeforeAllAreServed()) continue;
        return model.result(clock());
      }
      if (step.do === 'wait') {
        await desk.untilNews(step, continuations.asPaid !== null);
      } else {
        await executeStep(model, step, activityCalls, clock);
        desk.isBehind();
      }
    }
  });
}

function isLong({ policy }: CheckoutModel): boolean {
  return workflowInfo().historyLength >= policy.maxHistoryEvents;
}

/** Updates that may wait at the same time: the server takes ten, `begin` is one of them. */
const MAX_WAITING = 6;

/** Takes every message, and lets those who wait know when it was dealt with. */
class Desk {
  #hasNews = false;
  /** Nothing is due, and everything that was asked was dealt with. */
  #isIdle = false;
  /** The memo says what the book says. */
  #isTold = false;
  /** Who waits for the first answer. Kept apart from the others: it is on the way of every customer, and a `condition` costs more. */
  readonly #begins: ((answer: Begun) => void)[] = [];
  /** Who waits, the longest first. */
  readonly #waiting = new Set<symbol>();

  constructor(private readonly model: CheckoutModel) {}

  /** From here on the loop deals with all that was asked so far. */
  reads(): void {
    this.#hasNews = false;
    this.#isIdle = false;
  }

  /** Nothing will ever be due again: who still waits is answered. */
  async hasNewsBeforeAllAreServed(): Promise<boolean> {
    this.#isIdle = true;
    await condition(() => this.#hasNews || allHandlersFinished());
    return this.#hasNews;
  }

  /** A signal cannot be refused: one that makes no sense must not stop the workflow. */
  take(change: () => void): void {
    try {
      this.ask(change);
    } catch (error) {
      log.error('A signal that makes no sense', { error: String(error) });
    }
  }

  ask(change: () => void): void {
    change();
    this.#hasNews = true;
    this.#isIdle = false;
    this.#isTold = false;
  }

  wasTold(): void {
    this.#isTold = true;
    // Who asked is long gone when the history has grown long, and would hold up its end.
    if (this.#isBegun || isLong(this.model)) for (const answer of this.#begins.splice(0)) answer(this.#begun());
  }

  /** The customer can pay, or never will, and the memo says so. */
  get #isBegun(): boolean {
    return this.#isTold && this.model.isAnswered;
  }

  #begun(): Begun {
    const { requestNonce } = workflowInfo().memo as CheckoutMemo;
    return { requestNonce, state: this.model.projection(clock()) };
  }

  /** The book has changed since the memo was written. */
  isBehind(): void {
    this.#isTold = false;
  }

  /** Waits for news, or until `until`. */
  untilNews({ until, why }: { readonly until: number; readonly why: string }, leavesWhenPaid: boolean) {
    const { model } = this;
    this.#isIdle = true;
    return condition(
      () => this.#hasNews || (leavesWhenPaid && model.isPaid && allHandlersFinished()),
      Math.max(until - clock(), 1),
      { summary: `Until ${new Date(until).toISOString()}: ${why}` },
    );
  }

  open(): void {
    const { model } = this;
    setHandler(begin, () =>
      this.#isBegun ? this.#begun() : new Promise<Begun>((answer) => this.#begins.push(answer)),
    );
    setHandler(cancel, async (request) => {
      this.ask(() => model.requestCancel(clock(), request));
      await this.#until(() => (model.isPaid || model.isEnded) && this.#isTold);
      return model.status;
    });
    setHandler(newAttempt, (request) => this.#newAttempt(request), {
      validator: (request) => refuse(model.refuseAttempt(request)),
    });
    setHandler(refund, (request) => this.#refund(request), {
      validator: (request) => refuse(model.refuseRefund(clock(), request)),
    });
    setHandler(
      resolve,
      async (resolution) => {
        this.ask(() => model.resolve(clock(), resolution));
        await this.#until(() => this.#isIdle);
        return model.status;
      },
      { validator: (resolution) => refuse(model.refuseResolution(resolution)) },
    );
    setHandler(cancelRequest, (request) => this.take(() => model.requestCancel(clock(), request)));
    setHandler(newAttemptRequest, (request) => this.take(() => model.requestAttempt(clock(), request)));
    setHandler(refundRequest, (request) => this.take(() => model.requestRefundUnheard(clock(), request)));
    setHandler(hint, (news) => this.take(() => model.hint(clock(), news)));
    setHandler(view, () => model.view(clock()));
    setDefaultSignalHandler((name) => log.warn('A signal that no handler takes', { signal: name }));
  }

  async #newAttempt(request: NewAttemptRequest): Promise<number> {
    const { model } = this;
    // Between the validator's look and this line another message may have changed the model.
    refuse(model.refuseAttempt(request));
    this.ask(() => model.requestAttempt(clock(), request));
    await this.#until(() => model.isAttemptAnswered(request.after + 1) && this.#isTold);
    if (model.attempt.number <= request.after) refuse(model.refuseAttempt(request));
    return request.after + 1;
  }

  async #refund(request: RefundRequest): Promise<StoredRefund> {
    const { model } = this;
    refuse(model.refuseRefund(clock(), request));
    this.ask(() => model.requestRefund(clock(), request));
    await this.#until(() => model.refund(request.key)?.status !== 'pending' && this.#isTold);
    const entry = model.refund(request.key);
    if (entry === null) throw ApplicationFailure.nonRetryable(`No refund ${request.key} at ${formatInstant(clock())}`);
    return entry;
  }

  /**
   * A handler that still waits would hold up continue-as-new: it answers then with what is known so far. So does the
   * one that waits longest when many do: a workflow takes ten updates at a time, and an operator's must get through.
   * A cancellation of the workflow asks for its end, it does not take anyone's answer.
   */
  async #until(done: () => boolean): Promise<void> {
    const turn = Symbol('waiting');
    this.#waiting.add(turn);
    for (const oldest of this.#waiting) {
      if (this.#waiting.size <= MAX_WAITING) break;
      this.#waiting.delete(oldest);
    }
    await CancellationScope.nonCancellable(() =>
      condition(() => done() || isLong(this.model) || !this.#waiting.has(turn)),
    );
    this.#waiting.delete(turn);
  }
}

/** @throws {ApplicationFailure} of the refusal's code, when there is one: the update fails, the workflow goes on. */
function refuse(refused: Refused | null): void {
  if (refused !== null) throw ApplicationFailure.nonRetryable(refused.message, refused.code);
}
