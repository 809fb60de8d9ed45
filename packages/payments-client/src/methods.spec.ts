import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { call, METHOD_NAMES, type MethodName, METHODS, methodsOf } from '../test/methods.js';
import { clientOf, provider, reply, reports, SECRET_KEY } from '../test/provider.js';
import { PaymentsClient } from './client.js';
import { IntegrityError } from './errors.js';

test('the table of methods names every method of every resource, and no other', () => {
  const client = new PaymentsClient({ baseUrl: 'http://127.0.0.1:1', secretKey: SECRET_KEY });
  expect(methodsOf(client).toSorted()).toEqual(METHOD_NAMES.toSorted());
});

const idsOf = (name: MethodName): string[] => METHODS[name].args.filter((arg) => typeof arg === 'string');

/** `/charges/{id}/expire` with the ids of the call. */
const pathOf = (name: MethodName): string => {
  const ids = idsOf(name);
  return METHODS[name].endpoint.replaceAll(/\{\w+\}/g, () => ids.shift() ?? 'no id');
};

const isWhole = (name: MethodName): boolean => name.includes('.iterate');
const expected = (name: MethodName, body: object): unknown => (isWhole(name) && 'data' in body ? body.data : body);

/** What the provider may add one day: a field in every record, and a value in every enumeration. */
function tomorrow(value: unknown, field = ''): unknown {
  if (Array.isArray(value)) return value.map((element) => tomorrow(element, field));
  if (typeof value === 'string') return ENUMERATIONS.has(field) ? 'value_of_tomorrow' : value;
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([name, inner]) => [name, tomorrow(inner, name)] as const);
  return { ...Object.fromEntries(fields), field_of_tomorrow: { a: [1] } };
}

const ENUMERATIONS = new Set([
  'status',
  'charge_status',
  'failure_code',
  'flow',
  'absorption_type',
  'type',
  'direction',
  'key',
  'kind',
  'period',
  'weekdays',
  'brand',
  'financing',
  'order',
]);

describe.each(METHOD_NAMES)('%s', (name) => {
  const { endpoint } = METHODS[name];

  test('is one request to its endpoint and gives the record as the provider sent it', async () => {
    const fake = await provider(reply(200, METHODS[name].reply));
    const seen = reports();
    expect(await call(clientOf(fake), name)).toEqual(expected(name, METHODS[name].reply));
    expect(fake.seen.map(({ method, url }) => `${method} ${url.split('?')[0]}`)).toEqual([pathOf(name)]);
    expect(seen.map(({ method, route }) => `${method} ${route}`)).toEqual([endpoint]);
  });

  test('keeps fields and values that nobody knows yet', async () => {
    // A create compares what it asked for with the reply.
    const news = endpoint.startsWith('POST')
      ? { ...METHODS[name].reply, field_of_tomorrow: 1 }
      : tomorrow(METHODS[name].reply);
    const fake = await provider(reply(200, news));
    expect(await call(clientOf(fake), name)).toEqual(expected(name, news as object));
  });
});

describe.each(METHOD_NAMES.filter((name) => idsOf(name).length > 0))('%s', (name) => {
  const { endpoint, args } = METHODS[name];

  test('refuses an id that would address something else, before it sends anything', async () => {
    const fake = await provider(reply(200, METHODS[name].reply));
    const client = clientOf(fake);
    for (const [place, arg] of args.entries()) {
      if (typeof arg !== 'string') continue;
      for (const bad of ['', ' ', '.', '..', undefined, null, 7, { id: 'a' }, ['a'], '\ud800']) {
        const changed = args.map((given, index) => (index === place ? bad : given));
        const refusal = { code: 'invalid_id', outcome: 'not_sent', retryable: false };
        await expect(call(client, name, changed)).rejects.toMatchObject(refusal);
      }
    }
    expect(fake.seen).toEqual([]);
  });

  test('an id cannot leave its place in the path', async () => {
    const fake = await provider(reply(200, METHODS[name].reply));
    const strange = args.map((arg) => (typeof arg === 'string' ? '../a?b=c#d/%2e' : arg));
    await call(clientOf(fake, { maxRetries: 0 }), name, strange).catch(() => undefined);
    const path = endpoint.replaceAll(/\{\w+\}/g, '..%2Fa%3Fb%3Dc%23d%2F%252e');
    expect(fake.seen.map(({ method, url }) => `${method} ${url.split('?')[0]}`)).toEqual([path]);
  });
});

/** Methods whose reply is the record that their path names last. */
const ABOUT_ONE = METHOD_NAMES.filter((name) => {
  const [, collection = '', id] = /(\w+)s\/(\{\w+\})(?:\/(?:expire|mark_as_\w+))?$/.exec(METHODS[name].endpoint) ?? [];
  return id !== undefined && 'object' in METHODS[name].reply && METHODS[name].reply.object === collection;
});

test('every retrieve, update, removal and action of one record is among those that are compared with its id', () => {
  expect(ABOUT_ONE.toSorted()).toEqual([
    'charges.expire',
    'charges.markAsFailed',
    'charges.markAsPaid',
    'charges.retrieve',
    'customers.destroyCard',
    'customers.retrieve',
    'customers.retrieveCard',
    'customers.updateCard',
    'disputes.destroyDocument',
    'disputes.retrieve',
    'disputes.retrieveDocument',
    'events.retrieve',
    'receipts.retrieve',
    'schedules.destroy',
    'schedules.retrieve',
    'sources.retrieve',
    'transactions.retrieve',
  ]);
});

test.each(ABOUT_ONE)('%s does not believe a reply about another record', async (name) => {
  const fake = await provider(reply(200, { ...METHODS[name].reply, id: 'another_1' }));
  const failure: unknown = await call(clientOf(fake), name).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(IntegrityError);
  expect(failure).toMatchObject({ outcome: 'unknown', retryable: false, replyId: 'another_1', fields: ['id'] });
  expect(fake.seen).toHaveLength(1);
});

describe('api.md', () => {
  const documented = new Map<string, string>();

  beforeAll(async () => {
    const text = await readFile(new URL('../api.md', import.meta.url), 'utf8');
    for (const [, name = '', request = ''] of text.matchAll(
      /^\| `client\.(\w+\.\w+)\([^`]*\)` *\| `([A-Z]+ [^`]+)`/gm,
    )) {
      documented.set(name, request);
    }
  });

  test('lists every method with its endpoint', () => {
    const table = METHOD_NAMES.map((name) => [name, METHODS[name].endpoint] as const);
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(table));
  });
});
