import {
  formatInstant,
  formatMoney,
  instant,
  isRefundable,
  isVoidable,
  plus,
  refundableUntil,
  voidRule,
  type Instant,
  OWN_KEY_PREFIX,
} from '@tillflow/domain';
import type { ChargeFacts, RefundFacts } from '../../activities.js';
import { askerOf, LATE_PAYMENT, SECOND_PAYMENT } from '../../../shared/requester.js';
import type { Refusal, RefundRequest } from '../../messages.js';
import type { Outcome } from '../../../shared/outcome.js';
import type { Charges } from '../charges/charges.js';
import type { ModelContext, Due } from '../context.js';
import type { Charge, RefundEntry, RefundInProgress } from '../state.js';
import { lookupDelay, sendWindow } from '../../../shared/policy.js';
import {
  doubt,
  hurry,
  lookupLater,
  provesAbsence,
  repeatAt,
  retryLater,
  startCall,
} from '../../../shared/unknown-outcome.js';

/** The memo that every read loads stays small. */
const MAX_REFUNDS = 100;
/** Money that the provider would not take back is tried again at this step of the looks' delays: 1 h, then daily. */
const RETURN_AGAIN = 4;

/** What is known of a refund when it is entered. */
type Wanted = Pick<RefundEntry, 'key' | 'asked' | 'amount' | 'by' | 'requestedBy' | 'nonce' | 'reason'>;

export type RefusedRefund = { readonly code: Refusal; readonly message: string };

/**
 * Every refund of a checkout's charges. It is the only one that asks for them, one at a time: what was given back and
 * what is in flight never exceed what was paid.
 */
export class Refunds {
  constructor(
    private readonly context: ModelContext,
    private readonly charges: Charges,
  ) {}

  get all(): readonly RefundEntry[] {
    return this.context.state.refunds;
  }

  find(key: string): RefundEntry | undefined {
    return this.all.find((entry) => entry.key === key);
  }

  /** A refund was sent, and what became of it is not known: one that was not sent yet waits for nobody. */
  get isUnresolved(): boolean {
    const { inProgress } = this.context.state;
    return inProgress !== null && (inProgress.wasUnknown || inProgress.stage === 'send');
  }

  /** What was given back of a charge, in the smallest currency unit: the provider's figure or ours, whichever is more. */
  returnedAmount(charge: Charge): number {
    return Math.max(charge.refunded, this.#sum(charge, 'succeeded'));
  }

  /** @returns why this refund may not be asked for; null when it may, or was already. */
  refuse(now: Instant, { key, amount }: RefundRequest): RefusedRefund | null {
    const known = this.find(key);
    if (known !== undefined) {
      const isSame = amount === known.asked || amount === known.amount;
      return isSame
        ? null
        : {
            code: 'idempotency_conflict',
            message: `This key is a refund of ${this.#money(known.amount)}`,
          };
    }
    if (key === '' || key.startsWith(OWN_KEY_PREFIX)) {
      return { code: 'invalid_refund', message: `A key is a text that does not begin with ${OWN_KEY_PREFIX}` };
    }
    if (amount !== null && (!Number.isSafeInteger(amount) || amount <= 0)) {
      return { code: 'invalid_refund', message: 'An amount is a whole positive number of smallest units' };
    }
    const { acceptedCharge } = this.charges;
    if (acceptedCharge === null || acceptedCharge.paidAt === null)
      return { code: 'not_paid', message: 'Nothing was paid' };
    const until = refundableUntil(instant(acceptedCharge.paidAt));
    if (now > until) {
      return {
        code: 'refund_window_closed',
        message: `A payment can be refunded for one year: until ${formatInstant(until)}`,
      };
    }
    const rest = this.#rest(acceptedCharge);
    if (rest <= 0 || (amount !== null && amount > rest)) {
      return { code: 'refund_exceeds_paid', message: `${this.#money(Math.max(rest, 0))} are left to be refunded` };
    }
    if (this.all.length >= MAX_REFUNDS) {
      return { code: 'too_many_refunds', message: `A checkout has at most ${MAX_REFUNDS} refunds` };
    }
    return null;
  }

  /** Enters a refund that {@link refuse} lets through. Repeated, it changes nothing. */
  request(now: Instant, request: RefundRequest): void {
    const { key, amount, reason, nonce } = request;
    const { acceptedCharge } = this.charges;
    if (this.find(key) !== undefined || acceptedCharge === null) return;
    const requestedBy = askerOf(request);
    const wanted = { key, asked: amount, amount: amount ?? this.#rest(acceptedCharge), reason };
    this.#enter(now, acceptedCharge, { ...wanted, by: 'caller', requestedBy, nonce });
  }

  /** Money that must not stay with us goes back by itself: the second of two payments, and a late one. */
  returnLateAndSecondPayments(now: Instant): void {
    const { state, policy, timeline } = this.context;
    for (const charge of this.charges.all) {
      if (charge.status !== 'successful') continue;
      const isLate = charge.id === state.acceptedCharge && state.lateAfter !== null && policy.latePayment === 'return';
      if (charge.id === state.acceptedCharge && !isLate) continue;
      const amount = this.context.intent.amount - this.returnedAmount(charge);
      if (amount <= 0) {
        timeline.settle('return_refused', charge.id);
        timeline.settle(isLate ? 'late_payment' : 'double_payment', charge.id);
        continue;
      }
      const ours = this.all.find((entry) => entry.chargeId === charge.id && entry.by === 'us');
      if (ours?.retryAt !== undefined && ours.retryAt !== null && ours.retryAt <= now) {
        this.#tryAgain(now, ours, ours.requestedBy);
      }
      if (ours !== undefined) continue;
      const reason = isLate
        ? `paid after it was reported as ${state.lateAfter ?? 'ended'}`
        : `${state.acceptedCharge ?? 'another charge'} is the payment that counts`;
      const requestedBy = isLate ? LATE_PAYMENT : SECOND_PAYMENT;
      const key = `${OWN_KEY_PREFIX}${charge.id}`;
      this.#enter(now, charge, { key, asked: amount, amount, by: 'us', requestedBy, reason });
    }
  }

  /** The money of this charge was to go back by itself, and the provider did not take the request. */
  wasReturnRefused(chargeId: string): boolean {
    return this.all.some(
      ({ by, chargeId: charge, status, refusals }) =>
        by === 'us' && charge === chargeId && status !== 'succeeded' && refusals > 0,
    );
  }

  /** A person says that this refund is the one that is asked for: of a checkout that asks for none it is not ours. */
  adopt(id: string): void {
    const isAsked = this.all.some(({ status }) => status === 'pending');
    this.context.state.adopting = isAsked ? id : null;
  }

  /** A person asks to try again what the provider refused to take back. */
  retryReturns(now: Instant, by?: string): void {
    for (const entry of this.all) if (entry.by === 'us' && entry.status === 'rejected') this.#tryAgain(now, entry, by);
  }

  /** One after the other. */
  takeNext(now: Instant): void {
    const { state } = this.context;
    if (state.inProgress !== null) return;
    const next = this.all.find(({ status }) => status === 'pending');
    if (next !== undefined) {
      state.inProgress = { ...startCall(now), key: next.key, stage: 'look', voidRefused: false };
      // Given up in doubt and asked for again: it is looked for as before.
      if (next.inFlightUntil !== null)
        Object.assign(state.inProgress, { stage: 'unknown', wasUnknown: true, inFlightUntil: next.inFlightUntil });
    }
  }

  due(): Due[] {
    const { inProgress } = this.context.state;
    const again = this.all.flatMap(({ retryAt }): Due[] =>
      retryAt === null ? [] : [{ at: instant(retryAt), why: 'try again to give money back' }],
    );
    const entry = inProgress === null ? undefined : this.find(inProgress.key);
    if (inProgress === null || entry === undefined) return again;
    const at = instant(inProgress.dueAt);
    const { key, chargeId, amount } = entry;
    if (inProgress.stage === 'send') {
      const step = { do: 'createRefund', key, chargeId, amount, asVoid: entry.kind === 'void' } as const;
      return [...again, { at, step, why: 'refund' }];
    }
    const why = inProgress.stage === 'unknown' ? 'outcome of a refund unknown: look again' : 'look, then refund';
    return [...again, { at, step: { do: 'look', chargeId }, why }];
  }

  /** A retrieved charge: its refunds are taken in, and the one that is being carried out goes on. */
  applyRetrieved(now: Instant, retrievedAt: Instant, charge: Charge, facts: ChargeFacts): void {
    for (const refund of facts.refunds) this.#adoptRefund(now, charge, refund);
    const inQuestion = facts.refunds.filter((refund) => this.#mayBeOurs(charge, refund));
    const isMatched =
      Math.max(charge.refunded, facts.refundedAmount) <= this.#sum(charge, 'succeeded') && inQuestion.length === 0;
    if (isMatched) this.context.timeline.settle('refund_unmatched', charge.id);
    else this.#raiseUnmatched(now, charge, facts, inQuestion);
    const { inProgress } = this.context.state;
    const entry = inProgress === null ? undefined : this.find(inProgress.key);
    if (inProgress === null || entry === undefined || entry.chargeId !== charge.id || inProgress.stage === 'send')
      return;
    if (!isMatched) inProgress.absentLookups = 0;
    if (entry.status !== 'pending') this.#settled();
    // Reversed, or older than what we know: nothing is decided by it.
    else if (facts.status !== 'successful') this.notRetrieved(now, charge.id);
    else if (!isMatched && inProgress.wasUnknown) lookupLater(this.context.policy, inProgress, now);
    else if (inProgress.stage === 'look') {
      // A look for another reason does not cut its pause short.
      if (retrievedAt >= inProgress.dueAt) this.#decide(now, inProgress, entry, charge, facts);
    } else this.#sawNoRefund(now, retrievedAt, inProgress, entry);
  }

  /** The provider did not answer a look. */
  notRetrieved(now: Instant, chargeId: string): void {
    const { inProgress } = this.context.state;
    if (inProgress === null || this.find(inProgress.key)?.chargeId !== chargeId) return;
    if (inProgress.stage === 'unknown') lookupLater(this.context.policy, inProgress, now);
    else if (inProgress.stage === 'look') retryLater(this.context.policy, inProgress, now);
  }

  answered(now: Instant, key: string, outcome: Outcome<RefundFacts>, inFlightUntil: Instant): void {
    const { state, timeline, policy } = this.context;
    const entry = this.find(key);
    const charge = entry === undefined ? undefined : this.charges.find(entry.chargeId);
    if (entry === undefined || charge === undefined) return;
    if (outcome.kind === 'done') {
      // The answer to our own request is about our refund, also where it does not repeat the key.
      this.#adoptRefund(now, charge, { ...outcome.value, key: outcome.value.key ?? key });
      charge.refunded = Math.max(charge.refunded, this.#sum(charge, 'succeeded'));
    }
    const { inProgress } = state;
    if (inProgress === null || inProgress.key !== key) {
      // Settled, or abandoned while it was under way.
      if (outcome.kind !== 'done') charge.lateEffectCheckAt = plus(now, policy.lateEffectCheckMs);
      return;
    }
    if (outcome.kind === 'rejected' && outcome.retryable && !inProgress.wasUnknown) {
      inProgress.stage = 'look';
      retryLater(policy, inProgress, now, outcome.code);
      return;
    }
    inProgress.stage = 'unknown';
    const why = doubt(policy, inProgress, now, outcome, inFlightUntil);
    if (why !== null) timeline.note(now, 'refund_unknown', why);
  }

  hurry(now: Instant): void {
    const { inProgress } = this.context.state;
    if (inProgress !== null && inProgress.stage !== 'send') hurry(inProgress, now);
  }

  /** A person says that no refund will come of it. What shows up later is still taken in. */
  abandon(now: Instant): void {
    const { inProgress } = this.context.state;
    const entry = inProgress === null ? undefined : this.find(inProgress.key);
    if (inProgress === null || entry === undefined || !this.isUnresolved) return;
    if (inProgress.stage === 'send') entry.inFlightUntil = sendWindow(this.context.policy, now).inFlightUntil;
    else if (inProgress.wasUnknown) entry.inFlightUntil = Math.max(inProgress.inFlightUntil, now);
    this.#reject(now, entry, { code: 'abandoned', message: 'an operator waits for its outcome no longer' });
  }

  /** By the freshly retrieved charge: whether there is still something to give back, and how. */
  #decide(now: Instant, inProgress: RefundInProgress, entry: RefundEntry, charge: Charge, facts: ChargeFacts): void {
    const { intent } = this.context;
    const paidAt = instant(charge.paidAt ?? now);
    if (!isRefundable(paidAt, now)) {
      const until = formatInstant(refundableUntil(paidAt));
      this.#reject(now, entry, { code: 'refund_window_closed', message: `it could be refunded until ${until}` });
      return;
    }
    const rest = intent.amount - Math.max(facts.refundedAmount, this.returnedAmount(charge));
    // What we give back by ourselves is all that is left, also when someone gave back a part meanwhile.
    if (entry.by === 'us' && rest > 0) entry.amount = Math.min(entry.amount, rest);
    if (entry.amount > rest) {
      this.#reject(now, entry, { code: 'refund_exceeds_paid', message: `${this.#money(Math.max(rest, 0))} are left` });
      return;
    }
    const isWhole = entry.amount === intent.amount && facts.refundedAmount === 0 && this.returnedAmount(charge) === 0;
    entry.kind = isWhole && facts.canVoid && !inProgress.voidRefused ? 'void' : 'refund';
    inProgress.stage = 'send';
    inProgress.dueAt = now;
  }

  #sawNoRefund(now: Instant, retrievedAt: Instant, inProgress: RefundInProgress, entry: RefundEntry): void {
    const { timeline, policy } = this.context;
    if (!provesAbsence(inProgress, retrievedAt)) {
      lookupLater(policy, inProgress, now);
      return;
    }
    const charge = this.charges.find(entry.chargeId);
    if (inProgress.wasUnknown && charge !== undefined) {
      timeline.note(now, 'refund_absent', entry.key);
      // A call that we gave up may come through after all.
      charge.lateEffectCheckAt = plus(now, policy.lateEffectCheckMs);
    }
    const { refusal } = inProgress;
    if (refusal !== null && entry.kind === 'void') {
      timeline.note(now, 'void_refused', `${refusal.code}: a refund takes its place`);
      entry.failureCode = refusal.code;
      entry.failureMessage = refusal.message;
      inProgress.voidRefused = true;
    } else if (refusal !== null) {
      this.#reject(now, entry, refusal);
      return;
    }
    inProgress.stage = 'look';
    inProgress.dueAt = refusal === null ? repeatAt(policy, inProgress, now) : now;
    inProgress.refusal = null;
    inProgress.tries = 0;
  }

  #adoptRefund(now: Instant, charge: Charge, facts: RefundFacts): void {
    const { state, timeline } = this.context;
    const known = this.all.find(({ id }) => id === facts.refundId);
    if (known !== undefined && known.by !== 'elsewhere') return;
    const entry = this.#match(charge, facts);
    if (known !== undefined) {
      // Taken for one that was made elsewhere until its key was seen, or a person said whose it is.
      if (entry === undefined) return;
      if (entry.id !== null) {
        this.#tellDoubled(now, entry, facts);
        return;
      }
      state.refunds = state.refunds.filter((one) => one !== known);
    }
    if (entry === undefined) {
      // Without a key, and over what we asked for without an answer: a person must say whose it is.
      if (this.#mayBeOurs(charge, facts)) return;
      this.#enterForeign(now, charge, facts);
      return;
    }
    if (entry.id !== null) {
      this.#tellDoubled(now, entry, facts);
      this.#enterForeign(now, charge, facts);
      return;
    }
    const mismatch = this.#mismatch(entry, facts);
    if (mismatch !== null) {
      timeline.raise(now, 'integrity_mismatch', `refund ${facts.refundId} is ${mismatch}`, facts.refundId);
      return;
    }
    timeline.settle('integrity_mismatch', facts.refundId);
    if (facts.refundId === state.adopting) state.adopting = null;
    entry.id = facts.refundId;
    entry.status = 'succeeded';
    entry.kind = facts.isVoid ? 'void' : 'refund';
    timeline.note(
      now,
      entry.kind === 'void' ? 'voided' : 'refunded',
      `${this.#money(entry.amount)}, ${facts.refundId}`,
    );
    if (state.inProgress?.key === entry.key) this.#settled();
  }

  #mismatch(entry: RefundEntry, { amount, otherCurrency }: RefundFacts): string | null {
    if (otherCurrency !== undefined) return `in ${otherCurrency}, not ${this.context.intent.currency}`;
    return amount === entry.amount ? null : `over ${amount}, not ${entry.amount}`;
  }

  /** Once: a person who settled it is not told again by each look. */
  #tellDoubled(now: Instant, { key, id }: RefundEntry, { refundId }: RefundFacts): void {
    const { timeline } = this.context;
    const detail = `${key} was made twice: ${id ?? ''} and ${refundId}`;
    if (!timeline.hasRaised('refund_doubled', detail)) timeline.raise(now, 'refund_doubled', detail, refundId);
  }

  /** It has no key, is not entered, and is over what a request of ours in doubt was over. */
  #mayBeOurs(charge: Charge, { refundId, key, amount }: RefundFacts): boolean {
    const { inProgress, adopting } = this.context.state;
    if (inProgress === null || !inProgress.wasUnknown || key !== null || refundId === adopting) return false;
    const entry = this.find(inProgress.key);
    return (
      entry?.status === 'pending' &&
      entry.chargeId === charge.id &&
      entry.amount === amount &&
      !this.all.some(({ id }) => id === refundId)
    );
  }

  /** By its key, or, where a person said so, by its id and amount. */
  #match(charge: Charge, facts: RefundFacts): RefundEntry | undefined {
    const { adopting, inProgress } = this.context.state;
    const byKey = facts.key === null ? undefined : this.find(facts.key);
    if (byKey?.chargeId === charge.id) return byKey;
    const adopted = inProgress !== null && facts.refundId === adopting ? this.find(inProgress.key) : undefined;
    return adopted?.chargeId === charge.id && adopted.amount === facts.amount ? adopted : undefined;
  }

  #enterForeign(now: Instant, charge: Charge, { refundId, amount, isVoid }: RefundFacts): void {
    this.context.state.refunds.push({
      key: refundId,
      chargeId: charge.id,
      amount,
      asked: amount,
      kind: isVoid ? 'void' : 'refund',
      status: 'succeeded',
      id: refundId,
      by: 'elsewhere',
      reason: 'made elsewhere',
      failureCode: null,
      failureMessage: null,
      createdAt: now,
      refusals: 0,
      retryAt: null,
      inFlightUntil: null,
    });
    this.context.timeline.note(now, 'refunded_elsewhere', `${this.#money(amount)}, ${refundId}`);
  }

  #enter(now: Instant, charge: Charge, entry: Wanted): void {
    const { intent, policy } = this.context;
    const isWhole = entry.amount === intent.amount && this.returnedAmount(charge) === 0;
    const mayVoid = isVoidable(instant(charge.paidAt ?? now), now, voidRule(policy.voidDateOffsetMinutes));
    this.context.state.refunds.push({
      ...entry,
      chargeId: charge.id,
      kind: isWhole && mayVoid ? 'void' : 'refund',
      status: 'pending',
      id: null,
      failureCode: null,
      failureMessage: null,
      createdAt: now,
      refusals: 0,
      retryAt: null,
      inFlightUntil: null,
    });
    const why = entry.by === 'us' ? `, ${entry.reason ?? ''}` : '';
    this.context.timeline.note(now, 'refund_requested', `${this.#money(entry.amount)}${why}`, entry.requestedBy);
  }

  #reject(now: Instant, entry: RefundEntry, { code, message }: { readonly code: string; readonly message: string }) {
    const { timeline } = this.context;
    entry.status = 'rejected';
    entry.failureCode = code;
    entry.failureMessage = message;
    timeline.note(now, 'refund_rejected', `${entry.key}: ${code}`);
    const charge = this.charges.find(entry.chargeId);
    const isLeft = charge !== undefined && this.returnedAmount(charge) < this.context.intent.amount;
    if (entry.by === 'us' && isLeft) {
      const isOpen = code !== 'refund_window_closed';
      entry.retryAt = isOpen ? plus(now, lookupDelay(this.context.policy, RETURN_AGAIN + entry.refusals)) : null;
      entry.refusals += 1;
      const what = `${this.#money(entry.amount)} of ${entry.chargeId}: ${code}, ${message}`;
      timeline.raise(now, 'return_refused', what, entry.chargeId);
    }
    this.#settled();
  }

  #tryAgain(now: Instant, entry: RefundEntry, by: string | undefined): void {
    entry.status = 'pending';
    entry.retryAt = null;
    this.context.timeline.note(now, 'refund_requested', `${entry.key}: again`, by);
  }

  #settled(): void {
    this.context.state.inProgress = null;
    this.context.state.adopting = null;
  }

  /** More was given back than the provider lists, or it lists a refund that does not say whose it is. */
  #raiseUnmatched(now: Instant, charge: Charge, facts: ChargeFacts, inQuestion: readonly RefundFacts[]): void {
    const [one] = inQuestion;
    const listed = this.#money(this.#sum(charge, 'succeeded'));
    const detail =
      one === undefined
        ? `${this.#money(facts.refundedAmount)} of ${charge.id} were given back, ${listed} are listed`
        : `whether ${one.refundId} over ${this.#money(one.amount)} is our refund ${this.context.state.inProgress?.key ?? ''} is not known`;
    this.context.timeline.raise(now, 'refund_unmatched', detail, charge.id);
  }

  #rest(charge: Charge): number {
    return this.context.intent.amount - this.returnedAmount(charge) - this.#sum(charge, 'pending');
  }

  #sum(charge: Charge, status: RefundEntry['status']): number {
    return this.all
      .filter((entry) => entry.chargeId === charge.id && entry.status === status)
      .reduce((sum, { amount }) => sum + amount, 0);
  }

  #money(amount: number): string {
    return formatMoney({ amount, currency: this.context.intent.currency });
  }
}
