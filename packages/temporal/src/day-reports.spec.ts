import { businessDay, instant, UTC_DAYS, type Break, type DayTotals, type TillTotals } from '@tillflow/domain';
import type { ReconcileResult } from '@tillflow/workflows';
import { describe, expect, it } from 'vitest';
import type { Checkouts } from './checkouts/checkouts.js';
import { DayReports } from './day-reports.js';
import type { Reconciliations } from './reconciliations.js';

const DATE = '2026-11-20';
const DAY = businessDay(DATE, UTC_DAYS);
const NOW = instant(DAY.to + 3_600_000);
const NONE = { count: 0, amount: 0 };
const row = (fields: Partial<TillTotals>): TillTotals => ({
  currency: 'THB',
  store: null,
  terminal: null,
  sales: NONE,
  refunds: NONE,
  voids: NONE,
  fees: 0,
  net: 0,
  settlements: [],
  ...fields,
});
const daysOf = (date: string, totals: readonly TillTotals[], from = `${date}T00:00:00.000Z`): DayTotals => ({
  date,
  from,
  to: new Date(Date.parse(from) + 86_400_000).toISOString(),
  totals,
  returned: [],
});
const breakOf = (age_seconds: number): Break => ({
  type: 'missing_here',
  checkout_id: `chk_default_${age_seconds}`,
  charge_id: null,
  refund_id: null,
  transaction_id: null,
  receipt_id: null,
  expected: null,
  actual: null,
  age_seconds,
  suggested_action: '',
  healed: false,
});

const { days: _, ...earlierRelease }: ReconcileResult = {
  from: '2026-11-19T00:00:00.000Z',
  to: '2026-11-21T00:00:00.000Z',
  compared_at: '2026-11-21T00:30:00.000Z',
  compared_until: '2026-11-21T00:00:00.000Z',
  dry_run: false,
  totals: [],
  breaks: 0,
  healed: 0,
  outside: 0,
  days: [],
  found: [],
  foreign: [],
  omitted: { breaks: 0, foreign: 0 },
};

/**
 * Reports of a shop without payments, after these reconciliations, the best one first. Each began at its `compared_at`.
 */
const reportsAfter = (...results: readonly ReconcileResult[]): DayReports => {
  const runs = new Map(results.map((result, n) => [`rec_${n}`, result]));
  const reconciliations = {
    covering: () => Promise.resolve([...runs].map(([id, { compared_at: createdAt }]) => ({ id, createdAt }))),
    get: (id: string) => Promise.resolve({ id, result: runs.get(id) ?? null }),
  } as unknown as Reconciliations;
  const checkouts = { page: () => Promise.resolve({ data: [], nextPageToken: null }) } as unknown as Checkouts;
  return new DayReports(checkouts, reconciliations, { taskQueue: 'tillflow', businessDays: UTC_DAYS });
};

describe('a report before the reconciliation', () => {
  type Back = { readonly kind: 'void' | 'refund'; readonly amount: number };

  /** The report of a day with one payment of 1,000. Its fee is 20 with VAT. */
  const reportOf = async (payment: object, ...refunds: readonly Back[]) => {
    const at = new Date(DAY.from + 3_600_000).toISOString();
    const stored = {
      intent: { id: 'chk_default_a', amount: 1_000, currency: 'THB', terminal: null },
      state: { status: 'paid', paid_at: at, payment, attempts: [{ charge_id: 'chrg_1', status: 'successful' }] },
      refunds: refunds.map(({ kind, amount }, n) => ({
        kind,
        amount,
        id: `rfnd_${n}`,
        key: `${n}`,
        charge_id: 'chrg_1',
        status: 'succeeded',
        created_at: at,
      })),
      timeline: [],
      closed: false,
    };
    let pages = [[stored]];
    const page = () => {
      const [data = []] = pages;
      pages = [];
      return Promise.resolve({ data, nextPageToken: null });
    };
    const reports = new DayReports(
      { page } as unknown as Checkouts,
      { covering: () => Promise.resolve([]) } as unknown as Reconciliations,
      { taskQueue: 'tillflow', businessDays: UTC_DAYS },
    );
    const { totals } = await reports.read(DAY, {}, NOW);
    expect(totals).toHaveLength(1);
    return { net: totals[0]?.net, settlements: totals[0]?.settlements };
  };
  const known = { fees: [19, 1, 980], payout: '2026-11-27T00:00:00.000Z' };
  const onDate = { date: '2026-11-27', amount: 980 };

  it.each<[string, object, readonly Back[], object]>([
    ['a sale', known, [], { net: 980, settlements: [onDate] }],
    [
      'a sale without a known payout',
      { fees: [19, 1, 980] },
      [],
      { net: 980, settlements: [{ date: null, amount: 980 }] },
    ],
    [
      'a refund',
      known,
      [{ kind: 'refund', amount: 300 }],
      { net: 680, settlements: [onDate, { date: null, amount: -300 }] },
    ],
    [
      'a void, which returns the fee',
      known,
      [{ kind: 'void', amount: 1_000 }],
      { net: 0, settlements: [onDate, { date: null, amount: -980 }] },
    ],
    ['a void of a sale whose fee is not known', {}, [{ kind: 'void', amount: 1_000 }], { net: null, settlements: [] }],
  ])('has the payouts of %s', async (_, payment, refunds, expected) => {
    expect(await reportOf(payment, ...refunds)).toEqual(expected);
  });
});

describe('a report after a reconciliation', () => {
  it.each<[string, ReconcileResult]>([
    ['of an earlier release', earlierRelease],
    ['by a worker of another zone', { ...earlierRelease, days: [daysOf(DATE, [], '2026-11-19T17:00:00.000Z')] }],
  ])('%s stays provisional, or is final by another run', async (_name, result) => {
    expect(await reportsAfter(result).read(DAY, {}, NOW)).toMatchObject({ state: 'provisional' });
    const other = { ...earlierRelease, days: [] };
    expect(await reportsAfter(result, other).read(DAY, {}, NOW)).toMatchObject({
      state: 'final',
      reconciliation_id: 'rec_1',
      totals: [],
    });
  });

  it('is open while the day runs, whatever was reconciled', async () => {
    const reports = reportsAfter({ ...earlierRelease, days: [] });
    expect(await reports.read(DAY, {}, instant(DAY.to - 1))).toMatchObject({ state: 'open' });
    expect(await reports.read(DAY, {}, DAY.to)).toMatchObject({ state: 'final' });
  });

  it('of several days has the totals and the breaks of its own day', async () => {
    const days = [daysOf('2026-11-19', [row({ store: 'other' })]), daysOf(DATE, [row({ store: 'own' })])];
    // Ages count until 00:30 of the 21st.
    const found = [1_800, 1_801, 88_200, 88_201, 0].map(breakOf);
    const omitted = { breaks: 3, foreign: 0 };
    const report = await reportsAfter({ ...earlierRelease, days, found, omitted }).read(DAY, {}, NOW);
    expect(report.totals.map(({ store }) => store)).toEqual(['own']);
    // A receipt may be younger than the compared payments.
    expect(report.breaks.map(({ age_seconds: age }) => age)).toEqual([1_800, 1_801, 88_200, 0]);
    expect(report.breaks_omitted).toBe(3);
  });

  it('has a break of the last second of its day', async () => {
    const wide = {
      ...earlierRelease,
      to: '2026-11-22T00:00:00.000Z',
      compared_at: '2026-11-22T00:30:00.900Z',
      days: [],
    };
    const madeAt = (at: string) => breakOf(Math.floor((Date.parse(wide.compared_at) - Date.parse(at)) / 1_000));
    const breaksOf = async (at: string) =>
      (await reportsAfter({ ...wide, found: [madeAt(at)] }).read(DAY, {}, instant(DAY.to + 90_000_000))).breaks.length;
    expect(await breaksOf('2026-11-20T23:59:59.999Z')).toBe(1);
    expect(await breaksOf('2026-11-20T23:59:59.001Z')).toBe(1);
    expect(await breaksOf('2026-11-21T00:00:01.000Z')).toBe(0);
    expect(await breaksOf('2026-11-20T00:00:00.000Z')).toBe(1);
    expect(await breaksOf('2026-11-19T23:59:58.900Z')).toBe(0);
  });

  it('has no break that a newer and wider run does not find any more', async () => {
    const [gone, healing, same, healed] = [60, 61, 62, 63].map((age) => breakOf(age + 1_800));
    if (!gone || !healing || !same || !healed) throw new Error('No breaks');
    const shortest = { ...earlierRelease, days: [], found: [gone, healing, same, { ...healed, healed: true }] };
    const asOf = (compared_at: string, found: readonly Break[], omitted = 0): ReconcileResult => ({
      ...earlierRelease,
      compared_at,
      found: found.map((one) => ({ ...one, age_seconds: one.age_seconds + 7_200 })),
      omitted: { breaks: omitted, foreign: 0 },
    });
    const breaksAfter = async (...others: readonly ReconcileResult[]) =>
      (await reportsAfter(shortest, ...others).read(DAY, {}, NOW)).breaks.map(
        (one) => `${one.n} ${one.checkout_id}${one.healed ? ' healed' : ''}`,
      );
    const later = [same, { ...healing, healed: true }];
    const unchanged = ['1 chk_default_1860', '2 chk_default_1861', '3 chk_default_1862', '4 chk_default_1863 healed'];
    expect(await breaksAfter(asOf('2026-11-21T00:29:00.000Z', later))).toEqual(unchanged);
    const wider = asOf('2026-11-21T02:30:00.000Z', later);
    expect(await breaksAfter(asOf('2026-11-21T00:29:00.000Z', []), wider)).toEqual([
      '2 chk_default_1861 healed',
      '3 chk_default_1862',
      '4 chk_default_1863 healed',
    ]);
    expect(await breaksAfter(asOf('2026-11-21T02:30:00.000Z', [], 1))).toEqual(unchanged);
    const not_compared = [{ what: 'receipts', code: 'no_answer', detail: '' }] as const;
    expect(await breaksAfter({ ...asOf('2026-11-21T02:30:00.000Z', []), not_compared })).toEqual(unchanged);
  });

  it('has only the wanted store or till, and the tills that are not listed', async () => {
    const totals = [
      row({ store: 'north', terminal: 'a' }),
      row({ store: 'north', terminal: 'b' }),
      row({ store: 'south', terminal: 'a' }),
      row({ others: true }),
    ];
    const reports = reportsAfter({ ...earlierRelease, days: [daysOf(DATE, totals)] });
    const places = async (filters: { store?: string; terminal?: string }) =>
      (await reports.read(DAY, filters, NOW)).totals.map(({ store, terminal }) => `${store} ${terminal}`);
    expect(await places({ store: 'north' })).toEqual(['north a', 'north b', 'null null']);
    expect(await places({ terminal: 'a' })).toEqual(['north a', 'south a', 'null null']);
    expect(await places({ store: 'north', terminal: 'a' })).toEqual(['north a', 'null null']);
  });
});
