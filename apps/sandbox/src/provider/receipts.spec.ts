import { describe, expect, it } from 'vitest';
import type { ReceiptJson, SandboxOptions, TransactionJson } from '../index.js';
import { openSandbox, type Bench, type ListBody } from '../../test/harness.js';

const open = async (options: SandboxOptions = {}): Promise<Bench> =>
  await openSandbox({ seed: 's', now: '2026-03-10T09:00:00Z', frozen: true, ...options });

async function pay({ call, sandbox }: Bench, amount: number, currency = 'THB'): Promise<string> {
  const { body } = await call<{ id: string }>('POST', '/charges', {
    form: { amount, currency, 'source[type]': 'wallet_mpm' },
  });
  sandbox.mark(body.id, { status: 'successful' });
  return body.id;
}
const receiptsOf = async ({ call }: Bench): Promise<ReceiptJson[]> =>
  (await call<ListBody<ReceiptJson>>('GET', '/receipts?limit=100')).body.data;

describe('a receipt', () => {
  it('sums the fees and the VAT of a month, less those of voids', async () => {
    const bench = await open();
    await pay(bench, 150_000);
    const voided = await pay(bench, 3_000);
    await bench.call('POST', `/charges/${voided}/refunds`, { form: { void: true } });
    const refunded = await pay(bench, 150_000);
    await bench.call('POST', `/charges/${refunded}/refunds`, { form: { amount: 150_000 } });
    bench.sandbox.setNow('2026-03-31T23:59:59.999Z');
    await pay(bench, 2_000);
    expect(await receiptsOf(bench)).toEqual([]);
    bench.sandbox.setNow('2026-04-01T00:00:00Z');
    await pay(bench, 5_000);
    const [receipt, ...others] = await receiptsOf(bench);
    expect(others).toEqual([]);
    expect(receipt).toMatchObject({
      number: '202604-0001',
      // Of 150000 twice, 3000 and 2000.
      charge_fee: 2 * 2_475 + 50 + 33,
      voided_fee: 50,
      vat: 2 * 173 + 2,
      issued_on: '2026-04-01',
      adjustment_transaction: null,
      created_at: '2026-04-01T00:00:00.000Z',
    });
    expect((await bench.call<ReceiptJson>('GET', receipt?.location ?? '')).body).toEqual(receipt);
    expect((await bench.call('GET', '/receipts/x')).status).toBe(404);
  });

  it('is issued once a month, with one more for each other currency', async () => {
    const bench = await open();
    await pay(bench, 10_000, 'SGD');
    bench.sandbox.setNow('2026-06-15T00:00:00Z');
    const receipts = await receiptsOf(bench);
    expect(receipts.map(({ issued_on, currency, charge_fee }) => [issued_on, currency, charge_fee])).toEqual([
      ['2026-04-01', 'THB', 0],
      ['2026-04-01', 'SGD', 165],
      ['2026-05-01', 'THB', 0],
      ['2026-06-01', 'THB', 0],
    ]);
    expect(new Set(receipts.map(({ number }) => number)).size).toBe(4);
  });

  it('withholds tax if configured, and returns it as an adjustment transaction', async () => {
    const bench = await open({ assumptions: { whtBasisPoints: 200 } });
    await pay(bench, 150_000);
    bench.sandbox.setNow('2026-04-01T00:00:00Z');
    const [receipt] = await receiptsOf(bench);
    expect(receipt).toMatchObject({ subtotal: 2_475, vat: 173, wht: 50, total: 2_475 + 173 - 50 });
    const adjustment = receipt?.adjustment_transaction;
    expect(adjustment).toMatchObject({ object: 'transaction', direction: 'credit', amount: 50, origin: receipt?.id });
    expect((await bench.call<TransactionJson>('GET', `/transactions/${adjustment?.id}`)).body).toEqual(adjustment);
  });

  it('has the fees of transfers', async () => {
    const bench = await open({ assumptions: { transferFee: 3_000 } });
    await pay(bench, 150_000);
    bench.sandbox.setNow('2026-03-17T09:00:00Z');
    bench.sandbox.seedRecords({
      schedules: [{ period: 'day', end_date: '2026-03-17', transfer: { percentage_of_balance: 100 } }],
    });
    bench.sandbox.setNow('2026-04-01T00:00:00Z');
    expect(await receiptsOf(bench)).toMatchObject([{ charge_fee: 2_475, transfer_fee: 3_000, subtotal: 5_475 }]);
    const { transfers, transactions } = bench.sandbox.state();
    expect(transfers).toMatchObject([{ amount: 147_352 - 3_000, fee: 3_000 }]);
    expect(transactions.at(-1)).toMatchObject({ direction: 'debit', amount: 147_352 });
  });

  it('does not contain a payment at the first instant of the next month', async () => {
    const bench = await open();
    bench.sandbox.seedRecords({ schedules: [{ start_date: '2026-05-01', end_date: '2026-05-02' }] });
    bench.sandbox.setNow('2026-06-01T00:00:00Z');
    const receipts = await receiptsOf(bench);
    expect(receipts.map(({ issued_on, charge_fee }) => [issued_on, charge_fee])).toEqual([
      ['2026-04-01', 0],
      ['2026-05-01', 0],
      ['2026-06-01', 2_475],
    ]);
    expect(bench.sandbox.state().charges[0]?.created_at).toBe('2026-05-01T00:00:00.000Z');
  });

  it('continues after a reset', async () => {
    const bench = await open();
    bench.sandbox.reset();
    bench.sandbox.setNow('2026-05-01T00:00:00Z');
    expect(await receiptsOf(bench)).toHaveLength(2);
  });
});
