import { formatInstant, instant } from '@tillflow/domain';
import { retryAt, type UnplacedEvent } from '@tillflow/workflows';
import { brief } from './brief.js';

/** Which event it is, and what it is about. */
export type About = Pick<
  UnplacedEvent,
  'event_id' | 'event_key' | 'subject' | 'checkout_id' | 'charge_id' | 'created_at'
>;

/** An event that is to be tried again. @param before how it was remembered so far */
export function toUnplaced(about: About, why: string, before: UnplacedEvent | null): UnplacedEvent {
  const { event_id, event_key, subject, checkout_id, charge_id, created_at = null } = about;
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
    why: brief(why),
  };
}
