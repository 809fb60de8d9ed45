import { expect, test } from 'vitest';
import { clientOf, provider, reply } from '../../../test/provider.js';
import { RECEIPT } from '../../../test/samples.js';

test('retrieve accepts a receipt without an adjustment', async () => {
  const fake = await provider(reply(200, { ...RECEIPT, adjustment_transaction: null }));
  expect((await clientOf(fake).receipts.retrieve('rcpt_test_1')).adjustment_transaction).toBeNull();
});

test.each([{ total: '2574' }, { vat: 17.3 }, { adjustment_transaction: { id: 'trxn_1' } }, { object: 'transaction' }])(
  'retrieve refuses a receipt with %j',
  async (fields) => {
    const fake = await provider(reply(200, { ...RECEIPT, ...fields }));
    const call = clientOf(fake).receipts.retrieve('rcpt_test_1');
    await expect(call).rejects.toMatchObject({ code: 'unexpected_response' });
  },
);
