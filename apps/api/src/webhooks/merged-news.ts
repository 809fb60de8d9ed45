import type { RoutedEvent } from '@tillflow/domain';

/** The event of a payment. */
export const PAYMENT = 'charge.complete';

/** The kind of a hint that stands for events about several charges. No event of the provider has it. */
const SEVERAL = 'several events';

/**
 * One piece of news that makes a checkout look at whatever either would: at one charge, or at all of them.
 * Both are payments, or neither is.
 */
export function mergedNews(earlier: RoutedEvent, later: RoutedEvent): RoutedEvent {
  if (earlier.chargeId === later.chargeId && later.chargeId !== null) return later;
  // Not as a payment: a checkout whose charges are all paid would not look.
  return { ...later, key: SEVERAL, chargeId: null };
}
