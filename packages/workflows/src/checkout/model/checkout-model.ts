import {
  formatInstant,
  instant,
  parseInstant,
  plus,
  refundableUntil,
  voidableUntil,
  voidRule,
  type CheckoutStatus,
  type Instant,
} from '@tillflow/domain';
import type { ChargeFacts, RefundFacts } from '../activities.js';
import { askerOf, RECONCILED, type Attributed } from '../../shared/requester.js';
import type { Hint, NewAttemptRequest, RefundRequest, Refusal, Resolution } from '../messages.js';
import type { Outcome } from '../../shared/outcome.js';
import {
  toCheckout,
  toRefund,
  type AttemptView,
  type CheckoutIntent,
  type CheckoutResult,
  type CheckoutState,
  type CheckoutView,
  type StoredRefund,
  type TimelineEntry,
} from '../types.js';
import { Charges } from './charges/charges.js';
import type { ModelContext, Due } from './context.js';
import { Timeline, RECONCILIATION } from './timeline.js';
import { MAX_ATTEMPTS } from './limits.js';
import { Opening } from './charges/creation.js';
import { isDisbelieved, saysItDoesNotExist, type Lookup } from '../../shared/lookup.js';
import { emptyState, pack, type Snapshot } from './snapshot.js';
import type { CheckoutPolicy } from '../../shared/policy.js';
import type { Attempt, ModelState, RefundEntry, PendingCall } from './state.js';
import { Refunds } from './refunds/refunds.js';
import type { Step } from './step.js';

export type Refused = { readonly code: Refusal; readonly message: string };

/** Who sends the update by hand may ask for anything. */
const RESOLUTIONS: readonly Resolution['action'][] = ['look', 'adopt', 'abandon'];

/** The last instant of the refund window is still in it. */
const AFTER_THE_LAST_MS = 1;

/** What is shown while it lasts. */
type PassingCode = 'outcome_unknown' | 'expire_refused' | 'worker_late' | 'provider_unreachable';

/**
 * What is known of one checkout, and what is to be done about it. Pure: no clock, no I/O. {@link nextStep} says what is
 * due; whoever does it tells the book what came of it. Only facts from a retrieved charge make it paid.
 */
export class CheckoutModel {
  readonly #state: ModelState;
  readonly #timeline: Timeline;
  readonly #charges: Charges;
  readonly #opening: Opening;
  readonly #refunds: Refunds;

  private constructor(
    readonly intent: CheckoutIntent,
    readonly policy: CheckoutPolicy,
    state: ModelState,
  ) {
    this.#state = state;
    this.#timeline = new Timeline(state);
    const context: ModelContext = { intent, policy, state, timeline: this.#timeline };
    this.#charges = new Charges(context);
    this.#opening = new Opening(context, this.#charges);
    this.#refunds = new Refunds(context, this.#charges);
  }

  /** The customer's time began with the request, however late the first task came. */
  static open(intent: CheckoutIntent, policy: CheckoutPolicy, now: Instant, request?: Attributed): CheckoutModel {
    const model = new CheckoutModel(intent, policy, emptyState());
    model.note(now, 'opened', undefined, askerOf(request));
    model.#opening.open(now, instant(Math.min(parseInstant(intent.created_at), now)), intent.source);
    return model;
  }

  static resume(intent: CheckoutIntent, policy: CheckoutPolicy, state: ModelState): CheckoutModel {
    return new CheckoutModel(intent, policy, state);
  }

  get state(): Readonly<ModelState> {
    return this.#state;
  }

  get attempt(): Readonly<Attempt> {
    return this.#opening.current;
  }

  get timeline(): readonly TimelineEntry[] {
    return this.#state.timeline;
  }

  get chargeIds(): string[] {
    return this.#charges.all.map(({ id }) => id);
  }

  get expiresAt(): Instant {
    return instant(this.attempt.expiresAt);
  }

  /** A customer's money arrived, in time or too late, whatever became of it. */
  get isPaid(): boolean {
    return this.#state.acceptedCharge !== null;
  }

  /** Every charge was seen final, and none can come any more. */
  get isEnded(): boolean {
    const { opening, replacedAttempt } = this.#state;
    return opening === null && replacedAttempt === null && this.#charges.areFinal;
  }

  /** The customer can pay, or never will: what `begin` waits for. */
  get isAnswered(): boolean {
    return this.isPaid || this.#state.opening === null;
  }

  /** Nothing was heard of its first charge yet, and no one waits for anything else. */
  get isJustOpened(): boolean {
    const { opening, attempts, attentions, cancelRequested } = this.#state;
    return (
      opening !== null &&
      opening.stage !== 'unknown' &&
      attempts.length === 1 &&
      attentions.length === 0 &&
      !cancelRequested
    );
  }

  /** Attempt number `number` was made, and a customer can pay it or never will; or it never will be made. */
  isAttemptAnswered(number: number): boolean {
    const { attempts, replacedAttempt } = this.#state;
    return attempts.length >= number ? attempts.length > number || this.isAnswered : replacedAttempt === null;
  }

  get status(): CheckoutStatus {
    const { lateAfter, acceptedCharge } = this.#state;
    if (acceptedCharge === null) return this.#unpaidStatus;
    const given = this.#returnedAmount;
    if (given >= this.intent.amount) return 'refunded';
    // Money that came too late and goes back makes nothing paid: whoever was told of the end may rely on it.
    if (lateAfter !== null && this.policy.latePayment === 'return' && !this.#refunds.wasReturnRefused(acceptedCharge)) {
      return lateAfter;
    }
    return given > 0 ? 'partially_refunded' : 'paid';
  }

  projection(now: Instant): CheckoutState {
    const acceptedCharge = this.#charges.acceptedCharge;
    const paidAt = acceptedCharge === null || acceptedCharge.paidAt === null ? null : instant(acceptedCharge.paidAt);
    const voidable = paidAt === null ? null : voidableUntil(paidAt, voidRule(this.policy.voidDateOffsetMinutes));
    const refundable = paidAt === null ? null : refundableUntil(paidAt);
    const { attempt } = this;
    return {
      status: this.status,
      attempts: this.#state.attempts.map((one) => this.#toAttemptView(one)),
      qr:
        attempt.qr !== null && this.#isPayable(now)
          ? {
              download_uri: attempt.qr.downloadUri,
              raw_data: attempt.qr.rawData,
              expires_at: formatInstant(this.expiresAt),
            }
          : null,
      paid_at: paidAt === null ? null : formatInstant(paidAt),
      refunded_amount: this.#returnedAmount,
      voidable_until:
        voidable !== null && now < voidable && this.#returnedAmount === 0 ? formatInstant(voidable) : null,
      refundable_until: refundable !== null && now <= refundable ? formatInstant(refundable) : null,
      attention: this.#timeline.attention,
      updated_at: formatInstant(now),
    };
  }

  get refunds(): StoredRefund[] {
    return this.#refunds.all.map((entry) => this.#toRefund(entry));
  }

  refund(key: string): StoredRefund | null {
    const entry = this.#refunds.find(key);
    return entry === undefined ? null : this.#toRefund(entry);
  }

  result(now: Instant): CheckoutResult {
    const { refunds, timeline } = this;
    return { checkout: toCheckout(this.intent, this.projection(now)), refunds: refunds.map(toRefund), timeline };
  }

  view(now: Instant): CheckoutView {
    const { silentSince } = this.#state;
    return {
      ...this.result(now),
      provider_silent_since: silentSince === null ? null : formatInstant(instant(silentSince)),
    };
  }

  // --- What people and other systems ask for ---

  requestCancel(now: Instant, request?: Attributed): void {
    // An end that was reported stays what it was reported as.
    if (this.#state.cancelRequested || this.isPaid || this.isEnded) return;
    this.#state.cancelRequested = true;
    this.#state.replacedAttempt = null;
    this.#opening.hurry(now);
    this.note(now, 'cancel_requested', undefined, askerOf(request));
  }

  /** @returns why there can be no attempt after this one; null when there is one, or will be. */
  refuseAttempt({ after }: NewAttemptRequest): Refused | null {
    const { attempts, cancelRequested, reopened } = this.#state;
    const newest = attempts.length;
    if (!Number.isInteger(after) || after < 1 || after > newest) {
      return { code: 'attempt_unknown', message: `The newest attempt is ${newest}` };
    }
    if (after < newest) return null;
    if (this.isPaid) return { code: 'already_paid', message: 'The checkout is paid' };
    if (cancelRequested) return { code: 'checkout_closed', message: 'The checkout was cancelled' };
    if (reopened) return { code: 'checkout_closed', message: 'The checkout had closed before a late payment came' };
    if (newest >= MAX_ATTEMPTS) {
      return { code: 'too_many_attempts', message: `A checkout has at most ${MAX_ATTEMPTS} attempts` };
    }
    return null;
  }

  requestAttempt(now: Instant, request: NewAttemptRequest): void {
    const { after } = request;
    const { attempts, replacedAttempt } = this.#state;
    if (after !== attempts.length || replacedAttempt !== null || this.refuseAttempt({ after }) !== null) return;
    this.#state.replacedAttempt = after;
    this.#opening.hurry(now);
    this.note(now, 'attempt_requested', `after attempt ${after}`, askerOf(request));
  }

  /** @returns why this refund may not be asked for; null when it may, or was already. */
  refuseRefund(now: Instant, request: RefundRequest): Refused | null {
    return this.#refunds.refuse(now, request);
  }

  requestRefund(now: Instant, request: RefundRequest): void {
    if (this.refuseRefund(now, request) === null) this.#refunds.request(now, request);
  }

  /** The same where nobody waits for the answer: a refusal is written down instead. */
  requestRefundUnheard(now: Instant, request: RefundRequest): void {
    const refused = this.refuseRefund(now, request);
    if (refused === null) this.#refunds.request(now, request);
    else this.note(now, 'refund_refused', `${request.key}: ${refused.code}`, askerOf(request));
  }

  /** News of a charge or of all, by a webhook, the event tail or a reconciliation. Only the look that follows is believed. */
  hint(now: Instant, { eventId, eventKey, chargeId = null }: Hint): void {
    // Sent again, as webhooks are: what it can tell is known.
    if (eventKey === 'charge.complete' && this.#isKnownPaid(chargeId)) return;
    if (eventKey === RECONCILIATION) this.note(now, RECONCILIATION, eventId, RECONCILED);
    else this.note(now, 'webhook', `${eventKey} ${eventId}`);
    this.#charges.hint(now, chargeId);
    if (this.#opening.isUnknown) this.#opening.hurry(now);
  }

  refuseResolution(resolution: Resolution): Refused | null {
    if (!RESOLUTIONS.includes(resolution.action)) {
      return { code: 'invalid_resolution', message: `A resolution is one of ${RESOLUTIONS.join(', ')}` };
    }
    if (resolution.reason.trim() === '') return { code: 'invalid_resolution', message: 'A reason is needed' };
    if (resolution.action === 'adopt' && !/^(?:chrg|rfnd)_\w+$/.test(resolution.id)) {
      return { code: 'invalid_resolution', message: 'Only a charge or a refund can be adopted' };
    }
    if (resolution.action === 'abandon' && !this.#hasUnresolved) {
      return { code: 'invalid_resolution', message: 'Nothing is unresolved' };
    }
    return null;
  }

  resolve(now: Instant, resolution: Resolution): void {
    const { action, reason } = resolution;
    const by = askerOf(resolution);
    this.note(now, 'resolve', `${action}${action === 'adopt' ? ` ${resolution.id}` : ''}: ${reason}`, by);
    if (action === 'abandon') {
      this.#opening.abandon(now);
      this.#charges.abandon(now);
      this.#refunds.abandon(now);
      this.#state.attentions = [];
      return;
    }
    this.#charges.retrieveAll(now);
    this.#opening.hurry(now);
    this.#refunds.retryReturns(now, by);
    this.#refunds.hurry(now);
    if (action === 'adopt') {
      if (resolution.id.startsWith('rfnd_')) this.#refunds.adopt(resolution.id);
      else if (this.#charges.find(resolution.id) === undefined) this.#charges.adopt(now, resolution.id);
    }
  }

  // --- What time brings ---

  /** What follows from the time alone. Called before every {@link nextStep}. */
  advanceTo(now: Instant): void {
    this.#opening.stopWhenWithdrawn(now);
    this.#giveWayToNext(now);
    this.#takeLastLook(now);
    this.#refunds.returnLateAndSecondPayments(now);
    this.#refunds.takeNext(now);
    this.#attend(now);
    this.#state.endedAt = this.isEnded ? (this.#state.endedAt ?? now) : null;
  }

  /** The most urgent thing that is due, or how long nothing will be. */
  nextStep(now: Instant): Step {
    const dues = [...this.#opening.due(), ...this.#charges.due(now), ...this.#refunds.due()];
    const due = dues.find(({ at, step }) => step !== undefined && at <= now);
    if (due?.step !== undefined) return due.step;
    const later = [...dues, ...this.#deadlines()].filter(({ at }) => at > now);
    const first = later.reduce<Due | null>((least, one) => (least === null || one.at < least.at ? one : least), null);
    if (first === null) return { do: 'close' };
    return { do: 'wait', until: first.at, why: first.why };
  }

  // --- What came of it ---

  applySource(now: Instant, outcome: Outcome<{ readonly sourceId: string }>): void {
    this.#opening.applySource(now, outcome);
  }

  /** @param inFlightUntil nothing of the call can be under way after this. */
  applyCharge(now: Instant, outcome: Outcome<ChargeFacts>, inFlightUntil: Instant): void {
    this.#opening.applyCharge(now, outcome, inFlightUntil);
  }

  applyExpire(now: Instant, chargeId: string): void {
    this.#charges.wasAskedToExpire(now, chargeId);
  }

  applyRefund(now: Instant, key: string, outcome: Outcome<RefundFacts>, inFlightUntil: Instant): void {
    this.#refunds.answered(now, key, outcome, inFlightUntil);
  }

  applySearch(
    now: Instant,
    retrievedAt: Instant,
    why: 'unknown' | 'late effect',
    found: Lookup<readonly ChargeFacts[]>,
  ): void {
    this.#heard(now, 'seen' in found);
    if ('seen' in found) for (const facts of found.seen) this.#foundOne(now, retrievedAt, facts);
    const { lateEffectCheck } = this.#state;
    if (why === 'unknown') this.#opening.searched(now, retrievedAt, 'seen' in found ? found.seen : null);
    else if ('seen' in found) this.#state.lateEffectCheck = null;
    else if (lateEffectCheck !== null) lateEffectCheck.at = plus(now, this.policy.lateEffectCheckMs);
  }

  applyRetrieve(now: Instant, retrievedAt: Instant, chargeId: string, look: Lookup<ChargeFacts>): void {
    // That there is no such charge is an answer too, and so is one that is not believed.
    this.#heard(now, 'seen' in look || saysItDoesNotExist(look) || isDisbelieved(look));
    if ('seen' in look) {
      this.#applyRetrieved(now, retrievedAt, chargeId, look.seen);
    } else {
      this.#charges.notRetrieved(now, retrievedAt, chargeId, look);
      this.#refunds.notRetrieved(now, chargeId);
    }
  }

  /** What the world has now been told. */
  wasPublished(): void {
    this.#state.reported = this.status;
    this.#state.version += 1;
  }

  note(now: Instant, what: string, detail?: string, by?: string): void {
    this.#timeline.note(now, what, detail, by);
  }

  /** The record as `aftercare` starts with it: what only an open attempt needs is left out. */
  get snapshot(): Snapshot {
    return pack({ ...this.#state, attempts: this.#state.attempts.map((attempt) => ({ ...attempt, qr: null })) });
  }

  #foundOne(now: Instant, retrievedAt: Instant, facts: ChargeFacts): void {
    if (this.#charges.find(facts.chargeId) === undefined) this.#charges.apply(now, facts, null);
    else this.#applyRetrieved(now, retrievedAt, facts.chargeId, facts);
  }

  #applyRetrieved(now: Instant, retrievedAt: Instant, asked: string, facts: ChargeFacts): void {
    const charge = this.#charges.applyRetrieved(now, retrievedAt, asked, facts);
    if (charge?.status === 'successful' && facts.chargeId === charge.id) {
      this.#refunds.applyRetrieved(now, retrievedAt, charge, facts);
    } else {
      this.#refunds.notRetrieved(now, asked);
    }
  }

  #heard(now: Instant, answered: boolean): void {
    this.#state.silentSince = answered ? null : (this.#state.silentSince ?? now);
  }

  /** The next attempt opens when the provider has shown the end of the one before: at most one QR can be paid. */
  #giveWayToNext(now: Instant): void {
    const { replacedAttempt, opening } = this.#state;
    if (replacedAttempt === null || opening !== null || !this.#charges.areFinal) return;
    if (this.isPaid || this.#state.cancelRequested) {
      this.#state.replacedAttempt = null;
      return;
    }
    this.#opening.open(now, now, null);
    this.note(now, 'attempt_opened', `attempt ${this.attempt.number}`);
  }

  /** The books of a payment close with what the provider says then. */
  #takeLastLook(now: Instant): void {
    const acceptedCharge = this.#charges.acceptedCharge;
    if (
      acceptedCharge === null ||
      acceptedCharge.paidAt === null ||
      this.#state.closed ||
      now <= refundableUntil(instant(acceptedCharge.paidAt))
    )
      return;
    this.#state.closed = true;
    acceptedCharge.retrieveAt = now;
  }

  /** What has gone on for too long is shown to operators; it is never turned into a failure. */
  #attend(now: Instant): void {
    const { opening, inProgress, silentSince } = this.#state;
    const isLong = (since: number | null): boolean => since !== null && now - since >= this.policy.attentionAfterMs;
    const show = (code: PassingCode, detail: string | null): void => {
      if (detail === null) this.#timeline.settle(code);
      else this.#timeline.raise(now, code, detail);
    };
    const isUnknown = (call: PendingCall & { stage: string }): boolean => call.wasUnknown || call.stage === 'unknown';
    const charge = opening !== null && isUnknown(opening) && isLong(opening.since);
    const refund = inProgress !== null && isUnknown(inProgress) && isLong(inProgress.since);
    show(
      'outcome_unknown',
      charge
        ? `whether ${this.attempt.sourceId ?? 'the source'} was charged is not known yet`
        : refund
          ? `whether refund ${inProgress.key} was made is not known yet`
          : null,
    );
    const closing = this.#charges.all.find(({ expiringSince }) => isLong(expiringSince));
    show(
      'expire_refused',
      closing === undefined ? null : `the provider keeps ${closing.id} pending: a customer may be confirming`,
    );
    const isWaiting = (call: PendingCall & { stage: string }): boolean =>
      !isUnknown(call) && isLong(call.since) && call.tries > 0;
    const waiting =
      opening !== null && isWaiting(opening)
        ? { for: opening.stage, wasLate: opening.wasLate === true }
        : inProgress !== null && isWaiting(inProgress)
          ? { for: 'refund', wasLate: inProgress.wasLate === true }
          : null;
    show(
      'worker_late',
      waiting?.wasLate === true
        ? `the worker did not send the request for a ${waiting.for} in time, so nothing was sent: its clock or its load`
        : null,
    );
    show(
      'provider_unreachable',
      isLong(silentSince)
        ? 'the provider does not answer'
        : waiting === null || waiting.wasLate
          ? null
          : `the provider takes no ${waiting.for} yet`,
    );
  }

  /** Times at which nothing is to be done but to see that they passed. */
  #deadlines(): Due[] {
    const { opening, inProgress, silentSince, endedAt } = this.#state;
    const { attentionAfterMs, unpaidGraceMs } = this.policy;
    const sinces = [
      opening?.since,
      inProgress?.since,
      silentSince,
      ...this.#charges.all.map(({ expiringSince }) => expiringSince),
    ];
    const attention = sinces.flatMap((since): Due[] =>
      since === null || since === undefined
        ? []
        : [{ at: plus(instant(since), attentionAfterMs), why: 'show it to an operator' }],
    );
    const acceptedCharge = this.#charges.acceptedCharge;
    if (acceptedCharge === null || acceptedCharge.paidAt === null) {
      const grace: Due[] =
        endedAt === null ? [] : [{ at: plus(instant(endedAt), unpaidGraceMs), why: 'stay open for late news' }];
      return [...attention, ...grace];
    }
    const paidAt = instant(acceptedCharge.paidAt);
    const voidable = voidableUntil(paidAt, voidRule(this.policy.voidDateOffsetMinutes));
    return [
      ...attention,
      ...(voidable === null ? [] : [{ at: voidable, why: 'a void is possible' }]),
      { at: plus(refundableUntil(paidAt), AFTER_THE_LAST_MS), why: 'a refund is possible' },
    ];
  }

  get #hasUnresolved(): boolean {
    return this.#opening.isUnknown || this.#refunds.isUnresolved || this.#state.attentions.length > 0;
  }

  #isKnownPaid(chargeId: string | null): boolean {
    const { all } = this.#charges;
    const concerned = chargeId === null ? all : all.filter(({ id }) => id === chargeId);
    return concerned.length > 0 && concerned.every(({ status }) => status === 'successful');
  }

  /** Of the payment that counts, in the smallest currency unit. */
  get #returnedAmount(): number {
    const { acceptedCharge } = this.#charges;
    return acceptedCharge === null ? 0 : this.#refunds.returnedAmount(acceptedCharge);
  }

  /** The provider says something about the charge that is not understood: no one should pay it then. */
  #isPayable(now: Instant): boolean {
    return (
      this.attempt.status === 'pending' &&
      !this.#charges.isWithdrawn(this.attempt, now) &&
      !this.#timeline.has('integrity_mismatch', 'unknown_status')
    );
  }

  get #unpaidStatus(): CheckoutStatus {
    const { attempt } = this;
    const { cancelRequested } = this.#state;
    switch (attempt.status) {
      case 'pending':
      case 'successful':
        return attempt.chargeId === null ? 'creating' : 'awaiting_payment';
      case 'failed':
        return cancelRequested ? 'cancelled' : 'failed';
      case 'expired':
        return cancelRequested ? 'cancelled' : 'expired';
    }
  }

  #toRefund(entry: RefundEntry): StoredRefund {
    const { requestedBy, asked, nonce } = entry;
    return {
      id: entry.id,
      key: entry.key,
      charge_id: entry.chargeId,
      amount: entry.amount,
      currency: this.intent.currency,
      kind: entry.kind,
      status: entry.status,
      reason: entry.reason,
      failure_code: entry.failureCode,
      failure_message: entry.failureMessage,
      created_at: formatInstant(instant(entry.createdAt)),
      ...(requestedBy === undefined ? {} : { requested_by: requestedBy }),
      ...(asked === null ? {} : { asked }),
      ...(nonce === undefined ? {} : { nonce }),
    };
  }

  #toAttemptView(attempt: Attempt): AttemptView {
    const { opening } = this.#state;
    // Told together with its charge: each telling is an event.
    const isOnItsWay = attempt === this.attempt && opening !== null && opening.stage !== 'unknown';
    return {
      number: attempt.number,
      source_id: isOnItsWay ? null : attempt.sourceId,
      charge_id: attempt.chargeId,
      status: attempt.status,
      failure_code: attempt.failureCode,
      failure_message: attempt.failureMessage,
      created_at: formatInstant(instant(attempt.createdAt)),
      expires_at: formatInstant(instant(attempt.expiresAt)),
    };
  }
}
