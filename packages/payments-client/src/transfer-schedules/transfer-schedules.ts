import type { Listing } from '../listing.js';
import type { RequestOptions } from '../options.js';
import { iteratePages, type List, listOf, type ListParams } from '../paging.js';
import { path } from '../path.js';
import { type Schedule, schedule } from '../schedules/schema.js';
import type { Transport } from '../transport.js';

const scheduleList = listOf(schedule);

/** The schedules that transfer. Source: API reference, "Schedules"; that they are schedule records is an assumption. */
export class TransferSchedules {
  readonly #http: Transport;

  constructor(http: Transport) {
    this.#http = http;
  }

  /** One page of the schedules that transfer. */
  list(params?: ListParams, options?: RequestOptions): Promise<List<Schedule>> {
    return this.#http.get(path`/transfers/schedules`, params, scheduleList, options);
  }

  /** Every schedule that transfers, each once. `options` holds for each page. */
  iterate(params: ListParams = {}, options?: RequestOptions): Listing<Schedule> {
    return iteratePages(params, this.#http, (page, each) => this.list(page, each), options);
  }
}
