import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { instant, plus, type Instant } from '../instant.js';
import type { BreakType } from '../reconciliation/breaks.js';
import type { Lookups, ReconciledRecords } from '../reconciliation/reconcile.js';
import type { Movement, TillflowCheckout, ProviderCharge } from '../reconciliation/records.js';

/** Random numbers from 0 to 1, the same for the same seed. */
export function randomOf(seed: number): () => number {
  const generator = xoroshiro128plus(seed);
  return () => uniformFloat64(generator);
}

export const DAY_MS = 86_400_000;
export const FROM = instant(Date.parse('2026-11-20T00:00:00Z'));
export const TO = plus(FROM, DAY_MS);

/** Applies a difference to a payment on which all records agree. A receipt's difference is not among these records. */
export const DIFFERENCES = {
  missing_here: (one: Payment) => ({ ...one, checkout: null }),
  missing_there: (one: Payment) => ({ ...one, charge: null }),
  amount: ({ charge, ...one }: Payment) => ({ ...one, charge: changed(charge, { amount: 99_900, fees: null }) }),
  currency: ({ charge, ...one }: Payment) => ({ ...one, charge: changed(charge, { currency: 'SGD' }) }),
  status: ({ checkout, ...one }: Payment) => ({
    ...one,
    checkout: checkout && {
      ...checkout,
      status: 'awaiting_payment' as const,
      paidAt: null,
      charges: checkout.charges.map(({ id }) => ({ id, status: 'pending' as const })),
    },
  }),
  refund_made_outside: ({ charge, ...one }: Payment) => ({
    ...one,
    charge: changed(charge, {
      refundedAmount: 1_000,
      refunds: [{ id: `rfnd_${charge?.id ?? ''}`, amount: 1_000, createdAt: charge?.paidAt ?? null, key: null }],
    }),
  }),
  duplicate_payment: ({ checkout, ...one }: Payment) => ({
    ...one,
    checkout: checkout && { ...checkout, charges: [{ id: `${one.id}-first`, status: 'successful' as const }] },
    first: true,
  }),
  fee_difference: ({ movement, ...one }: Payment) => ({
    ...one,
    movement: movement && { ...movement, amount: movement.amount - 100 },
  }),
  unsettled: (one: Payment) => ({ ...one, movement: null }),
} as const satisfies Partial<Record<BreakType, (payment: Payment) => Payment>>;

export type Difference = keyof typeof DIFFERENCES;

/** A payment in the three lists of records. */
export type Payment = {
  readonly id: string;
  readonly checkout: TillflowCheckout | null;
  readonly charge: ProviderCharge | null;
  readonly movement: Movement | null;
  /** The checkout was paid before, by a charge that all records contain. */
  readonly first?: boolean;
};

/**
 * The agreeing records of `count` payments in one day, including payments of other systems and refunds.
 * @param grainMs all times are multiples of this many milliseconds
 */
export function agreeingPayments(count: number, random: () => number, grainMs = 1): Payment[] {
  return Array.from({ length: count }, (_, n) => payment(n, random, grainMs));
}

function payment(n: number, random: () => number, grainMs: number): Payment {
  const within = (milliseconds: number): number => Math.floor((random() * milliseconds) / grainMs) * grainMs;
  const paidAt = plus(FROM, within(DAY_MS));
  const createdAt = plus(paidAt, -within(900_000));
  const amount = 2_000 + Math.floor(random() * 1_000_000);
  const id = String(n).padStart(6, '0');
  const charge = `chrg_${id}`;
  const isForeign = random() < 0.02;
  const refunded = random() < 0.05 ? Math.floor(amount / 2) : 0;
  const fee = Math.floor((amount * 165 + 5_000) / 10_000);
  const vat = Math.floor((fee * 700 + 5_000) / 10_000);
  // Tillflow may have used its own clock for the payment, and the balance may be a little later.
  const seenAt = random() < 0.05 ? plus(paidAt, within(5_000)) : paidAt;
  return {
    id,
    checkout: isForeign
      ? null
      : {
          id: `chk_default_${id}`,
          status: refunded > 0 ? 'partially_refunded' : 'paid',
          amount,
          currency: 'THB',
          paidAt: seenAt < TO ? seenAt : paidAt,
          till: { store: null, terminal: null },
          closed: false,
          charges: [{ id: charge, status: 'successful' }],
          refunds:
            refunded > 0
              ? [{ id: `rfnd_own_${id}`, key: 'till', chargeId: charge, amount: refunded, status: 'succeeded' }]
              : [],
        },
    charge: {
      id: charge,
      checkoutId: isForeign ? null : `chk_default_${id}`,
      status: 'successful',
      amount,
      currency: 'THB',
      till: { store: null, terminal: null },
      createdAt,
      paidAt,
      refundedAmount: refunded,
      refunds: refunded > 0 ? [{ id: `rfnd_own_${id}`, amount: refunded, createdAt: paidAt, key: 'till' }] : [],
      transactionId: `trxn_${id}`,
      fees: { fee, vat, net: amount - fee - vat, byRates: { fee, vat } },
    },
    movement: {
      id: `trxn_${id}`,
      chargeId: charge,
      refundId: null,
      amount: amount - fee - vat,
      currency: 'THB',
      createdAt: random() < 0.1 ? plus(paidAt, within(2_000)) : paidAt,
      transferableAt: plus(paidAt, 7 * DAY_MS),
    },
  };
}

function changed(charge: ProviderCharge | null, change: Partial<ProviderCharge>): ProviderCharge | null {
  return charge && { ...charge, ...change };
}

/** The records as `reconcile` reads them. */
export type TestRecords = {
  /** The lists from a place on; may be called repeatedly. */
  sides(at: Instant, listFrom: Instant): ReconciledRecords;
  readonly lookups: Lookups;
};

export function recordsOf(payments: readonly Payment[], refunds: readonly Movement[] = []): TestRecords {
  const checkouts = new Map<string, TillflowCheckout>();
  const charges = new Map<string, ProviderCharge>();
  const movements = new Map<string, Movement>();
  for (const { id, checkout, charge, movement, first } of payments) {
    if (checkout !== null) checkouts.set(checkout.id, checkout);
    if (charge !== null) charges.set(charge.id, charge);
    if (movement !== null) movements.set(movement.id, movement);
    if (first !== true || charge === null) continue;
    const firstId = `${id}-first`;
    charges.set(firstId, { ...charge, id: firstId, transactionId: `trxn_${firstId}` });
    const net = charge.fees?.net ?? 0;
    const createdAt = charge.paidAt ?? charge.createdAt;
    movements.set(`trxn_${firstId}`, {
      id: `trxn_${firstId}`,
      chargeId: firstId,
      refundId: null,
      amount: net,
      currency: charge.currency,
      createdAt,
      transferableAt: null,
    });
  }
  const sorted = <T>(records: Iterable<T>, timeOf: (record: T) => Instant | null): T[] =>
    [...records].toSorted((a, b) => (timeOf(a) ?? 0) - (timeOf(b) ?? 0));
  return {
    sides: (at, listFrom) => ({
      checkouts: streamOf(
        sorted(checkouts.values(), ({ paidAt }) => paidAt).filter(({ paidAt }) => paidAt !== null && paidAt >= at),
      ),
      charges: streamOf(
        sorted(charges.values(), ({ createdAt }) => createdAt).filter(({ createdAt }) => createdAt >= listFrom),
      ),
      movements: streamOf(
        sorted([...movements.values(), ...refunds], ({ createdAt }) => createdAt).filter(
          ({ createdAt }) => createdAt >= at,
        ),
      ),
    }),
    lookups: {
      checkout: (id) => Promise.resolve(checkouts.get(id) ?? null),
      charge: (id) => Promise.resolve(charges.get(id) ?? null),
      movement: (id) => Promise.resolve(movements.get(id) ?? null),
      refunded: ({ refundId }) =>
        Promise.resolve([...charges.values()].find(({ refunds }) => refunds.some(({ id }) => id === refundId)) ?? null),
    },
  };
}

async function* streamOf<T>(records: readonly T[]): AsyncGenerator<T> {
  for (const record of records) yield await Promise.resolve(record);
}
