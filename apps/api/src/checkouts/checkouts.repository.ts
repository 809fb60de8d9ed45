import { Inject, Injectable } from '@nestjs/common';
import {
  WithStartWorkflowOperation,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  type WorkflowExecutionInfo,
  type WorkflowHandle,
} from '@temporalio/client';
import { executionInfoFromRaw } from '@temporalio/client/lib/helpers.js';
import { UnreadablePayloadError } from '@tillflow/temporal';
import { checkoutId, checkoutWorkflowId, formatMoney, type CheckoutKey, type CheckoutStatus } from '@tillflow/domain';
import {
  AFTERCARE_WORKFLOW,
  begin,
  BEGIN_UPDATE_ID,
  cancel,
  cancelRequest,
  CHECKOUT_WORKFLOW,
  hint,
  initialState,
  newAttempt,
  newAttemptRequest,
  refund,
  refundRequest,
  searchAttributes,
  type CheckoutInput,
  type CheckoutIntent,
  type CheckoutMemo,
  type CheckoutState,
  type Hint,
  type NewAttemptRequest,
  type Refund,
  type RefundRequest,
  type TimelineEntry,
} from '@tillflow/workflows';
import type { Logger } from 'pino';
import { LOGGER } from '../logger.provider.js';
import { Problem } from '../problems/problem.js';
import { Settings } from '../settings.provider.js';
import { TemporalAccess } from '../temporal.provider.js';
import { CheckoutNews } from './news.js';
import { isClosed, isTooSlow, refusalOf, unavailable, type RefusalCode } from './temporal-failures.js';

/** One checkout as the engine keeps it. */
export type StoredCheckout = {
  readonly intent: CheckoutIntent;
  readonly state: CheckoutState;
  readonly opener: string;
  readonly timeline: readonly TimelineEntry[];
  readonly refunds: readonly Refund[];
  /** Grows with each change; 0 until the first report. */
  readonly version: number;
  /** Its workflow takes no message any more: nothing will change. */
  readonly closed: boolean;
};

/** What became of a request to a checkout's workflow. */
export type Asked<T> =
  | { readonly kind: 'answered'; readonly answer: T }
  /** Nothing was changed. */
  | { readonly kind: 'refused'; readonly code: RefusalCode; readonly reason: string }
  /** The request is durable, and its outcome not known yet. */
  | { readonly kind: 'undecided' }
  /** The workflow had closed: nothing was changed. */
  | { readonly kind: 'closed' };

export type StoredPage = { readonly data: readonly StoredCheckout[]; readonly nextPageToken: Uint8Array | null };

/** A read is answered from the server's memory; more than this and it is down. */
const READ_WITHIN_MS = 1_300;

/** Checkouts as Temporal keeps them: one workflow each, read from its memo, so that no worker is needed. */
@Injectable()
export class CheckoutsRepository {
  constructor(
    private readonly temporal: TemporalAccess,
    private readonly settings: Settings,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly news: CheckoutNews,
  ) {}

  /**
   * Starts the checkout, or joins the one that has its reference, and waits for its QR.
   * Returns when it is there or when `withinMs` have passed; which of the two, the checkout tells.
   * @returns the checkout, when it is ours and new; null when it is to be read.
   * @throws {Problem} `temporal_unavailable`: it may have started; the same call again is safe.
   */
  async begin(input: CheckoutInput, opener: string, withinMs: number): Promise<StoredCheckout | null> {
    const { intent } = input;
    const startWorkflowOperation = new WithStartWorkflowOperation(CHECKOUT_WORKFLOW, {
      workflowId: checkoutWorkflowId(intent),
      taskQueue: this.settings.values.TEMPORAL_TASK_QUEUE,
      args: [input],
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      memo: { intent, opener } satisfies CheckoutMemo,
      typedSearchAttributes: [
        { key: searchAttributes.status, value: 'awaiting_payment' },
        { key: searchAttributes.reference, value: intent.reference },
        { key: searchAttributes.currency, value: intent.currency },
        { key: searchAttributes.amount, value: intent.amount },
        { key: searchAttributes.createdAt, value: new Date(intent.created_at) },
        ...(intent.terminal === null ? [] : [{ key: searchAttributes.terminal, value: intent.terminal }]),
      ],
      staticSummary: `${formatMoney(intent)} for ${intent.reference}`,
    });
    try {
      const begun = await this.temporal.within(withinMs, () =>
        this.temporal.client.workflow.executeUpdateWithStart(begin, {
          updateId: BEGIN_UPDATE_ID,
          startWorkflowOperation,
        }),
      );
      // The first answer is repeated for ever: only to the one who opened it, it is no old news.
      if (begun.opener !== opener) return null;
      return { intent, opener, state: begun.state, timeline: [], refunds: [], version: 1, closed: false };
    } catch (error) {
      // Too slow: what became of it is read afterwards. Closed: the checkout of this reference has its end already.
      if (isTooSlow(error) || isClosed(error) || error instanceof WorkflowUpdateFailedError) return null;
      throw unavailable(error);
    } finally {
      this.news.announce(intent.id);
    }
  }

  /** Asks for the end of an unpaid checkout. */
  cancel(key: CheckoutKey, withinMs: number): Promise<Asked<CheckoutStatus>> {
    return this.#ask(
      key,
      withinMs,
      (workflow) => workflow.executeUpdate(cancel),
      (workflow) => workflow.signal(cancelRequest),
    );
  }

  /** Asks for attempt `after` + 1; answers with its number. */
  newAttempt(key: CheckoutKey, request: NewAttemptRequest, withinMs: number): Promise<Asked<number>> {
    return this.#ask(
      key,
      withinMs,
      (workflow) => workflow.executeUpdate(newAttempt, { args: [request] }),
      (workflow) => workflow.signal(newAttemptRequest, request),
    );
  }

  /** Asks for money to be given back. */
  refund(key: CheckoutKey, request: RefundRequest, withinMs: number): Promise<Asked<Refund>> {
    return this.#ask(
      key,
      withinMs,
      (workflow) => workflow.executeUpdate(refund, { args: [request] }),
      (workflow) => workflow.signal(refundRequest, request),
    );
  }

  /** @returns false when no open checkout has this key. Durable when it returns true. */
  hint(key: CheckoutKey, news: Hint): Promise<boolean> {
    return this.#signal(key, (workflow) => workflow.signal(hint, news));
  }

  /**
   * Sends an update and waits at most `withinMs` for its answer. One without an answer is followed by the signal that
   * asks for the same: an update that no worker has accepted lives in the server's memory only.
   * @throws {Problem} `temporal_unavailable`: it may have happened; the same request again is safe.
   */
  async #ask<T>(
    key: CheckoutKey,
    withinMs: number,
    ask: (workflow: WorkflowHandle) => Promise<T>,
    makeDurable: (workflow: WorkflowHandle) => Promise<void>,
  ): Promise<Asked<T>> {
    try {
      return { kind: 'answered', answer: await this.temporal.within(withinMs, () => ask(this.#handle(key))) };
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal !== null) return { kind: 'refused', ...refusal };
      if (isClosed(error)) return { kind: 'closed' };
      // An update that failed for any other reason, such as the end of its run, decides nothing either.
      if (!isTooSlow(error) && !(error instanceof WorkflowUpdateFailedError)) throw unavailable(error);
      return { kind: (await this.#signal(key, makeDurable)) ? 'undecided' : 'closed' };
    } finally {
      this.news.announce(checkoutId(key));
    }
  }

  async #signal(key: CheckoutKey, send: (workflow: WorkflowHandle) => Promise<void>): Promise<boolean> {
    try {
      await this.temporal.within(READ_WITHIN_MS, () => send(this.#handle(key)));
      this.news.announce(checkoutId(key));
      return true;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw unavailable(error);
    }
  }

  /** @throws {Problem} `not_found`, `checkout_unreadable`, `temporal_unavailable`. */
  async get(key: CheckoutKey): Promise<StoredCheckout> {
    try {
      return toStored(await this.temporal.within(READ_WITHIN_MS, () => this.#handle(key).describe()));
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) throw new Problem('not_found', 'No checkout has this id');
      if (error instanceof UnreadablePayloadError) {
        throw new Problem('checkout_unreadable', 'A key of its payloads is missing', { cause: error });
      }
      throw unavailable(error);
    }
  }

  /**
   * The open checkout that has this charge, or null. A charge is found a moment after its checkout wrote it down.
   * @param chargeId letters, digits and underscores only: it becomes part of a search.
   */
  async findByCharge(chargeId: string): Promise<CheckoutKey | null> {
    const query = [
      `WorkflowType IN ('${CHECKOUT_WORKFLOW}', '${AFTERCARE_WORKFLOW}')`,
      `ExecutionStatus = 'Running'`,
      `${searchAttributes.chargeId.name} = '${chargeId}'`,
    ].join(' AND ');
    const { data } = await this.list(query, 1, null);
    return data[0]?.intent ?? null;
  }

  async has(key: CheckoutKey): Promise<boolean> {
    try {
      await this.get(key);
      return true;
    } catch (error) {
      if (error instanceof Problem && error.code === 'not_found') return false;
      throw error;
    }
  }

  /**
   * One page in the order of the server: open ones first, then closed, the newest first in each. One that cannot be
   * read is logged and left out: the others are worth reading.
   */
  async list(query: string, pageSize: number, nextPageToken: Uint8Array | null): Promise<StoredPage> {
    const { connection, client } = this.temporal;
    const { namespace } = client.options;
    try {
      const page = await this.temporal.within(READ_WITHIN_MS, () =>
        connection.workflowService.listWorkflowExecutions({
          namespace,
          query,
          pageSize,
          ...(nextPageToken === null ? {} : { nextPageToken }),
        }),
      );
      const data: StoredCheckout[] = [];
      for (const raw of page.executions) {
        try {
          const { loadedDataConverter } = client.workflow.options;
          data.push(toStored(await executionInfoFromRaw(raw, loadedDataConverter, undefined, namespace)));
        } catch (error) {
          if (!(error instanceof UnreadablePayloadError)) throw error;
          const workflow = raw.execution?.workflowId;
          this.logger.error({ err: error, workflow }, 'a checkout cannot be read and is left out of a list');
        }
      }
      return { data, nextPageToken: page.nextPageToken.length > 0 ? page.nextPageToken : null };
    } catch (error) {
      throw unavailable(error);
    }
  }

  #handle(key: CheckoutKey) {
    return this.temporal.client.workflow.getHandle(checkoutWorkflowId(key));
  }
}

/** The memo is written by this product alone; a workflow without it is none of our checkouts. */
function toStored({ memo, status }: Pick<WorkflowExecutionInfo, 'memo' | 'status'>): StoredCheckout {
  const { intent, state, opener, timeline, refunds, version } = (memo ?? {}) as Partial<CheckoutMemo>;
  if (intent === undefined) throw new Problem('not_found', 'No checkout has this id');
  return {
    intent,
    state: state ?? initialState(intent),
    opener: opener ?? '',
    timeline: timeline ?? [],
    refunds: refunds ?? [],
    version: version ?? 0,
    closed: status.name !== 'RUNNING',
  };
}
