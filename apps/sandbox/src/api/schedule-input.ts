import { isCurrency, type Currency, type Instant } from '@tillflow/domain';
import { ApiError } from '../http/api-error.js';
import type { Assumptions } from '../assumptions.js';
import { dayOf, ORDINALS, parseDay, WEEKDAYS, type Day, type Rule } from '../records/calendar.js';
import type { FormMap } from '../http/form.js';
import { choiceOf, currencyOf, integerOf, listOf, mapOf, numberOf, required, textOf } from '../http/params.js';
import { checkLimits } from '../provider/payments.js';
import type { NewSchedule } from '../provider/schedules.js';

const PERIODS = ['day', 'week', 'month'] as const;
const WEEKDAY_OF_MONTH = new RegExp(`^(${ORDINALS.join('|')})_(${WEEKDAYS.join('|')})$`);

/** The form of POST /schedules. Source: API reference, "Schedules"; assumption, "Schedules and occurrences". */
export function readSchedule(form: FormMap, at: Instant, assumptions: Assumptions): NewSchedule {
  return { rule: readRule(form, dayOf(at), assumptions), work: readWork(form, assumptions) };
}

function readRule(form: FormMap, today: Day, { maximumEvery, maximumScheduleDays }: Assumptions): Rule {
  const every = required(integerOf(form, 'every'), 'every');
  const period = required(choiceOf(form, 'period', PERIODS), 'period');
  const most = maximumEvery[period];
  if (every < 1 || every > most) throw refusal(`every must be from 1 to ${most} for period ${period}.`);
  const startOn = dateOf(form, 'start_date') ?? today;
  const endOn = required(dateOf(form, 'end_date'), 'end_date');
  if (startOn < today) throw refusal('start_date must not be in the past.');
  if (endOn < startOn) throw refusal('end_date must not be before start_date.');
  if (endOn - startOn > maximumScheduleDays) {
    throw refusal(`end_date must be at most ${maximumScheduleDays} days after start_date.`);
  }
  return { every, startOn, endOn, ...readOn(mapOf(form, 'on') ?? {}, period) };
}

type On<R = Rule> = R extends Rule ? Omit<R, 'every' | 'startOn' | 'endOn'> : never;

/** The days within a period. A day has none, a week has weekdays, a month has one of two kinds. */
function readOn(on: FormMap, period: (typeof PERIODS)[number]): On {
  const weekdays = listOf(on, 'weekdays');
  const daysOfMonth = listOf(on, 'days_of_month');
  const weekdayOfMonth = textOf(on, 'weekday_of_month');
  const given = Object.entries({ weekdays, days_of_month: daysOfMonth, weekday_of_month: weekdayOfMonth })
    .filter(([, value]) => value !== null)
    .map(([name]) => name);
  const unknown = Object.keys(on).find((name) => !['weekdays', 'days_of_month', 'weekday_of_month'].includes(name));
  if (unknown !== undefined) throw refusal(`on[${unknown}] is unknown.`);
  switch (period) {
    case 'day':
      if (given.length > 0) throw refusal('on cannot be set for the period day.');
      return { period };
    case 'week':
      if (weekdays === null || given.length > 1)
        throw refusal('For the period week, on must have weekdays and no other field.');
      return { period, weekdays: distinct(weekdays.map(weekdayOf)) };
    case 'month':
      if (given.length !== 1 || weekdays !== null) {
        throw refusal('For the period month, on must have either days_of_month or weekday_of_month.');
      }
      if (daysOfMonth !== null) return { period, daysOfMonth: distinct(daysOfMonth.map(dayOfMonthOf)) };
      return { period, ...weekdayOfMonthOf(weekdayOfMonth ?? '') };
  }
}

function weekdayOf(value: unknown): (typeof WEEKDAYS)[number] {
  const weekday = WEEKDAYS.find((name) => name === value);
  if (weekday === undefined) throw refusal(`Each on[weekdays][] must be one of ${WEEKDAYS.join(', ')}.`);
  return weekday;
}

function dayOfMonthOf(value: unknown): number {
  if (typeof value !== 'string' || !/^([1-9]|[12]\d|3[01])$/.test(value)) {
    throw refusal('on[days_of_month][] must be from 1 to 31.');
  }
  return Number(value);
}

function weekdayOfMonthOf(text: string): { ordinal: (typeof ORDINALS)[number]; weekday: (typeof WEEKDAYS)[number] } {
  const parts = WEEKDAY_OF_MONTH.exec(text);
  const ordinal = ORDINALS.find((name) => name === parts?.[1]);
  const weekday = WEEKDAYS.find((name) => name === parts?.[2]);
  if (ordinal === undefined || weekday === undefined) {
    throw refusal('on[weekday_of_month] must have a form such as 1st_tuesday, 4th_sunday or last_friday.');
  }
  return { ordinal, weekday };
}

function readWork(form: FormMap, assumptions: Assumptions): NewSchedule['work'] {
  const charge = mapOf(form, 'charge');
  const transfer = mapOf(form, 'transfer');
  if (charge !== null && transfer === null) return readCharge(charge, assumptions);
  if (transfer !== null && charge === null) return readTransfer(transfer, assumptions);
  throw refusal('Exactly one of charge and transfer is required.');
}

function readCharge(form: FormMap, { accountCurrency }: Assumptions): NewSchedule['work'] {
  const money = {
    amount: required(integerOf(form, 'amount'), 'charge[amount]'),
    currency: currencyOf(form, 'currency') ?? ownCurrency(accountCurrency),
  };
  checkLimits(money);
  return {
    kind: 'charge',
    ...money,
    customerId: required(textOf(form, 'customer'), 'charge[customer]'),
    cardId: textOf(form, 'card'),
    description: textOf(form, 'description'),
    metadata: mapOf(form, 'metadata') ?? {},
  };
}

function readTransfer(form: FormMap, { accountCurrency, defaultRecipient }: Assumptions): NewSchedule['work'] {
  const amount = integerOf(form, 'amount');
  const percentage = numberOf(form, 'percentage_of_balance');
  if ((amount === null) === (percentage === null)) {
    throw refusal('Exactly one of transfer[amount] and transfer[percentage_of_balance] is required.');
  }
  if (amount !== null && amount < 1) throw refusal('transfer[amount] must be at least 1.');
  if (percentage !== null && !(percentage > 0 && percentage <= 100)) {
    throw refusal('transfer[percentage_of_balance] must be above 0 and at most 100.');
  }
  return {
    kind: 'transfer',
    currency: currencyOf(form, 'currency') ?? ownCurrency(accountCurrency),
    recipient: textOf(form, 'recipient') ?? defaultRecipient,
    size: amount === null ? { percentage: percentage ?? 0 } : { amount },
  };
}

function ownCurrency(text: string): Currency {
  if (!isCurrency(text)) throw refusal('currency is required.');
  return text;
}

function dateOf(form: FormMap, name: string): Day | null {
  const text = textOf(form, name);
  const day = text === null ? null : parseDay(text);
  if (text !== null && day === null) throw refusal(`${name} must be a date such as 2026-03-10.`);
  return day;
}

function distinct<T>(values: readonly T[]): readonly T[] {
  return [...new Set(values)];
}

function refusal(message: string): ApiError {
  return new ApiError('bad_request', message);
}
