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
import { askerOf, RECONCILED, type Attributed } from '../asker.js';
import type { Hint, NewAttemptRequest, RefundRequest, Refusal, Resolution } from '../messages.js';
import type { Outcome } from '../outcome.js';
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
} from '../view.js';
import { Charges } from './charges.js';
import type { BookContext, Due } from './context.js';
import { Journal, RECONCILIATION } from './journal.js';
import { MAX_ATTEMPTS } from './limits.js';
import { Opening } from './opening.js';
import { isDisbelieved, saysThereIsNone, type Seen } from './seen.js';
import { emptyRecord, pack, type PackedRecord } from './packed.js';
import type { CheckoutPolicy } from './policy.js';
import type { Attempt, CheckoutRecord, RefundEntry, Resolving } from './record.js';
import { Refunds } from './refunds.js';
import type { Step } from './step.js';

export type Refused = { readonly code: Refusal; readonly message: string };

/** Who sends the update by hand may ask for anything. */
const RESOLUTIONS: readonly Resolution['action'][] = ['look', 'adopt', 'abandon'];

/** The last instant of the refund window is still in it. */
const AFTER_THE_LAST_MS = 1;

/** What is shown while it lasts. */
type PassingCode = 'outcome_unknown' | 'expire_refused' | 'worker_late' | 'provider_unreachable';

/**
 * What is known of one checkout, and what is to be done about it. Pure: no clock, no I/O. {@link next} says what is
 * due; whoever does it tells the book what came of it. Only facts from a retrieved charge make it paid.
 */
export class CheckoutBook {
  readonly #record: CheckoutRecord;
  readonly #journal: Journal;
  readonly #charges: Charges;
  readonly #opening: Opening;
  readonly #refunds: Refunds;

  private constructor(
    readonly intent: CheckoutIntent,
    readonly policy: CheckoutPolicy,
    record: CheckoutRecord,
  ) {
    this.#record = record;
    this.#journal = new Journal(record);
    const context: BookContext = { intent, policy, record, journal: this.#journal };
    this.#charges = new Charges(context);
    this.#opening = new Opening(context, this.#charges);
    this.#refunds = new Refunds(context, this.#charges);
  }

  /** The customer's time began with the request, however late the first task came. */
  static open(intent: CheckoutIntent, policy: CheckoutPolicy, now: Instant, request?: Attributed): CheckoutBook {
    const book = new CheckoutBook(intent, policy, emptyRecord());
    book.note(now, 'opened', undefined, askerOf(request));
    book.#opening.open(now, instant(Math.min(parseInstant(intent.created_at), now)), intent.source);
    return book;
  }

  static resume(intent: CheckoutIntent, policy: CheckoutPolicy, record: CheckoutRecord): CheckoutBook {
    return new CheckoutBook(intent, policy, record);
  }

  get record(): Readonly<CheckoutRecord> {
    return this.#record;
  }

  get attempt(): Readonly<Attempt> {
    return this.#opening.current;
  }

  get timeline(): readonly TimelineEntry[] {
    return this.#record.timeline;
  }

  get chargeIds(): string[] {
    return this.#charges.all.map(({ id }) => id);
  }

  get expiresAt(): Instant {
    return instant(this.attempt.expiresAt);
  }

  /** A customer's money arrived, in time or too late, whatever became of it. */
  get isPaid(): boolean {
    return this.#record.kept !== null;
  }

  /** Every charge was seen final, and none can come any more. */
  get isEnded(): boolean {
    const { opening, superseded } = this.#record;
    return opening === null && superseded === null && this.#charges.areFinal;
  }

  /** The customer can pay, or never will: what `begin` waits for. */
  get isAnswered(): boolean {
    return this.isPaid || this.#record.opening === null;
  }

  /** Nothing was heard of its first charge yet, and no one waits for anything else. */
  get isJustOpened(): boolean {
    const { opening, attempts, attentions, cancelRequested } = this.#record;
    return (
      opening !== null &&
      opening.stage !== 'doubt' &&
      attempts.length === 1 &&
      attentions.length === 0 &&
      !cancelRequested
    );
  }

  /** Attempt number `number` was made, and a customer can pay it or never will; or it never will be made. */
  isAttemptAnswered(number: number): boolean {
    const { attempts, superseded } = this.#record;
    return attempts.length >= number ? attempts.length > number || this.isAnswered : superseded === null;
  }

  get status(): CheckoutStatus {
    const { lateAfter, kept } = this.#record;
    if (kept === null) return this.#unpaidStatus;
    const given = this.#givenBack;
    if (given >= this.intent.amount) return 'refunded';
    // Money that came too late and goes back makes nothing paid: whoever was told of the end may rely on it.
    if (lateAfter !== null && this.policy.latePayment === 'return' && !this.#refunds.wasReturnRefused(kept)) {
      return lateAfter;
    }
    return given > 0 ? 'partially_refunded' : 'paid';
  }

  state(now: Instant): CheckoutState {
    const kept = this.#charges.kept;
    const paidAt = kept === null || kept.paidAt === null ? null : instant(kept.paidAt);
    const voidable = paidAt === null ? null : voidableUntil(paidAt, voidRule(this.policy.voidDateOffsetMinutes));
    const refundable = paidAt === null ? null : refundableUntil(paidAt);
    const { attempt } = this;
    return {
      status: this.status,
      attempts: this.#record.attempts.map((one) => this.#toAttemptView(one)),
      qr:
        attempt.qr !== null && this.#isPayable(now)
          ? {
              download_uri: attempt.qr.downloadUri,
              raw_data: attempt.qr.rawData,
              expires_at: formatInstant(this.expiresAt),
            }
          : null,
      paid_at: paidAt === null ? null : formatInstant(paidAt),
      refunded_amount: this.#givenBack,
      voidable_until: voidable !== null && now < voidable && this.#givenBack === 0 ? formatInstant(voidable) : null,
      refundable_until: refundable !== null && now <= refundable ? formatInstant(refundable) : null,
      attention: this.#journal.attention,
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
    return { checkout: toCheckout(this.intent, this.state(now)), refunds: refunds.map(toRefund), timeline };
  }

  view(now: Instant): CheckoutView {
    const { silentSince } = this.#record;
    return {
      ...this.result(now),
      provider_silent_since: silentSince === null ? null : formatInstant(instant(silentSince)),
    };
  }

  // --- What people and other systems ask for ---

  requestCancel(now: Instant, request?: Attributed): void {
    // An end that was reported stays what it was reported as.
    if (this.#record.cancelRequested || this.isPaid || this.isEnded) return;
    this.#record.cancelRequested = true;
    this.#record.superseded = null;
    this.#opening.hurry(now);
    this.note(now, 'cancel_requested', undefined, askerOf(request));
  }

  /** @returns why there can be no attempt after this one; null when there is one, or will be. */
  refuseAttempt({ after }: NewAttemptRequest): Refused | null {
    const { attempts, cancelRequested, reopened } = this.#record;
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
    const { attempts, superseded } = this.#record;
    if (after !== attempts.length || superseded !== null || this.refuseAttempt({ after }) !== null) return;
    this.#record.superseded = after;
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
    if (this.#opening.isInDoubt) this.#opening.hurry(now);
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
      this.#record.attentions = [];
      return;
    }
    this.#charges.lookAtAll(now);
    this.#opening.hurry(now);
    this.#refunds.retryReturns(now, by);
    this.#refunds.hurry(now);
    if (action === 'adopt') {
      if (resolution.id.startsWith('rfnd_')) this.#refunds.adopt(resolution.id);
      else if (this.#charges.find(resolution.id) === undefined) this.#charges.adopt(now, resolution.id);
    }
  }

  // --- What time brings ---

  /** What follows from the time alone. Called before every {@link next}. */
  advance(now: Instant): void {
    this.#opening.stopWhenWithdrawn(now);
    this.#giveWayToNext(now);
    this.#takeLastLook(now);
    this.#refunds.returnWhatIsNotOurs(now);
    this.#refunds.takeNext(now);
    this.#attend(now);
    this.#record.endedAt = this.isEnded ? (this.#record.endedAt ?? now) : null;
  }

  /** The most urgent thing that is due, or how long nothing will be. */
  next(now: Instant): Step {
    const dues = [...this.#opening.due(), ...this.#charges.due(now), ...this.#refunds.due()];
    const due = dues.find(({ at, step }) => step !== undefined && at <= now);
    if (due?.step !== undefined) return due.step;
    const later = [...dues, ...this.#deadlines()].filter(({ at }) => at > now);
    const first = later.reduce<Due | null>((least, one) => (least === null || one.at < least.at ? one : least), null);
    if (first === null) return { do: 'close' };
    return { do: 'wait', until: first.at, why: first.why };
  }

  // --- What came of it ---

  sourceAnswered(now: Instant, outcome: Outcome<{ readonly sourceId: string }>): void {
    this.#opening.sourceAnswered(now, outcome);
  }

  /** @param quietAt nothing of the call can be under way after this. */
  chargeAnswered(now: Instant, outcome: Outcome<ChargeFacts>, quietAt: Instant): void {
    this.#opening.chargeAnswered(now, outcome, quietAt);
  }

  expireAnswered(now: Instant, chargeId: string): void {
    this.#charges.wasAskedToExpire(now, chargeId);
  }

  refundAnswered(now: Instant, key: string, outcome: Outcome<RefundFacts>, quietAt: Instant): void {
    this.#refunds.answered(now, key, outcome, quietAt);
  }

  searched(now: Instant, lookedAt: Instant, why: 'doubt' | 'second look', found: Seen<readonly ChargeFacts[]>): void {
    this.#heard(now, 'seen' in found);
    if ('seen' in found) for (const facts of found.seen) this.#foundOne(now, lookedAt, facts);
    const { secondLook } = this.#record;
    if (why === 'doubt') this.#opening.searched(now, lookedAt, 'seen' in found ? found.seen : null);
    else if ('seen' in found) this.#record.secondLook = null;
    else if (secondLook !== null) secondLook.at = plus(now, this.policy.secondLookMs);
  }

  looked(now: Instant, lookedAt: Instant, chargeId: string, look: Seen<ChargeFacts>): void {
    // That there is no such charge is an answer too, and so is one that is not believed.
    this.#heard(now, 'seen' in look || saysThereIsNone(look) || isDisbelieved(look));
    if ('seen' in look) {
      this.#saw(now, lookedAt, chargeId, look.seen);
    } else {
      this.#charges.missed(now, lookedAt, chargeId, look);
      this.#refunds.missed(now, chargeId);
    }
  }

  /** What the world has now been told. */
  wasReported(): void {
    this.#record.reported = this.status;
    this.#record.version += 1;
  }

  note(now: Instant, what: string, detail?: string, by?: string): void {
    this.#journal.note(now, what, detail, by);
  }

  /** The record as `aftercare` starts with it: what only an open attempt needs is left out. */
  get packedRecord(): PackedRecord {
    return pack({ ...this.#record, attempts: this.#record.attempts.map((attempt) => ({ ...attempt, qr: null })) });
  }

  #foundOne(now: Instant, lookedAt: Instant, facts: ChargeFacts): void {
    if (this.#charges.find(facts.chargeId) === undefined) this.#charges.apply(now, facts, null);
    else this.#saw(now, lookedAt, facts.chargeId, facts);
  }

  #saw(now: Instant, lookedAt: Instant, asked: string, facts: ChargeFacts): void {
    const charge = this.#charges.saw(now, lookedAt, asked, facts);
    if (charge?.status === 'successful' && facts.chargeId === charge.id) {
      this.#refunds.saw(now, lookedAt, charge, facts);
    } else {
      this.#refunds.missed(now, asked);
    }
  }

  #heard(now: Instant, answered: boolean): void {
    this.#record.silentSince = answered ? null : (this.#record.silentSince ?? now);
  }

  /** The next attempt opens when the provider has shown the end of the one before: at most one QR can be paid. */
  #giveWayToNext(now: Instant): void {
    const { superseded, opening } = this.#record;
    if (superseded === null || opening !== null || !this.#charges.areFinal) return;
    if (this.isPaid || this.#record.cancelRequested) {
      this.#record.superseded = null;
      return;
    }
    this.#opening.open(now, now, null);
    this.note(now, 'attempt_opened', `attempt ${this.attempt.number}`);
  }

  /** The books of a payment close with what the provider says then. */
  #takeLastLook(now: Instant): void {
    const kept = this.#charges.kept;
    if (kept === null || kept.paidAt === null || this.#record.closed || now <= refundableUntil(instant(kept.paidAt)))
      return;
    this.#record.closed = true;
    kept.lookAt = now;
  }

  /** What has gone on for too long is shown to operators; it is never turned into a failure. */
  #attend(now: Instant): void {
    const { opening, refunding, silentSince } = this.#record;
    const isLong = (since: number | null): boolean => since !== null && now - since >= this.policy.attentionAfterMs;
    const show = (code: PassingCode, detail: string | null): void => {
      if (detail === null) this.#journal.settle(code);
      else this.#journal.raise(now, code, detail);
    };
    const isInDoubt = (call: Resolving & { stage: string }): boolean => call.doubted || call.stage === 'doubt';
    const charge = opening !== null && isInDoubt(opening) && isLong(opening.since);
    const refund = refunding !== null && isInDoubt(refunding) && isLong(refunding.since);
    show(
      'outcome_unknown',
      charge
        ? `whether ${this.attempt.sourceId ?? 'the source'} was charged is not known yet`
        : refund
          ? `whether refund ${refunding.key} was made is not known yet`
          : null,
    );
    const closing = this.#charges.all.find(({ closingSince }) => isLong(closingSince));
    show(
      'expire_refused',
      closing === undefined ? null : `the provider keeps ${closing.id} pending: a customer may be confirming`,
    );
    const isWaiting = (call: Resolving & { stage: string }): boolean =>
      !isInDoubt(call) && isLong(call.since) && call.tries > 0;
    const waiting =
      opening !== null && isWaiting(opening)
        ? { for: opening.stage, wasLate: opening.wasLate === true }
        : refunding !== null && isWaiting(refunding)
          ? { for: 'refund', wasLate: refunding.wasLate === true }
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
    const { opening, refunding, silentSince, endedAt } = this.#record;
    const { attentionAfterMs, unpaidGraceMs } = this.policy;
    const sinces = [
      opening?.since,
      refunding?.since,
      silentSince,
      ...this.#charges.all.map(({ closingSince }) => closingSince),
    ];
    const attention = sinces.flatMap((since): Due[] =>
      since === null || since === undefined
        ? []
        : [{ at: plus(instant(since), attentionAfterMs), why: 'show it to an operator' }],
    );
    const kept = this.#charges.kept;
    if (kept === null || kept.paidAt === null) {
      const grace: Due[] =
        endedAt === null ? [] : [{ at: plus(instant(endedAt), unpaidGraceMs), why: 'stay open for late news' }];
      return [...attention, ...grace];
    }
    const paidAt = instant(kept.paidAt);
    const voidable = voidableUntil(paidAt, voidRule(this.policy.voidDateOffsetMinutes));
    return [
      ...attention,
      ...(voidable === null ? [] : [{ at: voidable, why: 'a void is possible' }]),
      { at: plus(refundableUntil(paidAt), AFTER_THE_LAST_MS), why: 'a refund is possible' },
    ];
  }

  get #hasUnresolved(): boolean {
    return this.#opening.isInDoubt || this.#refunds.isUnresolved || this.#record.attentions.length > 0;
  }

  #isKnownPaid(chargeId: string | null): boolean {
    const { all } = this.#charges;
    const concerned = chargeId === null ? all : all.filter(({ id }) => id === chargeId);
    return concerned.length > 0 && concerned.every(({ status }) => status === 'successful');
  }

  /** Of the payment that counts, in the smallest currency unit. */
  get #givenBack(): number {
    const { kept } = this.#charges;
    return kept === null ? 0 : this.#refunds.givenBack(kept);
  }

  /** The provider says something about the charge that is not understood: no one should pay it then. */
  #isPayable(now: Instant): boolean {
    return (
      this.attempt.status === 'pending' &&
      !this.#charges.isWithdrawn(this.attempt, now) &&
      !this.#journal.has('integrity_mismatch', 'unknown_status')
    );
  }

  get #unpaidStatus(): CheckoutStatus {
    const { attempt } = this;
    const { cancelRequested } = this.#record;
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
    const { opening } = this.#record;
    // Told together with its charge: each telling is an event.
    const isOnItsWay = attempt === this.attempt && opening !== null && opening.stage !== 'doubt';
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
