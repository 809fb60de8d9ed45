import { formatInstant, instant } from '@tillflow/domain';
import type { Event, Occurrence } from '@tillflow/payments-client';
import type { TailNotice, TailNoticeCode } from '@tillflow/workflows';
import { instantOf, textOf } from '../activities/charge-facts.js';

const MAX_CHARS = 200;

/** Cuts a provider's text, so that the memo of the tail stays small. */
export function shorten(text: string): string {
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
}

/** Kinds of event that an operator should know about. Source: assumption, "Event kinds". */
const NOTICES: Readonly<Record<string, { readonly code: TailNoticeCode; readonly what: string }>> = {
  'schedule.suspend': { code: 'plan_suspended', what: 'The provider suspended plan' },
  'transfer.fail': { code: 'transfer_failed', what: 'A transfer to the bank failed:' },
  'dispute.create': { code: 'dispute_opened', what: 'A customer disputes a payment:' },
  'dispute.update': { code: 'dispute_changed', what: 'The provider updated dispute' },
  'dispute.accept': { code: 'dispute_closed', what: 'A dispute was accepted:' },
  'dispute.close': { code: 'dispute_closed', what: 'A dispute was closed:' },
};

/** The notice for an event, or null. It contains ids only: the operator reads the record at the provider. */
export function noticeOf(event: Event): TailNotice | null {
  const notice = Object.hasOwn(NOTICES, event.key) ? NOTICES[event.key] : undefined;
  if (notice === undefined) return null;
  const { id: subject, charge, schedule, object } = event.data;
  return toNotice(event, notice.code, subject ?? '', {
    detail: `${notice.what} ${shorten(subject ?? '(without an id)')}`,
    charge_id: idOf(charge),
    plan_id: object === 'schedule' ? (subject ?? null) : idOf(schedule),
  });
}

/** A person caused these events. */
const WITHOUT_NOTICE: ReadonlySet<string> = new Set(['schedule.create', 'schedule.destroy']);

/** The plan that an event concerns, or null. The plan's occurrences show what happened. */
export function planOf({ key, data }: Event): string | null {
  if (WITHOUT_NOTICE.has(key)) return null;
  if (data.object === 'schedule') return data.id ?? null;
  return data.object === 'charge' || data.object === 'transfer' ? idOf(data['schedule']) : null;
}

/** An occurrence that ended longer ago than this before the event gives no notice. */
const RECENT_MS = 7 * 86_400_000;

const FAILED_OCCURRENCES: Readonly<Record<string, TailNoticeCode>> = {
  failed: 'plan_occurrence_failed',
  skipped: 'plan_occurrence_skipped',
};

/** The notice for an occurrence that was read after an event of its plan, or null. */
export function noticeOfOccurrence(event: Event, plan: string, occurrence: Occurrence): TailNotice | null {
  const { id, status, scheduled_on: day, processed_at, result, message } = occurrence;
  const code = Object.hasOwn(FAILED_OCCURRENCES, status) ? FAILED_OCCURRENCES[status] : undefined;
  const at = instantOf(processed_at ?? (typeof day === 'string' ? `${day}T00:00:00Z` : null));
  if (code === undefined || (at !== null && at < (instantOf(event.created_at) ?? Date.now()) - RECENT_MS)) return null;
  const source = { id, created_at: processed_at ?? event.created_at };
  return toNotice(source, code, id, {
    detail: `The occurrence of plan ${plan} on ${day ?? 'an unknown day'} ${status}: ${shorten(message ?? 'no reason given')}`,
    charge_id: result?.startsWith('chrg_') === true ? result : null,
    plan_id: plan,
  });
}

export function toNotice(
  event: Pick<Event, 'id' | 'created_at'>,
  code: TailNoticeCode,
  subject: string,
  content: Pick<TailNotice, 'detail'> & Partial<Pick<TailNotice, 'charge_id' | 'plan_id' | 'checkout_id'>>,
): TailNotice {
  return {
    id: `${code}:${shorten(subject)}`,
    code,
    since: formatInstant(instantOf(event.created_at) ?? instant(Date.now())),
    subject: shorten(subject),
    event_id: event.id,
    charge_id: null,
    plan_id: null,
    checkout_id: null,
    ...content,
  };
}

function idOf(value: unknown): string | null {
  const id = textOf(value);
  return id === null ? null : shorten(id);
}
