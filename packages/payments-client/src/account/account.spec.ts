import { expect, test } from 'vitest';
import { clientOf, provider, refuse, reply } from '../../test/provider.js';
import { ACCOUNT } from '../../test/samples.js';

test('an update sends what is set; null clears, undefined stays', async () => {
  const fake = await provider(reply(200, ACCOUNT));
  await clientOf(fake).account.update({
    chain_enabled: false,
    zero_interest_installments: undefined,
    chain_return_uri: null,
    webhook_uri: 'https://shop.example.com/hook?a=1&b=2',
    metadata_export_keys: { charge: ['order', 'till'] },
  });
  expect([...new URLSearchParams(fake.seen[0]?.body)]).toEqual([
    ['chain_enabled', 'false'],
    ['chain_return_uri', ''],
    ['webhook_uri', 'https://shop.example.com/hook?a=1&b=2'],
    ['metadata_export_keys[charge][]', 'order'],
    ['metadata_export_keys[charge][]', 'till'],
  ]);
});

test('the move to the newest version has no parameters', async () => {
  const fake = await provider(reply(200, ACCOUNT));
  await clientOf(fake).account.updateApiVersion();
  expect(fake.seen[0]).toMatchObject({ method: 'PATCH', url: '/account/api_version', body: '' });
  expect(fake.seen[0]?.headers).not.toHaveProperty('content-type');
});

test('a PATCH is tried again: the same change twice is the same change', async () => {
  const fake = await provider(refuse(502, 'bad_gateway'), reply(200, ACCOUNT));
  expect(await clientOf(fake).account.update({ chain_enabled: true })).toEqual(ACCOUNT);
  expect(fake.seen.map(({ body }) => body)).toEqual(['chain_enabled=true', 'chain_enabled=true']);
});
