import type { RequestOptions } from '../../options.js';
import { iterateList, type List, listOf, type ListParams } from '../../pagination/list.js';
import type { Listing } from '../../pagination/listing.js';
import { iterateSearch, type Search, searchOf, type SearchParams } from '../../pagination/search.js';
import { path } from '../../request/path.js';
import { Resource } from '../resource.js';
import { type Schedule, schedule, type ScheduleStatus } from './schema.js';

/** Source: API reference, "Schedules". */
export interface ChargeScheduleFilters {
  status?: ScheduleStatus | null | undefined;
  active?: boolean | null | undefined;
  /** Smallest currency unit. */
  amount?: number | null | undefined;
  /** ISO 8601 or a `Date`. Matches the records of that UTC day (assumption). */
  created?: string | Date | null | undefined;
  /** Four digits. */
  card_last_digits?: string | null | undefined;
}

/** `scope` is `charge_schedule` by default. Source: API reference, "Schedules". */
export type ChargeScheduleSearchParams = SearchParams<ChargeScheduleFilters>;

const scheduleList = listOf(schedule);
const scheduleSearch = searchOf(schedule);

/** Schedules of charges. Source: API reference, "Schedules"; that they are schedule records is an assumption. */
export class ChargeSchedules extends Resource {
  list(params?: ListParams, options?: RequestOptions): Promise<List<Schedule>> {
    return this.http.get(path`/charges/schedules`, params, scheduleList, options);
  }

  iterate(params: ListParams = {}, options?: RequestOptions): Listing<Schedule> {
    return iterateList(params, this.http, (page, each) => this.list(page, each), options);
  }

  /**
   * One page of the schedules found.
   * @throws {InvalidRequestError} `invalid_scope`, `invalid_filters`, `invalid_page`
   */
  search(params?: ChargeScheduleSearchParams, options?: RequestOptions): Promise<Search<Schedule>> {
    return this.http.get(path`/charges/schedules/search`, params, scheduleSearch, options);
  }

  iterateSearch(params: ChargeScheduleSearchParams = {}, options?: RequestOptions): Listing<Schedule> {
    return iterateSearch(params, (page, each) => this.search(page, each), options);
  }
}
