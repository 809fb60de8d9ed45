import { expect, test } from 'vitest';
import { clientOf, provider, reply } from '../../../test/provider.js';
import { CARD, CUSTOMER } from '../../../test/samples.js';

test('updateCard sends the fields that are set', async () => {
  const fake = await provider(reply(200, CARD));
  await clientOf(fake).customers.updateCard('cust_test_1', 'card_test_1', {
    name: 'สมชาย',
    expiration_month: 1,
    expiration_year: undefined,
    city: null,
  });
  expect(fake.seen[0]).toMatchObject({ method: 'PATCH', url: '/customers/cust_test_1/cards/card_test_1' });
  expect([...new URLSearchParams(fake.seen[0]?.body)]).toEqual([
    ['name', 'สมชาย'],
    ['expiration_month', '1'],
    ['city', ''],
  ]);
});

test('destroyCard accepts a reply with few fields', async () => {
  const rest = { object: 'card', id: 'card_test_1', livemode: false, deleted: true };
  const fake = await provider(reply(200, rest));
  expect(await clientOf(fake).customers.destroyCard('cust_test_1', 'card_test_1')).toEqual(rest);
});

test('retrieve accepts a customer without a default card', async () => {
  const fake = await provider(reply(200, { ...CUSTOMER, default_card: null }));
  expect((await clientOf(fake).customers.retrieve('cust_test_1')).default_card).toBeNull();
});
