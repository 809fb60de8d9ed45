import type { RequestOptions } from '../../options.js';
import { iterateList, type List, listOf, type ListParams } from '../../pagination/list.js';
import type { Listing } from '../../pagination/listing.js';
import { path } from '../../request/path.js';
import { Resource } from '../resource.js';
import { type Schedule, schedule } from './schema.js';

const scheduleList = listOf(schedule);

/** Schedules of transfers. Source: API reference, "Schedules"; that they are schedule records is an assumption. */
export class TransferSchedules extends Resource {
  list(params?: ListParams, options?: RequestOptions): Promise<List<Schedule>> {
    return this.http.get(path`/transfers/schedules`, params, scheduleList, options);
  }

  iterate(params: ListParams = {}, options?: RequestOptions): Listing<Schedule> {
    return iterateList(params, this.http, (page, each) => this.list(page, each), options);
  }
}
