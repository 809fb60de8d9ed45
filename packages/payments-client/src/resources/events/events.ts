import { z } from 'zod';
import type { RequestOptions } from '../../options.js';
import { iterateList, type List, listOf, type ListParams } from '../../pagination/list.js';
import type { Listing } from '../../pagination/listing.js';
import { readTolerantly, type UnreadableRecord } from '../../reply/records.js';
import { path } from '../../request/path.js';
import { Resource } from '../resource.js';
import { type Event, event, type EventId } from './schema.js';

const eventList = listOf(event);
const anyList = listOf(z.unknown());

/** Events: each records one change of a record. Source: API reference, "Events". */
export class Events extends Resource {
  list(params?: ListParams, options?: RequestOptions): Promise<List<Event>> {
    return this.http.get(path`/events`, params, eventList, options);
  }

  iterate(params: ListParams = {}, options?: RequestOptions): Listing<Event> {
    return iterateList(params, this.http, (page, each) => this.list(page, each), options);
  }

  /**
   * As {@link iterate}, for readers that one unreadable event must not stop. An event that does not have the documented
   * shape comes as an {@link UnreadableRecord} in its place; `iterate` would fail its whole page. A page that is not a
   * list fails here too.
   */
  iterateTolerant(params: ListParams = {}, options?: RequestOptions): Listing<Event | UnreadableRecord> {
    const readPage = async (page: ListParams, each: RequestOptions): Promise<List<Event | UnreadableRecord>> => {
      const list = await this.http.get(path`/events`, page, anyList, each);
      return { ...list, data: list.data.map((json) => readTolerantly(event, json, 'GET /events')) };
    };
    return iterateList(params, this.http, readPage, options);
  }

  retrieve(id: EventId, options?: RequestOptions): Promise<Event> {
    return this.http.get(path`/events/${id}`, undefined, event, options);
  }
}
