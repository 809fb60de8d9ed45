import type { IncomingMessage } from 'node:http';
import { DEFAULT_ACCOUNT } from '@tillflow/domain';
import { accountInTillToken, type ConfiguredKeys } from '@tillflow/temporal';
import { BEARER } from '../auth/admission.js';
import { SESSION } from '../counter/till-tokens.js';

const WEBHOOK = /^\/webhooks\/provider\/([a-z0-9-]{1,32})(?:\?|$)/;
/** Signed links of a checkout: its id names the account. */
const CHECKOUT = /^\/v1\/checkouts\/chk_([a-z0-9-]{1,32})_/;

/**
 * The account whose part of the API handles a request: the account of its key or session, and without one that of the
 * checkout or of the webhook in its address. Only that part checks the request. What another account has signed is not
 * valid there.
 */
export function accountOfRequest(
  { url = '', headers }: Pick<IncomingMessage, 'url' | 'headers'>,
  keys: Pick<ConfiguredKeys, 'find'>,
): string {
  if (url.startsWith('/webhooks/')) return WEBHOOK.exec(url)?.[1] ?? DEFAULT_ACCOUNT;
  const [, token] = BEARER.exec(headers.authorization ?? '') ?? [];
  if (token === undefined) return CHECKOUT.exec(url)?.[1] ?? DEFAULT_ACCOUNT;
  if (token.startsWith(SESSION)) return accountInTillToken(token.slice(SESSION.length));
  return keys.find(token)?.account ?? DEFAULT_ACCOUNT;
}
