import { describe, expect, test } from 'vitest';
import { call, invoke, METHOD_NAMES, type MethodName, METHODS } from '../../test/methods.js';
import { clientOf, provider, reply } from '../../test/provider.js';
import { CHARGE_SCHEDULE, PARAMS, PNG, REFUND, TRANSFER_SCHEDULE } from '../../test/samples.js';
import { Listing } from '../pagination/listing.js';

const CREATES = METHOD_NAMES.filter((name) => {
  const verb = METHODS[name].endpoint.split(' ')[0];
  return (verb === 'POST' || verb === 'PATCH') && METHODS[name].args.some((arg) => typeof arg === 'object');
});

/** What a provider shows where this field was null, if it does not refuse it. */
const EFFECTS: Readonly<Record<string, object>> = { charge: { charge: null }, webhook_uri: { webhook_uri: null } };

/** The fields that a method takes, each of which may be null, and those that its provider would refuse as null. */
function fieldsOf(name: MethodName): string[] {
  return Object.keys(PARAMS[METHODS[name].endpoint] ?? {}).filter((field) => field !== 'file');
}

/** The call with one field as null, and everything else as in the table. */
function argsWithNull(name: MethodName, field: string): unknown[] {
  return METHODS[name].args.map((arg) => (typeof arg === 'object' ? { ...arg, [field]: null } : arg));
}

describe.each(CREATES)('%s', (name) => {
  test.each(fieldsOf(name))(
    'sends %s of null as the empty string, and the reply contradicts nothing',
    async (field) => {
      const fake = await provider(reply(200, { ...METHODS[name].reply, ...EFFECTS[field] }));
      await call(clientOf(fake), name, argsWithNull(name, field));
      const { body = '', headers } = fake.seen[0] ?? {};
      if (headers?.['content-type']?.startsWith('multipart') === true) expect(body).not.toContain('null');
      else expect(new URLSearchParams(body).get(field)).toBe('');
    },
  );
});

test('an upload of null kind and null filename has an empty kind and the name of its type', async () => {
  const fake = await provider(reply(200, METHODS['disputes.createDocument'].reply));
  await clientOf(fake).disputes.createDocument('dspt_test_1', { file: PNG, filename: null, kind: null });
  expect(fake.seen[0]?.body).toContain('name="kind"\r\n\r\n\r\n--');
  expect(fake.seen[0]?.body).toContain('filename="document.png"');
});

test.each([1, 5_000, 150_000])('a refund of no amount leaves it to the provider: %i is as asked', async (amount) => {
  const fake = await provider(reply(200, { ...REFUND, amount }));
  const refund = await clientOf(fake).charges.createRefund('chrg_test_1', { amount: null, metadata: null, void: null });
  expect(refund.amount).toBe(amount);
  expect(fake.seen[0]?.body).toBe('amount=&metadata=&void=');
});

test('a schedule of null fields, in what it charges and transfers too, contradicts nothing', async () => {
  const fake = await provider(reply(200, CHARGE_SCHEDULE), reply(200, TRANSFER_SCHEDULE));
  const { schedules } = clientOf(fake);
  const rule = { every: 1, on: null, start_date: null, end_date: '2026-06-09' };
  await schedules.create({
    ...rule,
    period: 'month',
    transfer: null,
    charge: {
      amount: 150_000,
      currency: 'THB',
      customer: 'cust_test_1',
      card: null,
      description: null,
      metadata: null,
    },
  });
  await schedules.create({
    ...rule,
    period: 'week',
    charge: null,
    transfer: { recipient: null, amount: null, percentage_of_balance: 75.5, currency: null },
  });
  expect(fake.seen.map(({ body }) => new URLSearchParams(body).get('start_date'))).toEqual(['', '']);
  expect(new URLSearchParams(fake.seen[0]?.body).get('charge[metadata]')).toBe('');
  expect(new URLSearchParams(fake.seen[1]?.body).get('transfer[amount]')).toBe('');
});

const NULLS = { from: null, to: null, offset: null, limit: null, order: null };
const NO_FILTERS = { scope: null, query: null, filters: null, order: null, page: null };

const LISTS = METHOD_NAMES.filter(
  (name) => METHODS[name].endpoint.startsWith('GET') && METHODS[name].args.some((arg) => typeof arg === 'object'),
);

test.each(LISTS)('%s takes null: the empty string, and of a reader of pages its own bounds', async (name) => {
  const fake = await provider(reply(200, METHODS[name].reply));
  const isSearch = name.includes('earch');
  const args = METHODS[name].args.map((arg) => (typeof arg === 'string' ? arg : isSearch ? NO_FILTERS : NULLS));
  const given = invoke(clientOf(fake), name, args);
  await (given instanceof Listing ? given.toArray() : given);
  const query = new URL(fake.seen[0]?.url ?? '', fake.baseUrl).searchParams;
  expect(query.get('order')).toBe('');
  if (name.includes('iterate')) expect(Number(query.get(isSearch ? 'page' : 'limit'))).toBeGreaterThan(0);
  else expect(new Set(query.values())).toEqual(new Set(['']));
});
