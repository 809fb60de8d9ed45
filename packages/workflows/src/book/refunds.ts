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
import type { ChargeFacts, RefundFacts } from '../activities.js';
import { askerOf, LATE_PAYMENT, SECOND_PAYMENT } from '../asker.js';
import type { Refusal, RefundRequest } from '../messages.js';
import type { Outcome } from '../outcome.js';
import type { Charges } from './charges.js';
import type { BookContext, Due } from './context.js';
import type { Charge, RefundEntry, Refunding } from './record.js';
import { lookDelay, sendWindow } from './policy.js';
import { doubt, hurry, lookLater, provesAbsence, repeatAt, retryLater, startResolving } from './resolving.js';

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
    private readonly context: BookContext,
    private readonly charges: Charges,
  ) {}

  get all(): readonly RefundEntry[] {
    return this.context.record.refunds;
  }

  find(key: string): RefundEntry | undefined {
    return this.all.find((entry) => entry.key === key);
  }

  /** A refund was sent, and what became of it is not known: one that was not sent yet waits for nobody. */
  get isUnresolved(): boolean {
    const { refunding } = this.context.record;
    return refunding !== null && (refunding.doubted || refunding.stage === 'send');
  }

  /** What was given back of a charge, in the smallest currency unit: the provider's figure or ours, whichever is more. */
  givenBack(charge: Charge): number {
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
    const { kept } = this.charges;
    if (kept === null || kept.paidAt === null) return { code: 'not_paid', message: 'Nothing was paid' };
    const until = refundableUntil(instant(kept.paidAt));
    if (now > until) {
      return {
        code: 'refund_window_closed',
        message: `A payment can be refunded for one year: until ${formatInstant(until)}`,
      };
    }
    const rest = this.#rest(kept);
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
    const { kept } = this.charges;
    if (this.find(key) !== undefined || kept === null) return;
    const requestedBy = askerOf(request);
    const wanted = { key, asked: amount, amount: amount ?? this.#rest(kept), reason };
    this.#enter(now, kept, { ...wanted, by: 'caller', requestedBy, nonce });
  }

  /** Money that must not stay with us goes back by itself: the second of two payments, and a late one. */
  returnWhatIsNotOurs(now: Instant): void {
    const { record, policy, journal } = this.context;
    for (const charge of this.charges.all) {
      if (charge.status !== 'successful') continue;
      const isLate = charge.id === record.kept && record.lateAfter !== null && policy.latePayment === 'return';
      if (charge.id === record.kept && !isLate) continue;
      const amount = this.context.intent.amount - this.givenBack(charge);
      if (amount <= 0) {
        journal.settle('return_refused', charge.id);
        journal.settle(isLate ? 'late_payment' : 'double_payment', charge.id);
        continue;
      }
      const ours = this.all.find((entry) => entry.chargeId === charge.id && entry.by === 'us');
      if (ours?.retryAt !== undefined && ours.retryAt !== null && ours.retryAt <= now) {
        this.#tryAgain(now, ours, ours.requestedBy);
      }
      if (ours !== undefined) continue;
      const reason = isLate
        ? `paid after it was reported as ${record.lateAfter ?? 'ended'}`
        : `${record.kept ?? 'another charge'} is the payment that counts`;
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
    this.context.record.adopting = isAsked ? id : null;
  }

  /** A person asks to try again what the provider refused to take back. */
  retryReturns(now: Instant, by?: string): void {
    for (const entry of this.all) if (entry.by === 'us' && entry.status === 'rejected') this.#tryAgain(now, entry, by);
  }

  /** One after the other. */
  takeNext(now: Instant): void {
    const { record } = this.context;
    if (record.refunding !== null) return;
    const next = this.all.find(({ status }) => status === 'pending');
    if (next !== undefined) {
      record.refunding = { ...startResolving(now), key: next.key, stage: 'look', voidRefused: false };
      // Given up in doubt and asked for again: it is looked for as before.
      if (next.quietAt !== null)
        Object.assign(record.refunding, { stage: 'doubt', doubted: true, quietAt: next.quietAt });
    }
  }

  due(): Due[] {
    const { refunding } = this.context.record;
    const again = this.all.flatMap(({ retryAt }): Due[] =>
      retryAt === null ? [] : [{ at: instant(retryAt), why: 'try again to give money back' }],
    );
    const entry = refunding === null ? undefined : this.find(refunding.key);
    if (refunding === null || entry === undefined) return again;
    const at = instant(refunding.dueAt);
    const { key, chargeId, amount } = entry;
    if (refunding.stage === 'send') {
      const step = { do: 'createRefund', key, chargeId, amount, asVoid: entry.kind === 'void' } as const;
      return [...again, { at, step, why: 'refund' }];
    }
    const why = refunding.stage === 'doubt' ? 'outcome of a refund unknown: look again' : 'look, then refund';
    return [...again, { at, step: { do: 'look', chargeId }, why }];
  }

  /** A retrieved charge: its refunds are taken in, and the one that is being carried out goes on. */
  saw(now: Instant, lookedAt: Instant, charge: Charge, facts: ChargeFacts): void {
    for (const refund of facts.refunds) this.#takeIn(now, charge, refund);
    const inQuestion = facts.refunds.filter((refund) => this.#mayBeOurs(charge, refund));
    const isMatched =
      Math.max(charge.refunded, facts.refundedAmount) <= this.#sum(charge, 'succeeded') && inQuestion.length === 0;
    if (isMatched) this.context.journal.settle('refund_unmatched', charge.id);
    else this.#askAPerson(now, charge, facts, inQuestion);
    const { refunding } = this.context.record;
    const entry = refunding === null ? undefined : this.find(refunding.key);
    if (refunding === null || entry === undefined || entry.chargeId !== charge.id || refunding.stage === 'send') return;
    if (!isMatched) refunding.absences = 0;
    if (entry.status !== 'pending') this.#settled();
    // Reversed, or older than what we know: nothing is decided by it.
    else if (facts.status !== 'successful') this.missed(now, charge.id);
    else if (!isMatched && refunding.doubted) lookLater(this.context.policy, refunding, now);
    else if (refunding.stage === 'look') {
      // A look for another reason does not cut its pause short.
      if (lookedAt >= refunding.dueAt) this.#decide(now, refunding, entry, charge, facts);
    } else this.#sawNoRefund(now, lookedAt, refunding, entry);
  }

  /** The provider did not answer a look. */
  missed(now: Instant, chargeId: string): void {
    const { refunding } = this.context.record;
    if (refunding === null || this.find(refunding.key)?.chargeId !== chargeId) return;
    if (refunding.stage === 'doubt') lookLater(this.context.policy, refunding, now);
    else if (refunding.stage === 'look') retryLater(this.context.policy, refunding, now);
  }

  answered(now: Instant, key: string, outcome: Outcome<RefundFacts>, quietAt: Instant): void {
    const { record, journal, policy } = this.context;
    const entry = this.find(key);
    const charge = entry === undefined ? undefined : this.charges.find(entry.chargeId);
    if (entry === undefined || charge === undefined) return;
    if (outcome.kind === 'done') {
      // The answer to our own request is about our refund, also where it does not repeat the key.
      this.#takeIn(now, charge, { ...outcome.value, key: outcome.value.key ?? key });
      charge.refunded = Math.max(charge.refunded, this.#sum(charge, 'succeeded'));
    }
    const { refunding } = record;
    if (refunding === null || refunding.key !== key) {
      // Settled, or abandoned while it was under way.
      if (outcome.kind !== 'done') charge.secondLookAt = plus(now, policy.secondLookMs);
      return;
    }
    if (outcome.kind === 'rejected' && outcome.retryable && !refunding.doubted) {
      refunding.stage = 'look';
      retryLater(policy, refunding, now, outcome.code);
      return;
    }
    refunding.stage = 'doubt';
    const why = doubt(policy, refunding, now, outcome, quietAt);
    if (why !== null) journal.note(now, 'refund_unknown', why);
  }

  hurry(now: Instant): void {
    const { refunding } = this.context.record;
    if (refunding !== null && refunding.stage !== 'send') hurry(refunding, now);
  }

  /** A person says that no refund will come of it. What shows up later is still taken in. */
  abandon(now: Instant): void {
    const { refunding } = this.context.record;
    const entry = refunding === null ? undefined : this.find(refunding.key);
    if (refunding === null || entry === undefined || !this.isUnresolved) return;
    if (refunding.stage === 'send') entry.quietAt = sendWindow(this.context.policy, now).quietAt;
    else if (refunding.doubted) entry.quietAt = Math.max(refunding.quietAt, now);
    this.#reject(now, entry, { code: 'abandoned', message: 'an operator waits for its outcome no longer' });
  }

  /** By the freshly retrieved charge: whether there is still something to give back, and how. */
  #decide(now: Instant, refunding: Refunding, entry: RefundEntry, charge: Charge, facts: ChargeFacts): void {
    const { intent } = this.context;
    const paidAt = instant(charge.paidAt ?? now);
    if (!isRefundable(paidAt, now)) {
      const until = formatInstant(refundableUntil(paidAt));
      this.#reject(now, entry, { code: 'refund_window_closed', message: `it could be refunded until ${until}` });
      return;
    }
    const rest = intent.amount - Math.max(facts.refundedAmount, this.givenBack(charge));
    // What we give back by ourselves is all that is left, also when someone gave back a part meanwhile.
    if (entry.by === 'us' && rest > 0) entry.amount = Math.min(entry.amount, rest);
    if (entry.amount > rest) {
      this.#reject(now, entry, { code: 'refund_exceeds_paid', message: `${this.#money(Math.max(rest, 0))} are left` });
      return;
    }
    const isWhole = entry.amount === intent.amount && facts.refundedAmount === 0 && this.givenBack(charge) === 0;
    entry.kind = isWhole && facts.canVoid && !refunding.voidRefused ? 'void' : 'refund';
    refunding.stage = 'send';
    refunding.dueAt = now;
  }

  #sawNoRefund(now: Instant, lookedAt: Instant, refunding: Refunding, entry: RefundEntry): void {
    const { journal, policy } = this.context;
    if (!provesAbsence(refunding, lookedAt)) {
      lookLater(policy, refunding, now);
      return;
    }
    const charge = this.charges.find(entry.chargeId);
    if (refunding.doubted && charge !== undefined) {
      journal.note(now, 'refund_absent', entry.key);
      // A call that we gave up may come through after all.
      charge.secondLookAt = plus(now, policy.secondLookMs);
    }
    const { refusal } = refunding;
    if (refusal !== null && entry.kind === 'void') {
      journal.note(now, 'void_refused', `${refusal.code}: a refund takes its place`);
      entry.failureCode = refusal.code;
      entry.failureMessage = refusal.message;
      refunding.voidRefused = true;
    } else if (refusal !== null) {
      this.#reject(now, entry, refusal);
      return;
    }
    refunding.stage = 'look';
    refunding.dueAt = refusal === null ? repeatAt(policy, refunding, now) : now;
    refunding.refusal = null;
    refunding.tries = 0;
  }

  #takeIn(now: Instant, charge: Charge, facts: RefundFacts): void {
    const { record, journal } = this.context;
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
      record.refunds = record.refunds.filter((one) => one !== known);
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
      journal.raise(now, 'integrity_mismatch', `refund ${facts.refundId} is ${mismatch}`, facts.refundId);
      return;
    }
    journal.settle('integrity_mismatch', facts.refundId);
    if (facts.refundId === record.adopting) record.adopting = null;
    entry.id = facts.refundId;
    entry.status = 'succeeded';
    entry.kind = facts.isVoid ? 'void' : 'refund';
    journal.note(now, entry.kind === 'void' ? 'voided' : 'refunded', `${this.#money(entry.amount)}, ${facts.refundId}`);
    if (record.refunding?.key === entry.key) this.#settled();
  }

  #mismatch(entry: RefundEntry, { amount, otherCurrency }: RefundFacts): string | null {
    if (otherCurrency !== undefined) return `in ${otherCurrency}, not ${this.context.intent.currency}`;
    return amount === entry.amount ? null : `over ${amount}, not ${entry.amount}`;
  }

  /** Once: a person who settled it is not told again by each look. */
  #tellDoubled(now: Instant, { key, id }: RefundEntry, { refundId }: RefundFacts): void {
    const { journal } = this.context;
    const detail = `${key} was made twice: ${id ?? ''} and ${refundId}`;
    if (!journal.hasRaised('refund_doubled', detail)) journal.raise(now, 'refund_doubled', detail, refundId);
  }

  /** It has no key, is not entered, and is over what a request of ours in doubt was over. */
  #mayBeOurs(charge: Charge, { refundId, key, amount }: RefundFacts): boolean {
    const { refunding, adopting } = this.context.record;
    if (refunding === null || !refunding.doubted || key !== null || refundId === adopting) return false;
    const entry = this.find(refunding.key);
    return (
      entry?.status === 'pending' &&
      entry.chargeId === charge.id &&
      entry.amount === amount &&
      !this.all.some(({ id }) => id === refundId)
    );
  }

  /** By its key, or, where a person said so, by its id and amount. */
  #match(charge: Charge, facts: RefundFacts): RefundEntry | undefined {
    const { adopting, refunding } = this.context.record;
    const byKey = facts.key === null ? undefined : this.find(facts.key);
    if (byKey?.chargeId === charge.id) return byKey;
    const adopted = refunding !== null && facts.refundId === adopting ? this.find(refunding.key) : undefined;
    return adopted?.chargeId === charge.id && adopted.amount === facts.amount ? adopted : undefined;
  }

  #enterForeign(now: Instant, charge: Charge, { refundId, amount, isVoid }: RefundFacts): void {
    this.context.record.refunds.push({
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
      quietAt: null,
    });
    this.context.journal.note(now, 'refunded_elsewhere', `${this.#money(amount)}, ${refundId}`);
  }

  #enter(now: Instant, charge: Charge, entry: Wanted): void {
    const { intent, policy } = this.context;
    const isWhole = entry.amount === intent.amount && this.givenBack(charge) === 0;
    const mayVoid = isVoidable(instant(charge.paidAt ?? now), now, voidRule(policy.voidDateOffsetMinutes));
    this.context.record.refunds.push({
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
      quietAt: null,
    });
    const why = entry.by === 'us' ? `, ${entry.reason ?? ''}` : '';
    this.context.journal.note(now, 'refund_requested', `${this.#money(entry.amount)}${why}`, entry.requestedBy);
  }

  #reject(now: Instant, entry: RefundEntry, { code, message }: { readonly code: string; readonly message: string }) {
    const { journal } = this.context;
    entry.status = 'rejected';
    entry.failureCode = code;
    entry.failureMessage = message;
    journal.note(now, 'refund_rejected', `${entry.key}: ${code}`);
    const charge = this.charges.find(entry.chargeId);
    const isLeft = charge !== undefined && this.givenBack(charge) < this.context.intent.amount;
    if (entry.by === 'us' && isLeft) {
      const isOpen = code !== 'refund_window_closed';
      entry.retryAt = isOpen ? plus(now, lookDelay(this.context.policy, RETURN_AGAIN + entry.refusals)) : null;
      entry.refusals += 1;
      const what = `${this.#money(entry.amount)} of ${entry.chargeId}: ${code}, ${message}`;
      journal.raise(now, 'return_refused', what, entry.chargeId);
    }
    this.#settled();
  }

  #tryAgain(now: Instant, entry: RefundEntry, by: string | undefined): void {
    entry.status = 'pending';
    entry.retryAt = null;
    this.context.journal.note(now, 'refund_requested', `${entry.key}: again`, by);
  }

  #settled(): void {
    this.context.record.refunding = null;
    this.context.record.adopting = null;
  }

  /** More was given back than the provider lists, or it lists a refund that does not say whose it is. */
  #askAPerson(now: Instant, charge: Charge, facts: ChargeFacts, inQuestion: readonly RefundFacts[]): void {
    const [one] = inQuestion;
    const listed = this.#money(this.#sum(charge, 'succeeded'));
    const detail =
      one === undefined
        ? `${this.#money(facts.refundedAmount)} of ${charge.id} were given back, ${listed} are listed`
        : `whether ${one.refundId} over ${this.#money(one.amount)} is our refund ${this.context.record.refunding?.key ?? ''} is not known`;
    this.context.journal.raise(now, 'refund_unmatched', detail, charge.id);
  }

  #rest(charge: Charge): number {
    return this.context.intent.amount - this.givenBack(charge) - this.#sum(charge, 'pending');
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
