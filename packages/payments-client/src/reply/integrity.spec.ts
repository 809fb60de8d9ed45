import { describe, expect, test } from 'vitest';
import {
  chargeOf,
  clientOf,
  contradictionsOf,
  MONEY,
  provider,
  PUBLIC_KEY,
  refundOf,
  reply,
  sourceOf,
} from '../../test/provider.js';
import { CHARGE_SCHEDULE, TRANSFER_SCHEDULE } from '../../test/samples.js';

type Row = [replied: object, contradictions: string[]];

describe('the reply to a new charge', () => {
  const params = { ...MONEY, source: 'src_test_1' };

  test.each<Row>([
    [{}, []],
    [{ currency: 'thb' }, []],
    [{ livemode: null }, []],
    [{ amount: 150_001 }, ['amount']],
    [{ currency: 'SGD' }, ['currency']],
    [{ livemode: true }, ['livemode']],
    [{ source: sourceOf({ id: 'src_test_2' }) }, ['source']],
    [{ source: null }, ['source']],
    [{ metadata: { order: '8', till: 'A' } }, ['metadata[order]']],
    [{ metadata: { order: 7 } }, ['metadata[till]']],
    [{ metadata: { order: 7, till: 'A', more: 1 } }, []],
    [{ metadata: null }, ['metadata[order]', 'metadata[till]']],
    [{ metadata: undefined, source: undefined, livemode: undefined }, []],
    [{ amount: 1, currency: 'MYR', livemode: true }, ['amount', 'currency', 'livemode']],
  ])('with %j contradicts the request in %j', async (fields, expected) => {
    const fake = await provider(reply(200, chargeOf({ metadata: { order: '7', till: 'A' }, ...fields })));
    const metadata = { order: 7, till: 'A', note: undefined, empty: null };
    expect(await contradictionsOf(clientOf(fake).charges.create({ ...params, metadata }))).toEqual(expected);
    expect(fake.seen).toHaveLength(1);
  });

  test('that contradicts the request is named in the error, so that it can be looked up', async () => {
    const fake = await provider(reply(200, chargeOf({ amount: 1 }), { 'x-request-id': 'req_9' }));
    const named = { replyId: 'chrg_test_1', requestId: 'req_9', status: 200 };
    await expect(clientOf(fake).charges.create(params)).rejects.toMatchObject(named);
  });

  test('must have the type that was asked for, where the request makes the source too', async () => {
    const fake = await provider(reply(200, chargeOf()));
    const call = clientOf(fake).charges.create({ ...MONEY, source: { type: 'barcode' } });
    expect(await contradictionsOf(call)).toEqual(['source']);
  });

  test.each<[string, boolean, string[]]>([
    ['skey_test_1', false, []],
    ['skey_test_1', true, ['livemode']],
    ['skey_1', true, []],
    ['skey_1', false, ['livemode']],
    ['some_other_key', false, []],
  ])('with the key %s and livemode %s contradicts the key in %j', async (secretKey, livemode, expected) => {
    const fake = await provider(reply(200, chargeOf({ livemode })));
    expect(await contradictionsOf(clientOf(fake, { secretKey }).charges.create(params))).toEqual(expected);
  });
});

describe('the reply to a new source', () => {
  test.each<Row>([
    [{}, []],
    [{ amount: null, currency: null, type: null, livemode: null }, []],
    [{ amount: 1 }, ['amount']],
    [{ currency: 'MYR' }, ['currency']],
    [{ type: 'card' }, ['type']],
  ])('with %j contradicts the request in %j', async (fields, expected) => {
    const fake = await provider(reply(200, sourceOf(fields)));
    const call = clientOf(fake).sources.create({ ...MONEY, type: 'wallet_mpm' });
    expect(await contradictionsOf(call)).toEqual(expected);
  });

  test('has the mode of the key that signed the request', async () => {
    const fake = await provider(reply(200, sourceOf({ livemode: true })));
    const { sources } = clientOf(fake, { publicKey: PUBLIC_KEY, secretKey: 'skey_live' });
    const params = { ...MONEY, type: 'wallet_mpm' };
    expect(await contradictionsOf(sources.create(params))).toEqual([]);
    expect(await contradictionsOf(sources.create(params, { useKey: 'public' }))).toEqual(['livemode']);
  });
});

describe('the reply to a new refund', () => {
  const metadata = { checkout: 'c1', refund_key: 'a' };

  test.each<Row>([
    [{}, []],
    [{ charge: null }, []],
    [{ charge: undefined }, []],
    [{ livemode: null }, []],
    [{ amount: 4_999 }, ['amount']],
    [{ charge: 'chrg_test_2' }, ['charge']],
    [{ livemode: true }, ['livemode']],
    // A provider may store no metadata on refunds.
    [{ metadata: undefined }, []],
    [{ metadata: null }, []],
    [{ metadata: {} }, []],
    [{ metadata: [] }, []],
    [{ metadata: { trace: '1' } }, []],
    [{ metadata: { checkout: '', refund_key: null } }, []],
    [{ metadata: { checkout: 'c1', refund_key: 'b' } }, ['metadata[refund_key]']],
    [{ metadata: { checkout: 'c1' } }, ['metadata[refund_key]']],
  ])('with %j contradicts the request in %j', async (fields, expected) => {
    const fake = await provider(reply(200, refundOf({ metadata, ...fields })));
    const call = clientOf(fake).charges.createRefund('chrg_test_1', { amount: 5_000, metadata });
    expect(await contradictionsOf(call)).toEqual(expected);
  });
});

describe('the reply to a new schedule of charges', () => {
  const params = {
    every: 1,
    period: 'month',
    on: { days_of_month: [15, 1] },
    start_date: '2025-06-09',
    end_date: new Date('2026-06-09T23:00:00Z'),
    charge: { ...MONEY, customer: 'cust_test_1', card: 'card_test_1', metadata: { flat: '7' } },
  };
  const { charge } = CHARGE_SCHEDULE;

  test.each<Row>([
    [{}, []],
    [{ every: 2 }, ['every']],
    [{ period: 'week' }, ['period']],
    [{ period: 'Month' }, []],
    [{ period: 'MONTH ' }, []],
    [{ on: { days_of_month: [1] } }, ['on']],
    [{ on: { days_of_month: [1, 15, 31] } }, ['on']],
    [{ on: { days_of_month: { 0: 15, 1: 1 } } }, []],
    [{ on: { days_of_month: { 0: 15 } } }, ['on']],
    [{ on: null }, ['on']],
    [{ on: undefined }, []],
    [{ start_on: '2025-06-10' }, ['start_date']],
    [{ start_on: '2025-06-08' }, ['start_date']],
    [{ start_on: '2025-06-09T00:00:00Z' }, []],
    [{ start_on: '2025-06-09T23:59:59.999Z' }, []],
    [{ start_on: '2025-06-09T00:00:00+07:00' }, []],
    [{ start_on: '2025-06-08T17:00:00Z', end_on: '2026-06-08T17:00:00Z' }, []],
    [{ start_on: '2025-06-10T00:00:00Z' }, ['start_date']],
    [{ end_on: '2026-06-10' }, ['end_date']],
    [{ end_on: '2026-06-09 00:00:00' }, []],
    [{ end_on: '2026-06-10T00:00:00+07:00' }, ['end_date']],
    [{ end_on: null }, ['end_date']],
    [{ end_on: 'never' }, ['end_date']],
    [{ livemode: true }, ['livemode']],
    [{ livemode: null, every: null, period: null, start_on: null }, []],
    [{ charge: { ...charge, amount: 150_001 } }, ['charge[amount]']],
    [{ charge: { ...charge, currency: 'SGD' } }, ['charge[currency]']],
    [{ charge: { ...charge, currency: 'thb' } }, []],
    [{ charge: { ...charge, amount: null, currency: null } }, []],
    [{ charge: { ...charge, customer: 'cust_test_2' } }, ['charge[customer]']],
    [{ charge: { ...charge, card: null } }, ['charge[card]']],
    [{ charge: { ...charge, metadata: { flat: '8' } } }, ['charge[metadata][flat]']],
    [{ charge: { object: 'charge_schedule' } }, []],
    [{ charge: null }, ['charge']],
    [{ charge: undefined, transfer: undefined }, []],
    [{ transfer: TRANSFER_SCHEDULE.transfer }, ['transfer']],
    [{ every: 2, charge: { ...charge, amount: 1 } }, ['every', 'charge[amount]']],
  ])('with %j contradicts the request in %j', async (fields, expected) => {
    const fake = await provider(reply(200, { ...CHARGE_SCHEDULE, ...fields }));
    expect(await contradictionsOf(clientOf(fake).schedules.create(params))).toEqual(expected);
    expect(fake.seen).toHaveLength(1);
  });

  test.each<[string, string[]]>([
    ['p1', []],
    ['p2', ['charge[metadata][plan]']],
  ])('is compared only by searchedMetadata: plan %s', async (plan, expected) => {
    const replied = { ...CHARGE_SCHEDULE, charge: { ...charge, metadata: { plan: 'p1', flat: '8' } } };
    const { schedules } = clientOf(await provider(reply(200, replied)), { searchedMetadata: ['plan'] });
    const call = schedules.create({ ...params, charge: { ...params.charge, metadata: { plan, flat: '7' } } });
    expect(await contradictionsOf(call)).toEqual(expected);
  });
});

describe('the reply to a new schedule of transfers', () => {
  const params = { every: 1, period: 'week', on: { weekdays: ['Monday'] }, end_date: '2026-06-09' };
  const share = { recipient: 'recp_test_1', percentage_of_balance: 75.5, currency: 'THB' };
  const { transfer } = TRANSFER_SCHEDULE;
  const nothing = { amount: null, percentage_of_balance: null };

  test.each<[requested: object, replied: object, contradictions: string[]]>([
    [share, {}, []],
    [share, { on: { weekdays: ['tuesday'] } }, ['on']],
    [share, { transfer: { ...transfer, percentage_of_balance: 75 } }, ['transfer[percentage_of_balance]']],
    [share, { transfer: { ...transfer, recipient: 'recp_test_2' } }, ['transfer[recipient]']],
    [share, { transfer: { ...transfer, currency: 'MYR' } }, ['transfer[currency]']],
    [share, { transfer: null, charge: CHARGE_SCHEDULE.charge }, ['charge', 'transfer']],
    [share, { transfer: { ...transfer, ...nothing, amount: 1_000 } }, ['transfer[percentage_of_balance]']],
    [{ amount: 1_000 }, { transfer: { ...transfer, ...nothing, amount: 1_000 } }, []],
    [{ amount: 1_001 }, { transfer: { ...transfer, ...nothing, amount: 1_000 } }, ['transfer[amount]']],
    [{ amount: 1_000 }, { transfer: { ...transfer, ...nothing, currency: null } }, []],
    [{ amount: 1_000 }, { transfer: { ...transfer, ...nothing, percentage_of_balance: 50 } }, ['transfer[amount]']],
  ])('of %j with %j contradicts the request in %j', async (requested, fields, expected) => {
    const fake = await provider(reply(200, { ...TRANSFER_SCHEDULE, ...fields }));
    const call = clientOf(fake).schedules.create({ ...params, transfer: requested });
    expect(await contradictionsOf(call)).toEqual(expected);
  });
});
