import { OWN_KEY_PREFIX } from '@tillflow/domain';
import {
  ABANDONED,
  toRefund,
  type AttentionCode,
  type CheckoutMemo,
  type Refund,
  type TimelineEntry,
} from '../checkout/types.js';
import type { Observation, ProviderCharge } from './observation.js';

/** The guarantees that records can prove, by their number in `docs/guarantees.md`, in a few words each. */
export const GUARANTEES = {
  1: 'of two payments one is kept, the other is refunded',
  2: 'no call is repeated blindly, nothing that was made is reported as failed',
  3: 'no more is refunded than was paid',
  4: 'paid only if the provider says so',
  5: 'a lost webhook does not lose the payment',
  6: "Tillflow's records equal the provider's, whatever was killed",
  12: 'voids and refunds are made within their windows, as the checkout shows them',
} as const;
export type Guarantee = keyof typeof GUARANTEES;

/** Something that a guarantee forbids. */
export type Breach = { readonly guarantee: Guarantee; readonly checkout: string; readonly what: string };

/** How many facts were checked for each guarantee, and which were wrong. */
export type Findings = {
  readonly checked: Readonly<Record<Guarantee, number>>;
  readonly breaches: readonly Breach[];
};

const ENDS: readonly string[] = ['expired', 'failed', 'cancelled'];
const PAID: ReadonlySet<string> = new Set(['paid', 'partially_refunded', 'refunded']);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const CUT_OFF = (16 * 60 + 15) * MINUTE;

export const isPaidStatus = (status: string): boolean => PAID.has(status);

/** Checks what holds at every moment of a checkout's life. */
export function checkAlways(observation: Observation): Findings {
  const findings = new Checks(observation);
  findings.noMoreThanPaid();
  findings.paidByTheProvider();
  return findings.result();
}

/**
 * Checks each change of a published checkout.
 *
 * @param before the memo that was published before; null: none
 */
export function checkChange(before: CheckoutMemo | null, observation: Observation): Findings {
  const findings = new Checks(observation);
  findings.paymentStays(before);
  findings.endStays(before);
  findings.oneCodeIsPayable();
  return findings.result();
}

/** Checks what holds once the provider answers and nothing is due any more. */
export function checkSettled(observation: Observation): Findings {
  const findings = new Checks(observation);
  findings.noMoreThanPaid();
  findings.paidByTheProvider();
  findings.onePaymentIsAccepted();
  findings.nothingIsRepeatedOrDenied();
  findings.recordsAreEqual();
  findings.answersHold();
  if (observation.hasWindows !== false) findings.windowsHold();
  return findings.result();
}

class Checks {
  readonly #breaches: Breach[] = [];
  readonly #checked: Record<Guarantee, number> = { 1: 0, 2: 0, 3: 0, 4: 0, 5: 0, 6: 0, 12: 0 };
  readonly #paid: readonly ProviderCharge[];
  readonly #refunds: readonly Refund[];

  constructor(private readonly observation: Observation) {
    this.#paid = observation.charges.filter(({ status }) => status === 'successful');
    this.#refunds = (observation.memo.refunds ?? []).map(toRefund);
  }

  result(): Findings {
    return { checked: this.#checked, breaches: this.#breaches };
  }

  noMoreThanPaid(): void {
    for (const { id, refunds } of this.#paid) {
      const made = sum(refunds);
      this.#expect(3, made <= this.#amount, `${made} of ${id} were refunded`);
      const shown = this.#refunds.filter((one) => one.charge_id === id && one.status !== 'rejected');
      const own = sum(shown.filter(({ reason }) => reason !== 'made elsewhere'));
      this.#expect(3, own <= this.#amount, `Tillflow makes refunds of ${own} of ${id}, which is more than was paid`);
      const promised = sum(shown);
      const isUnforeseen = refunds.some(({ key }) => key === null) || hasRepetition(refunds);
      this.#expect(
        3,
        promised <= this.#amount || isUnforeseen,
        `Tillflow promises to refund ${promised} of ${id}, which is more than was paid`,
      );
    }
  }

  paidByTheProvider(): void {
    this.#expect(4, !PAID.has(this.#status) || this.#paid.length > 0, `${this.#status} without a payment`);
    const { paid_at = null, qr = null, attempts = [] } = this.observation.memo.state ?? {};
    this.#expect(4, paid_at === null || this.#paid.length > 0, 'it has a time of payment without a payment');
    const shown = attempts.at(-1)?.charge_id;
    const isCharge = this.observation.charges.some(({ id }) => id === shown);
    this.#expect(4, qr === null || isCharge, 'it shows the QR of no charge');
  }

  paymentStays(before: CheckoutMemo | null): void {
    const { status = 'creating', paid_at = null } = before?.state ?? {};
    this.#expect(4, !PAID.has(status) || PAID.has(this.#status), `it was ${status}, and is ${this.#status}`);
    const paidAt = this.observation.memo.state?.paid_at ?? null;
    this.#expect(1, paid_at === null || paidAt === paid_at, `its payment of ${paid_at} became one of ${paidAt}`);
  }

  /**
   * A late payment is returned, unless the shop keeps late payments. Only when the return fails, it is kept, and a person
   * sees it. After an end, a till may request an attempt: a payment that comes then is not late.
   */
  endStays(before: CheckoutMemo | null): void {
    const { memo } = this.observation;
    const { status = 'creating' } = before?.state ?? {};
    const { timeline = [] } = memo;
    const requested = timeline.findLastIndex(({ what }) => what === 'attempt_requested');
    const isReopened = requested > timeline.findLastIndex(isEndOfCheckout);
    const isKept = this.#status === 'paid' || this.#status === 'partially_refunded';
    const refused = this.#accepted === undefined ? '' : `of ${this.#accepted.id}: `;
    const wasRefused = timeline.some(
      ({ what, detail = '' }) =>
        what === 'attention' && detail.startsWith('return_refused: ') && detail.includes(refused),
    );
    const isRefused = wasRefused || this.#isExcused('return_refused');
    const isExcused = isReopened || isRefused || this.#isExcused('late_payment');
    this.#expect(6, !ENDS.includes(status) || !isKept || isExcused, `it was ${status}, and is ${this.#status}`);
  }

  /** A customer cannot pay two codes, nor one of a checkout that has ended, unless an operator abandoned its charge. */
  oneCodeIsPayable(): void {
    const { state, timeline = [] } = this.observation.memo;
    const { attempts = [] } = state ?? {};
    const open = attempts.filter(({ status }) => status === 'pending').map(({ number }) => number);
    this.#expect(1, open.length <= 1, `attempts ${open.join(' and ')} are open`);
    const isAbandoned = (id: string): boolean =>
      timeline.some(({ what, detail }) =>
        what === 'charge_abandoned' ? detail === id : ENDS.includes(what) && detail === 'abandoned by an operator',
      );
    const pending = this.#pending.filter((id) => !isAbandoned(id));
    const mayBePayable = !ENDS.includes(this.#status) || this.observation.hasLateEffects === true;
    this.#expect(
      2,
      mayBePayable || pending.length === 0,
      `it is ${this.#status}, and ${pending.join(', ')} can be paid`,
    );
  }

  onePaymentIsAccepted(): void {
    const kept = this.#unreturned.map(({ id }) => id);
    const isExcused = this.#isExcused('return_refused', 'refund_unmatched');
    this.#expect(1, kept.length <= 1 || isExcused, `${kept.length} payments are kept: ${kept.join(', ')}`);
    for (const charge of this.#paid) {
      const isKnown = this.#refunds.some((refund) => refund.charge_id === charge.id && refund.status === 'succeeded');
      const isWhole = sum(charge.refunds) >= this.#amount;
      this.#expect(1, !isWhole || isKnown, `${charge.id} was refunded and Tillflow's records do not say so`);
    }
  }

  nothingIsRepeatedOrDenied(): void {
    for (const { id, refunds } of this.#paid) {
      const isOnce = !hasRepetition(refunds) || this.#isExcused('refund_doubled');
      const keys = refunds.map(({ key }) => key ?? 'elsewhere');
      this.#expect(2, isOnce, `a refund of ${id} was made twice: ${keys.join(', ')}`);
    }
    for (const { id, key, charge_id, status } of this.#refunds) {
      if (status !== 'rejected') continue;
      const made = this.observation.charges
        .filter((charge) => charge.id === charge_id)
        .flatMap(({ refunds }) => refunds)
        .some((one) => one.id === id || one.key === key);
      this.#expect(2, !made, `refund ${key} is reported as rejected and was made`);
    }
    for (const { number, charge_id, status } of this.observation.memo.state?.attempts ?? []) {
      const charge = this.observation.charges.find(({ id }) => id === charge_id);
      const isPayable = charge?.status === 'successful' || charge?.status === 'pending';
      const isEnded = status === 'failed' || status === 'expired';
      this.#expect(2, !(isEnded && isPayable), `attempt ${number} is ${status}, its charge is ${charge?.status}`);
    }
  }

  recordsAreEqual(): void {
    const { state } = this.observation.memo;
    const { attempts = [], refunded_amount = 0, attention = null } = state ?? {};
    const known = attempts.flatMap(({ charge_id, status }) => (charge_id === null ? [] : [`${charge_id} ${status}`]));
    const shown = this.observation.charges.map(({ id, status }) => `${id} ${status}`);
    const areChargesEqual =
      this.observation.hasLateEffects === true ? known.every((one) => shown.includes(one)) : isSame(known, shown);
    this.#expect(6, areChargesEqual, `charges: Tillflow has ${known.join(', ')}; the provider ${shown.join(', ')}`);

    const pending = this.#pending;
    this.#expect(6, pending.length === 0, `${pending.join(', ')} can still be paid`);

    const made = this.observation.charges.flatMap(({ refunds }) => refunds).map(({ id, amount }) => `${id} ${amount}`);
    const succeeded = this.#refunds.filter(({ status }) => status === 'succeeded');
    const settled = succeeded.map(({ id, amount }) => `${id} ${amount}`);
    const isUnmatched = this.#isExcused('refund_unmatched', 'integrity_mismatch');
    const areRefundsEqual = isSame(made, settled) || isUnmatched;
    this.#expect(6, areRefundsEqual, `refunds: Tillflow has ${settled.join(', ')}; the provider ${made.join(', ')}`);

    const open = this.#refunds.filter(({ status }) => status === 'pending').map(({ key }) => key);
    this.#expect(6, open.length === 0 || isUnmatched, `refunds without an outcome: ${open.join(', ')}`);

    const accepted = this.#accepted;
    const refunded = accepted === undefined ? 0 : sum(accepted.refunds);
    this.#expect(6, refunded_amount === refunded, `${refunded_amount} refunded, by the provider ${refunded}`);
    const expected = expectedStatus(accepted, refunded, this.#amount);
    const isExpected = expected.includes(this.#status) || this.#isExcused('return_refused', 'refund_unmatched');
    this.#expect(6, isExpected, `it is ${this.#status}, by the provider ${expected.join(' or ')}`);
    const isAllowed = attention === null || this.observation.excuses?.has(attention.code) === true;
    this.#expect(6, isAllowed, `it needs a person: ${attention?.code}, ${attention?.detail}`);
  }

  answersHold(): void {
    const { attempts = [] } = this.observation.memo.state ?? {};
    const isPaid = PAID.has(this.#status);
    for (const answer of this.observation.answers ?? []) {
      switch (answer.what) {
        case 'status': {
          const isEnd = ENDS.includes(answer.status);
          const isKept = this.#unreturned.some(({ id }) => !this.#isReturnGivenUp(id));
          const isBroken = isEnd ? isKept : PAID.has(answer.status) && !isPaid;
          this.#expect(6, !isBroken, `a caller was answered ${answer.status}, it is ${this.#status}`);
          break;
        }
        case 'refund': {
          const { key, id, status, amount } = answer.refund;
          const now = this.#refunds.find((one) => one.key === key);
          const isKept = now !== undefined && now.amount === amount && (status !== 'succeeded' || now.id === id);
          this.#expect(6, isKept, `refund ${key} was answered as ${status}, it is ${now?.status ?? 'gone'}`);
          const wanted = answer.wanted ?? amount;
          this.#expect(3, amount === wanted, `refund ${key} of ${wanted} was answered as one of ${amount}`);
          if (status !== 'rejected') break;
          this.#expect(2, now?.status === 'rejected', `refund ${key} was answered as rejected, it is ${now?.status}`);
          break;
        }
        case 'refused refund': {
          const made = this.#paid.flatMap(({ refunds }) => refunds).some(({ key }) => key === answer.key);
          this.#expect(2, !made, `a caller was answered that refund ${answer.key} is refused, and it was made`);
          break;
        }
        case 'attempt':
          // A payment or a cancel may have made the attempt unnecessary meanwhile.
          this.#expect(
            6,
            attempts.length >= answer.number || isPaid || this.#status === 'cancelled',
            `attempt ${answer.number} was promised`,
          );
          break;
      }
    }
  }

  windowsHold(): void {
    const { state } = this.observation.memo;
    for (const { id: charge, paidAt, refunds } of this.#paid) {
      const until = voidableUntil(paidAt ?? 0, this.#offset);
      for (const { id, amount, isVoid, key, madeAt } of refunds) {
        const refund = this.#refunds.find((one) => one.id === id);
        this.#expect(12, (refund?.kind === 'void') === isVoid, `${id} of ${charge} is shown as a ${refund?.kind}`);
        this.#expect(12, !isVoid || amount === this.#amount, `${id} voids a part`);
        this.#expect(12, !isVoid || madeAt < until, `${id} voids after ${iso(until)}`);
        const couldVoid = key !== null && amount === this.#amount && madeAt < until - MINUTE;
        const isExplained = isVoid || refund?.failure_code !== null;
        this.#expect(
          12,
          !couldVoid || isExplained,
          `${id} could have been a void, and its records do not say why it was a refund`,
        );
        // A refused void says why. Only a void of the whole payment, before its cut-off, may be tried. A return is tried
        // again when a part has been refunded meanwhile. A refund that was made long after its deadline keeps the reason
        // for which its repetition was refused.
        const wasVoidable = amount === this.#amount && (paidAt ?? 0) < until && madeAt < until + HOUR;
        const isOther = key?.startsWith(OWN_KEY_PREFIX) === true || this.observation.hasLateEffects === true;
        const reason = isOther ? null : (refund?.failure_code ?? null);
        this.#expect(12, wasVoidable || reason === null || reason === ABANDONED, `${id} was tried as a void`);
        this.#expect(12, madeAt <= yearAfter(paidAt ?? 0), `${id} was made after a year`);
      }
    }
    const accepted = this.#accepted;
    if (accepted === undefined || accepted.paidAt === null || state === undefined) return;
    const { now, hasOwnTimeOfPayment = false } = this.observation;
    const shownAt = Date.parse(state.paid_at ?? '');
    const sawItSoon = shownAt >= accepted.paidAt && shownAt < accepted.paidAt + HOUR;
    const paidAt = hasOwnTimeOfPayment && sawItSoon ? shownAt : accepted.paidAt;
    const until = voidableUntil(paidAt, this.#offset);
    const voidable = accepted.refunds.length === 0 && now < until ? iso(until) : null;
    this.#expect(
      12,
      state.voidable_until === voidable,
      `voidable until ${state.voidable_until}, by the rule ${voidable}`,
    );
    const end = yearAfter(paidAt);
    const refundable = now <= end ? iso(end) : null;
    const shown = state.refundable_until;
    this.#expect(12, shown === refundable, `refundable until ${shown}, by the rule ${refundable}`);
  }

  #expect(guarantee: Guarantee, isSo: boolean, otherwise: string): void {
    this.#checked[guarantee] += 1;
    if (!isSo) this.#breaches.push({ guarantee, checkout: this.observation.memo.intent.id, what: otherwise });
  }

  #isExcused(...codes: AttentionCode[]): boolean {
    return codes.some((code) => this.observation.excuses?.has(code) === true);
  }

  /** An operator stopped waiting for the outcome of this payment's return. Tillflow tries it again an hour later. */
  #isReturnGivenUp(chargeId: string): boolean {
    return this.#refunds.some(
      ({ key, charge_id, failure_code }) =>
        key.startsWith(OWN_KEY_PREFIX) && charge_id === chargeId && failure_code === ABANDONED,
    );
  }

  get #amount(): number {
    return this.observation.memo.intent.amount;
  }

  get #offset(): number {
    return this.observation.voidDateOffsetMinutes ?? 0;
  }

  get #status(): string {
    return this.observation.memo.state?.status ?? 'creating';
  }

  /** The charges that a customer can still pay. */
  get #pending(): readonly string[] {
    return this.observation.charges.filter(({ status }) => status === 'pending').map(({ id }) => id);
  }

  /** The payments that are not completely returned. */
  get #unreturned(): readonly ProviderCharge[] {
    return this.#paid.filter(({ refunds }) => sum(refunds) < this.#amount);
  }

  get #accepted(): ProviderCharge | undefined {
    const { acceptedChargeId, memo } = this.observation;
    if (acceptedChargeId !== undefined) return this.#paid.find(({ id }) => id === acceptedChargeId);
    const paidAt = memo.state?.paid_at ?? null;
    const atThatTime = this.#paid.filter((one) => one.paidAt !== null && iso(one.paidAt) === paidAt);
    // Two payments of one millisecond, or one whose time is not the provider's: the timeline says which one counts.
    const named = memo.timeline?.find(({ what }) => what === 'paid')?.detail ?? '';
    const isNamed = ({ id }: ProviderCharge): boolean => named.includes(id);
    return atThatTime.find(isNamed) ?? atThatTime[0] ?? this.#paid.find(isNamed) ?? this.#paid[0];
  }
}

/** Whether two refunds have the same key. */
function hasRepetition(refunds: ProviderCharge['refunds']): boolean {
  const keys = refunds.flatMap(({ key }) => key ?? []);
  return new Set(keys).size < keys.length;
}

/** The end of one attempt, which another one follows, says which attempt. */
function isEndOfCheckout({ what, detail }: TimelineEntry): boolean {
  return ENDS.includes(what) && detail?.startsWith('attempt ') !== true;
}

function expectedStatus(accepted: ProviderCharge | undefined, refunded: number, amount: number): readonly string[] {
  if (accepted === undefined) return ENDS;
  return refunded === 0 ? ['paid'] : refunded === amount ? ['refunded'] : ['partially_refunded'];
}

/**
 * Source: API reference, "Limits". Written again on purpose, so that an error of the product's own rule does not hide
 * here.
 */
function voidableUntil(paidAt: number, offsetMinutes: number): number {
  const cutOff = Math.floor((paidAt + offsetMinutes * MINUTE) / DAY) * DAY + CUT_OFF;
  return paidAt < cutOff ? cutOff : paidAt;
}

function yearAfter(paidAt: number): number {
  const date = new Date(paidAt);
  const isLeapDay = date.getUTCMonth() === 1 && date.getUTCDate() === 29;
  return date.setUTCFullYear(date.getUTCFullYear() + 1, date.getUTCMonth(), isLeapDay ? 28 : date.getUTCDate());
}

const iso = (instant: number): string => new Date(instant).toISOString();

function sum(amounts: readonly { readonly amount: number }[]): number {
  return amounts.reduce((total, { amount }) => total + amount, 0);
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.toSorted().join('\n') === other.toSorted().join('\n');
}
