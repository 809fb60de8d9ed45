import { formatInstant, plus, type Instant } from '../instant.js';
import { compareBreaks, type Break } from './breaks.js';
import { examineAbsence, examinePayment, examineRefunds, type Rules } from './examine.js';
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
  const credits = new Peekable(movements);
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
    if (charge === null || charge.checkoutId === null || this.#isSelected(charge)) return;
    const checkout = await this.lookups.checkout(charge.checkoutId);
    if (checkout === null) return;
    const breaks = examineRefunds(charge, checkout, this.rules);
    this.#add(
      breaks.filter(({ refund_id }) => refund_id === movement.refundId),
      charge.currency,
    );
  }

  async #meetCheckout(checkout: OurCheckout): Promise<void> {
    const { currency, amount, refundedAmount } = checkout;
    this.#totals.add(currency, { checkouts: 1, paid_here: amount, refunded_here: refundedAmount });
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
    this.#add(examineAbsence(now, chargeId, await this.lookups.charge(chargeId), this.rules), checkout.currency);
  }

  async #examine({ charge, checkout, movement }: Met): Promise<void> {
    const { id, checkoutId, amount, currency, paidAt, createdAt, refundedAmount, fees } = charge;
    if (checkout === null && checkoutId === null) {
      this.#foreign.push({ charge_id: id, amount, currency, paid_at: formatInstant(paidAt ?? createdAt) });
      this.#totals.add(currency, { foreign: 1, foreign_amount: amount });
      return;
    }
    const ours = checkout ?? (checkoutId === null ? null : await this.lookups.checkout(checkoutId));
    const credit = movement ?? (await this.#movementOf(charge));
    this.#totals.add(currency, {
      charges: 1,
      paid_there: amount,
      refunded_there: refundedAmount,
      fees: fees === null ? 0 : fees.fee + fees.vat,
      credited: credit?.amount ?? 0,
    });
    if (examinePayment(charge, ours, credit, this.rules).length > 0) await this.#examineAgain(charge, ours, credit);
  }

  /** Both sides as they are now: what was read a moment ago may have been on its way. */
  async #examineAgain(listed: TheirCharge, known: OurCheckout | null, credit: Movement | null): Promise<void> {
    const charge = (await this.lookups.charge(listed.id)) ?? listed;
    const id = known?.id ?? charge.checkoutId;
    const checkout = id === null ? null : await this.lookups.checkout(id);
    const movement = credit ?? (await this.#movementOf(charge));
    this.#add(examinePayment(charge, checkout, movement, this.rules), charge.currency);
  }

  async #movementOf({ transactionId }: TheirCharge): Promise<Movement | null> {
    return transactionId === null ? null : this.lookups.movement(transactionId);
  }

  #isSelected({ paidAt }: TheirCharge): boolean {
    return paidAt !== null && paidAt >= this.window.from && paidAt < this.window.to;
  }

  #add(breaks: readonly Break[], currency: string): void {
    this.#breaks.push(...breaks);
    this.#totals.add(currency, { breaks: breaks.length });
  }
}
