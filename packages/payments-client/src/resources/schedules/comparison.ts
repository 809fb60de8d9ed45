import {
  compareWithRequest,
  type ComparisonRules,
  differentMoney,
  isDifferent,
  isDifferentOrMissing,
  normalizedWord,
  type ReplyComparison,
} from '../../reply/integrity.js';
import { differentMetadata } from '../../reply/metadata.js';
import { dayOf } from '../../request/form.js';
import type { ScheduleCreateParams, ScheduledChargeParams, ScheduledTransferParams } from './schedules.js';
import type { Schedule, ScheduledCharge, ScheduledTransfer, ScheduleOn } from './schema.js';

const compareMode = compareWithRequest<object, Schedule>();

/** Finds where a schedule would move other money, or on other days, than was asked. */
export const compareSchedule: ReplyComparison<ScheduleCreateParams, Schedule> = (requested, replied, rules) => [
  ...compareMode({}, replied, rules),
  ...(isDifferent(requested.every, replied.every) ? ['every'] : []),
  ...(isDifferent(normalizedWord(requested.period), normalizedWord(replied.period)) ? ['period'] : []),
  ...(hasOtherDays(requested.on, replied.on) ? ['on'] : []),
  ...(isOtherDay(requested.start_date, replied.start_on ?? undefined) ? ['start_date'] : []),
  ...(isOtherDay(requested.end_date, replied.end_on) ? ['end_date'] : []),
  ...differentPart('charge', requested.charge, replied.charge, compareCharge(rules)),
  ...differentPart('transfer', requested.transfer, replied.transfer, compareTransfer),
];

/**
 * The request fields, e.g. `['every', 'charge[amount]']`, in which a schedule differs from what was asked: none for one
 * that may be the result of a create whose answer was lost. A field that the schedule leaves out contradicts nothing.
 */
export function scheduleContradictions(requested: ScheduleCreateParams, schedule: Schedule): readonly string[] {
  return compareSchedule(requested, schedule, { livemode: undefined, searchedMetadata: undefined });
}

/** Fields of `charge` or `transfer`, as `charge[amount]`; the part itself where only one side has it. */
function differentPart<A, R>(
  name: string,
  requested: A | null | undefined,
  replied: R | null | undefined,
  compare: (requested: A, replied: R) => readonly string[],
): string[] {
  if (replied === undefined) return [];
  const isRequested = requested !== undefined && requested !== null;
  if (!isRequested || replied === null) return isRequested === (replied !== null) ? [] : [name];
  return compare(requested, replied).map((field) => field.replace(/^[^[]+/, `${name}[$&]`));
}

function compareCharge({ searchedMetadata }: ComparisonRules) {
  return (requested: ScheduledChargeParams, replied: ScheduledCharge): readonly string[] => [
    ...differentMoney(requested, replied),
    ...differentMetadata(requested.metadata, replied.metadata, searchedMetadata),
    ...(isDifferentOrMissing(requested.customer, replied.customer) ? ['customer'] : []),
    ...(isDifferentOrMissing(requested.card, replied.card) ? ['card'] : []),
  ];
}

function compareTransfer(requested: ScheduledTransferParams, replied: ScheduledTransfer): readonly string[] {
  const hasOtherShare = isDifferent(requested.percentage_of_balance, replied.percentage_of_balance);
  return [
    ...differentMoney(requested, replied),
    ...(isDifferentOrMissing(requested.recipient, replied.recipient) ? ['recipient'] : []),
    ...(hasOtherShare ? ['percentage_of_balance'] : []),
    ...differentMeasure(requested, replied),
  ];
}

/** An amount in place of a share of the balance, or the reverse. */
function differentMeasure(requested: ScheduledTransferParams, replied: ScheduledTransfer): readonly string[] {
  const isAmount = typeof requested.amount === 'number';
  const isShare = typeof requested.percentage_of_balance === 'number';
  const hasAmount = typeof replied.amount === 'number';
  const hasShare = typeof replied.percentage_of_balance === 'number';
  if (isAmount && !hasAmount && hasShare) return ['amount'];
  return isShare && !hasShare && hasAmount ? ['percentage_of_balance'] : [];
}

/** Compares the days in any order. */
function hasOtherDays(requested: ScheduleOn | null | undefined, replied: ScheduleOn | null | undefined): boolean {
  if (requested === undefined || requested === null || replied === undefined) return false;
  return daysIn(requested) !== daysIn(replied ?? {});
}

function daysIn({ weekdays, days_of_month, weekday_of_month }: ScheduleOn): string {
  const days = [...(weekdays ?? []), ...(days_of_month ?? []), ...(weekday_of_month ? [weekday_of_month] : [])];
  return [...new Set(days.map((day) => String(normalizedWord(day))))].toSorted().join();
}

/** The first time zone to begin a day does so 14 h before UTC, the last one 12 h after. */
const FIRST_ZONE_MS = 14 * 3_600_000;
const LAST_ZONE_MS = 12 * 3_600_000;

/**
 * The reply may give a day as a date-time: on the day as written, or at the beginning of that day in some time zone.
 */
function isOtherDay(requested: string | Date | null | undefined, replied: string | null | undefined): boolean {
  if (requested === undefined || requested === null || replied === undefined) return false;
  const day = requested instanceof Date ? dayOf(requested) : requested;
  // A schedule without a last day would never end.
  if (replied === null) return day !== '';
  if (writtenDay(replied) === writtenDay(day)) return false;
  const sinceUtc = Date.parse(replied) - Date.parse(writtenDay(day));
  const isTimed = replied.trim() !== writtenDay(replied);
  return !(isTimed && sinceUtc >= -FIRST_ZONE_MS && sinceUtc <= LAST_ZONE_MS);
}

function writtenDay(text: string): string {
  return text.trim().slice(0, 'YYYY-MM-DD'.length);
}
