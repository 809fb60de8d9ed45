import { z } from 'zod';
import { metadataFields, text } from '../checkouts/fields.js';
import * as examples from '../openapi/resource-examples.js';
import { asList, listFields, pageOf, providerId } from '../provider/lists.schema.js';

const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
const WEEKDAY_OF_MONTH = new RegExp(`^(1st|2nd|3rd|4th|last)_(${WEEKDAYS.join('|')})$`);

/** The greatest `every` for each period. Source: assumption, "Schedules and occurrences". */
const MAX_EVERY = { day: 365, week: 52, month: 12 } as const;

/** Names in the metadata of what a plan charges that are ours: the first three would make it a checkout's charge. */
const OUR_METADATA = ['checkout', 'attempt', 'refund_key', 'plan'] as const;

const currency = z.string().regex(/^[A-Z]{3}$/, 'must be three capital letters');
const amount = z.int().positive().meta({ description: 'Smallest currency unit', example: 50_000 });

const on = z
  .strictObject({
    weekdays: z.array(z.enum(WEEKDAYS)).min(1).max(7).optional(),
    days_of_month: z.array(z.int().min(1).max(31)).min(1).max(31).optional(),
    weekday_of_month: z
      .string()
      .regex(WEEKDAY_OF_MONTH, 'must be such as 1st_tuesday, 4th_sunday or last_friday')
      .optional(),
  })
  .meta({ description: '`weekdays` for a week, one of the other two for a month, none for a day' });

const charge = z.strictObject({
  customer: providerId.meta({ description: 'Whose card is charged' }),
  card: providerId.optional().meta({ description: `The customer's default card when left out` }),
  amount,
  currency,
  description: text(255).optional(),
  metadata: metadataFields(OUR_METADATA).optional(),
});

const transfer = z
  .strictObject({
    recipient: providerId.optional().meta({ description: `The merchant's own bank account when left out` }),
    amount: amount.optional(),
    percentage_of_balance: z.number().gt(0).max(100).multipleOf(0.0001).optional(),
    currency: currency.optional(),
  })
  .refine((given) => (given.amount === undefined) !== (given.percentage_of_balance === undefined), {
    error: 'needs amount or percentage_of_balance, one of them',
  });

type On = z.output<typeof on>;
type Rule = { readonly every: number; readonly period: keyof typeof MAX_EVERY; readonly on?: On | undefined };

/** Whether the days are those of the period. */
function fitsPeriod({ period, on: days = {} }: Rule): boolean {
  const given = Object.keys(days).join();
  switch (period) {
    case 'day':
      return given === '';
    case 'week':
      return given === 'weekdays';
    case 'month':
      return given === 'days_of_month' || given === 'weekday_of_month';
  }
}

export const createPlan = z
  .strictObject({
    every: z.int().min(1).max(MAX_EVERY.day).meta({ description: 'Runs in every n-th period' }),
    period: z.enum(['day', 'week', 'month']),
    on: on.optional(),
    start_date: z.iso.date().optional().meta({ description: 'Today when left out' }),
    end_date: z.iso.date(),
    charge: charge.optional(),
    transfer: transfer.optional(),
  })
  .refine(({ every, period }) => every <= MAX_EVERY[period], {
    error: 'at most 365 days, 52 weeks or 12 months',
    path: ['every'],
  })
  .refine(fitsPeriod, { error: 'names the days of another period, or none', path: ['on'] })
  .refine(({ start_date: start, end_date: end }) => start === undefined || start <= end, {
    error: 'must not be before start_date',
    path: ['end_date'],
  })
  .refine((plan) => (plan.charge === undefined) !== (plan.transfer === undefined), {
    error: 'needs charge or transfer, one of them',
    path: ['charge'],
  })
  .meta({ id: 'CreateRecurringPlan', example: examples.planRequest });
export type CreatePlan = z.output<typeof createPlan>;

export const planPath = z.object({ id: providerId });
export type PlanPath = z.output<typeof planPath>;

/** What the provider searches plans of charges by; it has no search for transfers. */
const SEARCHED = ['query', 'status', 'active', 'amount', 'created', 'card_last_digits'] as const;

export const listPlans = asList(
  z.strictObject({
    ...listFields,
    kind: z.enum(['charge', 'transfer']).optional().meta({ description: 'Both when left out' }),
    query: text(200).min(1).optional().meta({ description: 'Words to look for' }),
    status: z.enum(['running', 'active', 'expiring', 'expired', 'deleted', 'suspended']).optional(),
    active: z.enum(['true', 'false']).optional(),
    amount: z
      .string()
      .regex(/^[1-9]\d{0,11}$/, 'must be a whole number')
      .optional()
      .meta({ description: 'Smallest currency unit' }),
    created: z.iso.date().optional().meta({ description: 'The day (UTC)' }),
    card_last_digits: z
      .string()
      .regex(/^\d{4}$/, 'must be four digits')
      .optional(),
  }),
)
  .refine((given) => given.kind !== 'transfer' || SEARCHED.every((name) => given[name] === undefined), {
    error: 'transfer cannot be searched: the provider searches plans of charges only',
    path: ['kind'],
  })
  .refine((given) => !isSearch(given) || NOT_SEARCHED.every((name) => given[name] === undefined), {
    error: 'from, to, offset and limit are not for a search',
    path: ['limit'],
  })
  .meta({ id: 'ListRecurringPlans' });
export type ListPlans = z.output<typeof listPlans>;

const NOT_SEARCHED = ['from', 'to', 'offset', 'limit'] as const;

/** Whether the provider's search answers it, rather than its list. */
export function isSearch(given: { readonly [name in (typeof SEARCHED)[number]]?: unknown }): boolean {
  return SEARCHED.some((name) => given[name] !== undefined);
}

const occurrence = z
  .looseObject({
    id: z.string(),
    status: z.string().meta({ description: 'scheduled, successful, failed, skipped; or what the provider adds' }),
    scheduled_on: z.string().nullish(),
    retry_on: z.string().nullish(),
    processed_at: z.string().nullish(),
    message: z.string().nullish().meta({ description: 'Why it failed' }),
    result: z.string().nullish().meta({ description: 'The charge or transfer that it made' }),
  })
  .meta({ id: 'Occurrence' });

const scheduleFields = {
  every: z.int().nullish(),
  period: z.string().nullish(),
  on: z.looseObject({}).nullish(),
  start_on: z.string().nullish(),
  end_on: z.string().nullish(),
  charge: z.looseObject({}).nullish(),
  transfer: z.looseObject({}).nullish(),
};

/** The provider's schedule. Fields that are not named here are passed on. */
export const planReply = z
  .looseObject({
    id: z.string(),
    status: z
      .string()
      .nullish()
      .meta({ description: 'running, active, expiring, expired, deleted, suspended; or what the provider adds' }),
    active: z.boolean().nullish(),
    ...scheduleFields,
    next_occurrences_on: z.array(z.string()).nullish(),
    occurrences: z
      .looseObject({ data: z.array(occurrence) })
      .nullish()
      .meta({ description: 'The newest 100 of one plan, the newest first; in a list, what the provider shows there' }),
    created_at: z.string().nullish(),
  })
  .meta({ id: 'RecurringPlan' });
export type PlanReply = z.output<typeof planReply>;

export const pendingPlan = z
  .looseObject({
    id: z.string().nullable().meta({ description: 'Null while nobody knows whether there is one' }),
    status: z.literal('pending'),
    detail: z.string(),
  })
  .meta({ id: 'PendingRecurringPlan' });
export type PendingPlan = z.output<typeof pendingPlan>;

export const plansReply = pageOf(planReply, 'RecurringPlans');
export const occurrencesReply = pageOf(occurrence, 'Occurrences');
