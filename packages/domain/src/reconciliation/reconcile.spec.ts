import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { instant, plus, type Instant } from '../instant.js';
import { BREAK_TYPES, compareBreaks, type Break, type BreakType } from './breaks.js';
import { compareReceipts, NO_FEES } from './compare-receipt.js';
import { beginningOf, comparable, reconcile, type Foreign, type Place } from './reconcile.js';
import type { Movement, TillflowCheckout, ProviderCharge } from './records.js';
import {
  agreeingPayments,
  recordsOf,
  DIFFERENCES,
  FROM,
  randomOf,
  TO,
  type TestRecords,
  type Difference,
  type Payment,
} from '../testing/seeded-records.js';
import { Totals, type CurrencyTotals } from './totals.js';

const RULES = { now: plus(TO, 3_600_000), youngMs: 900_000, settleWithinMs: 8 * 86_400_000 };
const WINDOW = { from: FROM, to: TO };

type Result = { breaks: Break[]; foreign: Foreign[]; totals: CurrencyTotals[] };
type Reading = { readonly sliceSize?: number; readonly stopsAfter?: (stretch: number) => boolean };

/** The whole comparison. After a stop, it continues from the last place, as after a kill. */
async function compare(
  records: TestRecords,
  { sliceSize = 1_000, stopsAfter = () => false }: Reading = {},
): Promise<Result> {
  const breaks: Break[] = [];
  const foreign: Foreign[] = [];
  const totals = new Totals();
  let stretches = 0;
  for (let place: Place | null = beginningOf(WINDOW); place !== null;) {
    const { at, listFrom }: Place = place;
    place = null;
    const comparison = { window: WINDOW, place: { at, listFrom }, rules: RULES, sliceSize };
    for await (const stretch of reconcile(records.sides(at, listFrom), records.lookups, comparison)) {
      breaks.push(...stretch.breaks);
      foreign.push(...stretch.foreign);
      totals.addAll(stretch.totals);
      stretches += 1;
      if (stretch.next === null || !stopsAfter(stretches)) continue;
      place = stretch.next;
      break;
    }
  }
  return { breaks: breaks.toSorted(compareBreaks), foreign, totals: totals.list() };
}

/** Differs payments here and there: which, by the id of the payment. */
function differ(payments: readonly Payment[], seeded: ReadonlyMap<number, Difference>): Payment[] {
  return payments.map((payment, n) => {
    const difference = seeded.get(n);
    return difference === undefined ? payment : DIFFERENCES[difference](payment);
  });
}

/** What is found, as `type checkout`. */
const found = ({ breaks }: Result): string[] =>
  breaks.map(({ type, checkout_id }) => `${type} ${checkout_id ?? ''}`).toSorted();
const drawn = (seeded: ReadonlyMap<number, Difference>, payments: readonly Payment[]): string[] =>
  [...seeded].map(([n, difference]) => `${difference} chk_default_${payments[n]?.id ?? ''}`).toSorted();

/** Draws positions of Tillflow's payments without repetition, with a difference of each kind in turn. */
function drawDifferences(payments: readonly Payment[], count: number, random: () => number): Map<number, Difference> {
  const kinds = Object.keys(DIFFERENCES) as Difference[];
  const seeded = new Map<number, Difference>();
  while (seeded.size < count) {
    const n = Math.floor(random() * payments.length);
    const kind = kinds[seeded.size % kinds.length];
    const { checkout } = payments[n] ?? {};
    if (kind === undefined || seeded.has(n) || checkout == null || checkout.status !== 'paid') continue;
    seeded.set(n, kind);
  }
  return seeded;
}

describe('reconcile of 20,000 charges with 200 differences', () => {
  const random = randomOf(20_261_121);
  const agreeing = agreeingPayments(20_000, random);
  const seeded = drawDifferences(agreeing, 180, random);
  const receipts = Array.from({ length: 20 }, (_, n) => ({
    id: `rcpt_${n}`,
    currency: 'THB',
    isCreditNote: false,
    issuedOn: TO,
    transactionFee: 0,
    transferFee: 500,
    wht: 0,
    total: 1_570,
    transactionId: null,
  }));
  const records = recordsOf(differ(agreeing, seeded));
  const fees = { ...NO_FEES, chargeFee: 1_000, vat: 70 };
  const wrong = receipts.flatMap((receipt) => compareReceipts([{ ...receipt, total: receipt.total + 1 }], fees, RULES));
  const right = receipts.flatMap((receipt) => compareReceipts([receipt], fees, RULES));

  let result: Result;
  beforeAll(async () => {
    result = await compare(records);
  });

  it('finds all differences, of every type, and no other', () => {
    expect(found(result)).toEqual(drawn(seeded, agreeing));
    expect([wrong.length, right.length]).toEqual([20, 0]);
    const types = new Set<BreakType>([...result.breaks, ...wrong].map(({ type }) => type));
    expect([...types].toSorted()).toEqual([...BREAK_TYPES].toSorted());
  });

  it('gives the same result twice, and with every slice size', async () => {
    expect(await compare(records)).toEqual(result);
    expect(await compare(records, { sliceSize: 77 })).toEqual(result);
    expect(await compare(records, { sliceSize: 100_000 })).toEqual(result);
  });

  it('gives the same result when it stops after every few slices and continues', async () => {
    const stopped = await compare(records, { sliceSize: 400, stopsAfter: (stretch) => stretch % 5 === 0 });
    expect(stopped).toEqual(result);
  });

  it('lists the charges of other systems, and reports no break for them', () => {
    const { foreign } = result;
    const foreignIds = agreeing.filter(({ checkout }) => checkout === null).map(({ id }) => `chrg_${id}`);
    expect(foreign.map(({ charge_id }) => charge_id).toSorted()).toEqual(foreignIds.toSorted());
  });
});

it('reconcile buffers no more charges than a slice and those whose QR is open', async () => {
  const records = recordsOf(agreeingPayments(20_000, randomOf(11)));
  const { at, listFrom } = beginningOf(WINDOW);
  const sides = records.sides(at, listFrom);
  let read = 0;
  let compared = 0;
  let most = 0;
  async function* counted() {
    for await (const charge of sides.charges) {
      read += 1;
      most = Math.max(most, read - compared);
      yield charge;
    }
  }
  const comparison = { window: WINDOW, place: { at, listFrom }, rules: RULES, sliceSize: 500 };
  for await (const { totals } of reconcile({ ...sides, charges: counted() }, records.lookups, comparison)) {
    for (const { charges, foreign } of totals) compared += charges + foreign;
  }
  expect(compared).toBe(20_000);
  // 15 minutes to pay, 14 payments a minute.
  expect(most).toBeLessThan(500 + 2 * 15 * 14);
});

describe('reconcile of records that agree', () => {
  it('reports no break, and the same totals on both sides', async () => {
    const { breaks, totals } = await compare(recordsOf(agreeingPayments(2_000, randomOf(7))));
    expect(breaks).toEqual([]);
    const [total] = totals;
    expect(totals).toHaveLength(1);
    expect(total).toMatchObject({
      currency: 'THB',
      charges: total?.checkouts,
      paid_there: total?.paid_here,
      refunded_there: total?.refunded_here,
      credited: (total?.paid_there ?? 0) - (total?.fees ?? 0),
      breaks: 0,
    });
  });

  it('counts no payment outside the window', async () => {
    const [payment] = agreeingPayments(1, randomOf(1));
    const charge = payment?.charge ?? null;
    const at = (paidAt: Instant): Payment[] => [
      { id: '0', checkout: null, movement: null, charge: charge && { ...charge, checkoutId: 'chk_default_x', paidAt } },
    ];
    expect((await compare(recordsOf(at(TO)))).breaks).toEqual([]);
    expect((await compare(recordsOf(at(plus(FROM, -1))))).breaks).toEqual([]);
    expect((await compare(recordsOf(at(FROM)))).breaks.map(({ type }) => type)).toEqual(['missing_here']);
  });
});

describe('reconcile of a refund in the window, of a payment before it', () => {
  const [first] = agreeingPayments(1, randomOf(3));
  const at = plus(FROM, 5 * 3_600_000);
  const records = (key: string | null, paidAt: Instant): TestRecords => {
    const refund = { id: 'rfnd_1', amount: 1_000, createdAt: at, key };
    const { charge = null, checkout = null } = first ?? {};
    const refunds =
      key === null
        ? []
        : [{ id: 'rfnd_1', key, chargeId: charge?.id ?? '', amount: 1_000, status: 'succeeded' as const }];
    return recordsOf(
      [
        {
          id: '000000',
          checkout: checkout && { ...checkout, paidAt, refunds },
          charge: charge && { ...charge, paidAt, createdAt: paidAt, refundedAmount: 1_000, refunds: [refund] },
          movement: first?.movement ?? null,
        },
      ],
      [
        {
          id: 'trxn_refund',
          chargeId: null,
          refundId: 'rfnd_1',
          amount: 1_000,
          currency: 'THB',
          createdAt: at,
          transferableAt: null,
        },
      ],
    );
  };

  it('reports a break when the refund was made outside, and none when it was requested through Tillflow', async () => {
    const before = plus(FROM, -40 * 86_400_000);
    const outside = await compare(records(null, before));
    expect(outside.breaks).toMatchObject([{ type: 'refund_made_outside', refund_id: 'rfnd_1', healed: false }]);
    expect((await compare(records('till', before))).breaks).toEqual([]);
  });

  it('reports a break when the debit is more than the refund', async () => {
    const { lookups, sides } = records('till', plus(FROM, -40 * 86_400_000));
    async function* dear(movements: AsyncIterable<Movement>) {
      for await (const one of movements) yield { ...one, amount: 5_000 };
    }
    const changed: TestRecords = {
      lookups,
      sides: (from, listFrom) => {
        const all = sides(from, listFrom);
        return { ...all, movements: dear(all.movements) };
      },
    };
    const { breaks } = await compare(changed);
    expect(breaks).toMatchObject([
      { type: 'fee_difference', refund_id: 'rfnd_1', expected: { amount: 1_000 }, actual: { amount: 5_000 } },
    ]);
  });

  it('does not report it again when a list begins before the requested time', async () => {
    const { lookups, sides } = records(null, plus(FROM, -40 * 86_400_000));
    const early: TestRecords = { lookups, sides: (from, listFrom) => sides(plus(from, -86_400_000), listFrom) };
    expect((await compare(early, { sliceSize: 1, stopsAfter: (stretch) => stretch % 2 === 0 })).breaks).toHaveLength(1);
  });

  it('reports it once when the payment is in the window too', async () => {
    expect((await compare(records(null, FROM))).breaks.map(({ type }) => type)).toEqual(['refund_made_outside']);
  });
});

describe('reconcile while money moves', () => {
  const one = agreeingPayments(200, randomOf(5)).find(({ checkout }) => checkout?.status === 'paid');
  if (one?.checkout == null || one.charge === null) throw new Error('No payment');
  const { checkout, charge } = one;
  const given = { id: 'rfnd_1', amount: 1_000, createdAt: TO, key: 'till' };
  const after: ProviderCharge = { ...charge, refundedAmount: 1_000, refunds: [given] };
  const entry = { id: 'rfnd_1', key: 'till', chargeId: charge.id, amount: 1_000, status: 'succeeded' as const };
  const listed: TillflowCheckout = { ...checkout, refunds: [entry] };

  /** The list is read before the refund; lookups show the records at that moment. */
  const findings = async (charges: ProviderCharge[]): Promise<Result> => {
    const records = recordsOf([{ ...one, checkout: listed, charge }]);
    const lookups = { ...records.lookups, charge: () => Promise.resolve(charges.shift() ?? after) };
    return compare({ ...records, lookups });
  };

  it('reports no break when money moves between the reads of charge and checkout', async () => {
    expect((await findings([charge, after])).breaks).toEqual([]);
    expect((await findings([after, after])).breaks).toEqual([]);
  });

  it('reports a break when the provider does not show the money afterwards either', async () => {
    expect((await findings([charge, charge])).breaks).toMatchObject([{ type: 'missing_there', refund_id: 'rfnd_1' }]);
  });

  it('counts the money on both sides', async () => {
    const { totals } = await findings([charge, after]);
    expect(totals).toMatchObject([{ refunded_here: 1_000, refunded_there: 1_000, breaks: 0 }]);
  });
});

it('reconcile counts a returned second payment on both sides', async () => {
  const one = agreeingPayments(200, randomOf(5)).find(({ checkout }) => checkout?.status === 'paid');
  if (one?.checkout == null || one.charge === null || one.movement === null) throw new Error('No payment');
  const { checkout, charge, movement } = one;
  const { amount } = charge;
  const second = { ...charge, id: 'chrg_second', transactionId: 'trxn_second', refundedAmount: amount };
  const back = { id: 'rfnd_1', key: 'auto:chrg_second', chargeId: 'chrg_second', amount, status: 'succeeded' as const };
  const { breaks, totals } = await compare(
    recordsOf([
      {
        ...one,
        checkout: {
          ...checkout,
          charges: [...checkout.charges, { id: 'chrg_second', status: 'successful' }],
          refunds: [back],
        },
      },
      {
        id: 'second',
        checkout: null,
        charge: { ...second, refunds: [{ id: 'rfnd_1', amount, createdAt: TO, key: back.key }] },
        movement: { ...movement, id: 'trxn_second', chargeId: 'chrg_second' },
      },
    ]),
  );
  expect(breaks).toEqual([]);
  expect(totals).toMatchObject([
    {
      checkouts: 1,
      charges: 2,
      paid_here: 2 * amount,
      paid_there: 2 * amount,
      refunded_here: amount,
      refunded_there: amount,
    },
  ]);
});

it('reconcile counts neither a reversed charge nor the charge of another system as paid', async () => {
  const reversed = agreeingPayments(200, randomOf(5)).map(({ id, checkout, charge, movement }): Payment => ({
    id,
    checkout,
    movement,
    charge: charge && { ...charge, status: 'reversed' },
  }));
  const { totals, foreign, breaks } = await compare(recordsOf(reversed));
  expect(totals).toMatchObject([{ charges: 0, paid_there: 0, foreign: 0, breaks: breaks.length }]);
  expect(foreign).toEqual([]);
  expect(new Set(breaks.map(({ type }) => type))).toEqual(new Set(['status']));
});

describe('comparable', () => {
  it.each([
    ['of the year 1', Date.parse('0001-01-01T00:00:00Z'), Date.parse('0001-01-31T00:00:00Z')],
    ['of the year 9999', Date.parse('9999-12-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')],
  ])('%s has nothing that could be compared', (_, from, to) => {
    const window = comparable({ from, to }, TO);
    expect(window.from).toBeGreaterThanOrEqual(window.to);
    expect(beginningOf(window).listFrom).toBeGreaterThanOrEqual(0);
  });

  it('ends where payments are too young', () => {
    expect(comparable({ from: FROM, to: plus(TO, 1) }, TO)).toEqual(WINDOW);
    expect(comparable({ from: FROM, to: instant(TO - 1) }, TO)).toEqual({ from: FROM, to: TO - 1 });
  });
});

it('reconcile finds every drawn difference, in any order, and nothing else', async () => {
  const kinds = fc.constantFrom(...(Object.keys(DIFFERENCES) as Difference[]));
  await fc.assert(
    fc.asyncProperty(
      fc.integer(),
      fc.dictionary(fc.nat(59).map(String), kinds, { maxKeys: 20 }),
      fc.integer({ min: 1, max: 80 }),
      fc.integer({ min: 1, max: 5 }),
      // Times that are equal are on one side of each boundary, and on one only.
      fc.constantFrom(1, 1_000, 60_000, 3_600_000),
      async (seed, differences, sliceSize, every, grainMs) => {
        const payments = agreeingPayments(60, randomOf(seed), grainMs);
        const seeded = new Map(
          Object.entries(differences)
            .map(([n, kind]) => [Number(n), kind] as const)
            .filter(([n]) => payments[n]?.checkout?.status === 'paid'),
        );
        const records = recordsOf(differ(payments, seeded));
        const result = await compare(records, { sliceSize, stopsAfter: (stretch) => stretch % every === 0 });
        expect(found(result)).toEqual(drawn(seeded, payments));
        expect(result.totals).toEqual((await compare(records, { sliceSize: 1_000 })).totals);
      },
    ),
    { numRuns: 100 },
  );
});
