import { Inject, Injectable } from '@nestjs/common';
import { checkoutId, parseCheckoutId, type CheckoutKey, type CheckoutStatus } from '@tillflow/domain';
import {
  CheckoutList,
  Checkouts,
  type RequestResult,
  type CheckoutFilters,
  type ListPage,
  type ListPlace,
  type StoredCheckout,
  type UnreadablePayloadError,
} from '@tillflow/temporal';
import type {
  Attributed,
  Hint,
  NewAttemptRequest,
  RefundDecision,
  RefundRequest,
  StoredRefund,
} from '@tillflow/workflows';
import type { Logger } from 'pino';
import { nameCheckout } from './name-checkout.js';
import { CheckoutChanges, type Change } from './checkout-changes.js';
import { Problem } from '../problems/problem.js';
import { LOGGER, Settings } from '../providers.js';
import { unavailable } from '../temporal/failures.js';
import { LEAST_READ_MS } from '../temporal/request-budget.js';
import { TemporalAccess } from '../temporal/temporal.provider.js';

/** The longest read, however long a request may take. Milliseconds. */
const READ_WITHIN_MS = 5_000;
/**
 * A hint that Temporal has not stored by then is refused, so that the provider sends its webhook again. Milliseconds.
 */
const HINT_WITHIN_MS = 1_300;

/** Checkouts in Temporal: failures become problems, and every request is announced to the watches. */
@Injectable()
export class CheckoutsRepository {
  readonly #checkouts: Checkouts;
  /** For calls that no request waits for. */
  readonly #inBackground: Checkouts;
  /** For reads that will probably show no change. */
  readonly #whileQuiet: Checkouts;

  constructor(
    private readonly temporal: TemporalAccess,
    private readonly settings: Settings,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly changes: CheckoutChanges,
  ) {
    const readWithinMs = Math.min(Math.max(settings.values.ANSWER_WITHIN_MS, LEAST_READ_MS), READ_WITHIN_MS);
    const { account } = settings;
    this.#checkouts = new Checkouts(temporal, {
      account,
      readWithinMs,
      hintWithinMs: HINT_WITHIN_MS,
      bounded: temporal.within,
    });
    this.#inBackground = new Checkouts(temporal, { account, readWithinMs, bounded: temporal.inBackground });
    this.#whileQuiet = new Checkouts(temporal, { account, readWithinMs, bounded: temporal.whileQuiet });
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

  /** Decides about a refund that waits for a second person. */
  decideRefund(key: CheckoutKey, decision: RefundDecision, withinMs: number): Promise<RequestResult<StoredRefund>> {
    return this.#announced(key, () => this.#checkouts.decideRefund(key, decision, withinMs));
  }

  /** @returns true once Temporal has stored the hint; false when no open checkout has this key. */
  async hint(key: CheckoutKey, hint: Hint): Promise<boolean> {
    const { kind } = await this.#announced(
      key,
      () => this.#checkouts.hintNow(key, hint),
      (result) => (result?.kind === 'answered' ? 'changed' : 'messaged'),
    );
    return kind !== 'closed';
  }

  /** @throws {Problem} `not_found`, `checkout_unreadable`, `temporal_unavailable`. */
  async get(key: CheckoutKey): Promise<StoredCheckout> {
    this.#mustBeOwn(key);
    nameCheckout(key);
    return asked(() => this.#checkouts.get(key));
  }

  /**
   * As {@link get}, for streams and links: no request waits for it.
   * @param isQuiet no change is expected: a read that may show one does not wait for this one
   */
  async getInBackground(key: CheckoutKey, isQuiet = false): Promise<StoredCheckout> {
    this.#mustBeOwn(key);
    return asked(() => (isQuiet ? this.#whileQuiet : this.#inBackground).get(key));
  }

  /** Yields the checkout as soon as it has changed: see {@link Checkouts.follow}. */
  follow(key: CheckoutKey, over: AbortSignal): AsyncIterable<StoredCheckout> {
    this.#mustBeOwn(key);
    return this.#inBackground.follow(key, over);
  }

  /** Whether the checkout is at the provider, as far as a read shows it: see {@link Checkouts.atProviderMs}. */
  atProviderMs(key: CheckoutKey, longMs: number): Promise<number | null> {
    return this.#inBackground.atProviderMs(key, longMs).catch(() => null);
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

  /** No account reaches a checkout of another one. @throws {Problem} `not_found` */
  #mustBeOwn({ account }: CheckoutKey): void {
    if (account !== this.settings.account) throw notFound();
  }

  readonly #leaveOut = (workflow: string, err: UnreadablePayloadError): void => {
    this.logger.error({ err, workflow_id: workflow }, 'a checkout cannot be read, and a list leaves it out');
  };

  /** @throws {Problem} `temporal_unavailable`: the change may have happened. The same request again is safe. */
  async #announced<T>(
    key: CheckoutKey,
    work: () => Promise<T>,
    changeOf: (answer: T | undefined) => Change = () => 'changed',
  ): Promise<T> {
    this.#mustBeOwn(key);
    nameCheckout(key);
    let answer: T | undefined;
    try {
      answer = await asked(work);
      return answer;
    } finally {
      this.changes.announce(checkoutId(key), changeOf(answer));
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
  if (key === null) throw notFound();
  return key;
}

function notFound(): Problem {
  return new Problem('not_found', 'No checkout has this id');
}
