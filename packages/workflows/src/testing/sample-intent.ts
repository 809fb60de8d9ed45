import { checkoutId, DEFAULT_ACCOUNT } from '@tillflow/domain';
import type { CheckoutIntent } from '../checkout/types.js';

/** The amount of every checkout under test, in the smallest currency unit. */
export const AMOUNT = 150_000;

/**
 * A request for a checkout with no optional field. @param changes what a test needs otherwise; the id follows the
 * reference.
 */
export function sampleIntent(changes: Partial<Omit<CheckoutIntent, 'id' | 'account'>> = {}): CheckoutIntent {
  const { reference = 'a' } = changes;
  return {
    id: checkoutId({ account: DEFAULT_ACCOUNT, reference }),
    account: DEFAULT_ACCOUNT,
    reference,
    amount: AMOUNT,
    currency: 'THB',
    description: null,
    metadata: {},
    terminal: null,
    expires_in: 900,
    source: null,
    created_at: '2026-03-10T09:00:00.000Z',
    ...changes,
  };
}
