import { Inject, Injectable } from '@nestjs/common';
import {
  isGrpcCancelledError,
  isGrpcDeadlineError,
  isGrpcServiceError,
  ServiceError,
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { executionInfoFromRaw } from '@temporalio/client/lib/helpers.js';
import { UnreadablePayloadError } from '@tillflow/temporal';
import { checkoutWorkflowId, formatMoney, type CheckoutKey } from '@tillflow/domain';
import {
  begin,
  BEGIN_UPDATE_ID,
  cancel,
  cancelRequest,
  CHECKOUT_WORKFLOW,
  hint,
  initialState,
  searchAttributes,
  type CheckoutInput,
  type CheckoutIntent,
  type CheckoutMemo,
  type CheckoutState,
  type Hint,
  type TimelineEntry,
} from '@tillflow/workflows';
import type { Logger } from 'pino';
import { LOGGER } from '../logger.provider.js';
import { Problem } from '../problems/problem.js';
import { Settings } from '../settings.provider.js';
import { TemporalAccess, TooSlowError } from '../temporal.provider.js';

/** One checkout as the engine keeps it. */
export type StoredCheckout = {
  readonly intent: CheckoutIntent;
  readonly state: CheckoutState;
  readonly opener: string;
  readonly timeline: readonly TimelineEntry[];
};

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
  ) {}

  /**
   * Starts the checkout, or joins the one that has its reference, and waits for its QR.
   * Returns when it is there or when `withinMs` have passed; which of the two, the checkout read afterwards tells.
   * @throws {Problem} `temporal_unavailable`: it may have started; the same call again is safe.
   */
  async begin(input: CheckoutInput, opener: string, withinMs: number): Promise<void> {
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
      await this.temporal.within(withinMs, () =>
        this.temporal.client.workflow.executeUpdateWithStart(begin, {
          updateId: BEGIN_UPDATE_ID,
          startWorkflowOperation,
        }),
      );
    } catch (error) {
      // Too slow: what became of it is read afterwards. Closed: the checkout of this reference has its end already.
      if (isTooSlow(error) || hasEnded(error)) return;
      throw unavailable(error);
    }
  }

  /**
   * Asks for the end. Returns when it is decided, or when the request is durable and `withinMs` have passed; also when
   * the checkout closed long ago.
   */
  async cancel(key: CheckoutKey, withinMs: number): Promise<void> {
    try {
      await this.temporal.within(withinMs, () => this.#handle(key).executeUpdate(cancel));
    } catch (error) {
      if (hasEnded(error)) return;
      if (!isTooSlow(error)) throw unavailable(error);
      await this.#signal(() => this.#handle(key).signal(cancelRequest));
    }
  }

  /** @returns false when no open checkout has this key. Durable when it returns true. */
  hint(key: CheckoutKey, news: Hint): Promise<boolean> {
    return this.#signal(() => this.#handle(key).signal(hint, news));
  }

  async #signal(send: () => Promise<void>): Promise<boolean> {
    try {
      await this.temporal.within(READ_WITHIN_MS, send);
      return true;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw unavailable(error);
    }
  }

  /** @throws {Problem} `not_found`, `checkout_unreadable`, `temporal_unavailable`. */
  async get(key: CheckoutKey): Promise<StoredCheckout> {
    try {
      const { memo } = await this.temporal.within(READ_WITHIN_MS, () => this.#handle(key).describe());
      return toStored(memo);
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) throw new Problem('not_found', 'No checkout has this id');
      if (error instanceof UnreadablePayloadError) {
        throw new Problem('checkout_unreadable', 'A key of its payloads is missing', { cause: error });
      }
      throw unavailable(error);
    }
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
          data.push(toStored((await executionInfoFromRaw(raw, loadedDataConverter, undefined, namespace)).memo));
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
function toStored(memo: Record<string, unknown> | undefined): StoredCheckout {
  const { intent, state, opener, timeline } = (memo ?? {}) as Partial<CheckoutMemo>;
  if (intent === undefined) throw new Problem('not_found', 'No checkout has this id');
  return { intent, state: state ?? initialState(intent), opener: opener ?? '', timeline: timeline ?? [] };
}

/** The workflow closed before it could answer: what it came to is read from its memo. */
function hasEnded(error: unknown): boolean {
  return (
    error instanceof WorkflowExecutionAlreadyStartedError ||
    error instanceof WorkflowNotFoundError ||
    error instanceof WorkflowUpdateFailedError ||
    grpcCode(error) === NOT_FOUND
  );
}

const DEADLINE_EXCEEDED = 4;
const NOT_FOUND = 5;

function isTooSlow(error: unknown): boolean {
  return (
    error instanceof TooSlowError ||
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
    isGrpcDeadlineError(error) ||
    isGrpcCancelledError(error) ||
    grpcCode(error) === DEADLINE_EXCEEDED
  );
}

function grpcCode(error: unknown): number | null {
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) ? cause.code : null;
}

/** @returns the problem for a failure of Temporal's; anything else is a bug and stays what it is. */
function unavailable(error: unknown): unknown {
  if (grpcCode(error) === null && !(error instanceof ServiceError) && !isTooSlow(error)) return error;
  return new Problem('temporal_unavailable', 'The payment engine does not answer', { retryAfterSeconds: 2 });
}
