import { formatInstant, instant, plus, type Instant } from '../instant.js';
import { compareBreaks, idsOf, type Break } from './breaks.js';
import {
  examineAbsence,
  examineDebit,
  examinePayment,
  examineRefunds,
  isMoneyThere,
  knowsPaid,
  type Rules,
} from './examine.js';
import { Peekable } from './peekable.js';
import type { Movement, OurCheckout, TheirCharge } from './sides.js';
import { inSlices, type Slice } from './slices.js';
import { Totals, type CurrencyTotals } from './totals.js';

/** A paid charge of another system on the same account. Wire names. */
export type Foreign = {
  readonly charge_id: string;
  /** Smallest currency unit. */
  readonly amount: number;
  readonly currency: string;
  /** ISO 8601 UTC. */
  readonly paid_at: string;
};

/** How long before a payment its charge may have been made, in milliseconds: no QR is open for longer. */
export const LISTED_BEFORE_MS = 24 * 3_600_000;

/** Payments made from `from` on and before `to` are compared. */
export type Window = { readonly from: Instant; readonly to: Instant };

/**
 * The part of a window, in milliseconds, that can be compared: lists begin in 1970, and what was paid after `oldEnough`
 * is left to the next run.
 */
export function comparable({ from, to }: { readonly from: number; readonly to: number }, oldEnough: Instant): Window {
  return { from: instant(Math.max(from, LISTED_BEFORE_MS)), to: instant(Math.min(to, oldEnough)) };
}

/** Everything paid before `at` was compared; charges that were not are among those made from `listFrom` on. */
export type Place = { readonly at: Instant; readonly listFrom: Instant };

export function beginningOf({ from }: Window): Place {
  return { at: from, listFrom: plus(from, -LISTED_BEFORE_MS) };
}

/** The three books, each read once. */
export type Sides = {
  /** Paid checkouts in the order of their payments, from the place's `at` to the window's end. */
  readonly ours: AsyncIterable<OurCheckout>;
  /** All charges in the order in which they were made, from the place's `listFrom` to the window's end. */
  readonly theirs: AsyncIterable<TheirCharge>;
  /** Movements of the balance in their own order, from the place's `at` to the window's end. */
  readonly movements: AsyncIterable<Movement>;
};

/** One record, as it is now. Null when there is none. */
export type Lookups = {
  checkout(id: string): Promise<OurCheckout | null>;
  charge(id: string): Promise<TheirCharge | null>;
  movement(id: string): Promise<Movement | null>;
  /** The charge whose refund moved the balance. */
  refunded(movement: Movement): Promise<TheirCharge | null>;
};

/** What was found in one stretch of time. */
export type Stretch = {
  readonly totals: readonly CurrencyTotals[];
  readonly breaks: readonly Break[];
  readonly foreign: readonly Foreign[];
  /** Where to go on from; null at the end. */
  readonly next: Place | null;
};

export type Comparison = {
  readonly window: Window;
  readonly place: Place;
  readonly rules: Rules;
  /** How many charges are held in memory at a time, more or less. */
  readonly sliceSize?: number;
};

const SLICE_SIZE = 1_000;

/**
 * Compares three books, each in its own order, with as much memory as a slice of them takes. What does not meet its
 * like in its slice is looked up, and every break is looked at a second time before it is told: so times that differ
 * between the books, and news that is still on its way, cost a look, never a false break. The same books give the same
 * result, however they are sliced.
 */
export async function* reconcile(
  { ours, theirs, movements }: Sides,
  lookups: Lookups,
  { window, place, rules, sliceSize = SLICE_SIZE }: Comparison,
): AsyncGenerator<Stretch, void, undefined> {
  const checkouts = new Peekable(ours);
  const credits = new Peekable(since(movements, place.at));
  try {
    for await (const slice of inSlices(theirs, { at: place.at, to: window.to, size: sliceSize })) {
      const stretch = new SliceComparison(slice, lookups, window, rules);
      await stretch.compare(checkouts, credits);
      yield stretch.result();
    }
  } finally {
    await Promise.all([checkouts.close(), credits.close()]);
  }
}

/** A list may begin a little before the time it was asked for: what lies there was met before. */
async function* since(movements: AsyncIterable<Movement>, at: Instant): AsyncGenerator<Movement, void, undefined> {
  for await (const movement of movements) if (movement.createdAt >= at) yield movement;
}

/** A charge, and what was found of it in the other two books. */
type Met = { readonly charge: TheirCharge; checkout: OurCheckout | null; movement: Movement | null };

class SliceComparison {
  readonly #totals = new Totals();
  readonly #breaks: Break[] = [];
  readonly #foreign: Foreign[] = [];
  readonly #met: Map<string, Met>;

  constructor(
    private readonly slice: Slice,
    private readonly lookups: Lookups,
    private readonly window: Window,
    private readonly rules: Rules,
  ) {
    this.#met = new Map(slice.charges.map((charge) => [charge.id, { charge, checkout: null, movement: null }]));
  }

  async compare(checkouts: Peekable<OurCheckout>, credits: Peekable<Movement>): Promise<void> {
    const { until } = this.slice;
    for await (const movement of credits.while(({ createdAt }) => createdAt < until))
      await this.#meetMovement(movement);
    for await (const checkout of checkouts.while(({ paidAt }) => paidAt === null || paidAt < until)) {
      await this.#meetCheckout(checkout);
    }
    for (const met of this.#met.values()) await this.#examine(met);
  }

  result(): Stretch {
    const { until, listFrom } = this.slice;
    return {
      totals: this.#totals.list(),
      breaks: this.#breaks.toSorted(compareBreaks),
      foreign: this.#foreign,
      next: until < this.window.to ? { at: until, listFrom } : null,
    };
  }

  async #meetMovement(movement: Movement): Promise<void> {
    if (movement.chargeId === null) {
      await this.#meetRefund(movement);
      return;
    }
    const met = this.#met.get(movement.chargeId);
    if (met !== undefined) {
      met.movement ??= movement;
      return;
    }
    // Its charge is of another slice, or was made so long before it was paid that the list did not begin there.
    const charge = await this.lookups.charge(movement.chargeId);
    if (charge === null || charge.createdAt >= beginningOf(this.window).listFrom || !this.#isSelected(charge)) return;
    this.#met.set(charge.id, { charge, checkout: null, movement });
  }

  /** Of a payment in the window it is examined with its charge; what was refunded of earlier ones is examined here. */
  async #meetRefund(movement: Movement): Promise<void> {
    const charge = await this.lookups.refunded(movement);
    if (charge === null || charge.checkoutId === null) return;
    this.#add(examineDebit(charge, movement, this.rules), charge.currency);
    if (this.#isSelected(charge)) return;
    const checkout = await this.lookups.checkout(charge.checkoutId);
    if (checkout === null) return;
    const breaks = examineRefunds(charge, checkout, this.rules);
    this.#add(
      breaks.filter(({ refund_id }) => refund_id === movement.refundId),
      charge.currency,
    );
  }

  async #meetCheckout(checkout: OurCheckout): Promise<void> {
    this.#totals.add(checkout.currency, { checkouts: 1 });
    for (const { id, status } of checkout.charges) {
      if (status !== 'successful') continue;
      const met = this.#met.get(id);
      if (met === undefined) await this.#seekCharge(checkout, id);
      else met.checkout ??= checkout;
    }
  }

  /** The provider did not list it with this slice: it shows it elsewhere, or it is missing. */
  async #seekCharge(checkout: OurCheckout, chargeId: string): Promise<void> {
    const charge = await this.lookups.charge(chargeId);
    if (examineAbsence(checkout, chargeId, charge, this.rules).length === 0) return;
    const now = await this.lookups.checkout(checkout.id);
    if (now === null) return;
    const breaks = examineAbsence(now, chargeId, await this.lookups.charge(chargeId), this.rules);
    if (breaks.length > 0) this.#countOurs(now, chargeId);
    this.#add(breaks, checkout.currency);
  }

  async #examine({ charge, checkout, movement }: Met): Promise<void> {
    const { id, checkoutId, amount, currency, paidAt, createdAt } = charge;
    if (checkout === null && checkoutId === null) {
      if (!isMoneyThere(charge)) return;
      this.#foreign.push({ charge_id: id, amount, currency, paid_at: formatInstant(paidAt ?? createdAt) });
      this.#totals.add(currency, { foreign: 1, foreign_amount: amount });
      return;
    }
    const ours = checkout ?? (checkoutId === null ? null : await this.lookups.checkout(checkoutId));
    const credit = movement ?? (await this.#movementOf(charge));
    const read: Met = { charge, checkout: ours, movement: credit };
    const isTheSame = examinePayment(charge, ours, credit, this.rules).length === 0;
    this.#count(isTheSame ? read : await this.#examineAgain(read));
  }

  /**
   * Both sides as they are now: what was read a moment ago may have been on its way. Money may also move between two
   * reads: so the charge is read before its checkout and after it, and a break is one that both show.
   */
  async #examineAgain({ charge: listed, checkout: known, movement: credit }: Met): Promise<Met> {
    const before = (await this.lookups.charge(listed.id)) ?? listed;
    const id = known?.id ?? before.checkoutId;
    const checkout = id === null ? null : ((await this.lookups.checkout(id)) ?? known);
    const charge = (await this.lookups.charge(listed.id)) ?? listed;
    const movement = credit ?? (await this.#movementOf(charge));
    const shown = new Set(examinePayment(before, checkout, movement, this.rules).map(idsOf));
    const breaks = examinePayment(charge, checkout, movement, this.rules).filter((one) => shown.has(idsOf(one)));
    this.#add(breaks, charge.currency);
    return { charge, checkout, movement };
  }

  /** Each payment is counted for both sides where it is met, so that the sums are of the same ones. */
  #count({ charge, checkout, movement }: Met): void {
    const { amount, refundedAmount, fees, currency } = charge;
    const paid = {
      charges: 1,
      paid_there: amount,
      refunded_there: refundedAmount,
      fees: fees === null ? 0 : fees.fee + fees.vat,
    };
    this.#totals.add(currency, { ...(isMoneyThere(charge) ? paid : {}), credited: movement?.amount ?? 0 });
    if (checkout !== null && knowsPaid(checkout, charge.id)) this.#countOurs(checkout, charge.id);
  }

  #countOurs({ currency, amount, refunds }: OurCheckout, chargeId: string): void {
    const given = refunds.filter((refund) => refund.chargeId === chargeId && refund.status === 'succeeded');
    const refunded_here = given.reduce((sum, refund) => sum + refund.amount, 0);
    this.#totals.add(currency, { paid_here: amount, refunded_here });
  }

  async #movementOf({ transactionId }: TheirCharge): Promise<Movement | null> {
    return transactionId === null ? null : this.lookups.movement(transactionId);
  }

  #isSelected({ paidAt }: TheirCharge): boolean {
    return paidAt !== null && paidAt >= this.window.from && paidAt < this.window.to;
  }

  #add(breaks: readonly Break[], currency: string): void {
    if (breaks.length === 0) return;
    this.#breaks.push(...breaks);
    this.#totals.add(currency, { breaks: breaks.length });
  }
}
