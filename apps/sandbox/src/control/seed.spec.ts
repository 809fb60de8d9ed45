import { describe, expect, it } from 'vitest';
import type { ReceiptJson, Seeded } from '../index.js';
import { NEW_CHARGE, openSandbox, type Bench } from '../../test/harness.js';

const open = async (): Promise<Bench> =>
  await openSandbox({ seed: 's', now: '2026-03-10T09:00:00.000Z', frozen: true });
const seed = async ({ control }: Bench, body: unknown): Promise<Seeded> =>
  (await control<Seeded>('POST', '/seed', body)).body;

/** Everything but the requests. */
const records = ({ sandbox }: Bench): unknown => ({ ...sandbox.state(), requests: [] });

describe('a seed', () => {
  it('of empty records uses defaults and answers with ids that exist', async () => {
    const bench = await open();
    const seeded = await seed(bench, { customers: [{}], cards: [{}], disputes: [{}], schedules: [{}], receipts: [{}] });
    expect(Object.entries(seeded).map(([kind, ids]) => [kind, ids.length])).toEqual([
      ['customers', 1],
      ['cards', 1],
      ['disputes', 1],
      ['schedules', 1],
      ['receipts', 1],
    ]);
    const [customer, card] = [seeded.customers[0], seeded.cards[0]];
    for (const path of [
      `/customers/${customer}`,
      `/customers/${customer}/cards/${card}`,
      `/disputes/${seeded.disputes[0]}`,
      `/schedules/${seeded.schedules[0]}`,
      `/receipts/${seeded.receipts[0]}`,
    ]) {
      expect((await bench.call('GET', path)).status).toBe(200);
    }
    expect(bench.sandbox.state()).toMatchObject({
      customers: [{ default_card: card }],
      schedules: [{ period: 'month', charge: { customer } }],
      disputes: [{ status: 'open', amount: 150_000 }],
    });
    const keys = bench.sandbox.state().events.map(({ key }) => key);
    expect(keys).toEqual([
      'customer.create',
      'customer.update.card',
      'charge.create',
      'charge.complete',
      'dispute.create',
      'schedule.create',
    ]);
  });

  it('without records creates nothing', async () => {
    const bench = await open();
    const nothing = { customers: [], cards: [], disputes: [], schedules: [], receipts: [] };
    expect(await seed(bench, {})).toEqual(nothing);
    expect(await seed(bench, nothing)).toEqual(nothing);
    expect(bench.sandbox.state().events).toEqual([]);
  });

  it('refers to customers by id or by index, and creates one for records without a customer', async () => {
    const bench = await open();
    const given = 'cust_test_given';
    const { cards, schedules } = await seed(bench, {
      customers: [{ id: given, cards: [{ id: 'card_test_own' }] }, {}],
      cards: [{ customer: 0 }, { customer: given, default: true }, {}],
      schedules: [{ charge: { customer: 0, card: 'card_test_own' } }, {}],
    });
    expect(cards[0]).toBe('card_test_own');
    const { customers, schedules: made } = bench.sandbox.state();
    expect(customers.map(({ default_card }) => default_card)).toEqual([cards[2], cards[3]]);
    expect(made.map(({ id }) => id)).toEqual(schedules);
    expect(made.map(({ charge }) => charge?.customer)).toEqual([given, customers[1]?.id]);
    const alone = await seed(bench, { schedules: [{}], cards: [{}] });
    expect([alone.customers.length, alone.cards.length]).toEqual([1, 1]);
  });

  it('disputes the given charge, with its documents, in the given state', async () => {
    const bench = await open();
    const { body } = await bench.call<{ id: string }>('POST', '/charges', { form: NEW_CHARGE });
    bench.sandbox.mark(body.id, { status: 'successful' });
    await seed(bench, {
      disputes: [
        {
          charge: body.id,
          amount: 5_000,
          status: 'won',
          reason_code: 'fraud',
          documents: [{ file: btoa('%PDF-1.7'), kind: 'bill' }],
        },
      ],
    });
    const { disputes, documents, charges } = bench.sandbox.state();
    expect(disputes).toMatchObject([{ charge: body.id, amount: 5_000, status: 'won', reason_code: 'fraud' }]);
    expect(documents).toMatchObject([{ kind: 'bill', filename: 'document.pdf' }]);
    expect(charges).toHaveLength(1);
  });

  it('creates a receipt with the given values', async () => {
    const bench = await open();
    const receipt = {
      number: 'R-7',
      issued_on: '2026-02-01',
      charge_fee: 100,
      voided_fee: 10,
      vat: 7,
      wht: 3,
      adjustment: -3,
    };
    const { receipts } = await seed(bench, { receipts: [receipt] });
    const { body } = await bench.call<ReceiptJson>('GET', `/receipts/${receipts[0]}`);
    expect(body).toMatchObject({
      number: 'R-7',
      issued_on: '2026-02-01',
      subtotal: 90,
      total: 94,
      adjustment_transaction: { object: 'transaction', direction: 'debit', amount: 3 },
    });
  });

  it.each([
    [[]],
    ['x'],
    [{ planets: [] }],
    [{ customers: {} }],
    [{ customers: [null] }],
    [{ customers: [{ id: 'x' }] }],
    [{ customers: [{ id: 'cust_a' }, { id: 'cust_a' }] }],
    [{ customers: [{ colour: 'red' }] }],
    [{ customers: [{}], cards: [{ customer: 1 }] }],
    [{ customers: [{}], cards: [{ customer: 'cust_none' }] }],
    [{ customers: [{}], cards: [{ last_digits: '42' }] }],
    [{ customers: [{}], cards: [{ number: '4242424242424242' }] }],
    [{ customers: [{}], cards: [{ failure_code: 'bad_luck' }] }],
    [{ customers: [{}], disputes: [{ charge: 'chrg_none' }] }],
    [{ customers: [{}], disputes: [{ status: 'closed' }] }],
    [{ customers: [{}], disputes: [{ amount: 1 }] }],
    [{ customers: [{}], disputes: [{ documents: [{ file: 'hello' }] }] }],
    [{ customers: [{}], schedules: [{ period: 'year' }] }],
    [{ customers: [{}], schedules: [{ every: 0 }] }],
    [{ customers: [{}], schedules: [{ charge: {}, transfer: { amount: 1 } }] }],
    [{ customers: [{}], schedules: [{ charge: { card: 'card_none' } }] }],
    [{ customers: [{}], schedules: [{ on: { days_of_month: [31] }, end_date: '2026-03-11' }] }],
    [{ customers: [{}], schedules: [{ charge: { customer: {} } }] }],
    [{ customers: [{}], receipts: [{ issued_on: 'today' }] }],
    [{ customers: [{}], receipts: [{ charge_fee: -1 }] }],
    [{ customers: [{}], receipts: [{ id: 'rcpt_a' }, { id: 'rcpt_a' }] }],
  ])('of %j is refused as a whole and creates nothing', async (body) => {
    const bench = await open();
    const before = records(bench);
    const { status } = await bench.control('POST', '/seed', body);
    expect([400, 404]).toContain(status);
    expect(records(bench)).toEqual(before);
  });

  it('for a charge that is unpaid, or already disputed, is refused', async () => {
    const bench = await open();
    const { body } = await bench.call<{ id: string }>('POST', '/charges', { form: NEW_CHARGE });
    const dispute = async () => (await bench.control('POST', '/seed', { disputes: [{ charge: body.id }] })).status;
    expect(await dispute()).toBe(400);
    bench.sandbox.mark(body.id, { status: 'successful' });
    expect(await dispute()).toBe(200);
    expect(await dispute()).toBe(400);
  });

  it('creates the same ids with the same sandbox seed', async () => {
    const stateOf = async (): Promise<unknown> => {
      const bench = await openSandbox({
        seed: 'x',
        now: '2026-03-10T09:00:00Z',
        frozen: true,
        publicUrl: 'http://a.example',
      });
      await seed(bench, { customers: [{ cards: [{}] }], disputes: [{}], schedules: [{}], receipts: [{}] });
      bench.sandbox.advance(90 * 86_400);
      return bench.sandbox.state();
    };
    expect(await stateOf()).toEqual(await stateOf());
  });
});
