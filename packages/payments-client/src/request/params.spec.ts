import { describe, expect, test } from 'vitest';
import { call, invoke, METHOD_NAMES, type MethodName, METHODS } from '../../test/methods.js';
import { clientOf, failureOf, MONEY, provider, refuse, reply } from '../../test/provider.js';
import { CHARGE, CHARGE_SCHEDULE, PARAMS, PNG, REFUND, SOURCE, TRANSFER_SCHEDULE } from '../../test/samples.js';
import { InvalidRequestError } from '../errors.js';
import { Listing } from '../pagination/listing.js';

const RULE = { every: 1, period: 'day', end_date: '2026-06-09' };

/** The query or the form of a request. */
const fieldsOf = (text = ''): URLSearchParams => new URLSearchParams(text);

describe('an amount', () => {
  const search = (amount: unknown) => [{ filters: { amount } }];

  /** Every method that takes an amount, the name of the parameter, and the arguments with it. */
  const PLACES: [MethodName, string, (amount: unknown) => unknown[]][] = [
    ['sources.create', 'amount', (amount) => [{ amount, currency: 'THB', type: 'wallet_mpm' }]],
    ['charges.create', 'amount', (amount) => [{ amount, currency: 'THB', source: 'src_test_1' }]],
    ['charges.createRefund', 'amount', (amount) => ['chrg_test_1', { amount }]],
    [
      'schedules.create',
      'charge[amount]',
      (amount) => [{ ...RULE, charge: { amount, currency: 'THB', customer: 'c' } }],
    ],
    ['schedules.create', 'transfer[amount]', (amount) => [{ ...RULE, transfer: { amount } }]],
    ['chargeSchedules.search', 'filters[amount]', search],
    ['chargeSchedules.iterateSearch', 'filters[amount]', search],
  ];
  const WRONG: [string, unknown][] = [
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
  ];

  test.each(
    PLACES.flatMap(([name, field, args]) => WRONG.map(([kind, amount]) => [name, field, kind, amount, args] as const)),
  )('of %s in %s that is %s is refused before anything is sent', async (name, field, _, amount, args) => {
    const fake = await provider(reply(200, METHODS[name].reply));
    const failure = await failureOf(call(clientOf(fake), name, args(amount)));
    expect(failure).toBeInstanceOf(InvalidRequestError);
    expect(failure).toMatchObject({ code: 'invalid_parameter', outcome: 'not_sent', retryable: false });
    expect(failure.message).toContain(`"${field}"`);
    expect(fake.seen).toEqual([]);
  });

  test.each(['source[amount]', 'charge[amount]', 'transfer[amount]', 'filters[amount]'])(
    'is refused as a parameter named %s too, because a form does not show the difference',
    async (field) => {
      const fake = await provider(reply(200, CHARGE_SCHEDULE));
      const failure = await failureOf(clientOf(fake).schedules.create({ ...RULE, [field]: -1 }));
      expect(failure).toMatchObject({ code: 'invalid_parameter', outcome: 'not_sent' });
      expect(fake.seen).toEqual([]);
    },
  );

  test("in metadata and in a source's items may be anything: the fields are the caller's own", async () => {
    const fake = await provider(reply(200, { ...CHARGE, metadata: undefined }), reply(200, SOURCE));
    const { charges, sources } = clientOf(fake);
    await charges.create({ ...MONEY, source: 'src_test_1', metadata: { amount: '1.50', charge: { amount: '2' } } });
    await sources.create({ ...MONEY, type: 'wallet_mpm', items: [{ name: 'tea', amount: '0.5' }] });
    expect(fake.seen).toHaveLength(2);
  });
});

describe('null', () => {
  /** What a provider shows where this field was null, if it does not refuse it. */
  const EFFECTS: Readonly<Record<string, object>> = { charge: { charge: null }, webhook_uri: { webhook_uri: null } };

  const FIELDS = METHOD_NAMES.filter((name) => /^(?:POST|PATCH) /.test(METHODS[name].endpoint)).flatMap((name) =>
    Object.keys(PARAMS[METHODS[name].endpoint] ?? {})
      .filter((field) => field !== 'file')
      .map((field) => [name, field] as const),
  );

  test.each(FIELDS)(
    'in the parameters of %s is sent as an empty %s, and the reply contradicts nothing',
    async (name, field) => {
      const fake = await provider(reply(200, { ...METHODS[name].reply, ...EFFECTS[field] }));
      const args = METHODS[name].args.map((arg) => (typeof arg === 'object' ? { ...arg, [field]: null } : arg));
      await call(clientOf(fake), name, args);
      const { body = '', headers } = fake.seen[0] ?? {};
      if (headers?.['content-type']?.startsWith('multipart') === true) expect(body).not.toContain('null');
      else expect(fieldsOf(body).get(field)).toBe('');
    },
  );

  test('as kind and filename of an upload sends an empty kind and a filename made of the type', async () => {
    const fake = await provider(reply(200, METHODS['disputes.createDocument'].reply));
    await clientOf(fake).disputes.createDocument('dspt_test_1', { file: PNG, filename: null, kind: null });
    expect(fake.seen[0]?.body).toContain('name="kind"\r\n\r\n\r\n--');
    expect(fake.seen[0]?.body).toContain('filename="document.png"');
  });

  test.each([1, 5_000, 150_000])('as amount of a refund leaves it to the provider: %i is as asked', async (amount) => {
    const fake = await provider(reply(200, { ...REFUND, amount }));
    const params = { amount: null, metadata: null, void: null };
    expect((await clientOf(fake).charges.createRefund('chrg_test_1', params)).amount).toBe(amount);
    expect(fake.seen[0]?.body).toBe('amount=&metadata=&void=');
  });

  test('in the charge or transfer of a schedule contradicts nothing', async () => {
    const fake = await provider(reply(200, CHARGE_SCHEDULE), reply(200, TRANSFER_SCHEDULE));
    const { schedules } = clientOf(fake);
    const rule = { every: 1, on: null, start_date: null, end_date: '2026-06-09' };
    const charge = { ...MONEY, customer: 'cust_test_1', card: null, description: null, metadata: null };
    const transfer = { recipient: null, amount: null, percentage_of_balance: 75.5, currency: null };
    await schedules.create({ ...rule, period: 'month', transfer: null, charge });
    await schedules.create({ ...rule, period: 'week', charge: null, transfer });
    expect(fake.seen.map(({ body }) => fieldsOf(body).get('start_date'))).toEqual(['', '']);
    expect(fieldsOf(fake.seen[0]?.body).get('charge[metadata]')).toBe('');
    expect(fieldsOf(fake.seen[1]?.body).get('transfer[amount]')).toBe('');
  });

  const LISTS = METHOD_NAMES.filter(
    (name) => METHODS[name].endpoint.startsWith('GET') && METHODS[name].args.some((arg) => typeof arg === 'object'),
  );

  test.each(LISTS)(
    'null in the parameters of %s is sent as an empty value; a method that reads pages sets its own bounds',
    async (name) => {
      const fake = await provider(reply(200, METHODS[name].reply));
      const isSearch = name.includes('earch');
      const nulls = isSearch
        ? { scope: null, query: null, filters: null, order: null, page: null }
        : { from: null, to: null, offset: null, limit: null, order: null };
      await call(
        clientOf(fake),
        name,
        METHODS[name].args.map((arg) => (typeof arg === 'string' ? arg : nulls)),
      );
      const query = fieldsOf(fake.seen[0]?.url.split('?')[1]);
      expect(query.get('order')).toBe('');
      if (name.includes('iterate')) expect(Number(query.get(isSearch ? 'page' : 'limit'))).toBeGreaterThan(0);
      else expect(new Set(query.values())).toEqual(new Set(['']));
    },
  );
});

test('metadata may have a field named `__proto__`', async () => {
  const metadata = JSON.parse('{"__proto__":"a","inner":{"__proto__":{"b":"c"}}}') as Record<string, unknown>;
  const fake = await provider(reply(200, { ...CHARGE, metadata: undefined }));
  await clientOf(fake).charges.create({ ...MONEY, source: 'src_test_1', metadata });
  const sent = [...fieldsOf(fake.seen[0]?.body)].filter(([name]) => name.startsWith('metadata'));
  expect(sent).toEqual([
    ['metadata[__proto__]', 'a'],
    ['metadata[inner][__proto__][b]', 'c'],
  ]);
});

describe('a parameter that the caller changes after the call', () => {
  const FROM = new Date('2025-06-01T00:00:00Z');

  /** Every parameter that the method takes, with dates as `Date`. */
  function argsOf(name: MethodName): unknown[] {
    return METHODS[name].args.map((arg) => {
      if (typeof arg === 'string') return arg;
      if (name.includes('earch')) return { query: 'tea', filters: { created: FROM, tags: ['a', { b: 'c' }] } };
      return Object.keys(arg).length === 0 ? { from: FROM, order: 'chronological', limit: 7 } : arg;
    });
  }

  /** Changes everything that can be changed in place. */
  function change(value: unknown): void {
    if (value instanceof Date) value.setTime(0);
    else if (value instanceof Uint8Array) value.fill(0);
    else if (Array.isArray(value)) value.splice(0, value.length, 'changed');
    else if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value)) {
        change(inner);
        if (typeof inner !== 'object') Reflect.set(value, key, typeof inner === 'number' ? 7_777 : 'changed');
      }
      Reflect.set(value, 'added', 'changed');
    }
  }

  /** What the provider receives of a call that is limited once and then answered. */
  async function sentBy(name: MethodName, meanwhile: (args: readonly unknown[]) => void) {
    const fake = await provider(refuse(429, 'too_many_requests'), reply(200, METHODS[name].reply));
    const args: unknown[] = [...structuredClone(argsOf(name)), { maxRetries: 1 }];
    const given = invoke(clientOf(fake), name, args);
    meanwhile(args);
    const result = given instanceof Listing ? await given.toArray() : await given;
    // The boundary of a multipart body is random.
    const form = (body: string): string => body.replaceAll(/-+formdata-\w+-\d+/g, 'boundary');
    return { seen: fake.seen.map(({ method, url, body }) => ({ method, url, body: form(body) })), result };
  }

  test.each(METHOD_NAMES.filter((name) => METHODS[name].args.some((arg) => typeof arg !== 'string')))(
    'changes nothing that %s sends, repeats or compares',
    async (name) => {
      const undisturbed = await sentBy(name, () => undefined);
      const disturbed = await sentBy(name, (args) => args.forEach(change));
      expect(undisturbed.seen).toHaveLength(2);
      expect(disturbed).toEqual(undisturbed);
    },
  );

  test('changes nothing where it is a Date of a create', async () => {
    const fake = await provider(refuse(429, 'too_many_requests'), reply(200, METHODS['schedules.create'].reply));
    const end_date = new Date('2026-06-09T23:00:00Z');
    const made = clientOf(fake).schedules.create({ ...METHODS['schedules.create'].args[0], end_date });
    end_date.setTime(0);
    await made;
    expect(fake.seen.map(({ body }) => fieldsOf(body).get('end_date'))).toEqual(['2026-06-09', '2026-06-09']);
  });

  test('for the next call does not contradict the reply to the call before', async () => {
    const fake = await provider((response, request) => {
      const order = fieldsOf(request.body).get('metadata[order]');
      reply(200, { ...METHODS['charges.create'].reply, metadata: { order } })(response, request);
    });
    const { charges } = clientOf(fake);
    const params = { ...MONEY, source: 'src_test_1', metadata: { order: '' } };
    const calls = ['1', '2', '3'].map((order) => {
      params.metadata.order = order;
      return charges.create(params);
    });
    const made = await Promise.all(calls);
    expect(made.map(({ metadata }) => metadata)).toEqual([{ order: '1' }, { order: '2' }, { order: '3' }]);
  });
});
