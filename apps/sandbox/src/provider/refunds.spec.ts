import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChargeJson, RefundJson } from '../index.js';
import { NEW_CHARGE, openSandbox, type Bench } from '../../test/harness.js';

/** A sandbox with a charge that was paid at that instant. */
async function paid(
  at = '2026-03-10T09:00:00.000Z',
): Promise<Bench & { id: string; charge: () => Promise<ChargeJson> }> {
  const bench = await openSandbox({ now: at, frozen: true });
  const { id } = (await bench.call<ChargeJson>('POST', '/charges', { form: NEW_CHARGE })).body;
  bench.sandbox.mark(id, { status: 'successful' });
  return { ...bench, id, charge: async () => (await bench.call<ChargeJson>('GET', `/charges/${id}`)).body };
}

describe('a refund', () => {
  it('of a part keeps the rest refundable, does not return the fee, and sends an event', async () => {
    const bench = await paid();
    const form = { amount: 50_000, 'metadata[refund_key]': 'r-1' };
    const { status, body } = await bench.call<RefundJson>('POST', `/charges/${bench.id}/refunds`, { form });
    expect(status).toBe(200);
    expect(body).toMatchObject({ amount: 50_000, charge: bench.id, voided: false, metadata: { refund_key: 'r-1' } });
    expect(await bench.charge()).toMatchObject({
      status: 'successful',
      refunded_amount: 50_000,
      refundable: true,
      can_perform_void: false,
      voided: false,
      refunds: { total: 1, data: [body] },
    });
    const { transactions, events, refunds } = bench.sandbox.state();
    expect(transactions.at(-1)).toMatchObject({
      direction: 'debit',
      amount: 50_000,
      key: 'refund.create',
      origin: body.id,
    });
    expect(events.at(-1)).toMatchObject({ key: 'refund.create', data: body });
    expect(refunds).toEqual([body]);
    expect((await bench.call('GET', body.location)).body).toEqual(body);
  });

  it('of the rest leaves nothing refundable', async () => {
    const bench = await paid();
    for (const amount of [50_000, 100_000]) {
      expect((await bench.call('POST', `/charges/${bench.id}/refunds`, { form: { amount } })).status).toBe(200);
    }
    expect(await bench.charge()).toMatchObject({
      refunded_amount: 150_000,
      refundable: false,
      partially_refundable: false,
    });
    const more = await bench.call('POST', `/charges/${bench.id}/refunds`, { form: { amount: 1 } });
    expect(more).toMatchObject({ status: 400, body: { code: 'failed_refund' } });
  });

  it('never exceeds the paid amount', async () => {
    const bench = await paid();
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 160_000 }), { maxLength: 8 }), async (amounts) => {
        bench.sandbox.reset();
        const { id } = (await bench.call<ChargeJson>('POST', '/charges', { form: NEW_CHARGE })).body;
        bench.sandbox.mark(id, { status: 'successful' });
        const replies = await Promise.all(
          amounts.map(
            async (amount) => await bench.call<RefundJson>('POST', `/charges/${id}/refunds`, { form: { amount } }),
          ),
        );
        const accepted = replies.filter(({ status }) => status === 200).reduce((sum, { body }) => sum + body.amount, 0);
        const { charges, refunds } = bench.sandbox.state();
        expect(charges[0]?.refunded_amount).toBe(accepted);
        expect(refunds.reduce((sum, { amount }) => sum + amount, 0)).toBe(accepted);
        expect(accepted).toBeLessThanOrEqual(150_000);
      }),
      { numRuns: 30 },
    );
  });

  it.each<[string, Record<string, string | number | boolean>, string]>([
    ['of less than nothing', { amount: -1 }, 'bad_request'],
    ['that voids a part', { amount: 1, void: true }, 'failed_void'],
  ])('%s is refused and changes nothing', async (_case, form, code) => {
    const bench = await paid();
    const before = bench.sandbox.state(['charges', 'refunds', 'events', 'transactions']);
    expect(await bench.call('POST', `/charges/${bench.id}/refunds`, { form })).toMatchObject({
      status: 400,
      body: { code },
    });
    expect(bench.sandbox.state(['charges', 'refunds', 'events', 'transactions'])).toEqual(before);
  });

  it('is possible up to one year after payment, to the millisecond', async () => {
    const bench = await paid('2026-03-10T09:00:00.123Z');
    bench.sandbox.setNow('2027-03-10T09:00:00.123Z');
    expect((await bench.charge()).refundable).toBe(true);
    expect((await bench.call('POST', `/charges/${bench.id}/refunds`, { form: { amount: 1 } })).status).toBe(200);
    bench.sandbox.setNow('2027-03-10T09:00:00.124Z');
    expect((await bench.charge()).refundable).toBe(false);
    const late = await bench.call('POST', `/charges/${bench.id}/refunds`, { form: { amount: 1 } });
    expect(late).toMatchObject({ status: 400, body: { code: 'failed_refund' } });
  });
});

describe('a void', () => {
  it('may name the full amount', async () => {
    const bench = await paid();
    const reply = await bench.call('POST', `/charges/${bench.id}/refunds`, { form: { amount: 150_000, void: true } });
    expect(reply.status).toBe(200);
  });

  it('counts the day in the zone that is configured', async () => {
    const bench = await openSandbox({
      now: '2026-03-10T18:00:00Z',
      frozen: true,
      assumptions: { voidRule: { dateOffsetMinutes: 420 } },
    });
    const { id } = (await bench.call<ChargeJson>('POST', '/charges', { form: NEW_CHARGE })).body;
    expect(bench.sandbox.mark(id, { status: 'successful' }).can_perform_void).toBe(true);
  });
});
