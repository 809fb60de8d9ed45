import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FakeEngine } from './support/fake-engine.js';
import { KEYS, Stack, type ProblemJson } from './support/stack.js';

let engine: FakeEngine;
let stack: Stack;
beforeAll(async () => {
  engine = await FakeEngine.start();
  stack = await Stack.start({ worker: false, webhookUrl: null, shared: { TEMPORAL_ADDRESS: engine.address } });
  await engine.untilListed();
});
afterAll(async () => {
  await stack.stop();
  engine.close();
});

/** How many calls the provider and the engine have received. */
const callsMade = (): number => (stack.sandbox.state(['requests']).requests ?? []).length + engine.calls.length;

/** Every route of the provider's resources: method, path, and a body where one is needed. */
const RESOURCES: readonly (readonly [string, string, body?: object])[] = [
  ['GET', '/v1/recurring-plans'],
  ['POST', '/v1/recurring-plans', {}],
  ['GET', '/v1/recurring-plans/schd_test_1'],
  ['GET', '/v1/recurring-plans/schd_test_1/occurrences'],
  ['DELETE', '/v1/recurring-plans/schd_test_1'],
  ['GET', '/v1/disputes/dspt_test_1'],
  ['GET', '/v1/disputes/dspt_test_1/evidence'],
  ['POST', '/v1/disputes/dspt_test_1/evidence'],
  ['GET', '/v1/disputes/dspt_test_1/evidence/docu_test_1'],
  ['DELETE', '/v1/disputes/dspt_test_1/evidence/docu_test_1'],
  ['GET', '/v1/customers/cust_test_1'],
  ['GET', '/v1/customers/cust_test_1/cards'],
  ['GET', '/v1/customers/cust_test_1/cards/card_test_1'],
  ['PATCH', '/v1/customers/cust_test_1/cards/card_test_1', { city: 'Bangkok' }],
  ['DELETE', '/v1/customers/cust_test_1/cards/card_test_1'],
  ['GET', '/v1/account'],
  ['PATCH', '/v1/account', { chain_enabled: true }],
  ['GET', '/v1/account/api-versions'],
  ['POST', '/v1/account/api-version', { confirm: true }],
  ['GET', '/v1/receipts'],
  ['GET', '/v1/receipts/rcpt_test_1'],
  ['GET', '/v1/transactions'],
  ['GET', '/v1/transactions/trxn_test_1'],
  ['GET', '/v1/provider-events'],
  ['GET', '/v1/provider-events/evnt_test_1'],
  ['POST', '/v1/test-mode/charges/chrg_test_1/mark', { status: 'successful' }],
];
const LISTS = RESOURCES.filter(([method, path]) => method === 'GET' && !/_1$|account/.test(path)).map(
  ([, path]) => path,
);

/** Refused, and neither the provider nor the engine was called. */
async function expectUnsent(
  method: string,
  path: string,
  status: number,
  code: string,
  options: Parameters<Stack['request']>[2] = {},
): Promise<ProblemJson> {
  const before = callsMade();
  const answer = await stack.request<ProblemJson>(method, path, { key: KEYS.ops, ...options });
  expect(answer).toMatchObject({ status, body: { status, code } });
  expect(callsMade()).toBe(before);
  return answer.body;
}

describe.each(RESOURCES.map(([method, path, body]) => ({ method, path, body })))(
  '$method $path',
  ({ method, path, body }) => {
    it('needs an ops key: 401 without a key, 403 for a till, and no call to the provider', async () => {
      await expectUnsent(method, path, 401, 'unauthorized', { key: null, body });
      await expectUnsent(method, path, 401, 'unauthorized', { key: 'key-of-nobody', body });
      await expectUnsent(method, path, 403, 'forbidden', { key: KEYS.checkout, body });
    });
  },
);

const WITH_ID = RESOURCES.filter(([, path]) => /_1(\/|$)/.test(path));

describe.each(WITH_ID.map(([method, path, body]) => ({ method, path, body })))(
  '$method $path',
  ({ method, path, body }) => {
    it.each(['..%2faccount', 'a%20b', 'x'.repeat(65), 'a.b', '%00', 'a%2f..%2fb', 'é'])(
      'refuses an id such as %s, and the provider is not called',
      async (id) => {
        const headers = { 'idempotency-key': 'k' };
        for (const place of [/[a-z]+_test_1(?=\/|$)/, /[a-z]+_test_1$/]) {
          if (!place.test(path)) continue;
          await expectUnsent(method, path.replace(place, id), 400, 'invalid_request', { body, headers });
        }
      },
    );
  },
);

describe.each(LISTS)('the list %s', (path) => {
  it.each([
    'limit=0',
    'limit=101',
    'limit=x',
    'limit=-1',
    'limit=1.5',
    'offset=-1',
    'offset=x',
    'offset=1000001',
    'from=yesterday',
    'to=2026-13-01T00:00:00Z',
    'from=2026-01-01',
    'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
    'order=random',
    'cursor=x',
    'cursor=0.AAAA.AAAA',
    'cursor=x&offset=1',
    'unknown=1',
    'limit=1&limit=2',
  ])('is refused with ?%s, and the provider is not called', async (query) => {
    await expectUnsent('GET', `${path}?${query}`, 400, 'invalid_request');
  });
});

it('a cursor is refused by any other list, and after any change', async () => {
  const { customers } = stack.sandbox.seedRecords({ customers: [{ cards: [{}, {}] }], receipts: [{}, {}] });
  const list = `/v1/customers/${customers[0]}/cards`;
  const { body } = await stack.request<{ next_cursor: string }>('GET', `${list}?limit=1`, { key: KEYS.ops });
  expect(body.next_cursor).not.toBeNull();
  await expectUnsent('GET', `/v1/receipts?limit=1&cursor=${body.next_cursor}`, 400, 'invalid_request');
  await expectUnsent('GET', `${list}?order=chronological&cursor=${body.next_cursor}`, 400, 'invalid_request');
  const tampered = body.next_cursor.replace(/^0\./, '1.');
  await expectUnsent('GET', `${list}?cursor=${tampered}`, 400, 'invalid_request');
});

it.each(LISTS.flatMap((list) => ['', 'yesterday', '2026-02-30T00:00:00Z'].map((time) => ({ list, time }))))(
  '$list refuses the bound $time next to a valid bound, and names only the wrong one',
  async ({ list, time }) => {
    const good = '2026-01-01T00:00:00Z';
    const to = await expectUnsent('GET', `${list}?from=${good}&to=${time}`, 400, 'invalid_request');
    expect(new Set(to.errors?.map(({ path }) => path))).toEqual(new Set(['to']));
    const from = await expectUnsent('GET', `${list}?from=${time}&to=${good}`, 400, 'invalid_request');
    expect(new Set(from.errors?.map(({ path }) => path))).toEqual(new Set(['from']));
  },
);

describe('a search', () => {
  it.each([
    '/v1/recurring-plans?kind=all',
    '/v1/recurring-plans?kind=transfer&query=a',
    '/v1/recurring-plans?status=happy',
    '/v1/recurring-plans?active=yes',
    '/v1/recurring-plans?amount=1.5',
    '/v1/recurring-plans?amount=-1',
    '/v1/recurring-plans?created=2026-02-30',
    '/v1/recurring-plans?card_last_digits=42',
    '/v1/recurring-plans?query=',
    `/v1/recurring-plans?query=${'x'.repeat(201)}`,
    '/v1/recurring-plans?query=a&limit=5',
    '/v1/recurring-plans?status=active&from=2026-01-01T00:00:00Z',
    '/v1/provider-events?charge=a%2fb',
    '/v1/receipts?created=today',
    '/v1/receipts?query=a&offset=1',
    '/v1/receipts?query=%00',
  ])('%s is refused, and the provider is not called', async (path) => {
    await expectUnsent('GET', path, 400, 'invalid_request');
  });
});

describe('a request for a recurring plan', () => {
  const good = {
    every: 1,
    period: 'month',
    on: { days_of_month: [1] },
    start_date: '2030-01-01',
    end_date: '2030-12-31',
    charge: { customer: 'cust_test_1', amount: 50_000, currency: 'THB' },
  };
  const charge = (change: object): object => ({ charge: { ...good.charge, ...change } });
  const transfer = (fields: object): object => ({ charge: undefined, transfer: fields });
  const key = { 'idempotency-key': 'k' };

  it.each<object>([
    { every: 0 },
    { every: 13 },
    { every: 1.5 },
    { every: '1' },
    { period: 'year' },
    { period: 'day' },
    { period: 'week' },
    { on: undefined },
    { on: {} },
    { on: { weekdays: ['monday'] } },
    { on: { days_of_month: [] } },
    { on: { days_of_month: [32] } },
    { on: { days_of_month: [0] } },
    { on: { days_of_month: [1], weekday_of_month: '1st_monday' } },
    { on: { weekday_of_month: '5th_monday' } },
    { period: 'week', on: { weekdays: ['Monday'] } },
    { period: 'week', every: 53, on: { weekdays: ['monday'] } },
    { on: 'monday' },
    { start_date: 'tomorrow' },
    { start_date: '2030-02-30' },
    { end_date: undefined },
    { end_date: '2029-12-31' },
    { end_date: '2030-12-31T00:00:00Z' },
    { charge: undefined },
    { transfer: { amount: 1 } },
    charge({ customer: undefined }),
    charge({ customer: '../account' }),
    charge({ card: 'a b' }),
    charge({ amount: 0 }),
    charge({ amount: 1.5 }),
    charge({ amount: '50000' }),
    charge({ amount: 1e21 }),
    charge({ currency: 'thb' }),
    charge({ currency: undefined }),
    charge({ description: 'x'.repeat(256) }),
    charge({ description: 'a\u0000b' }),
    charge({ metadata: { plan: 'mine' } }),
    charge({ metadata: { checkout: 'chk_default_a' } }),
    charge({ metadata: { 'a]': 'b' } }),
    charge({ metadata: { a: 'x'.repeat(201) } }),
    charge({ unknown: 1 }),
    transfer({}),
    transfer({ amount: 1, percentage_of_balance: 1 }),
    transfer({ amount: -1 }),
    transfer({ percentage_of_balance: 0 }),
    transfer({ percentage_of_balance: 100.1 }),
    transfer({ percentage_of_balance: 0.000_001 }),
    transfer({ amount: 1, recipient: '' }),
    { unknown: 1 },
  ])('with %j is refused, and the provider is not called', async (change) => {
    await expectUnsent('POST', '/v1/recurring-plans', 400, 'invalid_request', {
      body: { ...good, ...change },
      headers: key,
    });
  });

  it.each([
    [{ 'idempotency-key': '' }, 'idempotency_key_required'],
    [{ 'idempotency-key': 'a b' }, 'invalid_request'],
    [{ 'idempotency-key': 'x'.repeat(129) }, 'invalid_request'],
  ])('with the headers %j is refused, and the provider is not called', async (headers, code) => {
    await expectUnsent('POST', '/v1/recurring-plans', 400, code, { body: good, headers });
  });

  it('random bodies never cause a 5xx, and only a valid one reaches the provider', async () => {
    const before = callsMade();
    const near = fc.record(
      {
        every: fc.oneof(fc.integer({ max: 0 }), fc.string()),
        period: fc.oneof(fc.constant('day'), fc.string()),
        on: fc.anything(),
        end_date: fc.string(),
        charge: fc.anything(),
        transfer: fc.anything(),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.oneof(near, fc.jsonValue()), async (body) => {
        const { status } = await stack.request('POST', '/v1/recurring-plans', {
          key: KEYS.ops,
          body: JSON.stringify(body) ?? 'null',
          headers: key,
        });
        expect(status).toBeGreaterThanOrEqual(400);
        expect(status).toBeLessThan(500);
      }),
      { numRuns: 100 },
    );
    expect(callsMade()).toBe(before);
  });
});

describe('a request to change a record', () => {
  const card = '/v1/customers/cust_test_1/cards/card_test_1';
  it.each<[string, string, unknown]>([
    ['PATCH', card, {}],
    ['PATCH', card, { name: '' }],
    ['PATCH', card, { name: null }],
    ['PATCH', card, { name: 'x'.repeat(256) }],
    ['PATCH', card, { name: 'a\nb' }],
    ['PATCH', card, { expiration_month: 13 }],
    ['PATCH', card, { expiration_month: '12' }],
    ['PATCH', card, { expiration_year: 99 }],
    ['PATCH', card, { postal_code: 'x'.repeat(33) }],
    ['PATCH', card, { city: 7 }],
    ['PATCH', card, { number: '4242424242424242' }],
    ['PATCH', card, 'null'],
    ['PATCH', card, '[]'],
    ['PATCH', card, '{"name":'],
    ['PATCH', '/v1/account', {}],
    ['PATCH', '/v1/account', { webhook_uri: 'ftp://pay.example' }],
    ['PATCH', '/v1/account', { webhook_uri: 'javascript:alert(1)' }],
    ['PATCH', '/v1/account', { webhook_uri: 'pay.example' }],
    ['PATCH', '/v1/account', { webhook_uri: 'http://%BA,r' }],
    ['PATCH', '/v1/account', { chain_return_uri: 'https://pay.example:65536/' }],
    ['PATCH', '/v1/account', { webhook_uri: `https://pay.example/${'x'.repeat(2_048)}` }],
    ['PATCH', '/v1/account', { chain_enabled: 'true' }],
    ['PATCH', '/v1/account', { metadata_export_keys: { 'a]': 'b' } }],
    ['PATCH', '/v1/account', { metadata_export_keys: { charge: [''] } }],
    ['PATCH', '/v1/account', { metadata_export_keys: { charge: [] } }],
    ['PATCH', '/v1/account', { metadata_export_keys: {} }],
    ['PATCH', '/v1/account', { metadata_export_keys: 'order' }],
    ['PATCH', '/v1/account', { metadata_export_keys: { 0: 'order' } }],
    ['PATCH', '/v1/account', { api_version: '2025-06-09' }],
    ['POST', '/v1/account/api-version', undefined],
    ['POST', '/v1/account/api-version', {}],
    ['POST', '/v1/account/api-version', { confirm: false }],
    ['POST', '/v1/account/api-version', { confirm: 'true' }],
    ['POST', '/v1/account/api-version', { confirm: true, version: '2017-11-02' }],
    ['POST', '/v1/test-mode/charges/chrg_test_1/mark', {}],
    ['POST', '/v1/test-mode/charges/chrg_test_1/mark', { status: 'paid' }],
  ])('%s %s with %j is refused, and the provider is not called', async (method, path, body) => {
    await expectUnsent(method, path, 400, 'invalid_request', { body });
  });
});
