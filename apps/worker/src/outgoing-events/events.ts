import { createHash } from 'node:crypto';
import { formatInstant, instant } from '@tillflow/domain';
import { presentCheckout, signedLinks, type StoredCheckout } from '@tillflow/temporal';
import type { CheckoutEvent, DueEvent, EndpointSecrets } from '@tillflow/workflows';

const ID_CHARS = 26;

/**
 * `webhook-id`: the same for each repetition, and for every endpoint. With the time, because a reference may be used
 * again when Temporal does not keep its checkout any more.
 */
export function idOfEvent({ checkout, event, version, at }: DueEvent): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([checkout, event, version, at]))
    .digest('base64url');
  return `evt_${digest.replace(/[-_]/g, '0').slice(0, ID_CHARS)}`;
}

/** The body of an event: the checkout as GET answers it now. */
export function bodyOf(
  stored: StoredCheckout,
  { event, at }: Pick<DueEvent, 'event' | 'at'>,
  { base, key }: EndpointSecrets['links'],
): string {
  const data = presentCheckout(stored, signedLinks(base, Buffer.from(key, 'base64')), Date.now());
  return JSON.stringify({ type: `checkout.${event}`, timestamp: formatInstant(instant(at)), data });
}

/** The events of a checkout since an instant, in the order of their versions. Milliseconds since 1970 UTC. */
export function eventsSince({ intent, events = {} }: StoredCheckout, from: number): DueEvent[] {
  return (Object.entries(events) as [CheckoutEvent, readonly [number, number]][])
    .filter(([, [, at]]) => at >= from)
    .map(([event, [version, at]]) => ({ checkout: intent.id, event, version, at }))
    .toSorted((one, other) => one.version - other.version);
}
