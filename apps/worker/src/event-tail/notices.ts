import { formatInstant, instant, parseInstant } from '@tillflow/domain';
import type { Event, Occurrence } from '@tillflow/payments-client';
import type { TailNotice, TailNoticeCode } from '@tillflow/workflows';
import { brief } from './brief.js';

/** Kinds of event that a person should know of. Source: assumption, "Event kinds". */
const NOTICES: Readonly<Record<string, { readonly code: TailNoticeCode; readonly what: string }>> = {
  'schedule.suspend': { code: 'plan_suspended', what: 'The provider suspended plan' },
  'transfer.fail': { code: 'transfer_failed', what: 'A transfer to the bank failed:' },
  'dispute.create': { code: 'dispute_opened', what: 'A customer disputes a payment:' },
  'dispute.update': { code: 'dispute_changed', what: 'News of dispute' },
  'dispute.accept': { code: 'dispute_closed', what: 'The end of dispute' },
  'dispute.close': { code: 'dispute_closed', what: 'The end of dispute' },
};

/** What an event tells a person, or null. Nothing is read of it but ids: for the rest they look at the resource. */
export function noticeOf(event: Event): TailNotice | null {
  const notice = Object.hasOwn(NOTICES, event.key) ? NOTICES[event.key] : undefined;
  if (notice === undefined) return null;
  const { id: subject, charge, schedule, object } = event.data;
  return toNotice(event, notice.code, subject ?? '', {
    detail: `${notice.what} ${brief(subject ?? '(without an id)')}`,
    charge_id: textOf(charge),
    plan_id: object === 'schedule' ? (subject ?? null) : textOf(schedule),
  });
}

/** Nobody need be told of what a person did, or of a plan that is new. */
const QUIET: ReadonlySet<string> = new Set(['schedule.create', 'schedule.destroy']);

/** The plan that an event is news of, or null: its occurrences say what became of it. */
export function planOf({ key, data }: Event): string | null {
  if (QUIET.has(key)) return null;
  if (data.object === 'schedule') return data.id ?? null;
  return data.object === 'charge' || data.object === 'transfer' ? textOf(data['schedule']) : null;
}

/** Occurrences that ended longer ago are no news. */
const NEWS_MS = 7 * 86_400_000;

const ENDS: Readonly<Record<string, TailNoticeCode>> = {
  failed: 'plan_occurrence_failed',
  skipped: 'plan_occurrence_skipped',
};

/** What an occurrence, read at the time of an event, tells a person, or null. */
export function noticeOfOccurrence(event: Event, plan: string, occurrence: Occurrence): TailNotice | null {
  const { id, status, scheduled_on: day, processed_at, result, message } = occurrence;
  const code = Object.hasOwn(ENDS, status) ? ENDS[status] : undefined;
  const at = createdAt({ created_at: processed_at ?? (typeof day === 'string' ? `${day}T00:00:00Z` : null) });
  if (code === undefined || (at !== null && at < (createdAt(event) ?? Date.now()) - NEWS_MS)) return null;
  const told = { id, created_at: processed_at ?? event.created_at };
  return toNotice(told, code, id, {
    detail: `The occurrence of plan ${plan} on ${day ?? 'an unknown day'} ${status}: ${brief(message ?? 'no reason given')}`,
    charge_id: result?.startsWith('chrg_') === true ? result : null,
    plan_id: plan,
  });
}

export function toNotice(
  event: Pick<Event, 'id' | 'created_at'>,
  code: TailNoticeCode,
  subject: string,
  about: Pick<TailNotice, 'detail'> & Partial<Pick<TailNotice, 'charge_id' | 'plan_id' | 'checkout_id'>>,
): TailNotice {
  return {
    id: `${code}:${brief(subject)}`,
    code,
    since: formatInstant(createdAt(event) ?? instant(Date.now())),
    subject: brief(subject),
    event_id: event.id,
    charge_id: null,
    plan_id: null,
    checkout_id: null,
    ...about,
  };
}

/** When an event happened, by the provider's clock; null where it does not say. */
export function createdAt({ created_at: at }: Pick<Event, 'created_at'>) {
  if (at === null || at === undefined) return null;
  try {
    return parseInstant(at);
  } catch {
    return null;
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? brief(value) : null;
}
