import { initialState, type CheckoutState, type StoredRefund } from '../checkout/types.js';
import { intent } from './simulated-provider.js';

/** A payment that came after the checkout had closed. */
export const late = { chargeId: 'chrg_1', attempt: '1' };
/** Its attempt, as it was published. */
export const attempt = {
  number: 1,
  source_id: 'src_1',
  charge_id: 'chrg_1',
  status: 'expired',
  failure_code: null,
  failure_message: null,
  created_at: '2026-03-10T09:00:00.000Z',
  expires_at: '2026-03-10T09:15:00.000Z',
} as const;
/** The published state: the checkout has expired. */
export const expired: CheckoutState = { ...initialState(intent), status: 'expired', attempts: [attempt] };

/** A published refund without an outcome. */
export const pending: StoredRefund = {
  id: null,
  key: 'k',
  charge_id: 'chrg_1',
  amount: 50_000,
  currency: 'THB',
  kind: 'refund',
  status: 'pending',
  reason: null,
  failure_code: null,
  failure_message: null,
  created_at: '2026-03-10T10:00:00.000Z',
};
