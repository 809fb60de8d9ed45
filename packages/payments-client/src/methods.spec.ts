import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { call, METHOD_NAMES, type MethodName, METHODS, methodsOf } from '../test/methods.js';
import { clientOf, provider, reply, reports, SECRET_KEY } from '../test/provider.js';
import { PaymentsClient } from './client.js';
import { IntegrityError } from './errors.js';

test('the table of methods contains every method of every resource, and no other', () => {
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

/** The reply with what the provider may add: a field in every record, and a value in every enumeration. */
function extended(value: unknown, field = ''): unknown {
  if (Array.isArray(value)) return value.map((element) => extended(element, field));
  if (typeof value === 'string') return ENUMERATIONS.has(field) ? 'new_value' : value;
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([name, inner]) => [name, extended(inner, name)] as const);
  return { ...Object.fromEntries(fields), new_field: { a: [1] } };
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

  test('sends one request to its endpoint and returns the record as the provider sent it', async () => {
    const fake = await provider(reply(200, METHODS[name].reply));
    const seen = reports();
    expect(await call(clientOf(fake), name)).toEqual(expected(name, METHODS[name].reply));
    expect(fake.seen.map(({ method, url }) => `${method} ${url.split('?')[0]}`)).toEqual([pathOf(name)]);
    expect(seen.map(({ method, route }) => `${method} ${route}`)).toEqual([endpoint]);
  });

  test('passes on new fields and values', async () => {
    // A create compares its parameters with the reply.
    const body = endpoint.startsWith('POST') ? { ...METHODS[name].reply, new_field: 1 } : extended(METHODS[name].reply);
    const fake = await provider(reply(200, body));
    expect(await call(clientOf(fake), name)).toEqual(expected(name, body as object));
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

  test('keeps an id in its place in the path', async () => {
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

test('every retrieve, update, removal and action of one record compares the id of the reply', () => {
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

test.each(ABOUT_ONE)('%s refuses a reply about another record', async (name) => {
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
