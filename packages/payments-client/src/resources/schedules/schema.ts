import { z } from 'zod';
import type { List } from '../../pagination/list.js';
import type { RecordFields } from '../resource.js';

/** Prefix `schd_`. */
export type ScheduleId = string;

/** Prefix `occu_`. */
export type OccurrenceId = string;

export type SchedulePeriod = 'day' | 'week' | 'month' | (string & {});

/** A value that is not listed survives as it came. */
export type ScheduleStatus = 'running' | 'active' | 'expiring' | 'expired' | 'deleted' | 'suspended' | (string & {});

/** The days of a period: `weekdays` for a week, one of the other two for a month, none for a day. */
export interface ScheduleOn {
  /** `monday` … `sunday`. */
  weekdays?: readonly string[] | null | undefined;
  /** 1 to 31. */
  days_of_month?: readonly number[] | null | undefined;
  /** `1st_tuesday` … `last_friday`. */
  weekday_of_month?: string | null | undefined;
}

/** The charge that a schedule makes each time. */
export interface ScheduledCharge {
  /** `charge_schedule`. */
  object?: string | null | undefined;
  /** Prefix `rchg_`. */
  id?: string | null | undefined;
  /** Smallest unit of `currency`. */
  amount?: number | null | undefined;
  /** Three letters, ISO 4217. */
  currency?: string | null | undefined;
  /** Id of the card; null when the customer's default card is charged. */
  card?: string | null | undefined;
  /** Id of the customer. */
  customer?: string | null | undefined;
  /** True when it charges the card that is the customer's default card on the day. */
  default_card?: boolean | null | undefined;
  description?: string | null | undefined;
  metadata?: Record<string, unknown> | null | undefined;
}

/** The transfer that a schedule makes each time: either an amount or a share of the balance. */
export interface ScheduledTransfer {
  /** `transfer_schedule`. */
  object?: string | null | undefined;
  /** Prefix `rtrf_`. */
  id?: string | null | undefined;
  /** Id of the recipient. */
  recipient?: string | null | undefined;
  /** Smallest unit of `currency`. */
  amount?: number | null | undefined;
  /** Percent, above 0 and at most 100. */
  percentage_of_balance?: number | null | undefined;
  /** Three letters, ISO 4217. */
  currency?: string | null | undefined;
}

/** A value that is not listed survives as it came. */
export type OccurrenceStatus = 'scheduled' | 'successful' | 'failed' | 'skipped' | (string & {});

/**
 * One day on which a schedule is due. Source: assumption "Schedules and occurrences"; the reference shows none of its
 * fields.
 */
export interface Occurrence extends RecordFields {
  object: 'occurrence';
  id: OccurrenceId;
  status: OccurrenceStatus;
  /** Id of the schedule. */
  schedule?: string | null | undefined;
  /** ISO 8601 date without time. */
  scheduled_on?: string | null | undefined;
  /** The day of the next try after a failure. ISO 8601 date without time. */
  retry_on?: string | null | undefined;
  /** ISO 8601, UTC; null until the provider has tried it. */
  processed_at?: string | null | undefined;
  /** Why it failed. */
  message?: string | null | undefined;
  /** Id of the charge or transfer that was made. */
  result?: string | null | undefined;
}

/**
 * Recurring charges or transfers. The client checks the fields in the `schedule` schema below; the rest is passed on as
 * it came. Source: assumption "Schedules and occurrences"; the reference shows none of its fields.
 */
export interface Schedule extends RecordFields {
  object: 'schedule';
  id: ScheduleId;
  status?: ScheduleStatus | null | undefined;
  /** False once it is expired, suspended or deleted. */
  active?: boolean | null | undefined;
  deleted?: boolean | null | undefined;
  /** 2 means every second period. */
  every?: number | null | undefined;
  period?: SchedulePeriod | null | undefined;
  on?: ScheduleOn | null | undefined;
  /** The rule in English. */
  in_words?: string | null | undefined;
  /** First day. ISO 8601 date without time. */
  start_on?: string | null | undefined;
  /** Last day. ISO 8601 date without time. */
  end_on?: string | null | undefined;
  /** Null or left out when it transfers. */
  charge?: ScheduledCharge | null | undefined;
  /** Null or left out when it charges. */
  transfer?: ScheduledTransfer | null | undefined;
  /** The first 20; `listOccurrences` has all. */
  occurrences?: List<Occurrence> | null | undefined;
  /** At most 30 days to come. ISO 8601 dates without time. */
  next_occurrences_on?: string[] | null | undefined;
  /** ISO 8601, UTC; null while it runs. */
  ended_at?: string | null | undefined;
}

export const occurrence: z.ZodType<Occurrence> = z.object({
  object: z.literal('occurrence'),
  id: z.string(),
  status: z.string(),
  schedule: z.string().nullish(),
  scheduled_on: z.string().nullish(),
  result: z.string().nullish(),
});

export const schedule: z.ZodType<Schedule> = z.object({
  object: z.literal('schedule'),
  id: z.string(),
  status: z.string().nullish(),
  active: z.boolean().nullish(),
  every: z.int().nullish(),
  period: z.string().nullish(),
  on: z
    .object({
      weekdays: z.array(z.string()).nullish(),
      days_of_month: z.array(z.int()).nullish(),
      weekday_of_month: z.string().nullish(),
    })
    .nullish(),
  start_on: z.string().nullish(),
  end_on: z.string().nullish(),
  livemode: z.boolean().nullish(),
  charge: z
    .object({
      amount: z.int().nullish(),
      currency: z.string().nullish(),
      card: z.string().nullish(),
      customer: z.string().nullish(),
    })
    .nullish(),
  transfer: z
    .object({
      amount: z.int().nullish(),
      currency: z.string().nullish(),
      percentage_of_balance: z.number().nullish(),
      recipient: z.string().nullish(),
    })
    .nullish(),
});
