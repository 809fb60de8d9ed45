import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import {
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import {
  checkoutId,
  checkoutWorkflowId,
  DEFAULT_ACCOUNT,
  parseCheckoutId,
  type CheckoutKey,
  type CheckoutStatus,
} from '@tillflow/domain';
import { addCorrelation } from '@tillflow/telemetry';
import {
  CheckoutList,
  Checkouts,
  checkoutStart,
  hadNoEffect,
  isClosed,
  type RequestResult,
  type CheckoutFilters,
  type ListPage,
  type ListPlace,
  type StoredCheckout,
  type UnreadablePayloadError,
} from '@tillflow/temporal';
import {
  begin,
  BEGIN_UPDATE_ID,
  CHECKOUT_WORKFLOW,
  type Attributed,
  type CheckoutInput,
  type CheckoutIntent,
  type Hint,
  type NewAttemptRequest,
  type RefundRequest,
  type StoredRefund,
} from '@tillflow/workflows';
import type { Logger } from 'pino';
import { CheckoutChanges } from './checkout-changes.js';
import { Problem } from '../problems/problem.js';
import { LOGGER, Settings } from '../providers.js';
import { unavailable } from '../temporal/failures.js';
import { LEAST_READ_MS } from '../temporal/request-budget.js';
import { TemporalAccess } from '../temporal/temporal.provider.js';

/** The longest read, however long a request may take. Milliseconds. */
const READ_WITHIN_MS = 5_000;
/** A hint that Temporal has not stored by then is refused, so that the provider sends its webhook again. Milliseconds. */
const HINT_WITHIN_MS = 1_300;

/** Pauses before Tillflow sends an unconfirmed start again. Milliseconds. */
const START_AGAIN_AFTER_MS: readonly number[] = [250, 2_000, 8_000, 20_000];
const START_AGAIN_WITHIN_MS = 5_000;

/** How a request begins a checkout. */
export type CheckoutStart = {
  readonly intent: CheckoutIntent;
  readonly requestNonce: string;
  readonly input: CheckoutInput;
};

/** The result of a request to begin a checkout. */
export type BeginOutcome =
  /** This request opened the checkout. */
  | { readonly kind: 'opened'; readonly checkout: StoredCheckout }
  /** The checkout existed before, open or closed: read it. */
  | { readonly kind: 'there' }
  /** Temporal did not confirm the start. `mayBegin` is false when Temporal provably did not accept it. */
  | { readonly kind: 'unconfirmed'; readonly mayBegin: boolean; readonly problem: unknown };

/** Checkouts in Temporal: failures become problems, and every request is announced to the watches. */
@Injectable()
export class CheckoutsRepository {
  readonly #checkouts: Checkouts;
  /** For calls that no request waits for. */
  readonly #inBackground: Checkouts;

  constructor(
    private readonly temporal: TemporalAccess,
    private readonly settings: Settings,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly changes: CheckoutChanges,
  ) {
    const readWithinMs = Math.min(Math.max(settings.values.ANSWER_WITHIN_MS, LEAST_READ_MS), READ_WITHIN_MS);
    this.#checkouts = new Checkouts(temporal, {
      readWithinMs,
      hintWithinMs: HINT_WITHIN_MS,
      bounded: temporal.within,
    });
    this.#inBackground = new Checkouts(temporal, { readWithinMs, bounded: temporal.inBackground });
  }

  /**
   * Starts the checkout, or joins the one with the same reference, and waits for its QR code, at most `withinMs`.
   * @throws {Problem} `overloaded`: nothing was sent.
   */
  async begin(start: CheckoutStart, withinMs: number): Promise<BeginOutcome> {
    const { intent, requestNonce } = start;
    addCorrelation({ workflow_id: checkoutWorkflowId(intent) });
    const startWorkflowOperation = new WithStartWorkflowOperation(CHECKOUT_WORKFLOW, this.#optionsOf(start));
    try {
      const begun = await this.temporal.whileItGoesOn(
        withinMs,
        () =>
          this.temporal.client.workflow.executeUpdateWithStart(begin, {
            updateId: BEGIN_UPDATE_ID,
            startWorkflowOperation,
          }),
        async () => !(await this.#inBackground.isBeginning(intent).catch(() => true)),
      );
      // Temporal repeats the first answer for ever: it is current only for the request that opened the checkout.
      if (begun.requestNonce !== requestNonce) return { kind: 'there' };
      const checkout = {
        intent,
        requestNonce,
        state: begun.state,
        timeline: [],
        refunds: [],
        version: begun.version,
        closed: false,
      };
      return { kind: 'opened', checkout };
    } catch (error) {
      if (isClosed(error) || error instanceof WorkflowUpdateFailedError) return { kind: 'there' };
      const problem = unavailable(error);
      if (!(problem instanceof Problem) || problem.code === 'overloaded') throw problem;
      return { kind: 'unconfirmed', mayBegin: !hadNoEffect(error), problem };
    } finally {
      this.changes.announce(intent.id);
    }
  }

  /**
   * Starts the checkout again, in the background, after Temporal did not confirm the start: the caller has a 202, and may
   * only poll. A repeated start is safe, because a reference has one workflow.
   */
  startLater(start: CheckoutStart): void {
    void this.#startUntilConfirmed(start);
  }

  async #startUntilConfirmed(start: CheckoutStart): Promise<void> {
    let failure: unknown;
    for (const pauseMs of START_AGAIN_AFTER_MS) {
      await sleep(pauseMs, undefined, { ref: false });
      try {
        await this.temporal.inBackground('write', START_AGAIN_WITHIN_MS, () =>
          this.temporal.client.workflow.start(CHECKOUT_WORKFLOW, this.#optionsOf(start)),
        );
        this.changes.announce(start.intent.id);
        return;
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError) return;
        failure = error;
      }
    }
    this.logger.error(
      { err: failure, workflow_id: checkoutWorkflowId(start.intent) },
      'a checkout could not be started',
    );
  }

  #optionsOf({ intent, requestNonce, input }: CheckoutStart) {
    const { TEMPORAL_TASK_QUEUE: taskQueue } = this.settings.values;
    return { ...checkoutStart({ intent, requestNonce }, taskQueue), args: [input] };
  }

  /** Requests the end of an unpaid checkout. */
  cancel(key: CheckoutKey, request: Attributed, withinMs: number): Promise<RequestResult<CheckoutStatus>> {
    return this.#announced(key, () => this.#checkouts.cancel(key, request, withinMs));
  }

  /** Requests attempt `after` + 1, and answers with its number. */
  newAttempt(key: CheckoutKey, request: NewAttemptRequest, withinMs: number): Promise<RequestResult<number>> {
    return this.#announced(key, () => this.#checkouts.newAttempt(key, request, withinMs));
  }

  /** Requests a refund. */
  refund(key: CheckoutKey, request: RefundRequest, withinMs: number): Promise<RequestResult<StoredRefund>> {
    return this.#announced(key, () => this.#checkouts.refund(key, request, withinMs));
  }

  /** @returns true once Temporal has stored the hint; false when no open checkout has this key. */
  hint(key: CheckoutKey, hint: Hint): Promise<boolean> {
    return this.#announced(key, () => this.#checkouts.hint(key, hint));
  }

  /** @throws {Problem} `not_found`, `checkout_unreadable`, `temporal_unavailable`. */
  get(key: CheckoutKey): Promise<StoredCheckout> {
    addCorrelation({ workflow_id: checkoutWorkflowId(key) });
    return asked(() => this.#checkouts.get(key));
  }

  /** As {@link get}, for streams and links: no request waits for it. */
  getInBackground(key: CheckoutKey): Promise<StoredCheckout> {
    return asked(() => this.#inBackground.get(key));
  }

  /**
   * The open checkout with this charge, or null. Temporal's search finds a new charge after a moment.
   * @param chargeId letters, digits and underscores only: it becomes part of a search.
   */
  findByCharge(chargeId: string): Promise<CheckoutKey | null> {
    return asked(() => this.#checkouts.findByCharge(chargeId, this.#leaveOut));
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

  /** One page of the checkouts that match. @param place null: the first page */
  list(filters: CheckoutFilters, limit: number, place: ListPlace | null): Promise<ListPage> {
    return asked(() => new CheckoutList(this.#checkouts, filters, this.#leaveOut).page(limit, place));
  }

  readonly #leaveOut = (workflow: string, err: UnreadablePayloadError): void => {
    this.logger.error({ err, workflow_id: workflow }, 'a checkout cannot be read, and a list leaves it out');
  };

  /** @throws {Problem} `temporal_unavailable`: the change may have happened. The same request again is safe. */
  async #announced<T>(key: CheckoutKey, work: () => Promise<T>): Promise<T> {
    addCorrelation({ workflow_id: checkoutWorkflowId(key) });
    try {
      return await asked(work);
    } finally {
      this.changes.announce(checkoutId(key));
    }
  }
}

async function asked<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw unavailable(error);
  }
}

/** @throws {Problem} `not_found` when the text is not the id of a checkout. */
export function keyOf(id: string): CheckoutKey {
  const key = parseCheckoutId(id);
  if (key === null || key.account !== DEFAULT_ACCOUNT) throw new Problem('not_found', 'No checkout has this id');
  return key;
}
