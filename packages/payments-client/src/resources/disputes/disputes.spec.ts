import { expect, test } from 'vitest';
import { clientOf, provider, refuse, reply } from '../../../test/provider.js';
import { DISPUTE } from '../../../test/samples.js';
import { InvalidRequestError } from '../../errors.js';

test('retrieve refuses a dispute without a status: documents change only while it is open', async () => {
  const fake = await provider(reply(200, { ...DISPUTE, status: null }));
  const call = clientOf(fake).disputes.retrieve('dspt_test_1');
  await expect(call).rejects.toMatchObject({ code: 'unexpected_response' });
});

test('destroyDocument of a dispute that is no longer open is rejected', async () => {
  const fake = await provider(refuse(400, 'documents_locked'));
  const call = clientOf(fake).disputes.destroyDocument('dspt_test_1', 'docu_test_1');
  await expect(call).rejects.toBeInstanceOf(InvalidRequestError);
  await expect(call).rejects.toMatchObject({ code: 'documents_locked', outcome: 'rejected', retryable: false });
  expect(fake.seen).toHaveLength(1);
});

test('destroyDocument accepts a reply with few fields', async () => {
  const rest = { object: 'document', id: 'docu_test_1', livemode: false, deleted: true };
  const fake = await provider(reply(200, rest));
  expect(await clientOf(fake).disputes.destroyDocument('dspt_test_1', 'docu_test_1')).toEqual(rest);
});
