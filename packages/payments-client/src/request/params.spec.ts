import { describe, expect, test } from 'vitest';
import { invoke, METHOD_NAMES, type MethodName, METHODS } from '../../test/methods.js';
import { clientOf, provider, type Provider, refuse, reply } from '../../test/provider.js';
import { Listing } from '../pagination/listing.js';

const LIST_PARAMS = { from: new Date('2025-06-01T00:00:00Z'), order: 'chronological', limit: 7 };
const CREATED = new Date('2025-06-01T00:00:00Z');

/** Every parameter that the method takes, with dates as `Date`. */
function argsOf(name: MethodName): unknown[] {
  return METHODS[name].args.map((arg) => {
    if (typeof arg === 'string') return arg;
    if (name.includes('earch')) return { query: 'tea', filters: { created: CREATED, tags: ['a', { b: 'c' }] } };
    return Object.keys(arg).length === 0 ? LIST_PARAMS : arg;
  });
}

/** Changes everything that can be changed in place. */
function spoil(value: unknown): void {
  if (value instanceof Date) value.setTime(0);
  else if (value instanceof Uint8Array) value.fill(0);
  else if (Array.isArray(value)) value.splice(0, value.length, 'spoilt');
  else if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      spoil(inner);
      if (typeof inner !== 'object') Reflect.set(value, key, typeof inner === 'number' ? 7_777 : 'spoilt');
    }
    Reflect.set(value, 'added', 'spoilt');
  }
}

/** What the provider receives of a call that is limited once and then answered. */
async function sentBy(
  name: MethodName,
  meanwhile: (args: readonly unknown[]) => void,
): Promise<{ seen: readonly unknown[]; result: unknown }> {
  const fake = await provider(refuse(429, 'too_many_requests'), reply(200, METHODS[name].reply));
  const options = { maxRetries: 1 };
  const args: unknown[] = [...structuredClone(argsOf(name)), options];
  const given = invoke(clientOf(fake), name, args);
  meanwhile(args);
  const result = given instanceof Listing ? await given.toArray() : await given;
  return { seen: requestsOf(fake), result };
}

function requestsOf({ seen }: Provider): unknown[] {
  // The boundary of a multipart body is random.
  return seen.map(({ method, url, body }) => ({
    method,
    url,
    body: body.replaceAll(/-+formdata-\w+-\d+/g, 'boundary'),
  }));
}

describe.each(METHOD_NAMES.filter((name) => METHODS[name].args.some((arg) => typeof arg !== 'string')))(
  '%s',
  (name) => {
    test('sends, repeats and compares its parameters as they were when it was called', async () => {
      const undisturbed = await sentBy(name, () => undefined);
      const disturbed = await sentBy(name, (args) => args.forEach(spoil));
      expect(undisturbed.seen).toHaveLength(2);
      expect(disturbed).toEqual(undisturbed);
    });
  },
);

test('a Date in the parameters of a create is copied as well', async () => {
  const fake = await provider(refuse(429, 'too_many_requests'), reply(200, METHODS['schedules.create'].reply));
  const end_date = new Date('2026-06-09T23:00:00Z');
  const [params] = METHODS['schedules.create'].args;
  const call = clientOf(fake).schedules.create({ ...params, end_date });
  end_date.setTime(0);
  await call;
  expect(fake.seen.map(({ body }) => new URLSearchParams(body).get('end_date'))).toEqual(['2026-06-09', '2026-06-09']);
});

test('an object that is used again for the next call does not contradict the reply to the one before', async () => {
  const fake = await provider((response, request) => {
    const order = new URLSearchParams(request.body).get('metadata[order]');
    reply(200, { ...METHODS['charges.create'].reply, metadata: { order } })(response, request);
  });
  const { charges } = clientOf(fake);
  const params = { amount: 150_000, currency: 'THB', source: 'src_test_1', metadata: { order: '' } };
  const calls = ['1', '2', '3'].map((order) => {
    params.metadata.order = order;
    return charges.create(params);
  });
  const made = await Promise.all(calls);
  expect(made.map(({ metadata }) => metadata)).toEqual([{ order: '1' }, { order: '2' }, { order: '3' }]);
});
