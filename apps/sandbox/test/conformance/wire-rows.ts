import { expect, expectRefusal, type Row } from './row.js';
import { idIn, NEW_CHARGE, NEW_SOURCE, type SampleName, textIn } from './samples.js';
import { VERSIONS } from './states.js';

const rule = (fact: string, shows: Row['shows']): Row => ({ fact, shows });

/** Records whose id tells the mode. Source: API reference, "Conventions". */
const MARKED: readonly (readonly [SampleName, prefix: string])[] = [
  ['plain source', 'src'],
  ['pending charge', 'chrg'],
  ['refund', 'rfnd'],
  ['credit', 'trxn'],
  ['event', 'evnt'],
  ['receipt', 'rcpt'],
  ['charge schedule', 'schd'],
  ['occurrence', 'occu'],
  ['document', 'docu'],
  ['customer', 'cust'],
  ['card', 'card'],
  ['open dispute', 'dspt'],
];

/** Source: assumptions, "Keys", "Error body", "Request id", "Version per request", "Nested objects in forms". */
export const WIRE_ROWS: readonly Row[] = [
  ...MARKED.map(([name, prefix]) =>
    rule(`a ${name} has an id with ${prefix}_ and, in test mode only, test_ after it`, async (samples) => {
      const record = await samples.get(name);
      const marker = record['livemode'] === true ? '' : 'test_';
      expect(idIn(record)).toMatch(new RegExp(`^${prefix}_${marker}[0-9a-z]+$`));
    }),
  ),
  // The reference names no operation that retrieves one occurrence.
  ...MARKED.filter(([name]) => name !== 'occurrence').map(([name]) =>
    rule(`a ${name} is found at its location`, async (samples) => {
      const record = await samples.get(name);
      const found = await samples.provider.record('GET', textIn(record, 'location'));
      expect(found['id']).toBe(record['id']);
    }),
  ),
  rule('test keys have test_ after skey_ and pkey_, and act on records that are not live', async (samples) => {
    const { secretKey, publicKey } = samples.provider.where;
    const { livemode } = await samples.get('account');
    expect(secretKey).toMatch(livemode === true ? /^skey_(?!test_)/ : /^skey_test_/);
    expect(publicKey).toMatch(livemode === true ? /^pkey_(?!test_)/ : /^pkey_test_/);
  }),
  rule('a key with a password is 401', async (samples) => {
    const userName = samples.provider.where.secretKey;
    const reply = await samples.provider.call('GET', '/account', { key: { userName, password: 'x' } });
    expectRefusal(reply, 401, 'authentication_failure');
  }),
  rule('an unknown path is 404 not_found', async ({ provider }) =>
    expectRefusal(await provider.call('GET', '/nothing'), 404, 'not_found'),
  ),
  rule('every answer has its own request id, refusals too', async ({ provider }) => {
    const replies = [
      await provider.call('GET', '/account'),
      await provider.call('GET', '/account', { key: null }),
      await provider.call('GET', '/charges/nothing'),
      await provider.call('POST', '/charges', { form: {} }),
    ];
    expect(replies.map(({ status }) => status)).toEqual([200, 401, 404, 400]);
    const ids = replies.map(({ headers }) => headers.get('x-request-id'));
    expect(ids.every((id) => id !== null && id !== '')).toBe(true);
    expect(new Set(ids).size).toBe(ids.length);
  }),
  rule('/charges/schedules is a list beside /charges/{id}, not a charge', async ({ provider }) =>
    expect(await provider.record('GET', '/charges/schedules')).toMatchObject({
      object: 'list',
      location: '/charges/schedules',
    }),
  ),
  rule('/receipts/receipts/search is the search, at this literal path', async ({ provider }) =>
    expect(await provider.record('GET', '/receipts/receipts/search')).toMatchObject({ object: 'search' }),
  ),
  rule('/receipts/search is not a search: "search" is an id there', async ({ provider }) =>
    expectRefusal(await provider.call('GET', '/receipts/search'), 404, 'not_found'),
  ),
  rule('/schedules/search is not a search: "search" is an id there', async ({ provider }) =>
    expectRefusal(await provider.call('GET', '/schedules/search'), 404, 'not_found'),
  ),
  rule('the bracket form nests objects, and + and %20 are both a space', async ({ provider }) => {
    const raw = 'amount=150000&currency=THB&source%5Btype%5D=wallet_mpm&metadata[a][b]=tea+time&metadata[c]=tea%20time';
    const charge = await provider.call('POST', '/charges', { raw });
    expect(charge.record['metadata']).toEqual({ a: { b: 'tea time' }, c: 'tea time' });
  }),
  rule('the bracket form makes arrays of objects', async ({ provider }) => {
    const raw =
      'amount=150000&currency=THB&type=wallet_mpm&items[][name]=Tea&items[][quantity]=2&items[][name]=Milk&items[][quantity]=1';
    const source = await provider.call('POST', '/sources', { raw });
    expect(source.record['items']).toEqual([
      { name: 'Tea', quantity: '2' },
      { name: 'Milk', quantity: '1' },
    ]);
  }),
  rule('the empty string is null', async ({ provider }) => {
    const charge = await provider.record('POST', '/charges', { form: { ...NEW_CHARGE, description: '' } });
    expect(charge['description']).toBeNull();
  }),
  rule('text comes back as it was sent, in any script', async ({ provider }) => {
    const name = 'ร้านชา – 茶店 – kedai & teh + 100% 🍵';
    const source = await provider.record('POST', '/sources', { form: { ...NEW_SOURCE, name } });
    expect(source['name']).toBe(name);
  }),
  ...VERSIONS.map((version) =>
    rule(`a request may ask for version ${version}`, async ({ provider }) => {
      const reply = await provider.call('GET', '/account', { headers: { 'Api-Version': version } });
      expect(reply.status).toBe(200);
    }),
  ),
  ...['2020-01-01', 'newest'].map((version) =>
    rule(`a request that asks for version ${version} is 400`, async ({ provider }) =>
      expectRefusal(
        await provider.call('GET', '/account', { headers: { 'Api-Version': version } }),
        400,
        'bad_request',
      ),
    ),
  ),
  rule('GET /account/api_versions lists every version', async (samples) =>
    expect((await samples.get('account versions'))['versions']).toEqual(VERSIONS),
  ),
  rule('PATCH /account/api_version moves the account to the newest version', async ({ provider }) => {
    const moved = await provider.record('PATCH', '/account/api_version');
    expect(moved).toMatchObject({ api_version: VERSIONS.at(-1), last_updated_api_version: VERSIONS.at(-1) });
    expect(await provider.record('GET', '/account')).toEqual(moved);
  }),
  rule('PATCH /account changes what is named and leaves the rest', async ({ provider }) => {
    const before = await provider.record('GET', '/account');
    const chained = before['chain_enabled'] !== true;
    const after = await provider.record('PATCH', '/account', { form: { chain_enabled: chained } });
    expect(after).toEqual({ ...before, chain_enabled: chained });
    expect(await provider.record('GET', '/account')).toEqual(after);
    expect(await provider.record('PATCH', '/account', { form: { chain_enabled: !chained } })).toEqual(before);
  }),
  rule('PATCH /account refuses as a whole: one wrong field changes nothing', async ({ provider }) => {
    const before = await provider.record('GET', '/account');
    const form = { chain_enabled: before['chain_enabled'] !== true, zero_interest_installments: 'maybe' };
    expectRefusal(await provider.call('PATCH', '/account', { form }), 400, 'bad_request');
    expect(await provider.record('GET', '/account')).toEqual(before);
  }),
];
