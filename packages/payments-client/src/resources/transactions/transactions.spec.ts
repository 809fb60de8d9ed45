import { expect, test } from 'vitest';
import { clientOf, provider, reply } from '../../../test/provider.js';
import { listOf, TRANSACTION } from '../../../test/samples.js';

test.each([{ amount: null }, { amount: 0.5 }, { amount: '147352' }, { currency: null }, { direction: null }])(
  'retrieve and list refuse a transaction with %j',
  async (fields) => {
    const broken = { ...TRANSACTION, ...fields };
    const fake = await provider(reply(200, broken), reply(200, listOf<object>(TRANSACTION, broken)));
    const { transactions } = clientOf(fake);
    const refusal = { code: 'unexpected_response', outcome: 'unknown' };
    await expect(transactions.retrieve('trxn_test_1')).rejects.toMatchObject(refusal);
    await expect(transactions.list()).rejects.toMatchObject(refusal);
  },
);

test('retrieve accepts a transaction of unknown origin', async () => {
  const fake = await provider(reply(200, { ...TRANSACTION, key: null, origin: null, transferable_at: null }));
  expect(await clientOf(fake).transactions.retrieve('trxn_test_1')).toMatchObject({ origin: null });
});
