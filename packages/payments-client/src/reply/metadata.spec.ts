import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chargeOf, clientOf, provider, refundOf, reply, sourceOf } from '../../test/provider.js';
import {
  ACCOUNT_VERSIONS,
  CHARGE,
  CHARGE_SCHEDULE,
  listOf,
  RECEIPT,
  REFUND,
  TRANSACTION,
  TRANSFER_SCHEDULE,
} from '../../test/samples.js';
import { differentMetadata } from './metadata.js';
import type { PaymentsClientOptions } from '../options.js';

const money = { amount: 150_000, currency: 'THB' };

/** The fields that a charge with this metadata is found to contradict; none when it is believed. */
async function contradictions(
  sent: Record<string, unknown>,
  kept: unknown,
  options: Partial<PaymentsClientOptions> = {},
): Promise<readonly string[]> {
  const fake = await provider(reply(200, chargeOf({ metadata: kept })));
  const call = clientOf(fake, options).charges.create({ ...money, source: 'src_test_1', metadata: sent });
  return await fieldsOf(call);
}

async function fieldsOf(call: Promise<unknown>): Promise<readonly string[]> {
  return call.then(
    () => [],
    (error: { code: string; fields: string[] }) => {
      expect(error.code).toBe('integrity_mismatch');
      return error.fields;
    },
  );
}

describe('metadata that comes back in another form is as it was sent:', () => {
  test.each<[string, Record<string, unknown>, unknown]>([
    ['trimmed', { note: ' two teas \n' }, { note: 'two teas' }],
    ['with other white space around it', { note: 'tea' }, { note: ' tea\t' }],
    ['of white space alone, kept as nothing', { note: '  ', order: '7' }, { order: '7' }],
    ['with LF for CRLF', { note: 'a\r\nb\rc' }, { note: 'a\nb\nc' }],
    ['with CRLF for LF', { note: 'a\nb' }, { note: 'a\r\nb' }],
    ['composed', { note: 'cafe\u0301' }, { note: 'caf\u00E9' }],
    ['decomposed', { note: 'caf\u00E9' }, { note: 'cafe\u0301' }],
    ['under a name of another Unicode form', { 'caf\u00E9': 'x' }, { 'cafe\u0301': 'x' }],
    ['as a number', { order: '7', zip: '01234' }, { order: 7, zip: 1234 }],
    ['as a number too great to be exact', { order: '12345678901234567890' }, { order: Number('12345678901234567890') }],
    ['as text', { order: 7, paid: true }, { order: '7', paid: 'true' }],
    ['a list as the map of its indices', { tags: ['a', 'b'] }, { tags: { 0: 'a', 1: 'b' } }],
    ['a list in another order', { tags: ['a', 'b'] }, { tags: ['b', 'a'] }],
    ['a list of objects as a map', { rows: [{ n: 1 }, { n: 2 }] }, { rows: { 0: { n: '1' }, 1: { n: '2' } } }],
    ['nested, with more in it', { a: { b: '1' } }, { a: { b: '1', c: '2' } }],
    ['an empty list, an empty object, null and undefined as nothing', { a: [], b: {}, c: null, d: undefined }, {}],
    ['with numbers of the provider beyond 2^53', { order: 7 }, { order: '7', trace: 2 ** 60, ratio: 1e-9 }],
    ['with anything else of the provider', { order: 7 }, { order: '7', more: { a: [null, { b: 1e300 }] } }],
    [
      'with a name that objects have already',
      { constructor: 'a', ['__proto__x']: 'b' },
      { constructor: 'a', __proto__x: 'b' },
    ],
  ])('%s', async (_, sent, kept) => {
    expect(await contradictions(sent, kept)).toEqual([]);
  });

  test('a Date, as the text that was sent', async () => {
    const at = new Date('2025-06-09T03:00:00Z');
    expect(await contradictions({ at, due_on: at }, { at: '2025-06-09T03:00:00.000Z', due_on: '2025-06-09' })).toEqual(
      [],
    );
  });
});

describe('whatever is sent as metadata', () => {
  const text = fc.string({ unit: 'grapheme' });
  const name = fc.stringMatching(/^[a-z]{1,6}$/);
  const leaf = fc.oneof(text, fc.boolean(), fc.integer());
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof({ depthSize: 'small' }, leaf, fc.array(leaf, { maxLength: 4 }), tie('object')),
    object: fc.dictionary(name, tie('tree'), { maxKeys: 4 }),
  }));

  /** As a provider may keep it. */
  function kept(value: unknown, form: (text: string) => string): unknown {
    if (Array.isArray(value)) return Object.fromEntries(value.map((one: unknown, index) => [index, kept(one, form)]));
    if (typeof value !== 'object' || value === null) return form(String(value));
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, kept(inner, form)]));
  }

  test.each<[string, (text: string) => string]>([
    ['as it is', (one) => one],
    ['trimmed', (one) => one.trim()],
    ['decomposed, with CRLF', (one) => one.replaceAll(/\r\n|\r|\n/g, '\r\n').normalize('NFD')],
  ])('and comes back %s is as it was sent', (_, form) => {
    fc.assert(
      fc.property(fc.dictionary(name, tree), (sent) => {
        expect(differentMetadata(sent, kept(sent, form) as object, undefined)).toEqual([]);
      }),
    );
  });

  test('and comes back with one value changed is named, and nothing else is', () => {
    fc.assert(
      fc.property(fc.dictionary(name, leaf, { minKeys: 1 }), fc.nat(), (sent, nth) => {
        const names = Object.keys(sent);
        const changed = names[nth % names.length] ?? '';
        const reply = { ...(kept(sent, (one) => one) as object), [changed]: `${String(sent[changed])}!` };
        const isMissed = String(sent[changed]).trim() !== '';
        expect(differentMetadata(sent, reply, undefined)).toEqual(isMissed ? [`metadata[${changed}]`] : []);
      }),
    );
  });
});

describe('metadata that changed is a contradiction:', () => {
  test.each<[string, Record<string, unknown>, unknown, string[]]>([
    ['another text', { order: '7' }, { order: '8' }, ['metadata[order]']],
    ['another case', { order: 'a' }, { order: 'A' }, ['metadata[order]']],
    ['text cut off', { note: 'two teas' }, { note: 'two' }, ['metadata[note]']],
    ['lost', { order: '7', till: 'A' }, { order: '7' }, ['metadata[till]']],
    ['all of it lost', { order: '7' }, null, ['metadata[order]']],
    ['a list that lost an element', { tags: ['a', 'b'] }, { tags: ['a'] }, ['metadata[tags][]']],
    ['a list that lost one of two like it', { tags: ['a', 'a'] }, { tags: ['a'] }, ['metadata[tags][]']],
    ['a list that lost one of two like it, as a map', { tags: ['a', 'a'] }, { tags: { 0: 'a' } }, ['metadata[tags][]']],
    ['a list that gained an element', { tags: ['a'] }, { tags: ['a', 'b'] }, ['metadata[tags][]']],
    ['a list that became a text', { tags: ['a'] }, { tags: 'a' }, ['metadata[tags][]']],
    ['a list of objects that lost a field', { r: [{ n: 1, m: 2 }] }, { r: [{ n: 1 }] }, ['metadata[r][]']],
    ['nested', { a: { b: '1', c: '2' } }, { a: { b: '1' } }, ['metadata[a][c]']],
    ['an object that became a text', { a: { b: '1' } }, { a: '1' }, ['metadata[a][b]']],
  ])('%s', async (_, sent, kept, fields) => {
    expect(await contradictions(sent, kept)).toEqual(fields);
  });
});

describe('with searchedMetadata', () => {
  const options = { searchedMetadata: ['checkout', 'attempt'] };

  test('other metadata may differ or be lost', async () => {
    const sent = { checkout: 'c1', attempt: '1', note: 'two teas' };
    expect(await contradictions(sent, { checkout: 'c1', attempt: 1, note: 'TWO TEAS' }, options)).toEqual([]);
    expect(await contradictions(sent, { checkout: 'c1', attempt: '1' }, options)).toEqual([]);
  });

  test('what is searched by must come back', async () => {
    const sent = { checkout: 'c1', attempt: '1', note: 'x' };
    expect(await contradictions(sent, { checkout: 'c2', note: 'y' }, options)).toEqual([
      'metadata[checkout]',
      'metadata[attempt]',
    ]);
  });

  test('it holds for what a schedule charges as well', async () => {
    const charge = { ...CHARGE_SCHEDULE.charge, metadata: { plan: 'p1', flat: '8' } };
    const fake = await provider(reply(200, { ...CHARGE_SCHEDULE, charge }));
    const { schedules } = clientOf(fake, { searchedMetadata: ['plan'] });
    const asked = (plan: string) =>
      schedules.create({
        every: 1,
        period: 'month',
        end_date: '2026-06-09',
        charge: { ...money, customer: 'cust_test_1', metadata: { plan, flat: '7' } },
      });
    expect(await fieldsOf(asked('p1'))).toEqual([]);
    expect(await fieldsOf(asked('p2'))).toEqual(['charge[metadata][plan]']);
  });
});

describe('a refund', () => {
  const metadata = { checkout: 'c1', refund_key: 'a' };

  test.each<[unknown, readonly string[]]>([
    [undefined, []],
    [null, []],
    [{}, []],
    [[], []],
    [{ trace: '1' }, []],
    [{ checkout: '', refund_key: null }, []],
    [{ checkout: 'c1', refund_key: 'a' }, []],
    [{ checkout: 'c1', refund_key: 'b' }, ['metadata[refund_key]']],
    [{ checkout: 'c1' }, ['metadata[refund_key]']],
  ])('may come back without metadata, but not with other: %j', async (kept, fields) => {
    const fake = await provider(reply(200, refundOf({ metadata: kept })));
    const call = clientOf(fake).charges.createRefund('chrg_test_1', { amount: 5_000, metadata });
    expect(await fieldsOf(call)).toEqual(fields);
  });

  test.each<[object, readonly string[]]>([
    [{ charge: null }, []],
    [{ charge: undefined }, []],
    [{ livemode: null }, []],
    [{ charge: 'chrg_test_2' }, ['charge']],
    [{ amount: 4_999 }, ['amount']],
    [{ livemode: true }, ['livemode']],
  ])('with %j', async (fields, expected) => {
    const fake = await provider(reply(200, refundOf(fields)));
    expect(await fieldsOf(clientOf(fake).charges.createRefund('chrg_test_1', { amount: 5_000 }))).toEqual(expected);
  });
});

describe('an explicit null says nothing:', () => {
  test('of a charge, its mode', async () => {
    const fake = await provider(reply(200, chargeOf({ livemode: null })));
    const call = clientOf(fake).charges.create({ ...money, source: 'src_test_1' });
    expect(await fieldsOf(call)).toEqual([]);
  });

  test('of a source, amount, currency, type and mode', async () => {
    const fake = await provider(reply(200, sourceOf({ amount: null, currency: null, type: null, livemode: null })));
    expect(await fieldsOf(clientOf(fake).sources.create({ ...money, type: 'wallet_mpm' }))).toEqual([]);
  });

  test('of a schedule, mode, rule, first day, and the amounts of what it moves', async () => {
    const nothing = { livemode: null, every: null, period: null, start_on: null };
    const charge = { ...CHARGE_SCHEDULE.charge, amount: null, currency: null };
    const transfer = { ...TRANSFER_SCHEDULE.transfer, amount: null, percentage_of_balance: null, currency: null };
    const fake = await provider(
      reply(200, { ...CHARGE_SCHEDULE, ...nothing, charge }),
      reply(200, { ...TRANSFER_SCHEDULE, ...nothing, transfer }),
    );
    const { schedules } = clientOf(fake);
    const rule = { every: 1, period: 'month', start_date: '2025-06-09', end_date: '2026-06-09' };
    const charging = schedules.create({ ...rule, charge: { ...money, customer: 'cust_test_1' } });
    expect(await fieldsOf(charging)).toEqual([]);
    const transferring = schedules.create({ ...rule, transfer: { amount: 1_000, currency: 'THB' } });
    expect(await fieldsOf(transferring)).toEqual([]);
  });

  test.each([
    [{ amount: 1_000 }, { amount: null, percentage_of_balance: 50 }, ['transfer[amount]']],
    [
      { percentage_of_balance: 50 },
      { amount: 1_000, percentage_of_balance: null },
      ['transfer[percentage_of_balance]'],
    ],
  ])('but a transfer of %j is not one of %j', async (transfer, reported, expected) => {
    const shown = { ...TRANSFER_SCHEDULE.transfer, ...reported };
    const fake = await provider(reply(200, { ...TRANSFER_SCHEDULE, transfer: shown }));
    const call = clientOf(fake).schedules.create({ every: 1, period: 'week', end_date: '2026-06-09', transfer });
    expect(await fieldsOf(call)).toEqual(expected);
  });
});

describe('a schedule in another form', () => {
  const asked = {
    every: 1,
    period: 'month',
    on: { days_of_month: [1, 15] },
    start_date: '2025-06-09',
    end_date: new Date('2026-06-09T12:00:00Z'),
    charge: { ...money, customer: 'cust_test_1' },
  };

  test.each<[object, readonly string[]]>([
    [{ start_on: '2025-06-09T00:00:00Z' }, []],
    [{ start_on: '2025-06-09T23:59:59.999Z' }, []],
    [{ start_on: '2025-06-09T00:00:00+07:00' }, []],
    [{ start_on: '2025-06-08T17:00:00Z', end_on: '2026-06-08T17:00:00Z' }, []],
    [{ end_on: '2026-06-09 00:00:00' }, []],
    [{ start_on: '2025-06-10T00:00:00Z' }, ['start_date']],
    [{ start_on: '2025-06-08' }, ['start_date']],
    [{ end_on: '2026-06-10T00:00:00+07:00' }, ['end_date']],
    [{ end_on: null }, ['end_date']],
    [{ end_on: 'never' }, ['end_date']],
    [{ period: 'Month' }, []],
    [{ period: 'MONTH ' }, []],
    [{ period: 'week' }, ['period']],
    [{ on: { days_of_month: { 0: 15, 1: 1 } } }, []],
    [{ on: { days_of_month: { 0: 15 } } }, ['on']],
    [{ charge: { ...CHARGE_SCHEDULE.charge, currency: 'thb' } }, []],
  ])('with %j', async (fields, expected) => {
    const fake = await provider(reply(200, { ...CHARGE_SCHEDULE, ...fields }));
    expect(await fieldsOf(clientOf(fake).schedules.create(asked))).toEqual(expected);
  });

  test('weekdays in another case, as the map of their indices', async () => {
    const on = { weekdays: { 0: 'MONDAY' }, days_of_month: null, weekday_of_month: null };
    const fake = await provider(reply(200, { ...TRANSFER_SCHEDULE, on }));
    const schedule = await clientOf(fake).schedules.create({
      every: 1,
      period: 'week',
      on: { weekdays: ['monday'] },
      end_date: '2026-06-09',
      transfer: { percentage_of_balance: 75.5 },
    });
    expect(schedule.on?.weekdays).toEqual(['MONDAY']);
  });
});

describe('a currency in lower case is given in upper case', () => {
  test('wherever it stands in a charge', async () => {
    const source = {
      ...CHARGE.source,
      currency: 'thb',
      references: { ...CHARGE.source.references, customer_currency: 'usd' },
    };
    const shown = {
      ...CHARGE,
      currency: 'thb',
      funding_currency: 'Thb',
      source,
      refunds: listOf({ ...REFUND, currency: 'thb' }),
    };
    const fake = await provider(reply(200, shown), reply(200, listOf(shown)));
    const { charges } = clientOf(fake);
    const expected = { ...CHARGE, funding_currency: 'THB' };
    expect(await charges.retrieve(CHARGE.id)).toEqual(expected);
    expect((await charges.list()).data).toEqual([expected]);
  });

  test('also with space around it', async () => {
    const source = { ...CHARGE.source, currency: '\tTHB' };
    const fake = await provider(
      reply(200, { ...CHARGE, currency: 'THB ', source }),
      reply(200, { ...REFUND, currency: ' thb' }),
    );
    const { charges } = clientOf(fake);
    expect(await charges.retrieve(CHARGE.id)).toEqual(CHARGE);
    expect(await charges.createRefund(CHARGE.id, { amount: REFUND.amount })).toEqual(REFUND);
  });

  test('in the other records', async () => {
    const fake = await provider(
      reply(200, { ...TRANSACTION, currency: 'thb' }),
      reply(200, { ...RECEIPT, currency: 'thb', adjustment_transaction: { ...TRANSACTION, currency: 'thb' } }),
      reply(200, { ...ACCOUNT_VERSIONS, currency: 'thb', supported_currencies: ['thb', 'SGD', 'myr'] }),
      reply(200, { ...CHARGE_SCHEDULE, charge: { ...CHARGE_SCHEDULE.charge, currency: 'thb' } }),
    );
    const client = clientOf(fake);
    expect(await client.transactions.retrieve(TRANSACTION.id)).toEqual(TRANSACTION);
    expect(await client.receipts.retrieve(RECEIPT.id)).toEqual(RECEIPT);
    expect(await client.account.listApiVersions()).toEqual(ACCOUNT_VERSIONS);
    expect(await client.schedules.retrieve(CHARGE_SCHEDULE.id)).toEqual(CHARGE_SCHEDULE);
  });

  test('but not in metadata, and not what is no currency', async () => {
    const metadata = { currency: 'thb', 0: 'a' };
    const shown = { ...CHARGE, currency: 'thb', metadata, description: 'currency: thb', field_currency: 'baht' };
    const fake = await provider(reply(200, shown));
    expect(await clientOf(fake).charges.retrieve(CHARGE.id)).toEqual({ ...shown, currency: 'THB' });
  });
});

describe('a list that comes as the map of its indices is given as a list', () => {
  test('of records', async () => {
    const fake = await provider(
      reply(200, { ...listOf(), data: { 0: CHARGE, 1: { ...CHARGE, id: 'chrg_test_2' } }, total: 2 }),
    );
    const ids = await clientOf(fake).charges.iterate().toArray();
    expect(ids.map(({ id }) => id)).toEqual(['chrg_test_1', 'chrg_test_2']);
  });

  test('within a record', async () => {
    const shown = { ...ACCOUNT_VERSIONS, versions: Object.fromEntries(ACCOUNT_VERSIONS.versions.entries()) };
    const fake = await provider(reply(200, shown));
    expect(await clientOf(fake).account.listApiVersions()).toEqual(ACCOUNT_VERSIONS);
  });
});

test('a source of another case of type is the one that was asked for', async () => {
  const fake = await provider(reply(200, sourceOf({ type: 'WALLET_MPM', currency: 'thb' })));
  const source = await clientOf(fake).sources.create({ ...money, type: 'wallet_mpm' });
  expect(source.currency).toBe('THB');
});
