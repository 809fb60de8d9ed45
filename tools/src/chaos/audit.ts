import type { SandboxState } from '@tillflow/sandbox';
import { toRefund, type CheckoutMemo, type Refund } from '@tillflow/workflows';

/** The guarantees that books can prove, by their number in `docs/guarantees.md`, in a few words each. */
export const GUARANTEES = {
  1: 'of two payments one is kept, the other goes back',
  2: 'nothing is repeated blindly, nothing made is reported as failed',
  3: 'no more is given back than was paid',
  4: 'paid only if the provider says so',
  5: 'a lost webhook does not lose the payment',
  6: 'our books are the provider’s, whatever was killed',
  12: 'voids and refunds within their windows, and as the view says',
} as const;
export type Guarantee = keyof typeof GUARANTEES;

/** Something that must never be so. */
export type Breach = { readonly guarantee: Guarantee; readonly checkout: string; readonly what: string };

/** What was found: how much there was to check, and what was wrong. */
export type Findings = {
  readonly checked: Readonly<Record<Guarantee, number>>;
  readonly breaches: readonly Breach[];
};

export const AUDITED_SECTIONS = ['charges', 'refunds', 'events', 'transactions', 'deliveries', 'requests'] as const;

/** The provider's side. */
export type ProviderBooks = Pick<SandboxState, 'now' | (typeof AUDITED_SECTIONS)[number]>;

/** What a caller was told, and may rely on. */
export type Promised =
  | { readonly what: 'status'; readonly status: string }
  | { readonly what: 'refund'; readonly refund: Refund }
  | { readonly what: 'attempt'; readonly number: number };

export type Audited = {
  readonly memo: CheckoutMemo;
  readonly promised?: readonly Promised[];
  /** Minutes east of UTC of the calendar that gives a payment's transaction date, at the provider and with us. */
  readonly voidDateOffsetMinutes?: number;
  /** A call without an answer is not repeated sooner than this (ms): until then it may be under way. */
  readonly quietMs?: number;
};

type Charge = ProviderBooks['charges'][number];
type ProviderRefund = ProviderBooks['refunds'][number];

const ENDS: readonly string[] = ['expired', 'failed', 'cancelled'];
const PAID: ReadonlySet<string> = new Set(['paid', 'partially_refunded', 'refunded']);
const MINUTE = 60_000;
const DAY = 86_400_000;
const CUT_OFF = (16 * 60 + 15) * MINUTE;

/** What is true of a checkout that is settled, by the provider's books and by ours. */
export function audit(books: ProviderBooks, audited: Audited): Findings {
  return new Audit(books, audited).findings();
}

class Audit {
  readonly #breaches: Breach[] = [];
  readonly #checked: Record<Guarantee, number> = { 1: 0, 2: 0, 3: 0, 4: 0, 5: 0, 6: 0, 12: 0 };
  readonly #charges: readonly Charge[];
  readonly #paid: readonly Charge[];
  readonly #ours: readonly Refund[];

  constructor(
    private readonly books: ProviderBooks,
    private readonly audited: Audited,
  ) {
    const { intent, refunds = [] } = audited.memo;
    this.#charges = books.charges.filter(({ metadata }) => metadata['checkout'] === intent.id);
    this.#paid = this.#charges.filter(({ status }) => status === 'successful');
    this.#ours = refunds.map(toRefund);
  }

  findings(): Findings {
    this.#oneIsKept();
    this.#nothingBlindly();
    this.#noMoreThanPaid();
    this.#paidByTheProvider();
    this.#lostWebhooks();
    this.#sameBooks();
    this.#promisesHold();
    this.#windows();
    return { checked: this.#checked, breaches: this.#breaches };
  }

  #expect(guarantee: Guarantee, isSo: boolean, otherwise: string): void {
    this.#checked[guarantee] += 1;
    if (!isSo) this.#breaches.push({ guarantee, checkout: this.audited.memo.intent.id, what: otherwise });
  }

  get #status(): string {
    return this.audited.memo.state?.status ?? 'creating';
  }

  /** The payments of which something is left with us. */
  get #unreturned(): readonly Charge[] {
    return this.#paid.filter(({ amount, refunded_amount }) => refunded_amount < amount);
  }

  #refundsOf(charge: Charge): readonly ProviderRefund[] {
    return this.books.refunds.filter((refund) => refund.charge === charge.id);
  }

  #oneIsKept(): void {
    const kept = this.#unreturned.map(({ id }) => id);
    this.#expect(1, kept.length <= 1, `${kept.length} payments are kept: ${kept.join(', ')}`);
    for (const { id, refunded_amount, amount } of this.#paid) {
      const isAudited = this.#ours.some((refund) => refund.charge_id === id && refund.status === 'succeeded');
      this.#expect(1, refunded_amount < amount || isAudited, `${id} went back and our books do not say so`);
    }
  }

  #nothingBlindly(): void {
    for (const charge of this.#paid) {
      const keys = this.#refundsOf(charge).flatMap(({ metadata }) => textOf(metadata, 'refund_key') ?? []);
      this.#expect(
        2,
        new Set(keys).size === keys.length,
        `a refund of ${charge.id} was made twice: ${keys.join(', ')}`,
      );
    }
    for (const refund of this.#ours) {
      const made = this.books.refunds.filter((one) => one.id === refund.id || this.#isOf(one, refund));
      if (refund.status === 'rejected') {
        this.#expect(2, made.length === 0, `refund ${refund.key} is called rejected and was made`);
      }
    }
    const { attempts = [] } = this.audited.memo.state ?? {};
    for (const { number, charge_id, status } of attempts) {
      const charge = this.#charges.find(({ id }) => id === charge_id);
      const isGone = status === 'failed' || status === 'expired';
      const isAlive = charge?.status === 'successful' || charge?.status === 'pending';
      this.#expect(2, !(isGone && isAlive), `attempt ${number} is called ${status}, its charge is ${charge?.status}`);
    }
    this.#looksBetween();
  }

  #isOf({ charge, metadata }: ProviderRefund, { charge_id, key }: Refund): boolean {
    return charge === charge_id && metadata['refund_key'] === key;
  }

  /** Between two tries of one create there is a look, unless the first was refused by the rate limit. */
  #looksBetween(): void {
    const { requests } = this.books;
    const isOurs = (metadata: unknown): boolean => textOf(metadata, 'checkout') === this.audited.memo.intent.id;
    const tries = new Map<string, number>();
    for (const [index, { at, method, route, path, form }] of requests.entries()) {
      if (method !== 'POST' || !isOurs(form?.['metadata'])) continue;
      const isCharge = route === '/charges';
      if (!isCharge && route !== '/charges/{id}/refunds') continue;
      const key = isCharge ? textOf(form, 'source') : textOf(form?.['metadata'], 'refund_key');
      const subject = `${path} ${key ?? ''}`;
      const before = tries.get(subject);
      tries.set(subject, index);
      if (before === undefined) continue;
      const wanted = isCharge ? `/sources/${key ?? ''}` : path.replace(/\/refunds$/, '');
      const isLooked = requests
        .slice(before + 1, index)
        .some((request) => request.method === 'GET' && request.path === wanted && request.status === 200);
      const first = requests[before];
      this.#expect(2, isLooked || first?.status === 429, `${method} ${subject} was repeated without a look`);
      const isUnanswered = first?.status === null || (first?.status ?? 0) >= 500;
      if (first === undefined || !isUnanswered) continue;
      const gapMs = Date.parse(at) - Date.parse(first.at);
      const { quietMs = 0 } = this.audited;
      this.#expect(2, gapMs >= quietMs, `${method} ${subject} was repeated after ${gapMs} ms`);
    }
  }

  #noMoreThanPaid(): void {
    for (const charge of this.#paid) {
      const given = sum(this.#refundsOf(charge));
      this.#expect(3, given <= charge.amount, `${given} of ${charge.id} were given back`);
      const promised = sum(this.#ours.filter((one) => one.charge_id === charge.id && one.status !== 'rejected'));
      this.#expect(3, promised <= charge.amount, `${promised} of ${charge.id} are promised`);
    }
  }

  #paidByTheProvider(): void {
    const isPaid = PAID.has(this.#status);
    this.#expect(4, !isPaid || this.#paid.length > 0, `${this.#status} without a payment`);
    const { paid_at = null } = this.audited.memo.state ?? {};
    this.#expect(4, paid_at === null || this.#paid.length > 0, 'it has a time of payment without a payment');
  }

  #lostWebhooks(): void {
    for (const { id } of this.#paid) {
      const told = new Set(
        this.books.events
          .filter(({ key, data }) => key === 'charge.complete' && data.id === id)
          .map((event) => event.id),
      );
      const arrived = this.books.deliveries.some(
        ({ event, status, dropped, corrupted }) => told.has(event) && status === 200 && !dropped && !corrupted,
      );
      if (!arrived) this.#expect(5, this.#knows(id), `${id} was paid, its webhooks were lost, and we do not know`);
    }
  }

  #knows(chargeId: string): boolean {
    const { attempts = [], paid_at = null } = this.audited.memo.state ?? {};
    return paid_at !== null && attempts.some((one) => one.charge_id === chargeId && one.status === 'successful');
  }

  #sameBooks(): void {
    const { state, intent } = this.audited.memo;
    const { attempts = [], refunded_amount = 0 } = state ?? {};
    const known = attempts.flatMap(({ charge_id, status }) => (charge_id === null ? [] : [`${charge_id} ${status}`]));
    const shown = this.#charges.map(({ id, status }) => `${id} ${status}`);
    this.#expect(6, isSame(known, shown), `charges: we know ${known.join(', ')}; the provider ${shown.join(', ')}`);

    const pending = this.#charges.filter(({ status }) => status === 'pending').map(({ id }) => id);
    this.#expect(6, pending.length === 0, `${pending.join(', ')} can still be paid`);

    const made = this.#charges.flatMap((charge) => this.#refundsOf(charge)).map((one) => `${one.id} ${one.amount}`);
    const settled = this.#ours.filter(({ status }) => status === 'succeeded').map((one) => `${one.id} ${one.amount}`);
    this.#expect(6, isSame(made, settled), `refunds: we know ${settled.join(', ')}; the provider ${made.join(', ')}`);

    const open = this.#ours.filter(({ status }) => status === 'pending').map(({ key }) => key);
    this.#expect(6, open.length === 0, `refunds without an outcome: ${open.join(', ')}`);

    const kept = this.#keptByUs;
    const given = kept === undefined ? 0 : kept.refunded_amount;
    this.#expect(
      6,
      refunded_amount === given,
      `${refunded_amount} given back by our books, ${given} by the provider's`,
    );
    const status = expectedStatus(kept, given, intent.amount);
    this.#expect(6, status.includes(this.#status), `it is ${this.#status}, by the provider ${status.join(' or ')}`);
    const attention = state?.attention ?? null;
    this.#expect(6, attention === null, `it needs a person: ${attention?.code}, ${attention?.detail}`);
    this.#transactions();
  }

  /** The payment that counts: with two of them, the one whose time we tell. */
  get #keptByUs(): Charge | undefined {
    const paidAt = this.audited.memo.state?.paid_at;
    return this.#paid.find(({ paid_at }) => paid_at === paidAt) ?? this.#paid[0];
  }

  /** Each payment is one credit, each refund one debit: no money moved that our books do not have. */
  #transactions(): void {
    const moved = (origin: string): string[] =>
      this.books.transactions.filter((one) => one.origin === origin).map(({ direction, key }) => `${direction} ${key}`);
    for (const { id, status } of this.#charges) {
      const expected = status === 'successful' ? ['credit charge.capture'] : [];
      this.#expect(6, isSame(moved(id), expected), `${id} moved money: ${moved(id).join(', ')}`);
    }
    for (const { id, status } of this.#ours) {
      if (status !== 'succeeded' || id === null) continue;
      this.#expect(6, isSame(moved(id), ['debit refund.create']), `${id} moved money: ${moved(id).join(', ')}`);
    }
  }

  #promisesHold(): void {
    const { attempts = [] } = this.audited.memo.state ?? {};
    for (const promise of this.audited.promised ?? []) {
      switch (promise.what) {
        case 'status': {
          const isEnd = ENDS.includes(promise.status);
          const isBroken = isEnd ? this.#unreturned.length > 0 : PAID.has(promise.status) && !this.#isPaidByNow;
          this.#expect(6, !isBroken, `a caller was told ${promise.status}, it is ${this.#status}`);
          break;
        }
        case 'refund': {
          const { key, id, status, amount } = promise.refund;
          const now = this.#ours.find((one) => one.key === key);
          const isKept = now !== undefined && now.amount === amount && (status !== 'succeeded' || now.id === id);
          this.#expect(6, isKept, `a caller was told ${status} of refund ${key}, it is ${now?.status ?? 'gone'}`);
          if (status !== 'rejected') break;
          this.#expect(2, now?.status === 'rejected', `refund ${key} was called rejected and is ${now?.status}`);
          break;
        }
        case 'attempt':
          // It may have become needless meanwhile, by a payment or a cancel.
          this.#expect(
            6,
            attempts.length >= promise.number || this.#isPaidByNow || this.#status === 'cancelled',
            `attempt ${promise.number} was promised`,
          );
          break;
      }
    }
  }

  get #isPaidByNow(): boolean {
    return PAID.has(this.#status);
  }

  #windows(): void {
    const { state } = this.audited.memo;
    for (const charge of this.#paid) {
      const paidAt = Date.parse(charge.paid_at ?? '');
      const until = voidableUntil(paidAt, this.audited.voidDateOffsetMinutes ?? 0);
      for (const refund of this.#refundsOf(charge)) {
        const ours = this.#ours.find(({ id }) => id === refund.id);
        const madeAt = Date.parse(refund.created_at);
        const isVoid = refund.voided;
        this.#expect(12, (ours?.kind === 'void') === isVoid, `${refund.id} is called a ${ours?.kind}`);
        this.#expect(12, !isVoid || refund.amount === charge.amount, `${refund.id} voids a part`);
        this.#expect(12, !isVoid || madeAt < until, `${refund.id} voids after ${iso(until)}`);
        const isByUs = refund.metadata['refund_key'] !== undefined;
        const couldVoid = isByUs && refund.amount === charge.amount && madeAt < until - MINUTE;
        const isExplained = isVoid || ours?.failure_code !== null;
        this.#expect(12, !couldVoid || isExplained, `${refund.id} could have been a void, and does not say why not`);
        this.#expect(12, madeAt <= yearAfter(paidAt), `${refund.id} was made after a year`);
      }
    }
    const kept = this.#keptByUs;
    if (kept === undefined || state === undefined) return;
    const paidAt = Date.parse(kept.paid_at ?? '');
    const until = voidableUntil(paidAt, this.audited.voidDateOffsetMinutes ?? 0);
    const isVoidable = kept.refunded_amount === 0 && Date.parse(this.books.now) < until;
    const { voidable_until: shown, refundable_until: refundable } = state;
    this.#expect(12, shown === (isVoidable ? iso(until) : null), `voidable until ${shown}, by the rule ${iso(until)}`);
    this.#expect(12, refundable === iso(yearAfter(paidAt)), `refundable until ${refundable}, paid at ${kept.paid_at}`);
  }
}

function expectedStatus(kept: Charge | undefined, given: number, amount: number): readonly string[] {
  if (kept === undefined) return ENDS;
  return given === 0 ? ['paid'] : given === amount ? ['refunded'] : ['partially_refunded'];
}

/** Source: API reference, "Limits". Written again on purpose: an error of the product's own rule must not hide here. */
function voidableUntil(paidAt: number, offsetMinutes: number): number {
  const cutOff = Math.floor((paidAt + offsetMinutes * MINUTE) / DAY) * DAY + CUT_OFF;
  return paidAt < cutOff ? cutOff : paidAt;
}

function yearAfter(paidAt: number): number {
  const [year = 0, month = 0, day = 0, ...time] = iso(paidAt)
    .split(/[-T:.Z]/)
    .map(Number);
  const isLeapDay = month === 2 && day === 29;
  const [hours = 0, minutes = 0, seconds = 0, milliseconds = 0] = time;
  return Date.UTC(year + 1, month - 1, isLeapDay ? 28 : day, hours, minutes, seconds, milliseconds);
}

function iso(instant: number): string {
  return new Date(instant).toISOString();
}

function sum(amounts: readonly { readonly amount: number }[]): number {
  return amounts.reduce((total, { amount }) => total + amount, 0);
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.toSorted().join('\n') === other.toSorted().join('\n');
}

/** Metadata and forms hold whatever was sent: what is no text is not there. */
function textOf(record: unknown, name: string): string | null {
  const value = typeof record === 'object' && record !== null ? (record as Record<string, unknown>)[name] : null;
  return typeof value === 'string' ? value : null;
}
