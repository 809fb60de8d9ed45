import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChargeJson, RefundJson } from '../index.js';
import { NEW_CHARGE, openSandbox, type Bench, type ListBody } from '../../test/harness.js';

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
  it('of a part keeps the rest refundable, costs the fee, and is told by an event', async () => {
    const bench = await paid();
    const form = { amount: 50_000, 'metadata[refund_key]': 'r-1' };
    const { status, body } = await bench.call<RefundJson>('POST', `/charges/${bench.id}/refunds`, { form });
    expect(status).toBe(200);
    expect(body).toEqual({
      object: 'refund',
      id: expect.stringMatching(/^rfnd_test_[0-9a-z]{19}$/),
      livemode: false,
      status: 'closed',
      location: `/charges/${bench.id}/refunds/${body.id}`,
      amount: 50_000,
      currency: 'THB',
      charge: bench.id,
      transaction: expect.stringMatching(/^trxn_test_/),
      voided: false,
      metadata: { refund_key: 'r-1' },
      created_at: '2026-03-10T09:00:00.000Z',
    });
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

  it('never exceeds what was paid, whatever is asked for', async () => {
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
    ['above the paid amount', { amount: 150_001 }, 'failed_refund'],
    ['of nothing', { amount: 0 }, 'bad_request'],
    ['of less than nothing', { amount: -1 }, 'bad_request'],
    ['without an amount', {}, 'bad_request'],
    ['of a text', { amount: 'all' }, 'bad_request'],
    ['with metadata that is a text', { amount: 1, metadata: 'x' }, 'bad_request'],
    ['with a void that is no flag', { amount: 1, void: 'yes' }, 'bad_request'],
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

  it.each([['pending'], ['failed'], ['expired']] as const)(
    'of a %s charge is refused, as is its void',
    async (status) => {
      const bench = await openSandbox({ now: '2026-03-10T09:00:00Z', frozen: true });
      const { id } = (await bench.call<ChargeJson>('POST', '/charges', { form: NEW_CHARGE })).body;
      if (status === 'failed') bench.sandbox.mark(id, { status });
      if (status === 'expired') await bench.call('POST', `/charges/${id}/expire`);
      const forms: Record<string, number | boolean>[] = [{ amount: 1 }, { void: true }];
      for (const form of forms) {
        const reply = await bench.call('POST', `/charges/${id}/refunds`, { form });
        expect(reply).toMatchObject({ status: 400, body: { code: 'failed_refund' } });
      }
    },
  );

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

  it('is listed with its charge', async () => {
    const bench = await paid();
    for (const amount of [1, 2, 3]) await bench.call('POST', `/charges/${bench.id}/refunds`, { form: { amount } });
    const path = `/charges/${bench.id}/refunds`;
    const { body } = await bench.call<ListBody<RefundJson>>('GET', `${path}?limit=2&order=reverse_chronological`);
    expect(body).toMatchObject({ object: 'list', total: 3, limit: 2, location: path, order: 'reverse_chronological' });
    expect(body.data.map(({ amount }) => amount)).toEqual([3, 2]);
  });
});

describe('a void', () => {
  it('gives everything back, fee included, and leaves the charge successful', async () => {
    const bench = await paid();
    const { body } = await bench.call<RefundJson>('POST', `/charges/${bench.id}/refunds`, { form: { void: true } });
    expect(body).toMatchObject({ amount: 150_000, voided: true, status: 'closed' });
    expect(await bench.charge()).toMatchObject({
      status: 'successful',
      paid: true,
      voided: true,
      refunded_amount: 150_000,
      reversed: false,
      reversed_at: null,
      refundable: false,
      can_perform_void: false,
      source: { charge_status: 'successful' },
    });
    const [credit, debit] = bench.sandbox.state().transactions;
    expect([credit?.amount, debit?.amount, debit?.direction]).toEqual([147_352, 147_352, 'debit']);
  });

  it('may name the full amount', async () => {
    const bench = await paid();
    const reply = await bench.call('POST', `/charges/${bench.id}/refunds`, { form: { amount: 150_000, void: true } });
    expect(reply.status).toBe(200);
  });

  it('is possible until before 16:15:00.000 UTC of the day of payment', async () => {
    const bench = await paid();
    bench.sandbox.setNow('2026-03-10T16:14:59.999Z');
    expect((await bench.charge()).can_perform_void).toBe(true);
    bench.sandbox.setNow('2026-03-10T16:15:00.000Z');
    expect(await bench.charge()).toMatchObject({ can_perform_void: false, refundable: true });
    const late = await bench.call('POST', `/charges/${bench.id}/refunds`, { form: { void: true } });
    expect(late).toMatchObject({ status: 400, body: { code: 'failed_void' } });
    expect((await bench.call('POST', `/charges/${bench.id}/refunds`, { form: { amount: 150_000 } })).status).toBe(200);
  });

  it('is never possible for a payment at or after the cut-off of its day', async () => {
    const bench = await paid('2026-03-10T16:15:00.000Z');
    expect((await bench.charge()).can_perform_void).toBe(false);
    const reply = await bench.call('POST', `/charges/${bench.id}/refunds`, { form: { void: true } });
    expect(reply).toMatchObject({ status: 400, body: { code: 'failed_void' } });
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

  it('of a charge that was partly refunded or voided is refused', async () => {
    const bench = await paid();
    await bench.call('POST', `/charges/${bench.id}/refunds`, { form: { amount: 1 } });
    const reply = await bench.call('POST', `/charges/${bench.id}/refunds`, { form: { void: true } });
    expect(reply).toMatchObject({ status: 400, body: { code: 'failed_void' } });
    expect((await bench.charge()).refunded_amount).toBe(1);
  });
});
