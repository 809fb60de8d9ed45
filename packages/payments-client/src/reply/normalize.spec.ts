import { describe, expect, test } from 'vitest';
import { clientOf, MONEY, provider, reply, sourceOf } from '../../test/provider.js';
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

describe('a currency in lower case, or with white space around it, is given in upper case', () => {
  test('a currency is given in upper case wherever it is in a charge', async () => {
    const references = { ...CHARGE.source.references, customer_currency: 'usd' };
    const shown = {
      ...CHARGE,
      currency: 'thb',
      funding_currency: 'Thb',
      source: { ...CHARGE.source, currency: '\tTHB', references },
      refunds: listOf({ ...REFUND, currency: ' thb' }),
    };
    const fake = await provider(reply(200, shown), reply(200, listOf(shown)));
    const { charges } = clientOf(fake);
    const expected = { ...CHARGE, funding_currency: 'THB' };
    expect(await charges.retrieve(CHARGE.id)).toEqual(expected);
    expect((await charges.list()).data).toEqual([expected]);
  });

  test('a currency is given in upper case in every other record that has one', async () => {
    const supported_currencies = ['thb', 'SGD', 'myr'];
    const fake = await provider(
      reply(200, { ...REFUND, currency: 'THB ' }),
      reply(200, { ...TRANSACTION, currency: 'thb' }),
      reply(200, { ...RECEIPT, currency: 'thb', adjustment_transaction: { ...TRANSACTION, currency: 'thb' } }),
      reply(200, { ...ACCOUNT_VERSIONS, currency: 'thb', supported_currencies }),
      reply(200, { ...CHARGE_SCHEDULE, charge: { ...CHARGE_SCHEDULE.charge, currency: 'thb' } }),
      reply(200, sourceOf({ type: 'WALLET_MPM', currency: 'thb' })),
    );
    const client = clientOf(fake);
    expect(await client.charges.createRefund(CHARGE.id, { amount: REFUND.amount })).toEqual(REFUND);
    expect(await client.transactions.retrieve(TRANSACTION.id)).toEqual(TRANSACTION);
    expect(await client.receipts.retrieve(RECEIPT.id)).toEqual(RECEIPT);
    expect(await client.account.listApiVersions()).toEqual(ACCOUNT_VERSIONS);
    expect(await client.schedules.retrieve(CHARGE_SCHEDULE.id)).toEqual(CHARGE_SCHEDULE);
    expect((await client.sources.create({ ...MONEY, type: 'wallet_mpm' })).currency).toBe('THB');
  });

  test('metadata stays as it is, and so does a text that is not a currency', async () => {
    const metadata = { currency: 'thb', 0: 'a' };
    const shown = { ...CHARGE, currency: 'thb', metadata, description: 'currency: thb', field_currency: 'baht' };
    const fake = await provider(reply(200, shown));
    expect(await clientOf(fake).charges.retrieve(CHARGE.id)).toEqual({ ...shown, currency: 'THB' });
  });
});

describe('a list that comes as the map of its indices is given as a list', () => {
  test('of records', async () => {
    const data = { 0: CHARGE, 1: { ...CHARGE, id: 'chrg_test_2' } };
    const fake = await provider(reply(200, { ...listOf(), data, total: 2 }));
    const charges = await clientOf(fake).charges.iterate().toArray();
    expect(charges.map(({ id }) => id)).toEqual(['chrg_test_1', 'chrg_test_2']);
  });

  test('of records, in a reply with white space', async () => {
    const list = { ...listOf(), data: { 0: CHARGE }, total: 1 };
    const fake = await provider(reply(200, JSON.stringify(list, null, '\t').replaceAll('"0":', '"0" :')));
    expect((await clientOf(fake).charges.list()).data).toEqual([CHARGE]);
  });

  test('in a record', async () => {
    const versions = Object.fromEntries(ACCOUNT_VERSIONS.versions.entries());
    const fake = await provider(reply(200, { ...ACCOUNT_VERSIONS, versions }));
    expect(await clientOf(fake).account.listApiVersions()).toEqual(ACCOUNT_VERSIONS);
  });

  test('in a schedule that was just created', async () => {
    const on = { weekdays: { 0: 'MONDAY' }, days_of_month: null, weekday_of_month: null };
    const fake = await provider(reply(200, { ...TRANSFER_SCHEDULE, on }));
    const transfer = { percentage_of_balance: 75.5 };
    const rule = { every: 1, period: 'week', on: { weekdays: ['monday'] }, end_date: '2026-06-09' };
    const schedule = await clientOf(fake).schedules.create({ ...rule, transfer });
    expect(schedule.on?.weekdays).toEqual(['MONDAY']);
  });
});
