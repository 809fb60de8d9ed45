import { expect, test } from 'vitest';
import { clientOf, provider, reply } from '../../../test/provider.js';
import { listOf, TRANSACTION } from '../../../test/samples.js';

test.each([{ amount: null }, { amount: 0.5 }, { amount: '147352' }, { currency: null }, { direction: null }])(
  'a movement of money with %j is not believed, and neither is its page',
  async (fields) => {
    const broken = { ...TRANSACTION, ...fields };
    const fake = await provider(reply(200, broken), reply(200, listOf<object>(TRANSACTION, broken)));
    const { transactions } = clientOf(fake);
    const unbelievable = { code: 'unexpected_response', outcome: 'unknown' };
    await expect(transactions.retrieve('trxn_test_1')).rejects.toMatchObject(unbelievable);
    await expect(transactions.list()).rejects.toMatchObject(unbelievable);
  },
);

test('what it came from may be unknown', async () => {
  const fake = await provider(reply(200, { ...TRANSACTION, key: null, origin: null, transferable_at: null }));
  expect(await clientOf(fake).transactions.retrieve('trxn_test_1')).toMatchObject({ origin: null });
});
