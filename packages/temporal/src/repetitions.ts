import { randomUUID } from 'node:crypto';
import { isAwaitingPayment, isPaid } from '@tillflow/domain';
import type { NewAttemptRequest, RefundRequest } from '@tillflow/workflows';
import type { OnceSignal } from './signal-once.js';
import { newestAttempt, type StoredCheckout } from './stored-checkout.js';

/** What tells a repetition from another request. Null: the checkout shows that it has taken it, or has no use for it. */
type About = OnceSignal['about'] | null;

/**
 * A cancel is about the newest attempt: once it has met it open, no other one can follow. One of an ended checkout may
 * be about an attempt that was asked for and is not shown yet, after an earlier cancel of the same: it is never the same
 * as another one. Its caller is told the end, and has no reason to repeat it.
 */
export function aboutCancel(stored: StoredCheckout): About {
  const { status } = stored.state;
  if (isPaid(status)) return null;
  return isAwaitingPayment(status) ? [newestAttempt(stored)] : [randomUUID()];
}

/** One that was refused may be asked for again once the checkout shows something else. */
export function aboutRefund({ refunds, version }: StoredCheckout, { key, amount }: RefundRequest): About {
  return refunds.some((refund) => refund.key === key) ? null : [key, amount, version];
}

/** One that came before the attempt it follows may come again once that one is shown. */
export function aboutAttempt(stored: StoredCheckout, { after }: NewAttemptRequest): About {
  const newest = newestAttempt(stored);
  return newest > after ? null : [after, newest];
}
