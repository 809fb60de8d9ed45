import { CancellationScope, patched, proxyLocalActivities, TemporalFailure } from '@temporalio/workflow';
import type { LocalCalls } from '../shared/local-call.js';
import { askerOf, type Attributed } from '../shared/requester.js';
import type { PaymentActivities, RefundRights } from './activities.js';
import type { Limited } from './messages.js';
import type { CheckoutIntent } from './types.js';

const { refundRights: rightsNow } = proxyLocalActivities<Pick<PaymentActivities, 'refundRights'>>({
  startToCloseTimeout: '2 seconds',
  retry: { maximumAttempts: 3 },
});

/** Whether refunds have limits in this run from here on. A patch costs an action, so newer runs say it in their input. */
export function hasLimits({ limits }: Limited): boolean {
  return limits === true || patched('refund-limits');
}

/**
 * What the requester may do with the refunds of the checkout. When the local activity fails, every refund needs a second
 * person.
 */
export async function refundRights(
  localCalls: LocalCalls,
  intent: CheckoutIntent,
  request: Attributed,
): Promise<RefundRights> {
  const { currency, terminal, store = null } = intent;
  const by = askerOf(request) ?? null;
  try {
    // A cancellation in the Temporal UI ends no refund.
    return await CancellationScope.nonCancellable(() =>
      localCalls.make(() =>
        rightsNow.executeWithOptions({ summary: `Rights of ${by ?? 'an unknown requester'}` }, [
          { by, currency, terminal, store },
        ]),
      ),
    );
  } catch (error) {
    if (!(error instanceof TemporalFailure)) throw error;
    return { limit: 0, approves: false };
  }
}
