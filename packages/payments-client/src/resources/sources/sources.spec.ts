import { expect, test } from 'vitest';
import { clientOf, provider, reply, sourceOf } from '../../../test/provider.js';

test('create and retrieve return a source whose QR code is null until a charge uses it', async () => {
  const fake = await provider(reply(200, sourceOf()));
  const { sources } = clientOf(fake);
  const source = await sources.create({
    amount: 150_000,
    currency: 'THB',
    type: 'wallet_mpm',
    items: [{ name: 'tea', amount: 1 }],
  });
  await sources.retrieve(source.id);
  expect(source.scannable_code).toBeNull();
  expect(fake.seen.map(({ method, url }) => `${method} ${url}`)).toEqual(['POST /sources', 'GET /sources/src_test_1']);
  expect(decodeURIComponent(fake.seen[0]?.body ?? '')).toBe(
    'amount=150000&currency=THB&type=wallet_mpm&items[][name]=tea&items[][amount]=1',
  );
});
