import { formatInstant, limitIn } from '@tillflow/domain';
import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  condition,
  log,
  setDefaultSignalHandler,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { clock } from '../shared/clock.js';
import { ComingRefunds } from './coming-refunds.js';
import {
  begin,
  cancel,
  cancelRequest,
  decideRefund,
  hint,
  hintNow,
  newAttempt,
  newAttemptRequest,
  refund,
  refundRequest,
  resolve,
  view,
  type Begun,
  type Hint,
  type NewAttemptRequest,
  type RefundDecision,
  type RefundRequest,
  type Refused,
} from './messages.js';
import type { CheckoutModel } from './model/checkout-model.js';
import type { LocalCalls } from '../shared/local-call.js';
import { refundRights } from './refund-rights.js';
import type { CheckoutIntent, CheckoutMemo, StoredRefund } from './types.js';

/** Updates that wait at the same time. The server accepts ten; `begin` is one of them. */
const MAX_WAITING = 6;

/** Sets every handler. Called before the first await, because an update that finds no handler is refused. */
export function handleMessages(
  model: CheckoutModel,
  hasLimits: () => boolean,
  localCalls: LocalCalls,
  mayBeOld: boolean,
): Messages {
  const messages = new Messages(model, hasLimits, localCalls, mayBeOld);
  messages.setHandlers();
  return messages;
}

/** A long history slows down every workflow task, so the run continues as new once no handler waits. */
export function isHistoryLong({ policy }: CheckoutModel): boolean {
  return workflowInfo().historyLength >= policy.maxHistoryEvents;
}

/**
 * The messages of a checkout. Each one changes the model; the loop then does what follows. Updates answer when the
 * model has the outcome and the memo says so.
 */
class Messages {
  /** A message changed the model since the loop last read it. */
  #hasNew = false;
  /** No step is due, and the loop has acted on every message. */
  #isIdle = false;
  /** The memo shows the present state of the model. */
  #isPublished = false;
  /** Ends the wait of the loop, if it waits. */
  #wake: (() => void) | null = null;
  /** The callers of `begin`. Kept apart from the others: every customer waits for it, and a `condition` costs more. */
  readonly #beginning: ((answer: Begun) => void)[] = [];
  readonly #comingRefunds = new ComingRefunds();
  /** The other updates that wait, the longest first. */
  readonly #waiting = new Set<symbol>();

  /** @param hasLimits whether refunds have limits from here on @param mayBeOld see workflow.ts */
  constructor(
    private readonly model: CheckoutModel,
    private readonly hasLimits: () => boolean,
    private readonly localCalls: LocalCalls,
    private readonly mayBeOld: boolean,
  ) {}

  setHandlers(): void {
    const { model } = this;
    setHandler(begin, () =>
      this.#hasBegun ? this.#begun() : new Promise<Begun>((answer) => this.#beginning.push(answer)),
    );
    setHandler(cancel, async (request) => {
      this.apply(() => model.requestCancel(clock(), request));
      await this.#until(() => (model.isPaid || model.isEnded) && this.#isPublished);
      return model.status;
    });
    setHandler(newAttempt, (request) => this.#newAttempt(request), {
      validator: (request) => throwIf(model.refuseAttempt(request)),
    });
    setHandler(refund, (request) => this.#refund(request), {
      // The same request may be on its way already, and be carried out: then the handler decides after it.
      validator: (request) =>
        this.#comingRefunds.hasKeyOf(request) ? undefined : throwIf(model.refuseRefund(clock(), request)),
    });
    setHandler(decideRefund, (decision) => this.#decideRefund(decision), {
      // Whether the requester may decide is asked afterwards: a validator cannot wait.
      validator: (decision) => throwIf(model.refuseDecision(clock(), decision, true)),
    });
    setHandler(
      resolve,
      async (resolution) => {
        this.apply(() => model.resolve(clock(), resolution));
        await this.#until(() => this.#isIdle);
        return model.status;
      },
      { validator: (resolution) => throwIf(model.refuseResolution(resolution)) },
    );
    setHandler(cancelRequest, (request) => this.#applySignal(() => model.requestCancel(clock(), request)));
    setHandler(newAttemptRequest, (request) => this.#applySignal(() => model.requestAttempt(clock(), request)));
    // Without limits, the handler ends at once, as it did in the histories of older versions.
    setHandler(refundRequest, (request) =>
      this.hasLimits()
        ? this.#refundBySignal(request)
        : this.#applySignal(() => model.requestRefundBySignal(clock(), request)),
    );
    const applyHint = (received: Hint): void => this.#applySignal(() => model.hint(clock(), received, !this.mayBeOld));
    setHandler(hint, applyHint);
    setHandler(hintNow, applyHint);
    setHandler(view, () => model.view(clock()));
    setDefaultSignalHandler((name) => log.warn('No handler accepts this signal', { signal: name }));
  }

  /** From here on, the loop acts on every message that changed the model so far. */
  read(): void {
    this.localCalls.readsClock();
    this.#hasNew = false;
    this.#isIdle = false;
  }

  apply(change: () => void): void {
    this.localCalls.readsClock();
    change();
    this.#hasNew = true;
    this.#isIdle = false;
    this.#isPublished = false;
    this.#wake?.();
  }

  /** The memo was written: `begin` can answer. */
  published(): void {
    this.#isPublished = true;
    // Once the history is long, the caller of `begin` has already left, and a waiting handler would prevent
    // continue-as-new.
    if (!this.#hasBegun && !isHistoryLong(this.model)) return;
    for (const answer of this.#beginning.splice(0)) answer(this.#begun());
  }

  /** A step changed the model, so the memo is out of date. */
  changed(): void {
    this.#isPublished = false;
  }

  /**
   * Waits for a new message, or until the time.
   * @param orHandled continue also when no handler waits any more
   */
  newOrUntil({ until, why }: { readonly until: number; readonly why: string }, orHandled: boolean): Promise<unknown> {
    this.#isIdle = true;
    const ms = Math.max(until - clock(), 1);
    const options = { summary: `Until ${new Date(until).toISOString()}: ${why}` };
    if (orHandled || this.mayBeOld) {
      return condition(() => this.#hasNew || (orHandled && allHandlersFinished()), ms, options);
    }
    // Every checkout waits here, and a `condition` costs several times as much.
    const wait = new CancellationScope();
    this.#wake = () => {
      this.#wake = null;
      wait.cancel();
    };
    return wait.run(() => sleep(ms, options)).catch(() => {});
  }

  /**
   * Call it when no step will be due again.
   * @returns true when a new message arrived before every waiting update had its answer.
   */
  async newBeforeAllAreAnswered(): Promise<boolean> {
    this.#isIdle = true;
    await condition(() => this.#hasNew || allHandlersFinished());
    return this.#hasNew;
  }

  /** A signal cannot be refused, and an invalid one must not stop the workflow. */
  #applySignal(change: () => void): void {
    try {
      this.apply(change);
    } catch (error) {
      log.error('The workflow ignores an invalid signal', { error: String(error) });
    }
  }

  /** The checkout has a QR or has ended, and the memo shows it. */
  get #hasBegun(): boolean {
    return this.#isPublished && this.model.isAnswered;
  }

  #begun(): Begun {
    const { requestNonce } = workflowInfo().memo as CheckoutMemo;
    const { version } = this.model.state.published;
    return { requestNonce, state: this.model.projection(clock()), version };
  }

  async #newAttempt(request: NewAttemptRequest): Promise<number> {
    const { model } = this;
    // Another message may have changed the model since the validator ran.
    throwIf(model.refuseAttempt(request));
    this.apply(() => model.requestAttempt(clock(), request));
    await this.#until(() => model.isAttemptAnswered(request.after + 1) && this.#isPublished);
    if (model.attempt.number <= request.after) throwIf(model.refuseAttempt(request));
    return request.after + 1;
  }

  async #refund(request: RefundRequest): Promise<StoredRefund> {
    const { model } = this;
    const limit = this.hasLimits() ? await this.#limitOf(request) : null;
    this.#comingRefunds.end(request);
    throwIf(model.refuseRefund(clock(), request));
    this.apply(() => model.requestRefund(clock(), request, limit));
    await this.#until(() => this.#isDecided(request.key));
    return this.#decided(request.key);
  }

  async #refundBySignal(request: RefundRequest): Promise<void> {
    const limit = await this.#limitOf(request);
    this.#comingRefunds.end(request);
    this.#applySignal(() => this.model.requestRefundBySignal(clock(), request, limit));
  }

  async #decideRefund(decision: RefundDecision): Promise<StoredRefund> {
    const { model } = this;
    const { approves } = await refundRights(this.localCalls, model.intent, decision);
    throwIf(model.refuseDecision(clock(), decision, approves));
    this.apply(() => model.decideRefund(clock(), decision));
    await this.#until(() => this.#isDecided(decision.key));
    return this.#decided(decision.key);
  }

  /** The lower one of what the API and the worker know; null: no limit. */
  async #limitOf(request: RefundRequest): Promise<number | null> {
    const { intent } = this.model;
    this.#comingRefunds.add(request);
    const { limit } = await refundRights(this.localCalls, intent, request);
    const known = [limit, givenLimit(request, intent)].filter((one) => one !== null);
    return known.length === 0 ? null : Math.min(...known);
  }

  /** The outcome of the refund is known and published, or it waits for a second person. */
  #isDecided(key: string): boolean {
    return this.model.refund(key)?.status !== 'pending' && this.#isPublished;
  }

  #decided(key: string): StoredRefund {
    const entry = this.model.refund(key);
    if (entry === null) throw ApplicationFailure.nonRetryable(`No refund ${key} at ${formatInstant(clock())}`);
    return entry;
  }

  /**
   * Waits until `isDone`, with two exceptions, which answer with the state so far: a long history, because a waiting
   * handler would hold up continue-as-new; and too many waiting updates, of which the oldest gives way, so that an
   * operator's update gets through. A cancellation of the workflow does not interrupt it.
   */
  async #until(isDone: () => boolean): Promise<void> {
    const turn = Symbol('waiting');
    this.#waiting.add(turn);
    for (const oldest of this.#waiting) {
      if (this.#waiting.size <= MAX_WAITING) break;
      this.#waiting.delete(oldest);
    }
    await CancellationScope.nonCancellable(() =>
      condition(() => isDone() || isHistoryLong(this.model) || !this.#waiting.has(turn)),
    );
    this.#waiting.delete(turn);
  }
}

/** The limit that the API sent along. A message that is sent by hand may have none, or anything: then it is 0. */
function givenLimit(request: RefundRequest | undefined, { currency }: CheckoutIntent): number | null {
  const limit: unknown = limitIn(request?.limit ?? null, currency);
  if (limit === null) return null;
  return typeof limit === 'number' && Number.isSafeInteger(limit) && limit >= 0 ? limit : 0;
}

/** @throws {ApplicationFailure} with the refusal's code as its type: the update fails, and the workflow continues. */
function throwIf(refused: Refused | null): void {
  if (refused !== null) throw ApplicationFailure.nonRetryable(refused.message, refused.code);
}
