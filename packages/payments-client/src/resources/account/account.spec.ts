import { expect, test } from 'vitest';
import { clientOf, provider, refuse, reply } from '../../../test/provider.js';
import { ACCOUNT } from '../../../test/samples.js';

test('an update sends the fields that are set: null as empty, undefined not at all', async () => {
  const webhook_uri = 'https://shop.example.com/hook?a=1&b=2';
  const fake = await provider(reply(200, { ...ACCOUNT, webhook_uri }));
  await clientOf(fake).account.update({
    chain_enabled: false,
    zero_interest_installments: undefined,
    chain_return_uri: null,
    webhook_uri,
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

test('updateApiVersion is a PATCH without parameters', async () => {
  const fake = await provider(reply(200, ACCOUNT));
  await clientOf(fake).account.updateApiVersion();
  expect(fake.seen[0]).toMatchObject({ method: 'PATCH', url: '/account/api_version', body: '' });
  expect(fake.seen[0]?.headers).not.toHaveProperty('content-type');
});

test('an update is retried: the same change twice is the same change', async () => {
  const fake = await provider(refuse(502, 'bad_gateway'), reply(200, ACCOUNT));
  expect(await clientOf(fake).account.update({ chain_enabled: true })).toEqual(ACCOUNT);
  expect(fake.seen.map(({ body }) => body)).toEqual(['chain_enabled=true', 'chain_enabled=true']);
});

const HOOK = 'https://shop.example.com/hook';

test.each<[asked: string | null | undefined, reported: string | null | undefined]>([
  [HOOK, HOOK],
  [HOOK, 'https://SHOP.example.com:443/hook'],
  ['https://shop.example.com', 'https://shop.example.com/'],
  [HOOK, undefined],
  [undefined, 'https://elsewhere.example.com'],
  [null, null],
  [null, ''],
])('an update of webhook_uri to %j accepts a reply with %j', async (webhook_uri, reported) => {
  const fake = await provider(reply(200, { ...ACCOUNT, webhook_uri: reported }));
  await clientOf(fake).account.update({ webhook_uri });
  expect(fake.seen).toHaveLength(1);
});

test.each<[asked: string | null, reported: string | null]>([
  [HOOK, 'https://shop.example.com/Hook'],
  [HOOK, 'http://shop.example.com/hook'],
  [HOOK, 'https://elsewhere.example.com/hook'],
  [HOOK, null],
  [null, HOOK],
])(
  'an update of webhook_uri to %j rejects a reply with %j: events would go elsewhere',
  async (webhook_uri, reported) => {
    const fake = await provider(reply(200, { ...ACCOUNT, webhook_uri: reported }));
    await expect(clientOf(fake).account.update({ webhook_uri })).rejects.toMatchObject({
      code: 'integrity_mismatch',
      replyId: ACCOUNT.id,
      fields: ['webhook_uri'],
    });
    expect(fake.seen).toHaveLength(1);
  },
);
