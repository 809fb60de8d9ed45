import { describe, expect, it } from 'vitest';
import { formatInstant, plus, type Instant } from '../instant.js';
import { credit, entry, paidCharge, paidCheckout, refund, refunded } from '../testing/one-payment.js';
import { FROM, recordsOf, TO, type Payment, type TestRecords } from '../testing/seeded-records.js';
import { beginningOf, reconcile, type ComparedSlice, type Lookups } from './reconcile.js';
import type { Movement, ProviderCharge, TillflowCheckout } from './records.js';
import { FIGURES, type CurrencyTotals } from './totals.js';

const HOUR = 3_600_000;
const PAID_AT = plus(FROM, HOUR / 2);
const { id: CHARGE, amount } = paidCharge;
const { id: CHECKOUT } = paidCheckout;
const { id: CREDIT } = credit;
const AGAIN = [`charge ${CHARGE}`, `checkout ${CHECKOUT}`, `charge ${CHARGE}`];

type Change = {
  readonly checkout?: Partial<TillflowCheckout> | null;
  readonly charge?: Partial<ProviderCharge> | null;
  readonly movement?: Partial<Movement> | null;
};

/** A payment on which all records agree, except for the change. */
function payment({ checkout = {}, charge = {}, movement = {} }: Change = {}, paidAt: Instant = PAID_AT): Payment {
  return {
    id: 'one',
    checkout: checkout && { ...paidCheckout, paidAt, ...checkout },
    charge: charge && { ...paidCharge, createdAt: plus(paidAt, -60_000), paidAt, ...charge },
    movement: movement && { ...credit, createdAt: paidAt, ...movement },
  };
}

const total = (figures: Partial<CurrencyTotals>): CurrencyTotals => ({
  ...(Object.fromEntries(FIGURES.map((figure) => [figure, 0])) as Omit<CurrencyTotals, 'currency'>),
  currency: 'THB',
  ...figures,
});
const { fee = 0, vat = 0, net = 0 } = paidCharge.fees ?? {};
const HERE = { checkouts: 1, paid_here: amount };
const THERE = { charges: 1, paid_there: amount, fees: fee + vat, credited: net };

/** Reads the lists from `listed`, and answers each lookup from `known`, or with what `answers` says instead. */
async function run(listed: TestRecords, known: TestRecords = listed, answers: Partial<Lookups> = {}) {
  const asked: string[] = [];
  const { checkout, charge, movement, refunded: refundedBy } = { ...known.lookups, ...answers };
  const tell = <R>(record: string, answer: R): R => {
    asked.push(record);
    return answer;
  };
  const lookups: Lookups = {
    checkout: (id) => tell(`checkout ${id}`, checkout(id)),
    charge: (id) => tell(`charge ${id}`, charge(id)),
    movement: (id) => tell(`movement ${id}`, movement(id)),
    refunded: (one) => tell(`refunded ${one.refundId ?? ''}`, refundedBy(one)),
  };
  const window = { from: FROM, to: TO };
  const place = beginningOf(window);
  const rules = { now: TO, youngMs: 900_000, settleWithinMs: null };
  const slices: ComparedSlice[] = [];
  const comparison = { window, place, rules };
  for await (const slice of reconcile(listed.sides(place.at, place.listFrom), lookups, comparison)) slices.push(slice);
  return {
    asked,
    slices,
    found: slices.flatMap(({ breaks }) => breaks.map(({ type, checkout_id }) => `${type} ${checkout_id ?? ''}`)),
    totals: slices.flatMap(({ totals }) => totals),
    foreign: slices.flatMap(({ foreign }) => foreign),
  };
}

describe('reconcile of one payment', () => {
  const failed = { id: 'chrg_failed', status: 'failed' } as const;

  it.each<[string, Payment]>([
    ['within a slice', payment()],
    ['at the beginning of the window', payment({}, FROM)],
    ['at the beginning of a slice', payment({}, plus(FROM, HOUR))],
    ['after another charge failed', payment({ checkout: { charges: [failed, ...paidCheckout.charges] } })],
  ])('%s looks nothing up when the three lists agree', async (_, one) => {
    const { asked, found, totals } = await run(recordsOf([one]));
    expect([asked, found]).toEqual([[], []]);
    expect(totals).toEqual([total({ ...HERE, ...THERE })]);
  });

  it('looks up the movement that comes in a later slice', async () => {
    const { asked, found, totals } = await run(recordsOf([payment({ movement: { createdAt: plus(PAID_AT, HOUR) } })]));
    expect(asked).toEqual([`movement ${CREDIT}`, `charge ${CHARGE}`]);
    expect(found).toEqual([]);
    expect(totals).toEqual([total({ ...HERE, ...THERE })]);
  });

  it('looks up the checkout that Tillflow dated after the window', async () => {
    const { asked, found, totals } = await run(recordsOf([payment({ checkout: { paidAt: TO } })]));
    expect(asked).toEqual([`checkout ${CHECKOUT}`]);
    expect(found).toEqual([]);
    expect(totals).toEqual([total({ ...THERE, paid_here: amount })]);
  });

  it('counts a charge once that was created at the beginning of the list, with a later movement', async () => {
    const createdAt = plus(FROM, -24 * HOUR);
    const one = payment({ charge: { createdAt }, movement: { createdAt: plus(PAID_AT, HOUR) } });
    const { found, totals } = await run(recordsOf([one]));
    expect(found).toEqual([]);
    expect(totals).toEqual([total({ ...HERE, ...THERE })]);
  });

  it('finds a charge by its movement when it was created before the list begins', async () => {
    const { asked, found, totals } = await run(
      recordsOf([payment({ charge: { createdAt: plus(FROM, -24 * HOUR - 1) } })]),
    );
    expect(asked).toEqual([`charge ${CHARGE}`]);
    expect(found).toEqual([]);
    expect(totals).toEqual([total({ ...HERE, ...THERE })]);
  });

  it('compares a charge without metadata with the checkout that names it', async () => {
    const { asked, found } = await run(recordsOf([payment({ charge: { checkoutId: null }, movement: { amount: 1 } })]));
    expect(asked).toEqual(AGAIN);
    expect(found).toEqual([`fee_difference ${CHECKOUT}`]);
  });

  it('looks up no movement when the charge names none', async () => {
    const { asked, found } = await run(recordsOf([payment({ charge: { transactionId: null }, movement: null })]));
    expect(asked).toEqual(AGAIN);
    expect(found).toEqual([`unsettled ${CHECKOUT}`]);
  });

  it('counts no refund that is still pending', async () => {
    const pending = payment({ checkout: { refunds: [entry({ id: null, status: 'pending' })] } });
    expect((await run(recordsOf([pending]))).totals).toEqual([total({ ...HERE, ...THERE })]);
  });
});

describe('the fees of a charge that states none', () => {
  const noFees = { fees: null };

  it.each<[string, Change, number | null]>([
    ['are what the balance did not get of it', { charge: noFees }, fee + vat],
    ['are not known when the balance got another currency', { charge: noFees, movement: { currency: 'SGD' } }, null],
    ['are not known when the balance got more', { charge: noFees, movement: { amount: amount + 1 } }, null],
    ['are not known without a movement', { charge: { ...noFees, transactionId: null }, movement: null }, null],
  ])('%s', async (_, change, fees) => {
    const { slices, totals } = await run(recordsOf([payment(change)]));
    const rows = slices.flatMap(({ days }) => days.flatMap((day) => day.totals));
    expect(rows.filter(({ sales }) => sales.count === 1)).toMatchObject([
      { fees, net: fees === null ? null : amount - fees },
    ]);
    expect(totals).toMatchObject([{ fees: fees ?? 0 }]);
  });

  it('are not known when the debit of a refund is in another currency', async () => {
    const one = payment({ checkout: { refunds: [entry()] }, charge: { ...noFees, ...refunded(refund()) } });
    const debit: Movement = {
      ...credit,
      id: 'trxn_debit',
      chargeId: null,
      refundId: 'rfnd_1',
      currency: 'SGD',
      createdAt: PAID_AT,
    };
    const { slices } = await run(recordsOf([one], [debit]));
    const [day] = slices.flatMap(({ days }) => days);
    expect(day?.totals.filter(({ currency }) => currency === 'THB')).toMatchObject([
      { refunds: { count: 1, amount: 1_000 }, fees: null, net: null },
    ]);
    expect(day?.returned).toEqual([{ currency: 'THB', amount: 1_000, fees: 0 }]);
  });
});

describe('reconcile of a charge without a checkout', () => {
  const foreign = { checkout: null, charge: { checkoutId: null } };

  it('states the amount and the payment time of another system', async () => {
    const result = await run(recordsOf([payment(foreign)]));
    expect(result.foreign).toEqual([{ charge_id: CHARGE, amount, currency: 'THB', paid_at: formatInstant(PAID_AT) }]);
    expect(result.totals).toEqual([total({ foreign: 1, foreign_amount: amount })]);
    expect(result.asked).toEqual([]);
  });

  it('does not count a reversed charge of another system', async () => {
    const result = await run(
      recordsOf([payment({ checkout: null, charge: { checkoutId: null, status: 'reversed' } })]),
    );
    expect([result.foreign, result.totals, result.found]).toEqual([[], [], []]);
  });
});

describe('reconcile of a break that a list shows', () => {
  it('reports what the freshly read charge shows', async () => {
    const listed = recordsOf([payment({ charge: { amount: amount + 1, fees: null } })]);
    const { asked, found } = await run(listed, recordsOf([payment({ charge: { status: 'reversed' } })]));
    expect(asked).toEqual(AGAIN);
    expect(found).toEqual([`status ${CHECKOUT}`]);
  });

  it('reports none when the freshly read checkout agrees', async () => {
    const { found } = await run(recordsOf([payment({ checkout: { amount: 1 } })]), recordsOf([payment()]));
    expect(found).toEqual([]);
  });

  it('reports none when only the second read of the charge shows a break', async () => {
    const listed = recordsOf([payment({ checkout: { amount: 1 } })]);
    const charges = [payment().charge, payment({ charge: { status: 'reversed' } }).charge];
    const charge = () => Promise.resolve(charges.shift() ?? null);
    expect((await run(listed, recordsOf([payment()]), { charge })).found).toEqual([]);
  });
});

describe('reconcile of a paid checkout whose charge is not listed', () => {
  const absent = recordsOf([payment({ charge: null, movement: null })]);
  const present = recordsOf([payment()]);

  it('reports and counts the payment when the provider does not have it', async () => {
    const { asked, found, totals } = await run(absent);
    expect(asked).toEqual(AGAIN);
    expect(found).toEqual([`missing_there ${CHECKOUT}`]);
    expect(totals).toEqual([total({ ...HERE, breaks: 1 })]);
  });

  it('asks once when the provider has it', async () => {
    const { asked, found, totals } = await run(absent, present);
    expect(asked).toEqual([`charge ${CHARGE}`]);
    expect(found).toEqual([]);
    expect(totals).toEqual([total({ checkouts: 1 })]);
  });

  it.each<[string, Partial<Lookups>]>([
    ['the checkout does not exist any more', { checkout: () => Promise.resolve(null) }],
    ['the checkout does not show it as paid any more', {}],
  ])('reports nothing when %s', async (_, answers) => {
    const charges = [null, payment().charge];
    const charge = () => Promise.resolve(charges.shift() ?? null);
    const { found, totals } = await run(absent, absent, { charge, ...answers });
    expect(found).toEqual([]);
    expect(totals).toEqual([total({ checkouts: 1 })]);
  });
});

describe('reconcile of a refund of an earlier payment', () => {
  const before = plus(FROM, -40 * 24 * HOUR);
  const debit = (fields: Partial<Movement> = {}): Movement => ({
    ...credit,
    id: 'trxn_debit',
    chargeId: null,
    refundId: 'rfnd_1',
    amount: 1_000,
    createdAt: PAID_AT,
    ...fields,
  });
  const earlier = (change: Change = {}): Payment =>
    payment({ ...change, charge: { ...refunded(refund()), ...change.charge } }, before);
  const known = { refunds: [entry()] };

  it('counts nothing when both sides agree', async () => {
    const { asked, found, totals } = await run(recordsOf([earlier({ checkout: known, movement: null })], [debit()]));
    expect(asked).toEqual(['refunded rfnd_1', `checkout ${CHECKOUT}`]);
    expect([found, totals]).toEqual([[], []]);
  });

  it('reports only the refund of the movement', async () => {
    const charge = refunded(refund(), refund({ id: 'rfnd_2' }));
    const { slices } = await run(recordsOf([earlier({ charge, movement: null })], [debit()]));
    expect(slices.flatMap(({ breaks }) => breaks.map(({ refund_id }) => refund_id))).toEqual(['rfnd_1']);
  });

  it.each<[string, Payment[], string[]]>([
    ['of no charge', [], []],
    ['of another system', [earlier({ checkout: null, charge: { checkoutId: null }, movement: null })], []],
    ['without a checkout', [earlier({ checkout: null, movement: null })], [`fee_difference ${CHECKOUT}`]],
  ])('compares the debit %s: %j', async (_, payments, expected) => {
    const { asked, found } = await run(recordsOf(payments, [debit({ amount: 5_000 })]));
    expect(found).toEqual(expected);
    expect(asked[0]).toBe('refunded rfnd_1');
  });

  it('counts the debit of no charge, in no store and at no till', async () => {
    const { slices, totals } = await run(recordsOf([], [debit({ transferableAt: null })]));
    const days = slices.flatMap((slice) => slice.days);
    expect(days).toMatchObject([
      {
        totals: [
          {
            currency: 'THB',
            store: null,
            terminal: null,
            sales: { count: 0, amount: 0 },
            refunds: { count: 1, amount: 1_000 },
            fees: 0,
            net: -1_000,
            settlements: [{ date: null, amount: -1_000 }],
          },
        ],
        returned: [{ currency: 'THB', amount: 1_000, fees: 0 }],
      },
    ]);
    expect(totals).toEqual([]);
  });
});

describe('reconcile of a refund of a payment that the provider lists', () => {
  const till = { store: 'north', terminal: 'till-1' };
  const noEvent = { refunded: () => Promise.resolve(null) };
  const debitAt = (createdAt: Instant, amountOf = 1_000): Movement => ({
    ...credit,
    id: 'trxn_debit',
    chargeId: null,
    refundId: 'rfnd_1',
    amount: amountOf,
    createdAt,
  });
  const known = { till, refunds: [entry()] };

  it.each<[string, Instant, Instant]>([
    ['in the same slice', PAID_AT, plus(PAID_AT, 60_000)],
    ['in a later slice', PAID_AT, plus(PAID_AT, 5 * HOUR)],
    ['some hours before the window', plus(FROM, -2 * HOUR), PAID_AT],
  ])('needs no event: %s', async (_, paidAt, refundedAt) => {
    const one = payment({ checkout: known, charge: refunded(refund({ createdAt: refundedAt })) }, paidAt);
    const records = recordsOf([one], [debitAt(refundedAt)]);
    const { asked, found, slices } = await run(records, records, noEvent);
    expect(found).toEqual([]);
    expect(asked).not.toContain('refunded rfnd_1');
    const rows = slices.flatMap(({ days }) => days.flatMap(({ totals }) => totals));
    expect(rows.filter(({ refunds }) => refunds.count > 0)).toMatchObject([{ ...till, refunds: { amount: 1_000 } }]);
  });

  it('compares the debit with the refund', async () => {
    const one = payment({ checkout: known, charge: refunded(refund()) });
    const records = recordsOf([one], [debitAt(PAID_AT, 5_000)]);
    expect((await run(records, records, noEvent)).found).toEqual([`fee_difference ${CHECKOUT}`]);
  });
});

describe('reconcile in slices', () => {
  it('names the place of each next slice, and none after the last', async () => {
    const createdAt = plus(FROM, HOUR - 1);
    const { slices } = await run(recordsOf([payment({ charge: { createdAt } }, plus(FROM, HOUR))]));
    const places = Array.from({ length: 23 }, (_, n) => plus(FROM, (n + 1) * HOUR));
    expect(slices.map(({ next }) => next?.at ?? null)).toEqual([...places, null]);
    expect(slices[0]?.next).toEqual({ at: places[0], listFrom: createdAt });
  });

  it('closes its lists when the reader stops', async () => {
    const records = recordsOf([payment()]);
    const { at, listFrom } = beginningOf({ from: FROM, to: TO });
    const closed: string[] = [];
    async function* noted<T>(name: string, values: AsyncIterable<T>): AsyncGenerator<T> {
      try {
        yield* values;
      } finally {
        closed.push(name);
      }
    }
    const sides = records.sides(at, listFrom);
    const lists = {
      charges: sides.charges,
      checkouts: noted(
        'checkouts',
        recordsOf([payment(), payment({ checkout: { id: 'chk_2', paidAt: TO } })]).sides(at, listFrom).checkouts,
      ),
      movements: noted(
        'movements',
        recordsOf([payment({ movement: { createdAt: TO } })]).sides(at, listFrom).movements,
      ),
    };
    const comparison = {
      window: { from: FROM, to: TO },
      place: { at, listFrom },
      rules: { now: TO, youngMs: 0, settleWithinMs: null },
    };
    for await (const _ of reconcile(lists, records.lookups, comparison)) break;
    expect(closed.toSorted()).toEqual(['checkouts', 'movements']);
  });
});
