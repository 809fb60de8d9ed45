import type { RequestOptions } from '../../options.js';
import { iterateList, type List, listOf, type ListParams } from '../../pagination/list.js';
import type { Listing } from '../../pagination/listing.js';
import { path } from '../../request/path.js';
import { Resource } from '../resource.js';
import { compareSchedule } from './comparison.js';
import {
  type Occurrence,
  occurrence,
  type Schedule,
  schedule,
  type ScheduleId,
  type ScheduleOn,
  type SchedulePeriod,
} from './schema.js';

/** Source: assumption "Schedules and occurrences"; the reference shows no fields of `charge`. */
export interface ScheduledChargeParams {
  /** Id of the customer whose card is charged. */
  customer: string;
  /** Smallest unit of `currency`. */
  amount: number;
  /** Three letters, ISO 4217. */
  currency: string;
  /** Id of the card. Default: the customer's default card. */
  card?: string | null | undefined;
  description?: string | null | undefined;
  metadata?: Record<string, unknown> | null | undefined;
}

/**
 * Either `amount` or `percentage_of_balance`. Source: assumption "Schedules and occurrences"; the reference shows no
 * fields of `transfer`.
 */
export interface ScheduledTransferParams {
  /** Id of the recipient. Default: the merchant's own bank account (assumption). */
  recipient?: string | null | undefined;
  /** Smallest unit of `currency`. */
  amount?: number | null | undefined;
  /** Percent, above 0 and at most 100. */
  percentage_of_balance?: number | null | undefined;
  /** Three letters, ISO 4217. Default: the account's. */
  currency?: string | null | undefined;
}

/**
 * Either `charge` or `transfer`. Null is the empty string. Source: API reference, "Schedules"; the shapes and the
 * required fields are assumptions.
 */
export interface ScheduleCreateParams {
  /** 2 means every second period. */
  every: number;
  period: SchedulePeriod;
  /** Required for the periods `week` and `month`. */
  on?: ScheduleOn | null | undefined;
  /** `YYYY-MM-DD`, or a `Date`, whose UTC day is sent. Default: today. */
  start_date?: string | Date | null | undefined;
  /** `YYYY-MM-DD`, or a `Date`, whose UTC day is sent. */
  end_date: string | Date;
  charge?: ScheduledChargeParams | null | undefined;
  transfer?: ScheduledTransferParams | null | undefined;
}

const scheduleList = listOf(schedule);
const occurrenceList = listOf(occurrence);

/** Recurring charges and transfers. Source: API reference, "Schedules"; the shapes are assumptions. */
export class Schedules extends Resource {
  list(params?: ListParams, options?: RequestOptions): Promise<List<Schedule>> {
    return this.http.get(path`/schedules`, params, scheduleList, options);
  }

  iterate(params: ListParams = {}, options?: RequestOptions): Listing<Schedule> {
    return iterateList(params, this.http, (page, each) => this.list(page, each), options);
  }

  /**
   * Creates a schedule, which then moves money regularly. After an unknown outcome, search `list` for it before you
   * create another.
   * @throws {IntegrityError} when the reply differs in rule, days, amount, currency, customer, card, recipient,
   * metadata or mode
   */
  create(params: ScheduleCreateParams, options?: RequestOptions): Promise<Schedule> {
    return this.http.post(path`/schedules`, params, schedule, options, compareSchedule);
  }

  retrieve(id: ScheduleId, options?: RequestOptions): Promise<Schedule> {
    return this.http.get(path`/schedules/${id}`, undefined, schedule, options);
  }

  /** Ends a schedule: it has no further occurrences. */
  destroy(id: ScheduleId, options?: RequestOptions): Promise<Schedule> {
    return this.http.delete(path`/schedules/${id}`, schedule, options);
  }

  listOccurrences(id: ScheduleId, params?: ListParams, options?: RequestOptions): Promise<List<Occurrence>> {
    return this.http.get(path`/schedules/${id}/occurrences`, params, occurrenceList, options);
  }

  iterateOccurrences(id: ScheduleId, params: ListParams = {}, options?: RequestOptions): Listing<Occurrence> {
    return iterateList(params, this.http, (page, each) => this.listOccurrences(id, page, each), options);
  }
}
