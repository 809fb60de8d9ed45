import { WorkflowUpdateFailedError, type WorkflowHandle } from '@temporalio/client';
import {
  checkoutId,
  checkoutWorkflowId,
  DEFAULT_ACCOUNT,
  type CheckoutKey,
  type CheckoutStatus,
} from '@tillflow/domain';
import {
  cancel,
  decideRefund,
  hintNow,
  newAttempt,
  refund,
  resolve,
  type Attributed,
  type Hint,
  type NewAttemptRequest,
  type Refusal,
  type RefundDecision,
  type RefundRequest,
  type Resolution,
  type StoredRefund,
} from '@tillflow/workflows';
import { hadNoEffect, TooSlowError, within, type Bounded, type CallKind } from '../connection/bounded-call.js';
import type { Temporal } from '../connection/connection.js';
import { isClosed, isFullOfUpdates, isTooSlow, refusalOf } from '../connection/failures.js';
import {
  decodeRuns,
  listPage,
  listRuns,
  olderRuns,
  replacedRuns,
  type ListedRun,
  type OnUnreadable,
} from '../listed-runs.js';
import { followCheckout, readCheckout, sendHint, toStored, type StoredCheckout } from './checkout-workflow.js';
import { durableAttempt, durableCancel, durableRefund, sendOnce, type DurableRequest } from './durable-requests.js';
import { openCheckoutsOfCharges } from './queries.js';

/** The result of a request to the workflow of a checkout. */
export type RequestResult<T> =
  | { readonly kind: 'answered'; readonly answer: T }
  /** Nothing was changed. */
  | { readonly kind: 'refused'; readonly code: Refusal; readonly reason: string }
  /** The request is durable, and its outcome is not known yet. */
  | { readonly kind: 'undecided' }
  /** The workflow had closed: nothing was changed. */
  | { readonly kind: 'closed' };

/** The result of a request that was not answered. */
type Unanswered = Extract<RequestResult<never>, { kind: 'undecided' | 'closed' }>;

export type StoredPage = { readonly data: readonly StoredCheckout[]; readonly nextPageToken: Uint8Array | null };

/** No checkout has this id or reference. */
export class CheckoutNotFoundError extends Error {
  override readonly name = 'CheckoutNotFoundError';
}

/** No worker accepted the request in time, and it is not durable: it may still be carried out, or be lost. */
export class NotAcceptedError extends Error {
  override readonly name = 'NotAcceptedError';
}

export type CheckoutsOptions = {
  /** The account of the checkouts. Default: `default`. */
  readonly account?: string;
  /** How long a read or a signal may take, in milliseconds. */
  readonly readWithinMs: number;
  /** How long a hint and its search may take, in milliseconds; absent: as long as a read. */
  readonly hintWithinMs?: number;
  /** Bounds each call; absent: in time only. */
  readonly bounded?: Bounded;
};

/** How long the update of a hint may take, in milliseconds. */
const HINT_NOW_MS = 1_000;
/** After so many updates in a row without an answer, hints are signals for a while. Milliseconds. */
const MOST_UNANSWERED = 3;
const ONLY_SIGNALS_MS = 30_000;

/** The number of Temporal's `PENDING_ACTIVITY_STATE_STARTED`. */
const STARTED = 2;
/** Milliseconds since a time of Temporal's; minus infinity for an absent time. */
function msSince(time: { readonly seconds?: unknown; readonly nanos?: number | null } | null | undefined): number {
  return Date.now() - Number(time?.seconds ?? Infinity) * 1_000 - (time?.nanos ?? 0) / 1_000_000;
}

/**
 * Checkouts as Temporal stores them: one workflow each. Reads come from its memo and need no worker. Besides the named
 * errors, every method throws what Temporal's client throws: see `isTemporalFailure`.
 */
export class Checkouts {
  readonly #bounded: Bounded;
  /** Updates of hints in a row that no worker answered in time. */
  #unanswered = 0;
  /** Until then hints are signals, in milliseconds of `performance.now()`. */
  #signalsUntil = 0;

  constructor(
    private readonly temporal: Pick<Temporal, 'client' | 'connection' | 'trace'>,
    private readonly options: CheckoutsOptions,
  ) {
    this.#bounded = options.bounded ?? ((_kind, milliseconds, work) => within(temporal.connection, milliseconds, work));
  }

  /** Lists contain only checkouts of this account. */
  get account(): string {
    return this.options.account ?? DEFAULT_ACCOUNT;
  }

  /** @throws {CheckoutNotFoundError} @throws {UnreadablePayloadError} when its encryption key is not configured. */
  async get(key: CheckoutKey): Promise<StoredCheckout> {
    const found = await this.#withinReadTime('read', () => readCheckout(this.temporal.client, key));
    if (found === null) throw new CheckoutNotFoundError(`No checkout has the id ${checkoutId(key)}`);
    return found.checkout;
  }

  /**
   * Yields the checkout as soon as it has changed; at first also as it is. Each wait takes at most as long as a read. Ends
   * with the run of the workflow.
   */
  follow(key: CheckoutKey, over: AbortSignal): AsyncIterable<StoredCheckout> {
    const { client, connection } = this.temporal;
    return followCheckout(client, key, (work) => {
      over.throwIfAborted();
      return connection.withAbortSignal(over, () => this.#withinReadTime('read', work));
    });
  }

  /**
   * Null while Temporal and the workers are starting this checkout. Otherwise for how many milliseconds one call to the
   * provider has been running; 0 once there is a QR or an end, and while the workflow waits.
   * @param longMs a call that has run for longer says nothing about Temporal and the workers
   */
  async atProviderMs(key: CheckoutKey, longMs: number): Promise<number | null> {
    const found = await this.#withinReadTime('read', () => readCheckout(this.temporal.client, key));
    if (found?.checkout.state.status !== 'creating') return 0;
    const { pendingActivities, pendingWorkflowTask: task } = found.run.raw;
    const activities = pendingActivities ?? [];
    if (activities.length === 0 && (task ?? null) === null) return 0;
    const begun = activities.filter(({ state }) => Number(state) === STARTED);
    // A workflow task takes long because a local activity does.
    const ms = Math.max(msSince(task?.startedTime), ...begun.map(({ lastStartedTime }) => msSince(lastStartedTime)));
    return ms > longMs ? ms : null;
  }

  /** One page in the server's order: open checkouts first, then closed ones, the newest first in each. */
  async page(
    query: string,
    pageSize: number,
    pageToken: Uint8Array | null,
    onUnreadable: OnUnreadable,
    kind: CallKind = 'list',
  ): Promise<StoredPage> {
    const { client } = this.temporal;
    const { runs, nextPageToken } = await this.#withinReadTime(kind, () =>
      listPage(client, query, pageSize, pageToken),
    );
    const replaced = await this.#withinReadTime(kind, () => replacedRuns(client, runs));
    return { data: await this.#read(runs, replaced, onUnreadable), nextPageToken };
  }

  /**
   * Every checkout that a search finds, each once, in no order.
   * @param hasAllRuns the search finds every run of a checkout, so that its newest run needs no further search
   */
  async all(query: string, hasAllRuns: boolean, onUnreadable: OnUnreadable): Promise<readonly StoredCheckout[]> {
    const { client } = this.temporal;
    const runs = await listRuns(client, query, (call) => this.#withinReadTime('list', call));
    const replaced = hasAllRuns
      ? olderRuns(runs, runs)
      : await this.#withinReadTime('list', () => replacedRuns(client, runs));
    const found = await this.#read(runs, replaced, onUnreadable);
    return [...new Map(found.map((stored) => [stored.intent.id, stored])).values()];
  }

  async #read(
    runs: readonly ListedRun[],
    replaced: ReadonlySet<string>,
    onUnreadable: OnUnreadable,
  ): Promise<StoredCheckout[]> {
    const current = runs.filter(({ execution }) => !replaced.has(execution?.runId ?? ''));
    const decoded = await decodeRuns(this.temporal.client, current, onUnreadable);
    return decoded.flatMap(({ memo, status }) => toStored({ memo, isRunning: status.name === 'RUNNING' }) ?? []);
  }

  /** The number of runs that a search finds. Costs one search. */
  async count(query: string): Promise<number> {
    return (await this.#withinReadTime('list', () => this.temporal.client.workflow.count(query))).count;
  }

  /**
   * The open checkout that has this charge, or null. A search finds a charge a moment after its checkout stored it.
   * @param chargeId letters, digits and underscores only: it becomes part of a search query.
   */
  async findByCharge(chargeId: string, onUnreadable: OnUnreadable): Promise<CheckoutKey | null> {
    const { data } = await this.page(openCheckoutsOfCharges([chargeId], this.account), 1, null, onUnreadable, 'hint');
    const owner = data[0]?.intent ?? null;
    return owner?.account === this.account ? owner : null;
  }

  /** Requests the end of an unpaid checkout. */
  cancel(key: CheckoutKey, request: Attributed, withinMs: number): Promise<RequestResult<CheckoutStatus>> {
    return this.#ask(
      key,
      withinMs,
      (workflow) => workflow.executeUpdate(cancel, { args: [request] }),
      () => this.#makeDurable(key, (stored) => durableCancel(stored, request)),
    );
  }

  /** Requests attempt `after` + 1; the answer is its number. */
  newAttempt(key: CheckoutKey, request: NewAttemptRequest, withinMs: number): Promise<RequestResult<number>> {
    return this.#ask(
      key,
      withinMs,
      (workflow) => workflow.executeUpdate(newAttempt, { args: [request] }),
      () => this.#makeDurable(key, (stored) => durableAttempt(stored, request)),
    );
  }

  /** Requests a refund or a void. */
  refund(key: CheckoutKey, request: RefundRequest, withinMs: number): Promise<RequestResult<StoredRefund>> {
    return this.#ask(
      key,
      withinMs,
      (workflow) => workflow.executeUpdate(refund, { args: [request] }),
      () => this.#makeDurable(key, (stored) => durableRefund(stored, request)),
    );
  }

  /**
   * Sends a second person's decision about a refund; the answer is the refund. `undecided`: no worker accepted it in time.
   * It may be lost, and the same decision again is safe.
   */
  decideRefund(key: CheckoutKey, decision: RefundDecision, withinMs: number): Promise<RequestResult<StoredRefund>> {
    return this.#ask(
      key,
      withinMs,
      (workflow) => workflow.executeUpdate(decideRefund, { args: [decision] }),
      async () => ({ kind: (await this.get(key)).closed ? 'closed' : 'undecided' }),
    );
  }

  /**
   * Sends an operator's decision; the answer is the status once it was carried out.
   * @throws {NotAcceptedError} when no worker accepted it in time: a decision does not wait for a worker.
   */
  resolve(key: CheckoutKey, resolution: Resolution, withinMs: number): Promise<RequestResult<CheckoutStatus>> {
    return this.#ask(
      key,
      withinMs,
      (workflow) => workflow.executeUpdate(resolve, { args: [resolution] }),
      async (error) => {
        if (isClosed(error) && (await this.get(key)).closed) return { kind: 'closed' };
        throw new NotAcceptedError(`No worker accepted the decision within ${withinMs} ms`);
      },
    );
  }

  /** Asks a checkout to retrieve its charge. @returns false when no run is open; when true, the hint is durable. */
  hint(key: CheckoutKey, content: Hint): Promise<boolean> {
    return this.#withinReadTime('hint', () => sendHint(this.temporal.client, key, content));
  }

  /**
   * As {@link hint}, for a sender who waits for the effect: an update costs Temporal less than a signal and the reads
   * after it (ADR 27). `answered`: the checkout has retrieved its charge, or the call takes long. While no worker answers
   * soon, hints are signals. `answered` and `undecided` are durable.
   */
  async hintNow(key: CheckoutKey, content: Hint): Promise<RequestResult<void>> {
    const signal = async (): Promise<Unanswered> => ({
      kind: (await this.hint(key, content)) ? 'undecided' : 'closed',
    });
    if (performance.now() < this.#signalsUntil) return signal();
    const result = await this.#ask(
      key,
      HINT_NOW_MS,
      (workflow) => workflow.executeUpdate(hintNow, { args: [content] }),
      (error) => {
        if (!isClosed(error)) this.#unanswered += 1;
        if (this.#unanswered >= MOST_UNANSWERED) this.#signalsUntil = performance.now() + ONLY_SIGNALS_MS;
        return signal();
      },
      'hint',
    );
    if (result.kind === 'answered') this.#unanswered = 0;
    return result;
  }

  /**
   * Sends an update and waits at most `withinMs` for its answer. Without an answer, the request is made durable: the
   * server keeps an update that no worker has accepted in memory only. It says `not found` when it has lost one, and also
   * when the checkout has closed, so a read or a signal tells the two apart.
   */
  async #ask<T>(
    key: CheckoutKey,
    withinMs: number,
    update: (workflow: WorkflowHandle) => Promise<T>,
    makeDurable: (error: unknown) => Promise<Unanswered>,
    kind: CallKind = 'change',
  ): Promise<RequestResult<T>> {
    const workflow = this.temporal.client.workflow.getHandle(checkoutWorkflowId(key));
    try {
      return { kind: 'answered', answer: await this.#bounded(kind, withinMs, () => update(workflow)) };
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal !== null) return { kind: 'refused', ...refusal };
      // An update that failed for any other reason, such as the end of its run, leaves the outcome open.
      const isUndecided =
        isTooSlow(error) || isClosed(error) || isFullOfUpdates(error) || error instanceof WorkflowUpdateFailedError;
      if (!isUndecided) throw error;
      return await makeDurable(error).catch(throwAsMaybeSent);
    }
  }

  /** Sends the request as a signal, unless the checkout shows that it has accepted the request, or needs none. */
  async #makeDurable(
    key: CheckoutKey,
    requestFor: (stored: StoredCheckout) => DurableRequest | null,
  ): Promise<Unanswered> {
    const stored = await this.get(key);
    if (stored.closed) return { kind: 'closed' };
    const request = requestFor(stored);
    if (request === null) return { kind: 'undecided' };
    try {
      await this.#withinReadTime('hint', () => sendOnce(this.temporal, checkoutWorkflowId(key), request));
      return { kind: 'undecided' };
    } catch (error) {
      if (isClosed(error)) return { kind: 'closed' };
      throw error;
    }
  }

  #withinReadTime<T>(kind: CallKind, work: () => Promise<T>): Promise<T> {
    const { readWithinMs, hintWithinMs = readWithinMs } = this.options;
    return this.#bounded(kind, kind === 'hint' ? hintWithinMs : readWithinMs, work);
  }
}

/** A signal without effect does not prove that nothing happens, because the update before it was sent. */
function throwAsMaybeSent(error: unknown): never {
  if (!hadNoEffect(error)) throw error;
  throw new TooSlowError('Temporal did not confirm the request', { cause: error });
}
