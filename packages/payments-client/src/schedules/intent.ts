import { dayOf } from '../form.js';
import { asAsked, type Intent, isOther, isOtherOrNone, otherMoney, type Terms, word } from '../integrity.js';
import { otherMetadata } from '../metadata.js';
import type { Schedule, ScheduledCharge, ScheduledTransfer, ScheduleOn } from './schema.js';
import type { ScheduleCreateParams, ScheduledChargeParams, ScheduledTransferParams } from './schedules.js';

const ofOurMode = asAsked<object, Schedule>();

/** The intent that a schedule move the money, and on the days, that were asked for. */
export const asScheduled: Intent<ScheduleCreateParams, Schedule> = (asked, reply, terms) => [
  ...ofOurMode({}, reply, terms),
  ...(isOther(asked.every, reply.every) ? ['every'] : []),
  ...(isOther(word(asked.period), word(reply.period)) ? ['period'] : []),
  ...(otherDays(asked.on, reply.on) ? ['on'] : []),
  ...(otherDay(asked.start_date, reply.start_on ?? undefined) ? ['start_date'] : []),
  ...(otherDay(asked.end_date, reply.end_on) ? ['end_date'] : []),
  ...otherPart('charge', asked.charge, reply.charge, otherCharge(terms)),
  ...otherPart('transfer', asked.transfer, reply.transfer, otherTransfer),
];

/**
 * The request fields, e.g. `['every', 'charge[amount]']`, in which a schedule is not as it was asked for: none for one
 * that may be the answer to a create that was lost. A field that it leaves out contradicts nothing.
 */
export function scheduleContradictions(asked: ScheduleCreateParams, schedule: Schedule): readonly string[] {
  return asScheduled(asked, schedule, { livemode: undefined, searchedMetadata: undefined });
}

/** Fields of `charge` or `transfer`, as `charge[amount]`; the part itself where only one side has it. */
function otherPart<A, R>(
  name: string,
  asked: A | null | undefined,
  reported: R | null | undefined,
  compare: (asked: A, reported: R) => readonly string[],
): string[] {
  if (reported === undefined) return [];
  const isAsked = asked !== undefined && asked !== null;
  if (!isAsked || reported === null) return isAsked === (reported !== null) ? [] : [name];
  return compare(asked, reported).map((field) => field.replace(/^[^[]+/, `${name}[$&]`));
}

function otherCharge({ searchedMetadata }: Terms) {
  return (asked: ScheduledChargeParams, reported: ScheduledCharge): readonly string[] => [
    ...otherMoney(asked, reported),
    ...otherMetadata(asked.metadata, reported.metadata, searchedMetadata),
    ...(isOtherOrNone(asked.customer, reported.customer) ? ['customer'] : []),
    ...(isOtherOrNone(asked.card, reported.card) ? ['card'] : []),
  ];
}

function otherTransfer(asked: ScheduledTransferParams, reported: ScheduledTransfer): readonly string[] {
  return [
    ...otherMoney(asked, reported),
    ...(isOtherOrNone(asked.recipient, reported.recipient) ? ['recipient'] : []),
    ...(isOther(asked.percentage_of_balance, reported.percentage_of_balance) ? ['percentage_of_balance'] : []),
    ...otherMeasure(asked, reported),
  ];
}

/** An amount in place of a share of the balance, or the reverse. */
function otherMeasure(asked: ScheduledTransferParams, reported: ScheduledTransfer): readonly string[] {
  const isAmount = typeof asked.amount === 'number';
  const isShare = typeof asked.percentage_of_balance === 'number';
  const hasAmount = typeof reported.amount === 'number';
  const hasShare = typeof reported.percentage_of_balance === 'number';
  if (isAmount && !hasAmount && hasShare) return ['amount'];
  return isShare && !hasShare && hasAmount ? ['percentage_of_balance'] : [];
}

/** Days in any order, each once. */
function otherDays(asked: ScheduleOn | null | undefined, reported: ScheduleOn | null | undefined): boolean {
  if (asked === undefined || asked === null || reported === undefined) return false;
  return daysIn(asked) !== daysIn(reported ?? {});
}

function daysIn({ weekdays, days_of_month, weekday_of_month }: ScheduleOn): string {
  const days = [...(weekdays ?? []), ...(days_of_month ?? []), ...(weekday_of_month ? [weekday_of_month] : [])];
  return [...new Set(days.map((day) => String(word(day))))].toSorted().join();
}

/** A day begins in the first zone so long before it does in UTC. */
const FIRST_ZONE_MS = 14 * 3_600_000;
/** A day begins in the last zone so long after it does in UTC. */
const LAST_ZONE_MS = 12 * 3_600_000;

/** A day may come back as a date-time: of that day as it is written, or the beginning of that day in some zone. */
function otherDay(asked: string | Date | null | undefined, reported: string | null | undefined): boolean {
  if (asked === undefined || asked === null || reported === undefined) return false;
  const day = asked instanceof Date ? dayOf(asked) : asked;
  // Without a last day it would never end.
  if (reported === null) return day !== '';
  if (writtenDay(reported) === writtenDay(day)) return false;
  const sinceUtc = Date.parse(reported) - Date.parse(writtenDay(day));
  const isTimed = reported.trim() !== writtenDay(reported);
  return !(isTimed && sinceUtc >= -FIRST_ZONE_MS && sinceUtc <= LAST_ZONE_MS);
}

function writtenDay(text: string): string {
  return text.trim().slice(0, 'YYYY-MM-DD'.length);
}
