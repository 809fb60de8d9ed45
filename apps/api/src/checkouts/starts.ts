import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { checkoutWorkflowId, type CheckoutKey } from '@tillflow/domain';
import { annotate, CHARGE_ID } from '@tillflow/telemetry';
import { checkoutStart, hadNoEffect, type StoredCheckout } from '@tillflow/temporal';
import { CHECKOUT_WORKFLOW, type CheckoutInput, type CheckoutIntent } from '@tillflow/workflows';
import type { Logger } from 'pino';
import { Problem } from '../problems/problem.js';
import { LOGGER, Settings } from '../providers.js';
import { OVER } from '../shared/over.js';
import { unavailable } from '../temporal/failures.js';
import type { Leave } from '../temporal/gate.js';
import { TemporalAccess } from '../temporal/temporal.provider.js';
import { nameCheckout } from './name-checkout.js';
import { CheckoutChanges } from './checkout-changes.js';
import { CheckoutsRepository } from './checkouts.repository.js';
import { Watches } from './watches.js';

/** Pauses before Tillflow sends an unconfirmed start again. Milliseconds. */
const START_AGAIN_AFTER_MS: readonly number[] = [250, 2_000, 8_000, 20_000];
const START_AGAIN_WITHIN_MS = 5_000;

/**
 * When a start takes longer, the API reads whether it only waits for the provider: sooner, while the provider is slow.
 * Milliseconds.
 */
const LONG_MS = 1_000;
const LONG_AT_SLOW_PROVIDER_MS = 200;
/** A call to the provider is slow after this share of that time; once the request is answered, after this time. */
const SLOW_SHARE = 1 / 2;
const SLOW_AFTER_ANSWER_MS = 2_000;

/** How a request begins a checkout. */
export type CheckoutStart = {
  readonly intent: CheckoutIntent;
  readonly requestNonce: string;
  readonly input: CheckoutInput;
};

/** The result of a request to begin a checkout. */
export type BeginOutcome =
  /** This request opened the checkout, and it has its QR code or has ended. */
  | { readonly kind: 'opened'; readonly checkout: StoredCheckout }
  /** The checkout existed before, open or closed: read it. */
  | { readonly kind: 'there' }
  /** It did not show in time. `mayBegin` is false when Temporal provably did not accept it. */
  | { readonly kind: 'unconfirmed'; readonly mayBegin: boolean; readonly problem: unknown };

/** Starts checkouts in Temporal. A reference has one workflow, so a repeated start is safe. */
@Injectable()
export class CheckoutStarts {
  #longMs = LONG_MS;
  /** The latest read of whether a start waits for the provider. That Temporal takes long holds for all, until then. */
  #latest: { readonly until: number; readonly isTemporal: Promise<boolean> } | null = null;

  constructor(
    private readonly temporal: TemporalAccess,
    private readonly repository: CheckoutsRepository,
    private readonly watches: Watches,
    private readonly changes: CheckoutChanges,
    private readonly settings: Settings,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Starts the checkout and waits for its QR code, at most `withinMs`. It keeps its place at Temporal for as long as
   * Temporal and the workers begin it, so that a slow Temporal does not get ever more work.
   * @throws {Problem} `overloaded`: nothing was sent.
   */
  async begin(start: CheckoutStart, withinMs: number): Promise<BeginOutcome> {
    const { intent } = start;
    nameCheckout(intent);
    const over = new AbortController();
    try {
      const checkout = await this.temporal.whileItGoesOn(
        intent.id,
        withinMs,
        async (leave) => {
          const startedAt = performance.now();
          await this.#start(start);
          this.#leaveAtProvider(intent, leave, over.signal);
          const shown = this.watches.until(intent, ({ state }) => state.status !== 'creating', over.signal);
          // The watch has begun, so it learns how long a QR code takes after this.
          this.changes.announce(intent.id, 'started');
          const opened = await shown;
          if (performance.now() - startedAt < LONG_MS) this.#longMs = LONG_MS;
          return opened;
        },
        () => this.repository.atProviderMs(intent, SLOW_AFTER_ANSWER_MS),
      );
      annotate({ [CHARGE_ID]: checkout.state.attempts.at(-1)?.charge_id ?? undefined });
      return { kind: 'opened', checkout };
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return { kind: 'there' };
      const problem = unavailable(error);
      if (!(problem instanceof Problem) || problem.code === 'overloaded') throw problem;
      return { kind: 'unconfirmed', mayBegin: !hadNoEffect(error), problem };
    } finally {
      over.abort(OVER);
    }
  }

  /**
   * Starts the checkout in the background, after Temporal did not confirm it: the caller has a 202, and may only read.
   */
  beginLater(start: CheckoutStart): void {
    void this.#startUntilConfirmed(start);
  }

  async #startUntilConfirmed(start: CheckoutStart): Promise<void> {
    let failure: unknown;
    for (const pauseMs of START_AGAIN_AFTER_MS) {
      await sleep(pauseMs, undefined, { ref: false });
      try {
        await this.temporal.inBackground('write', START_AGAIN_WITHIN_MS, () => this.#start(start));
        this.changes.announce(start.intent.id, 'started');
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

  /** @throws {WorkflowExecutionAlreadyStartedError} when the reference has a checkout, open or closed. */
  async #start({ intent, requestNonce, input }: CheckoutStart): Promise<void> {
    const { TEMPORAL_TASK_QUEUE: taskQueue } = this.settings.values;
    await this.temporal.client.workflow.start(CHECKOUT_WORKFLOW, {
      ...checkoutStart({ intent, requestNonce }, taskQueue),
      workflowIdConflictPolicy: 'FAIL',
      args: [input],
    });
  }

  /**
   * Frees the place of a start that only waits for the provider: no further start at Temporal would make it slower.
   * @param over the request that starts it was answered
   */
  #leaveAtProvider(key: CheckoutKey, leave: Leave, over: AbortSignal): void {
    if (over.aborted) return;
    const longMs = this.#longMs;
    const check = async (): Promise<void> => {
      const ms = await this.#atProviderMs(key, longMs * SLOW_SHARE);
      if (over.aborted) return;
      if (ms === null) {
        timer = setTimeout(() => void check(), longMs * SLOW_SHARE);
        return;
      }
      if (ms > 0 && longMs === LONG_MS) this.#longMs = LONG_AT_SLOW_PROVIDER_MS;
      leave(ms);
    };
    let timer = setTimeout(() => void check(), longMs);
    over.addEventListener('abort', () => clearTimeout(timer));
  }

  /** While Temporal is what takes long, one start in `ms` reads for all of them: reads would make it slower still. */
  async #atProviderMs(key: CheckoutKey, ms: number): Promise<number | null> {
    const latest = this.#latest;
    if (latest !== null && performance.now() < latest.until && (await latest.isTemporal)) return null;
    const read = this.repository.atProviderMs(key, ms);
    this.#latest = { until: performance.now() + ms, isTemporal: read.then((found) => found === null) };
    return read;
  }
}
