import { instant, parseInstant, type Instant } from '@tillflow/domain';
import { isDisbelieved, saysItDoesNotExist, type Lookup } from '../../shared/lookup.js';
import type { Outcome } from '../../shared/outcome.js';
import { RECONCILED, requesterOf, type Attributed } from '../../shared/requester.js';
import type { Resolution } from '../../shared/resolution.js';
import type { ChargeFacts, RefundFacts } from '../activities.js';
import type { Hint, NewAttemptRequest, RefundDecision, RefundRequest, Refused } from '../messages.js';
import type { CheckoutPolicy } from '../policy.js';
import type { CheckoutIntent } from '../types.js';
import { deadlinesOf } from './deadlines.js';
import { KnownCheckout } from './known-checkout.js';
import { LASTING_CODES, lastingAttention } from './lasting-attention.js';
import { refuseResolution } from './resolution.js';
import { nextStepOf, type Step } from './schedule.js';
import { emptyState, type ModelState } from './state.js';
import { RECONCILIATION } from './timeline.js';

/** The key of the event that reports a payment, or a failure. */
const COMPLETION = 'charge.complete';

/**
 * Holds the known facts of one checkout, and names its next step. Pure: no clock, no I/O. {@link nextStep} names the
 * step that is due. The workflow carries it out and applies the outcome. Only a charge that the provider shows makes a
 * checkout paid.
 */
export class CheckoutModel extends KnownCheckout {
  readonly #state: ModelState;
  /** The latest call says that an event endpoint waits for the events of checkouts. */
  #isFollowed = false;

  private constructor(
    intent: CheckoutIntent,
    policy: CheckoutPolicy,
    state: ModelState,
    private readonly isAftercare = false,
  ) {
    super(intent, policy, state);
    this.#state = state;
  }

  /** The customer's time starts with the request, even when the first workflow task comes late. */
  static open(intent: CheckoutIntent, policy: CheckoutPolicy, now: Instant, request?: Attributed): CheckoutModel {
    const model = new CheckoutModel(intent, policy, emptyState());
    model.note(now, 'opened', undefined, requesterOf(request));
    model.parts.creation.start(now, instant(Math.min(parseInstant(intent.created_at), now)), intent.source);
    return model;
  }

  static resume(intent: CheckoutIntent, policy: CheckoutPolicy, state: ModelState): CheckoutModel {
    return new CheckoutModel(intent, policy, state);
  }

  /** The same for a run that has continued as aftercare. */
  static aftercare(intent: CheckoutIntent, policy: CheckoutPolicy, state: ModelState): CheckoutModel {
    return new CheckoutModel(intent, policy, state, true);
  }

  // --- Requests of callers, operators and other systems ---

  /** A published end stays as it is. */
  requestCancel(now: Instant, request?: Attributed): void {
    if (this.parts.attempts.isCancelRequested || this.isPaid || this.isEnded) return;
    this.parts.attempts.requestCancel();
    this.parts.creation.continueNow(now);
    this.note(now, 'cancel_requested', undefined, requesterOf(request));
  }

  /** @returns why no attempt can follow attempt `after`; null when one can, or already does. */
  refuseAttempt({ after }: NewAttemptRequest): Refused | null {
    return this.parts.attempts.refuseNext(after);
  }

  requestAttempt(now: Instant, request: NewAttemptRequest): void {
    const { after } = request;
    const isRequested = this.parts.attempts.replaced !== null;
    if (after !== this.attempt.number || isRequested || this.refuseAttempt({ after }) !== null) return;
    this.parts.attempts.requestNext();
    this.parts.creation.continueNow(now);
    this.note(now, 'attempt_requested', `after attempt ${after}`, requesterOf(request));
  }

  /** @returns why this refund is refused; null when it is not, or when it was requested before. */
  refuseRefund(now: Instant, request: RefundRequest): Refused | null {
    return this.parts.refunds.refuse(now, this.parts.charges.accepted, request);
  }

  /** @param limit what the requester may refund of this checkout without a second person; see `Refunds.request` */
  requestRefund(now: Instant, request: RefundRequest, limit: number | null = null): void {
    if (this.refuseRefund(now, request) !== null) return;
    this.parts.refunds.request(now, this.parts.charges.accepted, request, limit);
  }

  /** The same when no caller waits for the answer: a refusal goes into the timeline. */
  requestRefundBySignal(now: Instant, request: RefundRequest, limit: number | null = null): void {
    const refused = this.refuseRefund(now, request);
    if (refused === null) this.requestRefund(now, request, limit);
    else this.note(now, 'refund_refused', `${request.key}: ${refused.code}`, requesterOf(request));
  }

  /** @returns why this decision about a refund is refused; null when it is not, or when it was made before. */
  refuseDecision(now: Instant, decision: RefundDecision, mayApprove: boolean): Refused | null {
    return this.parts.refunds.refuseDecision(now, decision, mayApprove);
  }

  decideRefund(now: Instant, decision: RefundDecision): void {
    this.parts.refunds.decide(now, decision);
  }

  /**
   * A webhook, the event tail or a reconciliation names a charge, or all. Only the retrieve that follows is believed.
   *
   * @param isKept until the charge is known; false: a run of version 0.1 replays without it
   */
  hint(now: Instant, { eventId, eventKey, chargeId = null, transactionId }: Hint, isKept = true): void {
    // The provider repeats webhooks; this one says nothing new.
    if (eventKey === COMPLETION && this.parts.charges.isKnownPaid(chargeId)) return;
    if (eventKey === RECONCILIATION) this.note(now, RECONCILIATION, eventId, { by: RECONCILED });
    else this.note(now, 'webhook', `${eventKey} ${eventId}`);
    this.parts.charges.hint(now, chargeId, { isPayment: eventKey === COMPLETION, transactionId }, isKept);
    if (this.parts.creation.isUnknown) this.parts.creation.continueNow(now);
  }

  refuseResolution(resolution: Resolution): Refused | null {
    const isUnresolved =
      this.parts.creation.isUnknown || this.parts.refunding.isUnresolved || !this.parts.attentions.isEmpty;
    return refuseResolution(resolution, isUnresolved);
  }

  resolve(now: Instant, resolution: Resolution): void {
    const { action, reason } = resolution;
    const requester = requesterOf(resolution);
    this.note(now, 'resolve', `${action}${action === 'adopt' ? ` ${resolution.id}` : ''}: ${reason}`, requester);
    if (action === 'abandon') {
      this.parts.creation.abandon(now);
      this.parts.charges.abandon(now);
      this.parts.refunding.abandon(now);
      this.parts.attentions.settleAll();
      return;
    }
    this.parts.charges.retrieveAll(now);
    this.parts.creation.checkForLateEffectNow(now);
    this.parts.creation.continueNow(now);
    this.parts.returns.retry(now, requester.by);
    this.parts.refunding.lookupNow(now);
    if (resolution.action !== 'adopt') return;
    if (resolution.id.startsWith('rfnd_')) this.parts.refunding.adopt(resolution.id);
    else if (this.parts.charges.find(resolution.id) === undefined) this.parts.unrecognized.addFirst(now, resolution.id);
  }

  // --- The passage of time ---

  /** Applies the changes that only depend on time. Called before every {@link nextStep}. */
  advanceTo(now: Instant): void {
    this.parts.creation.stopWhenWithdrawn(now);
    this.#openNextAttempt(now);
    this.parts.charges.retrieveOneLastTime(now);
    this.parts.returns.request(now);
    this.parts.refunds.advanceTo(now);
    this.parts.refunding.startNext(now);
    const lasting = lastingAttention(this.state, this.policy, now);
    for (const code of LASTING_CODES) {
      const detail = lasting[code];
      if (detail === null) this.parts.attentions.settle(code);
      else this.parts.attentions.raise(now, code, detail);
    }
    this.#state.endedAt = this.isEnded ? (this.#state.endedAt ?? now) : null;
  }

  /** The most urgent step that is due, or how long none is. */
  nextStep(now: Instant): Step {
    const { creation, charges, refunds, refunding } = this.parts;
    const steps = [...creation.due(), ...charges.due(now), ...creation.lateEffectCheckDue(now), ...refunding.due()];
    return nextStepOf([...steps, ...refunds.due()], deadlinesOf(this, this.isAftercare), now);
  }

  // --- The outcomes of steps ---

  applySource(now: Instant, outcome: Outcome<{ readonly sourceId: string }>): void {
    this.parts.creation.applySource(now, outcome);
  }

  /** @param inFlightUntil the call can take no effect after this. */
  applyCharge(now: Instant, outcome: Outcome<ChargeFacts>, inFlightUntil: Instant): void {
    if (outcome.kind === 'done') this.#isFollowed = outcome.value.isFollowed === true;
    if (this.parts.creation.inProgress === null) return;
    const isCreated = outcome.kind === 'done' && this.parts.charges.applyCreated(now, outcome.value) !== null;
    if (!isCreated) this.parts.creation.applyNoCharge(now, outcome, inFlightUntil);
  }

  applyExpire(now: Instant, chargeId: string): void {
    this.parts.charges.applyExpire(now, chargeId);
  }

  applyRefund(now: Instant, key: string, outcome: Outcome<RefundFacts>, inFlightUntil: Instant): void {
    if (outcome.kind === 'done') this.#isFollowed = outcome.value.isFollowed === true;
    this.parts.refunding.applyOutcome(now, key, outcome, inFlightUntil);
  }

  applySearch(
    now: Instant,
    searchedAt: Instant,
    why: 'unknown' | 'late effect',
    search: Lookup<readonly ChargeFacts[]>,
  ): void {
    const isAnswered = 'seen' in search;
    this.#heard(now, isAnswered);
    const found = isAnswered ? search.seen : [];
    for (const facts of found) {
      if (this.parts.charges.find(facts.chargeId) === undefined) this.#applyFound(now, searchedAt, facts);
      else this.#applyRetrieved(now, searchedAt, facts.chargeId, facts);
    }
    if (why === 'late effect') this.parts.creation.applyLateEffectCheck(now, isAnswered);
    else
      this.parts.creation.applySearch(now, searchedAt, isAnswered ? this.parts.charges.resultOf(found) : 'no answer');
  }

  applyRetrieve(now: Instant, retrievedAt: Instant, chargeId: string, retrieved: Lookup<ChargeFacts>): void {
    if ('seen' in retrieved) {
      this.#heard(now, true);
      this.#isFollowed = retrieved.seen.isFollowed === true;
      this.#applyRetrieved(now, retrievedAt, chargeId, retrieved.seen);
      return;
    }
    // An answer counts as an answer even if it is "no such charge", or if the model does not believe it.
    this.#heard(now, saysItDoesNotExist(retrieved) || isDisbelieved(retrieved));
    this.parts.charges.applyMiss(now, retrievedAt, chargeId, retrieved);
    this.parts.refunding.applyMiss(now, chargeId);
  }

  get isFollowed(): boolean {
    return this.#isFollowed;
  }

  /** Called after the memo was written: it now shows the present state of the model, as this version. */
  wasPublished(version = this.#state.published.version + 1): void {
    Object.assign(this.#state.published, { status: this.status, version });
  }

  note(now: Instant, what: string, detail?: string, requester?: Attributed): void {
    this.parts.timeline.note(now, what, detail, requester);
  }

  #applyRetrieved(now: Instant, retrievedAt: Instant, asked: string, facts: ChargeFacts): void {
    const charge = this.parts.charges.applyRetrieved(now, retrievedAt, asked, facts);
    if (charge?.status === 'successful') this.parts.refunding.applyRetrieved(now, retrievedAt, charge, facts);
    else this.parts.refunding.applyMiss(now, asked);
  }

  /** A search shows a charge that the checkout did not have. It may be paid, and refunded elsewhere. */
  #applyFound(now: Instant, searchedAt: Instant, facts: ChargeFacts): void {
    const charge = this.parts.charges.applyFound(now, facts);
    if (charge?.status === 'successful') this.parts.refunding.applyRetrieved(now, searchedAt, charge, facts);
  }

  #heard(now: Instant, isAnswered: boolean): void {
    this.#state.silentSince = isAnswered ? null : (this.#state.silentSince ?? now);
  }

  /** The next attempt opens once the provider has shown the end of the last one: at most one QR can be paid. */
  #openNextAttempt(now: Instant): void {
    const { replaced } = this.parts.attempts;
    if (replaced === null || this.parts.creation.inProgress !== null || !this.parts.charges.areFinal) return;
    if (this.isPaid) {
      this.parts.attempts.withdrawRequestForNext();
      return;
    }
    this.parts.creation.start(now, now, null);
    this.note(now, 'attempt_opened', `attempt ${this.attempt.number}`);
  }
}
