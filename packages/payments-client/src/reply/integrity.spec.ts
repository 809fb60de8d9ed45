import { describe, expect, test } from 'vitest';
import { chargeOf, clientOf, provider, PUBLIC_KEY, refundOf, reply, sourceOf } from '../../test/provider.js';
import { CHARGE_SCHEDULE, TRANSFER_SCHEDULE } from '../../test/samples.js';
import { IntegrityError } from '../errors.js';

const money = { amount: 150_000, currency: 'THB' };

async function mismatch(call: Promise<unknown>): Promise<readonly string[] | undefined> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error === undefined) return undefined;
  expect(error).toBeInstanceOf(IntegrityError);
  expect(error).toMatchObject({ outcome: 'unknown', retryable: false, code: 'integrity_mismatch' });
  return (error as IntegrityError).fields;
}

describe('a charge that differs from what was asked is never believed', () => {
  test.each<[object, readonly string[] | undefined]>([
    [{}, undefined],
    [{ currency: 'thb' }, undefined],
    [{ amount: 150_001 }, ['amount']],
    [{ currency: 'SGD' }, ['currency']],
    [{ livemode: true }, ['livemode']],
    [{ source: sourceOf({ id: 'src_test_2' }) }, ['source']],
    [{ source: null }, ['source']],
    [{ metadata: { order: '8', till: 'A' } }, ['metadata[order]']],
    [{ metadata: { order: 7 } }, ['metadata[till]']],
    [{ metadata: { order: 7, till: 'A', more: 1 } }, undefined],
    [{ metadata: null }, ['metadata[order]', 'metadata[till]']],
    [{ amount: 1, currency: 'MYR', livemode: true }, ['amount', 'currency', 'livemode']],
  ])('with %j', async (fields, expected) => {
    const fake = await provider(reply(200, chargeOf({ metadata: { order: '7', till: 'A' }, ...fields })));
    const metadata = { order: 7, till: 'A', note: undefined, empty: null };
    const call = clientOf(fake).charges.create({ ...money, source: 'src_test_1', metadata });
    expect(await mismatch(call)).toEqual(expected);
    expect(fake.seen).toHaveLength(1);
  });

  test('the error names the charge, so that it can be looked up', async () => {
    const fake = await provider(reply(200, chargeOf({ amount: 1 }), { 'x-request-id': 'req_9' }));
    await expect(clientOf(fake).charges.create({ ...money, source: 'src_test_1' })).rejects.toMatchObject({
      replyId: 'chrg_test_1',
      requestId: 'req_9',
      status: 200,
    });
  });

  test('with a source made in the same request, its type must be the one asked for', async () => {
    const fake = await provider(reply(200, chargeOf()));
    expect(await mismatch(clientOf(fake).charges.create({ ...money, source: { type: 'barcode' } }))).toEqual([
      'source',
    ]);
  });

  test('what the reply leaves out contradicts nothing', async () => {
    const bare = { object: 'charge', id: 'chrg_test_1', status: 'pending', ...money };
    const fake = await provider(reply(200, bare));
    await clientOf(fake).charges.create({ ...money, source: 'src_test_1', metadata: { a: '1' } });
    expect(fake.seen).toHaveLength(1);
  });
});

describe('the mode', () => {
  test.each([
    ['skey_test_1', false, undefined],
    ['skey_test_1', true, ['livemode']],
    ['skey_1', true, undefined],
    ['skey_1', false, ['livemode']],
    ['some_other_key', false, undefined],
  ])('with the key %s, livemode %s is judged by the key', async (secretKey, livemode, expected) => {
    const fake = await provider(reply(200, chargeOf({ livemode })));
    expect(await mismatch(clientOf(fake, { secretKey }).charges.create({ ...money, source: 'src_test_1' }))).toEqual(
      expected,
    );
  });

  test('is that of the key which signed', async () => {
    const fake = await provider(reply(200, sourceOf({ livemode: true })));
    const client = clientOf(fake, { publicKey: PUBLIC_KEY, secretKey: 'skey_live' });
    const params = { ...money, type: 'wallet_mpm' };
    expect(await mismatch(client.sources.create(params))).toBeUndefined();
    expect(await mismatch(client.sources.create(params, { useKey: 'public' }))).toEqual(['livemode']);
  });
});

describe('sources and refunds', () => {
  test.each<[object, readonly string[] | undefined]>([
    [{}, undefined],
    [{ amount: 1 }, ['amount']],
    [{ currency: 'MYR' }, ['currency']],
    [{ type: 'card' }, ['type']],
  ])('a source with %j', async (fields, expected) => {
    const fake = await provider(reply(200, sourceOf(fields)));
    expect(await mismatch(clientOf(fake).sources.create({ ...money, type: 'wallet_mpm' }))).toEqual(expected);
  });

  test.each<[object, readonly string[] | undefined]>([
    [{}, undefined],
    [{ amount: 150_000 }, ['amount']],
    [{ charge: 'chrg_test_2' }, ['charge']],
    [{ metadata: { refund_key: 'b' } }, ['metadata[refund_key]']],
  ])('a refund with %j', async (fields, expected) => {
    const fake = await provider(reply(200, refundOf({ metadata: { refund_key: 'a' }, ...fields })));
    const params = { amount: 5_000, metadata: { refund_key: 'a' } };
    expect(await mismatch(clientOf(fake).charges.createRefund('chrg_test_1', params))).toEqual(expected);
  });
});

describe('a schedule that differs from what was asked is never believed', () => {
  const charge = { ...money, customer: 'cust_test_1', card: 'card_test_1', metadata: { flat: '7' } };
  const charging = {
    every: 1,
    period: 'month',
    on: { days_of_month: [15, 1] },
    start_date: '2025-06-09',
    end_date: new Date('2026-06-09T23:00:00Z'),
    charge,
  };
  const { charge: charged } = CHARGE_SCHEDULE;

  test.each<[object, readonly string[] | undefined]>([
    [{}, undefined],
    [{ every: 2 }, ['every']],
    [{ period: 'week' }, ['period']],
    [{ on: { days_of_month: [1] } }, ['on']],
    [{ on: { days_of_month: [1, 15, 31] } }, ['on']],
    [{ on: null }, ['on']],
    [{ on: undefined }, undefined],
    [{ start_on: '2025-06-10' }, ['start_date']],
    [{ end_on: '2026-06-10' }, ['end_date']],
    [{ livemode: true }, ['livemode']],
    [{ charge: { ...charged, amount: 150_001 } }, ['charge[amount]']],
    [{ charge: { ...charged, currency: 'SGD' } }, ['charge[currency]']],
    [{ charge: { ...charged, customer: 'cust_test_2' } }, ['charge[customer]']],
    [{ charge: { ...charged, card: null } }, ['charge[card]']],
    [{ charge: { ...charged, metadata: { flat: '8' } } }, ['charge[metadata][flat]']],
    [{ charge: { object: 'charge_schedule' } }, undefined],
    [{ charge: null }, ['charge']],
    [{ charge: undefined, transfer: undefined }, undefined],
    [{ transfer: TRANSFER_SCHEDULE.transfer }, ['transfer']],
    [{ every: 2, charge: { ...charged, amount: 1 } }, ['every', 'charge[amount]']],
  ])('with %j', async (fields, expected) => {
    const fake = await provider(reply(200, { ...CHARGE_SCHEDULE, ...fields }));
    expect(await mismatch(clientOf(fake).schedules.create(charging))).toEqual(expected);
    expect(fake.seen).toHaveLength(1);
  });

  const transferring = {
    every: 1,
    period: 'week',
    on: { weekdays: ['Monday'] },
    end_date: '2026-06-09',
    transfer: { recipient: 'recp_test_1', percentage_of_balance: 75.5, currency: 'THB' },
  };
  const { transfer } = TRANSFER_SCHEDULE;

  test.each<[object, readonly string[] | undefined]>([
    [{}, undefined],
    [{ on: { weekdays: ['tuesday'] } }, ['on']],
    [{ transfer: { ...transfer, percentage_of_balance: 75 } }, ['transfer[percentage_of_balance]']],
    [{ transfer: { ...transfer, recipient: 'recp_test_2' } }, ['transfer[recipient]']],
    [{ transfer: { ...transfer, currency: 'MYR' } }, ['transfer[currency]']],
    [{ transfer: null, charge: charged }, ['charge', 'transfer']],
  ])('of transfers, with %j', async (fields, expected) => {
    const fake = await provider(reply(200, { ...TRANSFER_SCHEDULE, ...fields }));
    expect(await mismatch(clientOf(fake).schedules.create(transferring))).toEqual(expected);
  });

  test('of transfers of an amount', async () => {
    const fake = await provider(
      reply(200, { ...TRANSFER_SCHEDULE, transfer: { ...transfer, amount: 1_000, percentage_of_balance: null } }),
    );
    const { schedules } = clientOf(fake);
    const of = (amount: number): Promise<unknown> => schedules.create({ ...transferring, transfer: { amount } });
    expect(await mismatch(of(1_000))).toBeUndefined();
    expect(await mismatch(of(1_001))).toEqual(['transfer[amount]']);
  });
});
