import { dayOf } from '../form.js';
import { asAsked, differs, type Intent, otherMoney } from '../integrity.js';
import type { Schedule, ScheduledCharge, ScheduledTransfer, ScheduleOn } from './schema.js';
import type { ScheduleCreateParams, ScheduledChargeParams, ScheduledTransferParams } from './schedules.js';

/** The intent that a schedule move the money, and on the days, that were asked for. */
export function asScheduled(asked: ScheduleCreateParams): Intent<Schedule> {
  return asAsked<Schedule>({}, (reply) => [
    ...(differs(asked.every, reply.every) ? ['every'] : []),
    ...(differs(asked.period, reply.period) ? ['period'] : []),
    ...(otherDays(asked.on, reply.on) ? ['on'] : []),
    ...(otherDate(asked.start_date, reply.start_on) ? ['start_date'] : []),
    ...(otherDate(asked.end_date, reply.end_on) ? ['end_date'] : []),
    ...otherPart('charge', asked.charge, reply.charge, otherCharge),
    ...otherPart('transfer', asked.transfer, reply.transfer, otherTransfer),
  ]);
}

/**
 * The request fields, e.g. `['every', 'charge[amount]']`, in which a schedule is not as it was asked for: none for one
 * that may be the answer to a create that was lost. A field that it leaves out contradicts nothing.
 */
export function scheduleContradictions(asked: ScheduleCreateParams, schedule: Schedule): readonly string[] {
  return asScheduled(asked)(schedule, undefined)?.fields ?? [];
}

/** Fields of `charge` or `transfer`, as `charge[amount]`; the part itself where only one side has it. */
function otherPart<A, R>(
  name: string,
  asked: A | undefined,
  reported: R | null | undefined,
  compare: (asked: A, reported: R) => readonly string[],
): string[] {
  if (reported === undefined) return [];
  if (asked === undefined || reported === null) return (asked === undefined) === (reported === null) ? [] : [name];
  return compare(asked, reported).map((field) => field.replace(/^[^[]+/, `${name}[$&]`));
}

function otherCharge(asked: ScheduledChargeParams, reported: ScheduledCharge): readonly string[] {
  return [
    ...otherMoney(asked, reported),
    ...(differs(asked.customer, reported.customer) ? ['customer'] : []),
    ...(differs(asked.card, reported.card) ? ['card'] : []),
  ];
}

function otherTransfer(asked: ScheduledTransferParams, reported: ScheduledTransfer): readonly string[] {
  return [
    ...otherMoney(asked, reported),
    ...(differs(asked.recipient, reported.recipient) ? ['recipient'] : []),
    ...(differs(asked.percentage_of_balance, reported.percentage_of_balance) ? ['percentage_of_balance'] : []),
  ];
}

/** Days in any order, each once. */
function otherDays(asked: ScheduleOn | undefined, reported: ScheduleOn | null | undefined): boolean {
  if (asked === undefined || reported === undefined) return false;
  return daysIn(asked) !== daysIn(reported ?? {});
}

function daysIn({ weekdays, days_of_month, weekday_of_month }: ScheduleOn): string {
  const days = [...(weekdays ?? []), ...(days_of_month ?? []), ...(weekday_of_month ? [weekday_of_month] : [])];
  return [...new Set(days.map((day) => String(day).toLowerCase()))].toSorted().join();
}

function otherDate(asked: string | Date | undefined, reported: string | null | undefined): boolean {
  return differs(asked instanceof Date ? dayOf(asked) : asked, reported);
}
