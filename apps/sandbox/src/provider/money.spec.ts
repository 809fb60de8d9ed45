import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChargeJson, EventJson, RefundJson, TransactionJson } from '../index.js';
import { NEW_CHARGE, openSandbox, type Bench, type ListBody } from '../../test/harness.js';

const DAY = 86_400;

/** What may happen; numbers choose among the charges there are, modulo their count. */
type Step =
  | { readonly kind: 'charge'; readonly amount: number; readonly currency: 'THB' | 'SGD' }
  | { readonly kind: 'pay' | 'fail' | 'expire' | 'void' | 'review'; readonly which: number }
  | { readonly kind: 'refund'; readonly which: number; readonly amount: number }
  | { readonly kind: 'schedule'; readonly every: number; readonly fails: boolean }
  | { readonly kind: 'transfer'; readonly percentage: number }
  | { readonly kind: 'advance'; readonly days: number };

const which = fc.nat(20);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('charge' as const),
    amount: fc.integer({ min: 2_000, max: 2_000_000 }),
    currency: fc.constantFrom('THB', 'SGD'),
  }),
  fc.record({ kind: fc.constantFrom('pay', 'pay', 'pay', 'fail', 'expire', 'void', 'review'), which }),
  fc.record({ kind: fc.constant('refund' as const), which, amount: fc.integer({ min: 1, max: 1_000_000 }) }),
  fc.record({ kind: fc.constant('schedule' as const), every: fc.integer({ min: 1, max: 9 }), fails: fc.boolean() }),
  fc.record({ kind: fc.constant('transfer' as const), percentage: fc.integer({ min: 1, max: 100 }) }),
  fc.record({ kind: fc.constant('advance' as const), days: fc.constantFrom(0.01, 0.5, 1, 8, 40) }),
);

async function run(bench: Bench, ids: string[], done: Step): Promise<void> {
  const { call, sandbox } = bench;
  const idOf = (place: number): string => ids[place % Math.max(1, ids.length)] ?? 'none';
  switch (done.kind) {
    case 'charge': {
      const form = { ...NEW_CHARGE, amount: done.amount, currency: done.currency };
      ids.push((await call<ChargeJson>('POST', '/charges', { form })).body.id);
      return;
    }
    case 'pay':
      await call('POST', `/charges/${idOf(done.which)}/mark_as_paid`);
      return;
    case 'fail':
      await call('POST', `/charges/${idOf(done.which)}/mark_as_failed`);
      return;
    case 'expire':
      await call('POST', `/charges/${idOf(done.which)}/expire`);
      return;
    case 'review':
      await bench.control('POST', `/charges/${idOf(done.which)}/mark`, { status: 'confirming' });
      return;
    case 'void':
      await call('POST', `/charges/${idOf(done.which)}/refunds`, { form: { void: true } });
      return;
    case 'refund':
      await call('POST', `/charges/${idOf(done.which)}/refunds`, { form: { amount: done.amount } });
      return;
    case 'schedule':
      sandbox.seedRecords({
        customers: [{ cards: [{ failure_code: done.fails ? 'payment_rejected' : null }] }],
        schedules: [{ every: done.every, period: 'day' }],
      });
      return;
    case 'transfer':
      sandbox.seedRecords({
        schedules: [{ period: 'day', transfer: { percentage_of_balance: done.percentage } }],
      });
      return;
    case 'advance':
      sandbox.advance(done.days * DAY);
  }
}

const sum = <T>(rows: readonly T[], amount: (row: T) => number): number =>
  rows.reduce((total, row) => total + amount(row), 0);

/** The invariants, checked with the numbers of the API. */
function checkRecords({ sandbox }: Bench): void {
  const { charges, refunds, transactions, transfers, receipts, events } = sandbox.state();
  for (const currency of ['THB', 'SGD']) {
    const of = <T extends { currency: string }>(rows: readonly T[]): T[] =>
      rows.filter((row) => row.currency === currency);
    const paid = of(charges).filter((charge) => charge.paid);
    const netOfVoid = ({ charge, amount, voided }: RefundJson): number =>
      voided ? (charges.find(({ id }) => id === charge)?.net ?? Number.NaN) : amount;
    const balance = sum(of(transactions), ({ direction, amount }) => (direction === 'credit' ? amount : -amount));
    const expected =
      sum(paid, ({ net }) => net) - sum(of(refunds), netOfVoid) - sum(of(transfers), ({ amount, fee }) => amount + fee);
    expect(balance).toBe(expected);
  }
  for (const charge of charges) {
    expect(charge.net + charge.fee + charge.fee_vat).toBe(charge.amount);
    const own = refunds.filter((refund) => refund.charge === charge.id);
    expect(charge.refunded_amount).toBe(sum(own, ({ amount }) => amount));
    expect(charge.refunded_amount).toBeLessThanOrEqual(charge.paid ? charge.amount : 0);
    expect(transactions.filter(({ origin }) => origin === charge.id)).toHaveLength(charge.paid ? 1 : 0);
    expect(charge.paid).toBe(charge.status === 'successful');
  }
  expect(new Set([...charges, ...refunds, ...transactions, ...events].map(({ id }) => id)).size).toBe(
    charges.length + refunds.length + transactions.length + events.length,
  );
  for (const receipt of receipts) {
    expect(receipt.subtotal).toBe(receipt.charge_fee + receipt.transfer_fee - receipt.voided_fee);
    expect(receipt.total).toBe(receipt.subtotal + receipt.vat - receipt.wht);
  }
}

describe('the transactions', () => {
  it('balance to the smallest unit after random operations', async () => {
    const bench = await openSandbox({ seed: 'records', now: '2026-03-10T09:00:00Z', frozen: true });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        bench.sandbox.reset();
        const ids: string[] = [];
        for (const each of steps) await run(bench, ids, each);
        checkRecords(bench);
      }),
      { numRuns: 60 },
    );
  });

  it('of a year have all their fees and VAT in the monthly receipts', async () => {
    const bench = await openSandbox({ seed: 'records', now: '2026-01-01T00:00:00Z', frozen: true });
    bench.sandbox.seedRecords({ schedules: [{ every: 3, period: 'day', charge: { amount: 123_457 } }] });
    bench.sandbox.setNow('2027-02-01T00:00:00Z');
    const { charges, receipts } = bench.sandbox.state();
    expect(charges.length).toBeGreaterThan(100);
    expect(sum(receipts, (receipt) => receipt.charge_fee)).toBe(sum(charges, ({ fee }) => fee));
    expect(sum(receipts, (receipt) => receipt.vat)).toBe(sum(charges, (charge) => charge.fee_vat));
  });

  it('of a fixed window are paged without a gap or a repetition while new ones arrive', async () => {
    const bench = await openSandbox({ seed: 'records', now: '2026-03-10T09:00:00Z', frozen: true });
    const create = async (): Promise<void> => {
      await bench.call('POST', '/charges', { form: NEW_CHARGE });
      bench.sandbox.advance(1);
    };
    for (let i = 0; i < 25; i += 1) await create();
    const to = encodeURIComponent(bench.sandbox.now());
    bench.sandbox.advance(1);
    const seen: string[] = [];
    for (let offset = 0; offset < 25; offset += 10) {
      const path = `/charges?limit=10&offset=${offset}&to=${to}&order=reverse_chronological`;
      const { body } = await bench.call<ListBody<ChargeJson>>('GET', path);
      expect(body.total).toBe(25);
      seen.push(...body.data.map(({ id }) => id));
      await create();
    }
    expect(new Set(seen).size).toBe(25);
    for (const path of ['/charges', '/events'] as const) {
      const { body } = await bench.call<ListBody<ChargeJson | EventJson>>('GET', path);
      expect(body.total).toBe(28);
    }
    expect((await bench.call<ListBody<TransactionJson>>('GET', '/transactions')).body.total).toBe(0);
  });
});
