import { expect, it } from 'vitest';
import { accountOfRequest } from './account-of-request.js';

const keys = { find: (token: string) => (token === 'key' ? ({ account: 'osaka' } as never) : null) };
const of = (url: string, authorization?: string) =>
  accountOfRequest({ url, headers: authorization === undefined ? {} : { authorization } }, keys);
const session = (parts: readonly unknown[]) =>
  `Bearer tills_${Buffer.from(JSON.stringify(parts)).toString('base64url')}.signature`;

it.each([
  ['a key', '/v1/checkouts/chk_siam_a', 'Bearer key', 'osaka'],
  ['an unknown key', '/v1/checkouts/chk_siam_a', 'Bearer other', 'default'],
  ['a session', '/v1/checkouts', session(['clnk_a', 'till-1', null, null, 1, 'siam']), 'siam'],
  ['a session of default', '/v1/checkouts', session(['clnk_a', 'till-1', null, null, 1]), 'default'],
  ['a session that is none', '/v1/checkouts', 'Bearer tills_x', 'default'],
  ['a link', '/v1/checkouts/chk_siam_a/qr?sig=x', undefined, 'siam'],
  ['no link', '/v1/checkouts', undefined, 'default'],
  ['a webhook, whatever its key', '/webhooks/provider/siam', 'Bearer key', 'siam'],
  ['the webhook of default', '/webhooks/provider', 'Bearer key', 'default'],
])('a request with %s goes to the account that the table names', (_, url, authorization, account) => {
  expect(of(url, authorization)).toBe(account);
});
