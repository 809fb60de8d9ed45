import { limitIn } from '@tillflow/domain';
import type { RefundRights, RefundRightsCall } from '@tillflow/workflows';
import { isWithin } from '../tills.js';
import { hasExpired, type KeyRing } from './keys.js';

/** Requesters of this kind reach Temporal itself, with all rights. The name of a key has no colon. */
const OPERATOR = 'cli:';

const ALL: RefundRights = { limit: null, approves: true };
const NONE: RefundRights = { limit: 0, approves: false };

/**
 * What a requester may do with the refunds of a checkout. A name that is no key's may refund nothing without a second
 * person: an update that bypasses the API can contain any name.
 * @param keys null where the worker has no `KEYS_FILE`: then only the API knows limits
 * @param account of the checkout: a key of another account has no rights
 * @param now Unix milliseconds
 */
export function refundRightsOf(
  keys: KeyRing | null,
  account: string,
  call: RefundRightsCall,
  now: number,
): RefundRights {
  const { by, currency } = call;
  if (keys === null || by?.startsWith(OPERATOR) === true) return ALL;
  const key = by === null ? null : keys.named(by);
  if (key?.account !== account || hasExpired(key, now) || !isWithin(key, call)) return NONE;
  return {
    limit: key.scopes.includes('refunds:write') ? limitIn(key.refundLimit, currency) : 0,
    approves: key.scopes.includes('refunds:approve'),
  };
}
