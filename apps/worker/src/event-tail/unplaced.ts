import { checkoutId, formatInstant, instant, routeEvent } from '@tillflow/domain';
import type { UnreadableRecord } from '@tillflow/payments-client';
import { retryAt, type TailNotice, type UnplacedEvent } from '@tillflow/workflows';
import { shorten, toNotice } from './notices.js';

/** Identifies an event, and the records that it concerns. */
export type EventSubject = Pick<
  UnplacedEvent,
  'event_id' | 'event_key' | 'subject' | 'checkout_id' | 'charge_id' | 'created_at'
>;

/** An event that the tail tries again later. @param before the same event after its last try, or null */
export function toUnplaced(
  { event_id, event_key, subject, checkout_id, charge_id, created_at = null }: EventSubject,
  why: string,
  before: UnplacedEvent | null,
): UnplacedEvent {
  const now = instant(Date.now());
  const tries = (before?.tries ?? 0) + 1;
  return {
    event_id,
    event_key,
    subject,
    checkout_id,
    charge_id,
    ...(created_at === null ? {} : { created_at }),
    since: before?.since ?? formatInstant(now),
    retry_at: formatInstant(retryAt(now, tries)),
    tries,
    why: shorten(why),
  };
}

/** The readable parts of an event that does not match its schema: ids, its kind and its time. */
type UnreadableSubject = EventSubject & {
  /** As the event says; null when it does not say. */
  readonly created_at: string | null;
  /** The event names a checkout or a charge. */
  readonly isRouted: boolean;
};

export function subjectOfUnreadable({ id, json }: UnreadableRecord, account?: string): UnreadableSubject {
  const { checkout = null, chargeId = null, subject = '' } = routeEvent(json, account) ?? {};
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

/** Every unreadable event gives a notice: Tillflow cannot know what else the event says. */
export function noticeOfUnreadable(record: UnreadableRecord, account?: string): TailNotice {
  const { event_key, created_at, checkout_id, charge_id, isRouted } = subjectOfUnreadable(record, account);
  const next = isRouted
    ? 'Tillflow retrieves the record that the event names.'
    : record.hasOwnId
      ? 'Tillflow reads the event again later.'
      : 'The event has no id to read it again by: look it up at the provider.';
  return toNotice({ id: record.id, created_at }, 'event_unreadable', record.id, {
    detail: `An event (${event_key}) cannot be read: ${record.error.message} ${next}`,
    checkout_id,
    charge_id,
  });
}

function textOf(json: unknown, name: 'key' | 'created_at'): string | null {
  if (typeof json !== 'object' || json === null) return null;
  const value: unknown = Reflect.get(json, name);
  return typeof value === 'string' && value !== '' ? shorten(value) : null;
}
