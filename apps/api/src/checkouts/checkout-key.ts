import { DEFAULT_ACCOUNT, parseCheckoutId, type CheckoutKey } from '@tillflow/domain';
import { Problem } from '../problems/problem.js';

/** @throws {Problem} `not_found` for what cannot be the id of a checkout of ours. */
export function keyOf(id: string): CheckoutKey {
  const key = parseCheckoutId(id);
  if (key === null || key.account !== DEFAULT_ACCOUNT) throw new Problem('not_found', 'No checkout has this id');
  return key;
}
