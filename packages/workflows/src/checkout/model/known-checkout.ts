import type { RetrieveChargeCall } from '../activities.js';
import { formatInstant, instant, type CheckoutStatus, type Instant } from '@tillflow/domain';
import type { CheckoutPolicy } from '../policy.js';
import {
  toCheckout,
  toRefund,
  type CheckoutIntent,
  type CheckoutResult,
  type CheckoutState,
  type CheckoutView,
  type StoredRefund,
  type TimelineEntry,
} from '../types.js';
import type { Attempt } from './attempts.js';
import { aftercareAtOf } from './deadlines.js';
import { partsOf } from './parts.js';
import { projectionOf, statusOf, toStoredRefund } from './projection.js';
import { toSnapshot, type Snapshot } from './snapshot.js';
import type { ModelState } from './state.js';

/** The known facts of a checkout. Nothing here changes them. */
export class KnownCheckout {
  readonly state: Readonly<ModelState>;
  protected readonly parts: ReturnType<typeof partsOf>;

  protected constructor(
    readonly intent: CheckoutIntent,
    readonly policy: CheckoutPolicy,
    state: ModelState,
  ) {
    this.state = state;
    this.parts = partsOf(intent, policy, state);
  }

  /**
   * The state as `aftercare` starts with it. A paid checkout needs no payment instructions; its payment is in the memo.
   */
  get snapshot(): Snapshot {
    const { attempts } = this.state;
    const list = attempts.list.map((attempt) => ({ ...attempt, instructions: null }));
    return toSnapshot({ ...this.state, attempts: { ...attempts, list } });
  }

  /** It is known when the payment can be paid out. */
  get isPayoutKnown(): boolean {
    return this.state.charges.payment?.payout !== undefined;
  }

  /** The details of a payment that a retrieve of this charge asks for. */
  paymentWanted(chargeId: string): Pick<RetrieveChargeCall, 'payment' | 'transactionId'> {
    if (this.isPayoutKnown) return { payment: 'details' };
    const transactionId = this.parts.charges.find(chargeId)?.hintedTransaction;
    return { payment: 'details and payout', ...(transactionId !== undefined && { transactionId }) };
  }

  get attempt(): Readonly<Attempt> {
    return this.parts.attempts.current;
  }

  get timeline(): readonly TimelineEntry[] {
    return this.parts.timeline.all;
  }

  get chargeIds(): string[] {
    return this.parts.charges.all.map(({ id }) => id);
  }

  get expiresAt(): Instant {
    return instant(this.attempt.expiresAt);
  }

  /** A customer's payment was seen, in time or too late, returned or not. */
  get isPaid(): boolean {
    return this.parts.charges.accepted !== null;
  }

  /** The workflow has seen every charge in a final state, and no further charge can be created. */
  get isEnded(): boolean {
    return (
      this.parts.creation.inProgress === null && this.parts.attempts.replaced === null && this.parts.charges.areFinal
    );
  }

  /** A payment is awaited: neither a payment nor an end was seen. */
  get isAwaiting(): boolean {
    return !this.isPaid && !this.isEnded;
  }

  /** The provider has created the charge, or none will be created: the update `begin` waits for this. */
  get isAnswered(): boolean {
    return this.isPaid || this.parts.creation.inProgress === null;
  }

  /** True only at the start: the first charge is being created, and there is no other fact or request. */
  get isJustOpened(): boolean {
    const { inProgress } = this.parts.creation;
    const isCreating = inProgress !== null && inProgress.stage !== 'unknown';
    return (
      isCreating && this.attempt.number === 1 && this.parts.attentions.isEmpty && !this.parts.attempts.isCancelRequested
    );
  }

  /**
   * The provider has created the charge of attempt `number`, or will not create it, or this attempt will never exist.
   */
  isAttemptAnswered(number: number): boolean {
    const newest = this.attempt.number;
    return newest >= number ? newest > number || this.isAnswered : this.parts.attempts.replaced === null;
  }

  /** The night after the payment has come: the run of a paid checkout continues as aftercare, with a short history. */
  isReadyForAftercare(now: Instant): boolean {
    const at = aftercareAtOf(this);
    return at !== null && now >= at;
  }

  get status(): CheckoutStatus {
    return statusOf(this);
  }

  projection(now: Instant): CheckoutState {
    return projectionOf(this, now);
  }

  get refunds(): StoredRefund[] {
    return this.parts.refunds.all.map((entry) => toStoredRefund(entry, this.intent));
  }

  refund(key: string): StoredRefund | null {
    const entry = this.parts.refunds.find(key);
    return entry === undefined ? null : toStoredRefund(entry, this.intent);
  }

  result(now: Instant): CheckoutResult {
    const { refunds, timeline } = this;
    return {
      checkout: toCheckout(this.intent, this.projection(now), timeline),
      refunds: refunds.map(toRefund),
      timeline,
    };
  }

  view(now: Instant): CheckoutView {
    const { silentSince } = this.state;
    const silent = silentSince === null ? null : formatInstant(instant(silentSince));
    return { ...this.result(now), provider_silent_since: silent };
  }
}
