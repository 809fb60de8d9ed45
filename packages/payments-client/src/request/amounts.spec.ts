import { describe, expect, test } from 'vitest';
import { clientOf, provider, reply } from '../../test/provider.js';
import { CHARGE, CHARGE_SCHEDULE, REFUND, searchOf, SOURCE, TRANSFER_SCHEDULE } from '../../test/samples.js';
import type { PaymentsClient } from '../client.js';
import { InvalidRequestError } from '../errors.js';

const rule = { every: 1, period: 'day', end_date: '2026-06-09' };

/** Every call that takes an amount, with the place of the amount. An amount of another type comes from plain JavaScript. */
const CALLS: [string, string, object, (client: PaymentsClient, amount: number) => Promise<unknown>][] = [
  [
    'sources.create',
    'amount',
    SOURCE,
    ({ sources }, amount) => sources.create({ amount, currency: 'THB', type: 'wallet_mpm' }),
  ],
  [
    'charges.create',
    'amount',
    CHARGE,
    ({ charges }, amount) => charges.create({ amount, currency: 'THB', source: 'src_test_1' }),
  ],
  ['charges.createRefund', 'amount', REFUND, ({ charges }, amount) => charges.createRefund('chrg_test_1', { amount })],
  [
    'schedules.create',
    'charge[amount]',
    CHARGE_SCHEDULE,
    ({ schedules }, amount) =>
      schedules.create({ ...rule, charge: { amount, currency: 'THB', customer: 'cust_test_1' } }),
  ],
  [
    'schedules.create',
    'transfer[amount]',
    TRANSFER_SCHEDULE,
    ({ schedules }, amount) => schedules.create({ ...rule, transfer: { amount } }),
  ],
  [
    'chargeSchedules.search',
    'filters[amount]',
    searchOf(CHARGE_SCHEDULE),
    ({ chargeSchedules }, amount) => chargeSchedules.search({ filters: { amount } }),
  ],
  [
    'chargeSchedules.iterateSearch',
    'filters[amount]',
    searchOf(CHARGE_SCHEDULE),
    ({ chargeSchedules }, amount) => chargeSchedules.iterateSearch({ filters: { amount } }).toArray(),
  ],
];

describe.each(CALLS)('%s refuses as %s, before it sends anything,', (_, name, body, call) => {
  test.each<[string, unknown]>([
    ['a text', '150000'],
    ['an empty text', ''],
    ['a bigint', 150_000n],
    ['not a number', Number.NaN],
    ['infinity', Number.POSITIVE_INFINITY],
    ['a fraction', 1.5],
    ['a negative number', -1],
    ['a number beyond 2^53', 2 ** 53],
    ['a boolean', true],
    ['an object', { amount: 1 }],
    ['a list', [1]],
    ['a date', new Date(0)],
  ])('%s', async (__, amount) => {
    const fake = await provider(reply(200, body));
    const failure: unknown = await call(clientOf(fake), amount as number).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(InvalidRequestError);
    expect(failure).toMatchObject({ code: 'invalid_parameter', outcome: 'not_sent', retryable: false });
    expect((failure as Error).message).toContain(`"${name}"`);
    expect(fake.seen).toEqual([]);
  });
});

test('in metadata and in the items of a source, an amount is what the caller makes it', async () => {
  const fake = await provider(reply(200, { ...CHARGE, metadata: undefined }), reply(200, SOURCE));
  const { charges, sources } = clientOf(fake);
  const money = { amount: 150_000, currency: 'THB' };
  await charges.create({ ...money, source: 'src_test_1', metadata: { amount: '1.50', charge: { amount: '2' } } });
  await sources.create({ ...money, type: 'wallet_mpm', items: [{ name: 'tea', amount: '0.5' }] });
  expect(fake.seen).toHaveLength(2);
});
