import { businessDayFinder, UTC_DAYS, type BusinessDay, type BusinessDayRule } from '../business-day.js';
import { formatInstant, instant, plus, type Instant } from '../instant.js';
import { compareBreaks, idsOf, type Break } from './breaks.js';
import { compareAbsentCharge, comparePayment, hasMoney, showsPaid } from './compare-payment.js';
import { compareDebit, compareRefunds } from './compare-refunds.js';
import { DaySums, NO_TILL, type DayTotals, type Till } from './day-totals.js';
import { isPaidWithin, paidAtOf, type Movement, type TillflowCheckout, type ProviderCharge } from './records.js';
import type { Rules } from './rules.js';
import { inSlices, Peekable, type Slice } from './slices.js';
import { Totals, type CurrencyTotals } from './totals.js';

/** A paid charge of another system that uses the same account. Wire names. */
export type Foreign = {
  readonly charge_id: string;
  /** Smallest currency unit. */
  readonly amount: number;
  readonly currency: string;
  /** ISO 8601 UTC. */
  readonly paid_at: string;
};

/** A charge is created at most this long before its payment, in milliseconds: no QR is open for longer. */
const LISTED_BEFORE_MS = 24 * 3_600_000;

/** Payments at or after `from` and before `to`. */
export type Window = { readonly from: Instant; readonly to: Instant };

/**
 * The part of a window, in milliseconds, that can be compared: lists begin in 1970, and payments after `oldEnough` are
 * left to the next run.
 */
export function comparable({ from, to }: { readonly from: number; readonly to: number }, oldEnough: Instant): Window {
  return { from: instant(Math.max(from, LISTED_BEFORE_MS)), to: instant(Math.min(to, oldEnough)) };
}

/** Every payment before `at` is compared. The charges of later payments were created at or after `listFrom`. */
export type Place = { readonly at: Instant; readonly listFrom: Instant };

export function beginningOf({ from }: Window): Place {
  return { at: from, listFrom: plus(from, -LISTED_BEFORE_MS) };
}

/** The three lists of records that are compared. Each is read once. */
export type ReconciledRecords = {
  /** Tillflow's paid checkouts in the order of their payments, from the place's `at` to the window's end. */
  readonly checkouts: AsyncIterable<TillflowCheckout>;
  /** The provider's charges in the order of their creation, from the place's `listFrom` to the window's end. */
  readonly charges: AsyncIterable<ProviderCharge>;
  /** Movements of the balance in the order of their creation, from the place's `at` to the window's end. */
  readonly movements: AsyncIterable<Movement>;
};

/** Reads one record again. Null when it does not exist. */
export type Lookups = {
  checkout(id: string): Promise<TillflowCheckout | null>;
  charge(id: string): Promise<ProviderCharge | null>;
  movement(id: string): Promise<Movement | null>;
  /** The refunded charge of a movement. */
  refunded(movement: Movement): Promise<ProviderCharge | null>;
};

/** The result for one span of time. */
export type ComparedSlice = {
  readonly totals: readonly CurrencyTotals[];
  /** The same money by business day and till. */
  readonly days: readonly DayTotals[];
  readonly breaks: readonly Break[];
  readonly foreign: readonly Foreign[];
  /** Where the next span begins; null at the end. */
  readonly next: Place | null;
};

export type Comparison = {
  readonly window: Window;
  readonly place: Place;
  readonly rules: Rules;
  /** Default: the days of UTC. */
  readonly businessDays?: BusinessDayRule;
  /** About how many charges are in memory at a time. */
  readonly sliceSize?: number;
};

const SLICE_SIZE = 1_000;

/**
 * Compares the three lists, each in its own order, with the memory of one slice. A record without a counterpart in its
 * slice is looked up, and every break is compared again with freshly read records before it is reported. So a clock
 * difference or a change in flight costs a lookup and never causes a false break. The same records give the same result
 * with any slice size.
 */
export async function* reconcile(
  records: ReconciledRecords,
  lookups: Lookups,
  { window, place, rules, businessDays = UTC_DAYS, sliceSize = SLICE_SIZE }: Comparison,
): AsyncGenerator<ComparedSlice, void, undefined> {
  const checkouts = new Peekable(records.checkouts);
  const movements = new Peekable(since(records.movements, place.at));
  const calendar = calendarOf(businessDays);
  const refunded = new Map<string, string>();
  const charges = notingRefunds(records.charges, refunded);
  const known = withListedRefunds(lookups, refunded);
  try {
    for await (const slice of inSlices(charges, { at: place.at, to: window.to, size: sliceSize })) {
      const slicing = new SliceComparison(slice, known, window, rules, calendar);
      await slicing.compare(checkouts, movements);
      yield slicing.result();
    }
  } finally {
    await Promise.all([checkouts.close(), movements.close()]);
  }
}

/** A list may begin a little before the requested time: those movements are compared already. */
async function* since(movements: AsyncIterable<Movement>, at: Instant): AsyncGenerator<Movement, void, undefined> {
  for await (const movement of movements) if (movement.createdAt >= at) yield movement;
}

/**
 * Notes of which charge each refund is. Its movement is compared with the slice of the charge, or with a later one.
 * @param refunded the ids of charges by the ids of their refunds: of a call's charges, no more
 */
async function* notingRefunds(
  charges: AsyncIterable<ProviderCharge>,
  refunded: Map<string, string>,
): AsyncGenerator<ProviderCharge, void, undefined> {
  for await (const charge of charges) {
    for (const { id } of charge.refunds) refunded.set(id, charge.id);
    yield charge;
  }
}

/** A listed charge states its refunds. Only for refunds of other charges does the provider have to be asked. */
function withListedRefunds(lookups: Lookups, refunded: ReadonlyMap<string, string>): Lookups {
  return {
    ...lookups,
    refunded: async (movement) => {
      const chargeId = refunded.get(movement.refundId ?? '');
      const charge = chargeId === undefined ? null : await lookups.charge(chargeId);
      return charge ?? lookups.refunded(movement);
    },
  };
}

/** The shop's time. */
type Calendar = {
  /** The business day of a payment or a refund. */
  readonly dayOf: (at: Instant) => BusinessDay;
  /** The date of a payout. */
  readonly dateOf: (at: Instant) => string;
};

function calendarOf(rule: BusinessDayRule): Calendar {
  const calendarDayOf = businessDayFinder({ ...rule, start: '00:00' });
  return { dayOf: businessDayFinder(rule), dateOf: (at) => calendarDayOf(at).date };
}

/** A charge with its checkout and its movement of the balance. */
type Match = { readonly charge: ProviderCharge; checkout: TillflowCheckout | null; movement: Movement | null };

class SliceComparison {
  readonly #totals = new Totals();
  readonly #days = new DaySums();
  readonly #breaks: Break[] = [];
  readonly #foreign: Foreign[] = [];
  readonly #matches: Map<string, Match>;

  constructor(
    private readonly slice: Slice,
    private readonly lookups: Lookups,
    private readonly window: Window,
    private readonly rules: Rules,
    private readonly calendar: Calendar,
  ) {
    this.#matches = new Map(slice.charges.map((charge) => [charge.id, { charge, checkout: null, movement: null }]));
  }

  async compare(checkouts: Peekable<TillflowCheckout>, movements: Peekable<Movement>): Promise<void> {
    const { until } = this.slice;
    const refunds: Movement[] = [];
    for await (const movement of movements.while(({ createdAt }) => createdAt < until)) {
      if (movement.chargeId === null) refunds.push(movement);
      else await this.#matchPayment(movement, movement.chargeId);
    }
    for await (const checkout of checkouts.while(({ paidAt }) => paidAt === null || paidAt < until)) {
      await this.#matchCheckout(checkout);
    }
    for (const match of this.#matches.values()) await this.#compare(match);
    for (const refund of refunds) await this.#compareRefund(refund);
  }

  result(): ComparedSlice {
    const { until, listFrom } = this.slice;
    return {
      totals: this.#totals.list(),
      days: this.#days.list(),
      breaks: this.#breaks.toSorted(compareBreaks),
      foreign: this.#foreign,
      next: until < this.window.to ? { at: until, listFrom } : null,
    };
  }

  async #matchPayment(movement: Movement, chargeId: string): Promise<void> {
    const match = this.#matches.get(chargeId);
    if (match !== undefined) {
      match.movement ??= movement;
      return;
    }
    // The charge of this checkout is in another slice, or it was created before the first charge of the list.
    const charge = await this.lookups.charge(chargeId);
    if (charge === null || charge.createdAt >= beginningOf(this.window).listFrom || !this.#isSelected(charge)) return;
    this.#matches.set(charge.id, { charge, checkout: null, movement });
  }

  /**
   * The sums of the days count a refund when its money leaves the balance, whenever the payment was made. A refund of a
   * payment in the window is compared with its charge; a refund of an earlier payment is compared here.
   */
  async #compareRefund(movement: Movement): Promise<void> {
    const charge = await this.lookups.refunded(movement);
    if (charge === null) {
      this.#countUnknownRefund(movement);
      return;
    }
    const matched = this.#matches.get(charge.id)?.checkout ?? null;
    const checkoutId = matched?.id ?? charge.checkoutId;
    if (checkoutId === null) return;
    this.#add(compareDebit(charge, movement, this.rules), charge.currency);
    const checkout = matched ?? (await this.lookups.checkout(checkoutId));
    this.#countRefund(charge, checkout, movement);
    if (this.#isSelected(charge) || checkout === null) return;
    const breaks = compareRefunds(charge, checkout, this.rules);
    this.#add(
      breaks.filter(({ refund_id }) => refund_id === movement.refundId),
      charge.currency,
    );
  }

  async #matchCheckout(checkout: TillflowCheckout): Promise<void> {
    this.#totals.add(checkout.currency, { checkouts: 1 });
    for (const { id, status } of checkout.charges) {
      if (status !== 'successful') continue;
      const match = this.#matches.get(id);
      if (match === undefined) await this.#lookUpCharge(checkout, id);
      else match.checkout ??= checkout;
    }
  }

  /** The provider did not list the charge in this slice: it may be in another slice, or missing. */
  async #lookUpCharge(checkout: TillflowCheckout, chargeId: string): Promise<void> {
    const charge = await this.lookups.charge(chargeId);
    if (compareAbsentCharge(checkout, chargeId, charge, this.rules).length === 0) return;
    const now = await this.lookups.checkout(checkout.id);
    if (now === null) return;
    const breaks = compareAbsentCharge(now, chargeId, await this.lookups.charge(chargeId), this.rules);
    if (breaks.length > 0) this.#countCheckout(now, chargeId);
    this.#add(breaks, checkout.currency);
  }

  async #compare(match: Match): Promise<void> {
    const { charge, checkout, movement } = match;
    const { id, amount, currency } = charge;
    const checkoutId = checkout?.id ?? charge.checkoutId;
    if (checkoutId === null) {
      if (!hasMoney(charge)) return;
      this.#foreign.push({ charge_id: id, amount, currency, paid_at: formatInstant(paidAtOf(charge)) });
      this.#totals.add(currency, { foreign: 1, foreign_amount: amount });
      return;
    }
    const known = checkout ?? (await this.lookups.checkout(checkoutId));
    const credit = movement ?? (await this.#movementOf(charge));
    const read: Match = { charge, checkout: known, movement: credit };
    const agrees = comparePayment(charge, known, credit, this.rules).length === 0;
    const compared = agrees ? read : await this.#compareAgain(read, checkoutId);
    match.checkout = compared.checkout;
    this.#count(compared, this.calendar.dayOf(paidAtOf(charge)));
  }

  /**
   * Compares freshly read records, because the listed ones may be out of date. Money may also move between two reads,
   * so the charge is read before and after its checkout, and only a break that both reads show is reported.
   */
  async #compareAgain(
    { charge: listed, checkout: known, movement: credit }: Match,
    checkoutId: string,
  ): Promise<Match> {
    const before = (await this.lookups.charge(listed.id)) ?? listed;
    const checkout = (await this.lookups.checkout(checkoutId)) ?? known;
    const charge = (await this.lookups.charge(listed.id)) ?? listed;
    const movement = credit ?? (await this.#movementOf(charge));
    const shown = new Set(comparePayment(before, checkout, movement, this.rules).map(idsOf));
    const breaks = comparePayment(charge, checkout, movement, this.rules).filter((one) => shown.has(idsOf(one)));
    this.#add(breaks, charge.currency);
    return { charge, checkout, movement };
  }

  /** Counts a payment for both sides at once, so that the totals cover the same payments. */
  #count({ charge, checkout, movement }: Match, day: BusinessDay): void {
    const { amount, refundedAmount, currency } = charge;
    const till = tillOf(charge, checkout);
    this.#totals.add(currency, { credited: movement?.amount ?? 0 });
    if (hasMoney(charge)) {
      const fees = feesOf(charge, movement);
      this.#totals.add(currency, { charges: 1, paid_there: amount, refunded_there: refundedAmount, fees: fees ?? 0 });
      this.#days.add(day, till, currency, { sales: { count: 1, amount }, fees });
    }
    if (movement !== null) this.#settle(day, till, movement, movement.amount);
    if (checkout !== null && showsPaid(checkout, charge.id)) this.#countCheckout(checkout, charge.id);
  }

  /**
   * A debit of less than the refund returns a part of the fees, as a void does. A debit in another currency does not
   * show which part.
   */
  #countRefund(charge: ProviderCharge, checkout: TillflowCheckout | null, movement: Movement): void {
    const refund = charge.refunds.find(({ id }) => id === movement.refundId);
    const { amount } = refund ?? movement;
    const { currency } = refund === undefined ? movement : charge;
    const returnedFees = movement.currency === currency ? amount - movement.amount : null;
    const day = this.calendar.dayOf(movement.createdAt);
    const till = tillOf(charge, checkout);
    this.#days.addReturned(day, { currency, amount, fees: returnedFees ?? 0 });
    this.#days.add(day, till, currency, {
      [refund?.voided === true ? 'voids' : 'refunds']: { count: 1, amount },
      fees: returnedFees === null ? null : -returnedFees,
    });
    this.#settle(day, till, movement, -movement.amount);
  }

  /**
   * The money left the balance, so it counts. It counts in no store and at no till, because nothing says where the
   * payment was made, and without a returned fee, because nothing says that there was one.
   */
  #countUnknownRefund(movement: Movement): void {
    const { amount, currency, createdAt } = movement;
    const day = this.calendar.dayOf(createdAt);
    this.#days.addReturned(day, { currency, amount, fees: 0 });
    this.#days.add(day, NO_TILL, currency, { refunds: { count: 1, amount } });
    this.#settle(day, NO_TILL, movement, -amount);
  }

  #settle(day: BusinessDay, till: Till, { currency, transferableAt }: Movement, amount: number): void {
    const date = transferableAt === null ? null : this.calendar.dateOf(transferableAt);
    this.#days.add(day, till, currency, { settlements: [{ date, amount }] });
  }

  #countCheckout({ currency, amount, refunds }: TillflowCheckout, chargeId: string): void {
    const succeeded = refunds.filter((refund) => refund.chargeId === chargeId && refund.status === 'succeeded');
    const refunded_here = succeeded.reduce((sum, refund) => sum + refund.amount, 0);
    this.#totals.add(currency, { paid_here: amount, refunded_here });
  }

  async #movementOf({ transactionId }: ProviderCharge): Promise<Movement | null> {
    return transactionId === null ? null : this.lookups.movement(transactionId);
  }

  #isSelected(charge: ProviderCharge): boolean {
    return isPaidWithin(charge, this.window.from, this.window.to);
  }

  #add(breaks: readonly Break[], currency: string): void {
    if (breaks.length === 0) return;
    this.#breaks.push(...breaks);
    this.#totals.add(currency, { breaks: breaks.length });
  }
}

/** Tillflow's own record decides. The provider's record names the till of a payment without a checkout. */
function tillOf(charge: ProviderCharge, checkout: TillflowCheckout | null): Till {
  return checkout === null ? charge.till : checkout.till;
}

/**
 * With VAT. Of a charge that states no fees, as when a void returned them: what the balance did not get of the payment.
 * Null when the balance does not show that either.
 */
function feesOf({ fees, amount, currency }: ProviderCharge, movement: Movement | null): number | null {
  if (fees !== null) return fees.fee + fees.vat;
  if (movement === null || movement.currency !== currency || movement.amount > amount) return null;
  return amount - movement.amount;
}
