import { WorkflowNotFoundError, WorkflowUpdateFailedError, type WorkflowHandle } from '@temporalio/client';
import { executionInfoFromRaw } from '@temporalio/client/lib/helpers.js';
import { checkoutId, checkoutWorkflowId, type CheckoutKey, type CheckoutStatus } from '@tillflow/domain';
import {
  cancel,
  cancelRequest,
  hint,
  newAttempt,
  newAttemptRequest,
  refund,
  refundRequest,
  resolve,
  type Attributed,
  type Hint,
  type NewAttemptRequest,
  type Refusal,
  type RefundRequest,
  type Resolution,
  type StoredRefund,
} from '@tillflow/workflows';
import { checkoutOfCharge } from './checkout-queries.js';
import type { Temporal } from './connection.js';
import { UnreadablePayloadError } from './encryption-codec.js';
import { isClosed, isFullOfUpdates, isTooSlow, refusalOf } from './failures.js';
import { olderRuns, replacedRuns, type ListedRun } from './replaced-runs.js';
import { aboutAttempt, aboutCancel, aboutRefund } from './repetitions.js';
import { hadNoEffect } from './sendings.js';
import { signalOnce, type OnceSignal } from './signal-once.js';
import { toStored, type StoredCheckout } from './stored-checkout.js';
import { TooSlowError, within, type Bounded, type Lane } from './within.js';

/** What became of a request to a checkout's workflow. */
export type Asked<T> =
  | { readonly kind: 'answered'; readonly answer: T }
  /** Nothing was changed. */
  | { readonly kind: 'refused'; readonly code: Refusal; readonly reason: string }
  /** The request is durable, and its outcome not known yet. */
  | { readonly kind: 'undecided' }
  /** The workflow had closed: nothing was changed. */
  | { readonly kind: 'closed' };

/** What is left of a request that was not answered. */
type Undecided = Extract<Asked<never>, { kind: 'undecided' | 'closed' }>;

export type StoredPage = { readonly data: readonly StoredCheckout[]; readonly nextPageToken: Uint8Array | null };

/** No checkout has this id or reference. */
export class CheckoutNotFoundError extends Error {
  override readonly name = 'CheckoutNotFoundError';
}

/** Nobody took the request in time, and it is not durable: it may still be carried out, or be lost. */
export class UnheardError extends Error {
  override readonly name = 'UnheardError';
}

export type CheckoutsOptions = {
  /** How long a read or a signal may take, in milliseconds. */
  readonly readWithinMs: number;
  /** How long a hint and its search may take, in milliseconds; absent: as a read. */
  readonly hintWithinMs?: number;
  /** How calls are bounded; absent: in time only. */
  readonly bounded?: Bounded;
};

/**
 * Checkouts as Temporal keeps them: one workflow each, read from its memo, so that no worker is needed. Besides what
 * is named, everything here throws what Temporal's client throws: `isTemporalFailure` knows it.
 */
export class Checkouts {
  readonly #bounded: Bounded;

  constructor(
    private readonly temporal: Pick<Temporal, 'client' | 'connection'>,
    private readonly options: CheckoutsOptions,
  ) {
    this.#bounded = options.bounded ?? ((_lane, milliseconds, work) => within(temporal.connection, milliseconds, work));
  }

  /** @throws {CheckoutNotFoundError} @throws {UnreadablePayloadError} when it is encrypted with a key that is not here. */
  async get(key: CheckoutKey): Promise<StoredCheckout> {
    try {
      const stored = toStored(await this.#soon('read', () => this.#handle(key).describe()));
      if (stored !== null) return stored;
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
    throw new CheckoutNotFoundError(`No checkout is ${checkoutId(key)}`);
  }

  /**
   * Whether Temporal and the workers are still at the beginning of this checkout. Not so once there is a QR or an end,
   * while nothing is due, and while one call to the provider takes long.
   */
  async isBeginning(key: CheckoutKey): Promise<boolean> {
    try {
      const { raw, memo, status } = await this.#soon('read', () => this.#handle(key).describe());
      if (toStored({ memo, status })?.state.status !== 'creating') return false;
      const activities = raw.pendingActivities ?? [];
      const startedBefore = Date.now() / 1_000 - SLOW_CALL_S;
      const isAtProvider = activities.some(
        ({ state, lastStartedTime }) =>
          Number(state) === STARTED && Number(lastStartedTime?.seconds ?? Infinity) < startedBefore,
      );
      return !isAtProvider && (activities.length > 0 || (raw.pendingWorkflowTask ?? null) !== null);
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    }
  }

  /**
   * One page in the order of the server: open ones first, then closed, the newest first in each.
   * @param onUnreadable told of each that cannot be read and is left out: the others are worth reading.
   */
  async page(
    query: string,
    pageSize: number,
    nextPageToken: Uint8Array | null,
    onUnreadable: (workflowId: string, error: UnreadablePayloadError) => void,
    lane: Lane = 'list',
  ): Promise<StoredPage> {
    const { connection, client } = this.temporal;
    const { namespace } = client.options;
    const { executions, nextPageToken: next } = await this.#soon(lane, () =>
      connection.workflowService.listWorkflowExecutions({
        namespace,
        query,
        pageSize,
        ...(nextPageToken === null ? {} : { nextPageToken }),
      }),
    );
    const replaced = await this.#soon(lane, () => replacedRuns(this.temporal, executions));
    const data = await this.#read(executions, replaced, onUnreadable);
    return { data, nextPageToken: next.length > 0 ? next : null };
  }

  /**
   * All that a search finds, in no order, each checkout once. One search for a thousand runs.
   * @param hasAllRuns the search finds every run of a checkout, so that the newest needs no search of its own
   */
  async all(
    query: string,
    hasAllRuns: boolean,
    onUnreadable: (workflowId: string, error: UnreadablePayloadError) => void,
  ): Promise<readonly StoredCheckout[]> {
    const { connection, client } = this.temporal;
    const { namespace } = client.options;
    const runs: ListedRun[] = [];
    let nextPageToken: Uint8Array = new Uint8Array();
    do {
      const page = await this.#soon('list', () =>
        connection.workflowService.listWorkflowExecutions({ namespace, query, pageSize: MOST_RUNS, nextPageToken }),
      );
      runs.push(...page.executions);
      ({ nextPageToken } = page);
    } while (nextPageToken.length > 0);
    const replaced = hasAllRuns
      ? olderRuns(runs, runs)
      : await this.#soon('list', () => replacedRuns(this.temporal, runs));
    const found = await this.#read(runs, replaced, onUnreadable);
    return [...new Map(found.map((stored) => [stored.intent.id, stored])).values()];
  }

  async #read(
    runs: readonly ListedRun[],
    replaced: ReadonlySet<string>,
    onUnreadable: (workflowId: string, error: UnreadablePayloadError) => void,
  ): Promise<StoredCheckout[]> {
    const { loadedDataConverter } = this.temporal.client.workflow.options;
    const { namespace } = this.temporal.client.options;
    const data: StoredCheckout[] = [];
    for (const raw of runs) {
      if (replaced.has(raw.execution?.runId ?? '')) continue;
      try {
        const stored = toStored(await executionInfoFromRaw(raw, loadedDataConverter, undefined, namespace));
        if (stored !== null) data.push(stored);
      } catch (error) {
        if (!(error instanceof UnreadablePayloadError)) throw error;
        onUnreadable(raw.execution?.workflowId ?? '', error);
      }
    }
    return data;
  }

  /** How many there are. Costs one search, however many they are. */
  async count(query: string): Promise<number> {
    return (await this.#soon('list', () => this.temporal.client.workflow.count(query))).count;
  }

  /**
   * The open checkout that has this charge, or null. A charge is found a moment after its checkout wrote it down.
   * @param chargeId letters, digits and underscores only: it becomes part of a search.
   */
  async findByCharge(
    chargeId: string,
    onUnreadable: (workflowId: string, error: UnreadablePayloadError) => void,
  ): Promise<CheckoutKey | null> {
    const { data } = await this.page(checkoutOfCharge(chargeId), 1, null, onUnreadable, 'hint');
    return data[0]?.intent ?? null;
  }

  /** Asks for the end of an unpaid checkout. */
  cancel(key: CheckoutKey, request: Attributed, withinMs: number): Promise<Asked<CheckoutStatus>> {
    return this.#ask(
      key,
      withinMs,
      (workflow) => workflow.executeUpdate(cancel, { args: [request] }),
      this.#durable(key, (stored) => ({ signal: cancelRequest, args: [request], about: aboutCancel(stored) })),
    );
  }

  /** Asks for attempt `after` + 1; answers with its number. */
  newAttempt(key: CheckoutKey, request: NewAttemptRequest, withinMs: number): Promise<Asked<number>> {
    return this.#ask(
      key,
      withinMs,
      (workflow) => workflow.executeUpdate(newAttempt, { args: [request] }),
      this.#durable(key, (stored) => ({
        signal: newAttemptRequest,
        args: [request],
        about: aboutAttempt(stored, request),
      })),
    );
  }

  /** Asks for money to be given back. */
  refund(key: CheckoutKey, request: RefundRequest, withinMs: number): Promise<Asked<StoredRefund>> {
    return this.#ask(
      key,
      withinMs,
      (workflow) => workflow.executeUpdate(refund, { args: [request] }),
      this.#durable(key, (stored) => ({ signal: refundRequest, args: [request], about: aboutRefund(stored, request) })),
    );
  }

  /**
   * An operator's decision; answers with the status once it was carried out.
   * @throws {UnheardError} when no worker took it in time: a decision is not left waiting for one.
   */
  resolve(key: CheckoutKey, resolution: Resolution, withinMs: number): Promise<Asked<CheckoutStatus>> {
    return this.#ask(
      key,
      withinMs,
      (workflow) => workflow.executeUpdate(resolve, { args: [resolution] }),
      () => Promise.reject(new UnheardError(`No worker took the decision within ${withinMs} ms`)),
    );
  }

  /** @returns false when no open checkout has this key. Durable when it returns true. */
  async hint(key: CheckoutKey, news: Hint): Promise<boolean> {
    try {
      await this.#soon('hint', () => this.#handle(key).signal(hint, news));
      return true;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    }
  }

  /**
   * Sends an update and waits at most `withinMs` for its answer. One without an answer is made durable: an update that
   * no worker has accepted lives in the server's memory only.
   */
  async #ask<T>(
    key: CheckoutKey,
    withinMs: number,
    ask: (workflow: WorkflowHandle) => Promise<T>,
    makeDurable: () => Promise<Undecided>,
  ): Promise<Asked<T>> {
    try {
      const answer = await this.#bounded('write', withinMs, () => ask(this.#handle(key)));
      return { kind: 'answered', answer };
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal !== null) return { kind: 'refused', ...refusal };
      if (isClosed(error)) return { kind: 'closed' };
      // An update that failed for any other reason, such as the end of its run, decides nothing either.
      const isUndecided = isTooSlow(error) || isFullOfUpdates(error) || error instanceof WorkflowUpdateFailedError;
      if (!isUndecided) throw error;
      return await makeDurable().catch(mayHaveHappened);
    }
  }

  /**
   * Sends the signal that asks for the same as an update did, once for what it is about, however often the caller
   * repeats the request. Null: the checkout shows that it has taken the request, or has no use for it.
   */
  #durable<Args extends unknown[]>(
    key: CheckoutKey,
    signalFor: (stored: StoredCheckout) => Omit<OnceSignal<Args>, 'about'> & { about: OnceSignal['about'] | null },
  ): () => Promise<Undecided> {
    return async () => {
      const stored = await this.get(key);
      if (stored.closed) return { kind: 'closed' };
      const { about, ...signal } = signalFor(stored);
      if (about === null) return { kind: 'undecided' };
      try {
        await this.#soon('hint', () => signalOnce(this.temporal, checkoutWorkflowId(key), { ...signal, about }));
        return { kind: 'undecided' };
      } catch (error) {
        if (isClosed(error)) return { kind: 'closed' };
        throw error;
      }
    };
  }

  #soon<T>(lane: Lane, work: () => Promise<T>): Promise<T> {
    const { readWithinMs, hintWithinMs = readWithinMs } = this.options;
    return this.#bounded(lane, lane === 'hint' ? hintWithinMs : readWithinMs, work);
  }

  #handle(key: CheckoutKey): WorkflowHandle {
    return this.temporal.client.workflow.getHandle(checkoutWorkflowId(key));
  }
}

/** The number of Temporal's `PENDING_ACTIVITY_STATE_STARTED`. */
const STARTED = 2;
/** A call to the provider that takes longer says nothing of the engine. Seconds. */
const SLOW_CALL_S = 2;

/** Temporal's own limit of a page. */
const MOST_RUNS = 1_000;

/** A follow-up that was not sent is no proof that nothing happens: the update before it was sent. */
function mayHaveHappened(error: unknown): never {
  if (!hadNoEffect(error)) throw error;
  throw new TooSlowError('Temporal did not confirm the request', { cause: error });
}
