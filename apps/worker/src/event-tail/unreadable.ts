import { checkoutId, routeEvent } from '@tillflow/domain';
import type { UnreadableRecord } from '@tillflow/payments-client';
import type { TailNotice } from '@tillflow/workflows';
import { brief } from './brief.js';
import { toNotice } from './notices.js';
import type { About } from './unplaced.js';

/** What can be read of an event that does not fit: only ids and words that lead to a look, or to a person. */
type Salvaged = About & {
  /** As the event says; null where it says none. */
  readonly created_at: string | null;
  /** It says whom it concerns, who is told to look all the same. */
  readonly isRouted: boolean;
};

export function salvage({ id, json }: UnreadableRecord): Salvaged {
  const routed = routeEvent(json);
  const { checkout = null, chargeId = null, subject = '' } = routed ?? {};
  return {
    event_id: id,
    event_key: textOf(json, 'key') ?? 'unknown',
    subject,
    checkout_id: checkout === null ? null : checkoutId(checkout),
    charge_id: chargeId,
    created_at: textOf(json, 'created_at'),
    isRouted: checkout !== null || chargeId !== null,
  };
}

/** A person is told in any case: whatever else the event was to tell, nobody else knows. */
export function noticeOfUnreadable(record: UnreadableRecord): TailNotice {
  const { event_key, created_at, checkout_id, charge_id, isRouted } = salvage(record);
  const then = isRouted
    ? 'what it is about is looked at all the same'
    : record.hasOwnId
      ? 'it is read again by itself'
      : 'it has no id to read it again by: see the provider';
  return toNotice({ id: record.id, created_at }, 'event_unreadable', record.id, {
    detail: `An event (${event_key}) cannot be read: ${record.error.message} Now: ${then}`,
    checkout_id,
    charge_id,
  });
}

function textOf(json: unknown, name: 'key' | 'created_at'): string | null {
  if (typeof json !== 'object' || json === null) return null;
  const value: unknown = Reflect.get(json, name);
  return typeof value === 'string' && value !== '' ? brief(value) : null;
}
