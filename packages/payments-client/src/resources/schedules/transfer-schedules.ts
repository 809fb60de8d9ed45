import type { Listing } from '../../pagination/listing.js';
import type { RequestOptions } from '../../options.js';
import { iterateList, type List, listOf, type ListParams } from '../../pagination/list.js';
import { path } from '../../request/path.js';
import { type Schedule, schedule } from './schema.js';
import { Resource } from '../resource.js';

const scheduleList = listOf(schedule);

/** Schedules of transfers. Source: API reference, "Schedules"; that they are schedule records is an assumption. */
export class TransferSchedules extends Resource {
  /** One page of the schedules of transfers. */
  list(params?: ListParams, options?: RequestOptions): Promise<List<Schedule>> {
    return this.http.get(path`/transfers/schedules`, params, scheduleList, options);
  }

  /** Every schedule of transfers, each once. `options` apply to each page. */
  iterate(params: ListParams = {}, options?: RequestOptions): Listing<Schedule> {
    return iterateList(params, this.http, (page, each) => this.list(page, each), options);
  }
}
