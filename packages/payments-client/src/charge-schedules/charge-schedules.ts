import type { Listing } from '../listing.js';
import type { RequestOptions } from '../options.js';
import { iteratePages, type List, listOf, type ListParams } from '../paging.js';
import { path } from '../path.js';
import { type Schedule, schedule, type ScheduleStatus } from '../schedules/schema.js';
import { iterateSearchPages, type Search, searchOf, type SearchParams } from '../search.js';
import type { Transport } from '../transport.js';

/** Source: API reference, "Schedules". */
export interface ChargeScheduleFilters {
  status?: ScheduleStatus | null | undefined;
  active?: boolean | null | undefined;
  /** Smallest currency unit. */
  amount?: number | null | undefined;
  /** ISO 8601 or a `Date`; the sandbox reads it as that UTC day (assumption). */
  created?: string | Date | null | undefined;
  /** Four digits. */
  card_last_digits?: string | null | undefined;
}

/** `scope` is `charge_schedule` by default. Source: API reference, "Schedules". */
export type ChargeScheduleSearchParams = SearchParams<ChargeScheduleFilters>;

const scheduleList = listOf(schedule);
const scheduleSearch = searchOf(schedule);

/** The schedules that charge. Source: API reference, "Schedules"; that they are schedule records is an assumption. */
export class ChargeSchedules {
  readonly #http: Transport;

  constructor(http: Transport) {
    this.#http = http;
  }

  /** One page of the schedules that charge. */
  list(params?: ListParams, options?: RequestOptions): Promise<List<Schedule>> {
    return this.#http.get(path`/charges/schedules`, params, scheduleList, options);
  }

  /** Every schedule that charges, each once. `options` holds for each page. */
  iterate(params: ListParams = {}, options?: RequestOptions): Listing<Schedule> {
    return iteratePages(params, this.#http, (page, each) => this.list(page, each), options);
  }

  /**
   * One page of the schedules found.
   * @throws {InvalidRequestError} `invalid_scope`, `invalid_filters`, `invalid_page`
   */
  search(params?: ChargeScheduleSearchParams, options?: RequestOptions): Promise<Search<Schedule>> {
    return this.#http.get(path`/charges/schedules/search`, params, scheduleSearch, options);
  }

  /** Every schedule found, each once. `options` holds for each page. */
  iterateSearch(params: ChargeScheduleSearchParams = {}, options?: RequestOptions): Listing<Schedule> {
    return iterateSearchPages(params, (page, each) => this.search(page, each), options);
  }
}
