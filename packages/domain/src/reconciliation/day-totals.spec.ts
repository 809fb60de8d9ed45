import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addDays, businessDay, UTC_DAYS, type BusinessDayRule } from '../business-day.js';
import { plus, type Instant } from '../instant.js';
import { recordsOf, type Payment } from '../testing/seeded-records.js';
import {
  DaySums,
  returnedOn,
  tillsPerDay,
  type DayTotals,
  type Returned,
  type Till,
  type TillTotals,
} from './day-totals.js';
import { beginningOf, reconcile } from './reconcile.js';
import type { Movement, ProviderRefund, TillflowRefund } from './records.js';
import { Totals, type CurrencyTotals } from './totals.js';

const DAY_MS = 86_400_000;
const DAY = businessDay('2026-11-20', UTC_DAYS);
const TILL: Till = { store: 'north', terminal: 'till-1' };
const sale = (amount: number) => ({ sales: { count: 1, amount }, fees: 3 });

describe('DaySums', () => {
  it('adds up by day, store, till and currency, in that order, with no store and no till last', () => {
    const sums = new DaySums();
    const next = businessDay('2026-11-21', UTC_DAYS);
    for (const [day, store, terminal, currency] of [
      [next, 'north', 'till-1', 'THB'],
      [DAY, null, null, 'THB'],
      [DAY, 'north', null, 'THB'],
      [DAY, 'north', 'till-2', 'THB'],
      [DAY, 'north', 'till-1', 'THB'],
      [DAY, 'north', 'till-1', 'SGD'],
      [DAY, 'north', 'till-1', 'THB'],
    ] as const) {
      sums.add(day, { store, terminal }, currency, sale(100));
    }
    const rows = sums.list().map(({ date, totals }) => ({
      [date]: totals.map((one) => `${one.currency} ${one.store} ${one.terminal} ${one.sales.count} ${one.net}`),
    }));
    expect(rows).toEqual([
      {
        '2026-11-20': [
          'SGD north till-1 1 97',
          'THB north till-1 2 194',
          'THB north till-2 1 97',
          'THB north null 1 97',
          'THB null null 1 97',
        ],
      },
      { '2026-11-21': ['THB north till-1 1 97'] },
    ]);
  });

  it('gives net as sales less refunds, voids and fees, and payouts by date', () => {
    const sums = new DaySums();
    sums.add(DAY, TILL, 'THB', { ...sale(1_000), settlements: [{ date: '2026-11-27', amount: 997 }] });
    sums.add(DAY, TILL, 'THB', {
      refunds: { count: 1, amount: 100 },
      settlements: [{ date: '2026-11-28', amount: -100 }],
    });
    sums.add(DAY, TILL, 'THB', {
      voids: { count: 1, amount: 200 },
      fees: -1,
      settlements: [{ date: null, amount: -199 }],
    });
    sums.add(DAY, TILL, 'THB', { settlements: [{ date: '2026-11-27', amount: 3 }] });
    sums.addReturned(DAY, { currency: 'THB', amount: 100, fees: 0 });
    sums.addReturned(DAY, { currency: 'THB', amount: 200, fees: 1 });
    expect(sums.list()).toEqual([
      {
        date: '2026-11-20',
        from: '2026-11-20T00:00:00.000Z',
        to: '2026-11-21T00:00:00.000Z',
        totals: [
          {
            currency: 'THB',
            ...TILL,
            sales: { count: 1, amount: 1_000 },
            refunds: { count: 1, amount: 100 },
            voids: { count: 1, amount: 200 },
            fees: 2,
            net: 698,
            settlements: [
              { date: '2026-11-27', amount: 1_000 },
              { date: '2026-11-28', amount: -100 },
              { date: null, amount: -199 },
            ],
          },
        ],
        returned: [{ currency: 'THB', amount: 300, fees: 1 }],
      },
    ]);
  });

  it('knows neither fees nor net when the fees of one payment are not known', () => {
    const sums = new DaySums();
    sums.add(DAY, TILL, 'THB', { ...sale(1), fees: null });
    sums.add(DAY, TILL, 'THB', sale(1));
    expect(sums.list()[0]?.totals).toMatchObject([{ fees: null, net: null, sales: { count: 2 } }]);
  });

  it('lists the tills with the smallest keys, in any order, and adds up the others in a row of their currency', () => {
    const sums = new DaySums(2);
    for (const terminal of ['d', 'a', 'c', 'b', 'a', 'd']) sums.add(DAY, { store: null, terminal }, 'THB', sale(10));
    sums.add(DAY, { store: null, terminal: 'e' }, 'VND', sale(10));
    const rows = sums
      .list()[0]
      ?.totals.map(({ currency, terminal, sales, others }) => [
        `${currency} ${terminal} ${sales.count}`,
        others === true,
      ]);
    expect(rows).toEqual([
      ['THB a 2', false],
      ['THB b 1', false],
      ['THB null 3', true],
      ['VND null 1', true],
    ]);
  });

  const payment = fc.record({
    terminal: fc.integer({ min: 10, max: 21 }).map(String),
    currency: fc.constantFrom('THB', 'SGD'),
    amount: fc.integer({ min: 1, max: 1_000 }),
    fees: fc.option(fc.integer({ min: 1, max: 9 }), { freq: 20 }),
    page: fc.nat({ max: 4 }),
  });

  it('has all money of each listed till, however the payments were divided and added up', () => {
    fc.assert(
      fc.property(fc.array(payment, { maxLength: 60 }), fc.integer({ min: 1, max: 9 }), (payments, limit) => {
        const sumsOf = (some: typeof payments, most?: number): DayTotals[] => {
          const sums = new DaySums(most);
          for (const { terminal, currency, amount, fees } of some)
            sums.add(DAY, { store: null, terminal }, currency, {
              sales: { count: 1, amount },
              fees,
              settlements: [{ date: null, amount }],
            });
          return sums.list();
        };
        const merged = new DaySums(limit);
        for (const page of [0, 1, 2, 3, 4]) {
          const some = sumsOf(
            payments.filter((one) => one.page === page),
            limit,
          );
          merged.addAll(JSON.parse(JSON.stringify(some)) as DayTotals[]);
        }
        const whole = sumsOf(payments)[0]?.totals ?? [];
        const rows = merged.list()[0]?.totals ?? [];
        const listed = rows.filter(({ others }) => others !== true);
        expect(listed).toEqual(whole.slice(0, limit));
        for (const currency of ['THB', 'SGD']) {
          const amountOf = (some: readonly TillTotals[]): number =>
            sumOf(
              some.filter((row) => row.currency === currency),
              ({ sales }) => sales.amount,
            );
          expect(amountOf(rows)).toBe(amountOf(whole));
        }
        expect(merged.list()).toEqual(sumsOf(payments, limit));
      }),
    );
  });
});

it.each([
  ['a day', 1, 1_500],
  ['a day of 25 hours', 25 / 24, 1_500],
  ['an hour', 1 / 24, 1_500],
  ['31 days', 31, 48],
])('a result of %s lists the tills of each day', (_, days, tills) => {
  expect(tillsPerDay({ from: 0, to: days * DAY_MS })).toBe(tills);
});

const ZONES: readonly BusinessDayRule[] = [
  { timeZone: 'Asia/Bangkok', start: '00:00' },
  // October 2026: the clock goes back on the 25th, and a day begins in the repeated hour.
  { timeZone: 'Europe/Berlin', start: '02:30' },
  // The clock goes forward on 4 October: a day of 23 hours, and one of 23 and a half.
  { timeZone: 'Australia/Sydney', start: '00:00' },
  { timeZone: 'Australia/Lord_Howe', start: '04:00' },
];
const FIRST = '2026-10-01';
const DAYS = 31;
/** A run begins this long after its day. */
const RUN_AFTER_MS = 30 * 60_000;

type Lifecycle = {
  readonly at: number;
  readonly amount: number;
  readonly currency: string;
  readonly till: Till;
  /** Minutes after the payment, and the part of the amount in percent. */
  readonly refunds: readonly { readonly after: number; readonly percent: number }[];
  readonly voidedAfter: number | null;
  /** The provider states no fee of a voided charge. */
  readonly clearsFee: boolean;
  /** From the charge to its payment, in minutes. */
  readonly paidAfter: number;
  /** The charge is never paid. */
  readonly fails: boolean;
};

const lifecycle: fc.Arbitrary<Lifecycle> = fc.record({
  at: fc.integer({ min: 0, max: DAYS * DAY_MS - 1 }),
  amount: fc.integer({ min: 2_000, max: 9_999_999 }),
  currency: fc.constantFrom('THB', 'SGD', 'MYR'),
  till: fc.record({
    store: fc.constantFrom('north', 'south', null),
    terminal: fc.constantFrom('till-1', 'till-2', '=cmd', null),
  }),
  refunds: fc.array(
    fc.record({ after: fc.integer({ min: 0, max: 12_000 }), percent: fc.integer({ min: 1, max: 30 }) }),
    {
      maxLength: 3,
    },
  ),
  voidedAfter: fc.option(fc.integer({ min: 0, max: 960 }), { freq: 1 }),
  clearsFee: fc.boolean(),
  paidAfter: fc.oneof(fc.constant(1), fc.integer({ min: 0, max: 1_439 })),
  fails: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
});

type Records = { readonly payment: Payment; readonly debits: readonly Movement[] };

/** The records of a payment, as both sides have them at `now`. */
function recordsAt(now: Instant, paidAt: Instant, n: number, { amount, currency, till, ...life }: Lifecycle): Records {
  const charge = `chrg_${n}`;
  const fee = Math.round(amount * 0.0165);
  const vat = Math.round(fee * 0.07);
  const net = amount - fee - vat;
  if (life.fails) return failedAt(paidAt, n, { amount, currency, till });
  const returns =
    life.voidedAfter === null
      ? life.refunds.map(({ after, percent }) => ({ after, amount: Math.floor((amount * percent) / 100), left: null }))
      : [{ after: life.voidedAfter, amount, left: net }];
  const made = returns
    .map((one, k) => {
      const { amount: sum, left } = one;
      return { id: `rfnd_${n}_${k}`, at: plus(paidAt, one.after * 60_000), amount: sum, left };
    })
    .filter(({ at }) => at < now);
  const own = made.map(({ id, amount: sum }): TillflowRefund => ({
    id,
    key: id.slice(5),
    chargeId: charge,
    amount: sum,
    status: 'succeeded',
  }));
  const theirs = made.map(({ id, amount: sum, at, left }): ProviderRefund => ({
    id,
    amount: sum,
    createdAt: at,
    key: id.slice(5),
    ...(left === null ? {} : { voided: true as const }),
  }));
  const movement = (id: string, at: Instant, sum: number): Movement => ({
    id,
    chargeId: charge,
    refundId: null,
    amount: sum,
    currency,
    createdAt: at,
    transferableAt: plus(at, 7 * DAY_MS),
  });
  return {
    payment: {
      id: String(n),
      checkout: {
        id: `chk_default_${n}`,
        status: 'paid',
        amount,
        currency,
        paidAt,
        till,
        closed: false,
        charges: [{ id: charge, status: 'successful' }],
        refunds: own,
      },
      charge: {
        id: charge,
        checkoutId: `chk_default_${n}`,
        status: 'successful',
        amount,
        currency,
        till: { store: null, terminal: null },
        createdAt: plus(paidAt, -life.paidAfter * 60_000),
        paidAt,
        refundedAmount: theirs.reduce((sum, refund) => sum + refund.amount, 0),
        refunds: theirs,
        transactionId: `trxn_${n}`,
        fees: life.clearsFee && theirs.some(({ voided }) => voided) ? null : { fee, vat, net, byRates: null },
      },
      movement: movement(`trxn_${n}`, paidAt, net),
    },
    debits: made.map(({ id, at, amount: sum, left }) =>
      Object.assign(movement(`trxn_${id}`, at, left ?? sum), { chargeId: null, refundId: id }),
    ),
  };
}

/** A payment that the provider refused: both sides have a charge, and no money moved. */
function failedAt(
  at: Instant,
  n: number,
  { amount, currency, till }: Pick<Lifecycle, 'amount' | 'currency' | 'till'>,
): Records {
  const charge = { id: `chrg_${n}`, status: 'failed' as const };
  const none = { amount, currency, paidAt: null, till, refunds: [] };
  return {
    payment: {
      id: String(n),
      checkout: { ...none, id: `chk_default_${n}`, status: 'failed', closed: true, charges: [charge] },
      charge: {
        ...none,
        ...charge,
        checkoutId: `chk_default_${n}`,
        createdAt: at,
        refundedAmount: 0,
        transactionId: null,
        fees: null,
      },
      movement: null,
    },
    debits: [],
  };
}

/** The reconciliation of one business day. */
async function compareDay(
  date: string,
  rule: BusinessDayRule,
  lifecycles: readonly (Lifecycle & { paidAt: Instant })[],
) {
  const window = businessDay(date, rule);
  const now = plus(window.to, RUN_AFTER_MS);
  const records = lifecycles
    .map((life, n) => ({ life, n }))
    .filter(({ life }) => life.paidAt < now)
    .map(({ life, n }) => recordsAt(now, life.paidAt, n, life));
  const { sides, lookups } = recordsOf(
    records.map(({ payment }) => payment),
    records.flatMap(({ debits }) => debits),
  );
  const place = beginningOf(window);
  const lists = sides(place.at, place.listFrom);
  const within = {
    ...lists,
    checkouts: until(lists.checkouts, ({ paidAt }) => paidAt ?? window.from, window.to),
    movements: until(lists.movements, ({ createdAt }) => createdAt, window.to),
  };
  const rules = { now, youngMs: 900_000, settleWithinMs: null };
  const [totals, days, breaks] = [new Totals(), new DaySums(), [] as string[]];
  for await (const slice of reconcile(within, lookups, { window, place, rules, businessDays: rule, sliceSize: 7 })) {
    totals.addAll(slice.totals);
    days.addAll(slice.days);
    breaks.push(...slice.breaks.map(({ type, checkout_id }) => `${type} ${checkout_id}`));
  }
  return { totals: totals.list(), days: days.list(), breaks };
}

async function* until<T>(records: AsyncIterable<T>, timeOf: (one: T) => Instant, end: Instant): AsyncGenerator<T> {
  for await (const one of records) if (timeOf(one) < end) yield one;
}

const sumOf = (rows: readonly TillTotals[], of: (row: TillTotals) => number | null): number =>
  rows.reduce((sum, row) => sum + (of(row) ?? Number.NaN), 0);

const NO_TOTALS = { charges: 0, paid_there: 0, paid_here: 0, fees: 0, credited: 0 };

function expectEqualSums(
  rows: readonly TillTotals[],
  total: Pick<CurrencyTotals, 'charges' | 'paid_there' | 'paid_here' | 'fees' | 'credited'>,
  returned: Pick<Returned, 'amount' | 'fees'>,
): void {
  expect({
    charges: sumOf(rows, ({ sales }) => sales.count),
    paid_there: sumOf(rows, ({ sales }) => sales.amount),
    paid_here: sumOf(rows, ({ sales }) => sales.amount),
    returned: sumOf(rows, ({ refunds, voids }) => refunds.amount + voids.amount),
    fees: sumOf(rows, ({ fees }) => fees),
    net: sumOf(rows, ({ net }) => net),
    settled: sumOf(rows, ({ settlements }) => settlements.reduce((sum, { amount }) => sum + amount, 0)),
  }).toEqual({
    charges: total.charges,
    paid_there: total.paid_there,
    paid_here: total.paid_here,
    returned: returned.amount,
    fees: total.fees - returned.fees,
    net: total.credited - returned.amount + returned.fees,
    settled: total.credited - returned.amount + returned.fees,
  });
}

/** The local date of a time after its day's start, as another way to compute it. A clock that goes back ends no day. */
function localDate(at: Instant, { timeZone, start }: BusinessDayRule): string {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  const dates = [plus(at, -30 * 60_000), at].map((one) => {
    const [date = '', time = ''] = format.format(one).split(' ');
    return time >= `${start}:00` ? date : addDays(date, -1);
  });
  return dates.toSorted().at(-1) ?? '';
}

describe.each(ZONES)('the reports of 31 days in $timeZone, from $start', (rule) => {
  it('have sums of the tills equal to the totals of the reconciliations, and each payment and refund on one day', async () => {
    const { from } = businessDay(FIRST, rule);
    await fc.assert(
      fc.asyncProperty(fc.array(lifecycle, { minLength: 20, maxLength: 60 }), async (drawn) => {
        const lifecycles = drawn.map((life) => ({ ...life, paidAt: plus(from, life.at) }));
        const tally = new Map<string, number>();
        const note = (at: Instant, { till, currency }: Lifecycle, what: string, amount: number): void => {
          const key = [localDate(at, rule), currency, till.store, till.terminal, what].join(' ');
          tally.set(key, (tally.get(key) ?? 0) + amount);
        };
        const end = businessDay(addDays(FIRST, DAYS - 1), rule).to;
        for (const [n, life] of lifecycles.entries()) {
          const { payment, debits } = recordsAt(end, life.paidAt, n, life);
          if (life.paidAt < end && !life.fails) note(life.paidAt, life, 'sales', payment.charge?.amount ?? 0);
          for (const { refundId, createdAt } of debits) {
            const refund = payment.charge?.refunds.find(({ id }) => id === refundId);
            note(createdAt, life, refund?.voided === true ? 'voids' : 'refunds', refund?.amount ?? 0);
          }
        }
        const reported = new Map<string, number>();
        for (let k = 0; k < DAYS; k += 1) {
          const date = addDays(FIRST, k);
          const { totals, days, breaks } = await compareDay(date, rule, lifecycles);
          expect(breaks).toEqual([]);
          const rows = days.flatMap((day) => day.totals);
          const returned = returnedOn(days);
          expect(days.map((day) => day.date)).toEqual(rows.length === 0 ? [] : [date]);
          for (const currency of new Set([...totals, ...returned, ...rows].map((one) => one.currency))) {
            expectEqualSums(
              rows.filter((row) => row.currency === currency),
              totals.find((total) => total.currency === currency) ?? NO_TOTALS,
              returned.find((one) => one.currency === currency) ?? { amount: 0, fees: 0 },
            );
          }
          for (const { currency, store, terminal, ...row } of rows) {
            for (const what of ['sales', 'refunds', 'voids'] as const) {
              const { count, amount } = row[what];
              if (count > 0) reported.set([date, currency, store, terminal, what].join(' '), amount);
            }
          }
        }
        expect(Object.fromEntries(reported)).toEqual(Object.fromEntries(tally));
      }),
      { numRuns: 8 },
    );
  });
});
