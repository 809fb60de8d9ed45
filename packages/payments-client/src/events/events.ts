import { z } from 'zod';
import type { Listing } from '../listing.js';
import type { RequestOptions } from '../options.js';
import { iteratePages, type List, listOf, type ListParams } from '../paging.js';
import { path } from '../path.js';
import type { Transport } from '../transport.js';
import { readTolerantly, type UnreadableRecord } from '../unreadable.js';
import { type Event, event, type EventId } from './schema.js';

const eventList = listOf(event);
const anyList = listOf(z.unknown());

/** Records of what happened. Source: API reference, "Events". */
export class Events {
  readonly #http: Transport;

  constructor(http: Transport) {
    this.#http = http;
  }

  /** One page of events. */
  list(params?: ListParams, options?: RequestOptions): Promise<List<Event>> {
    return this.#http.get(path`/events`, params, eventList, options);
  }

  /** Every event, each once. `options` holds for each page. */
  iterate(params: ListParams = {}, options?: RequestOptions): Listing<Event> {
    return iteratePages(params, this.#http, (page, each) => this.list(page, each), options);
  }

  /**
   * As {@link iterate}, for those whom one event must not stop: what is not of the documented shape comes in its place as
   * an {@link UnreadableRecord}, where otherwise it would fail its page. A page that is no list fails as ever.
   */
  iterateTolerant(params: ListParams = {}, options?: RequestOptions): Listing<Event | UnreadableRecord> {
    const readPage = async (page: ListParams, each: RequestOptions): Promise<List<Event | UnreadableRecord>> => {
      const list = await this.#http.get(path`/events`, page, anyList, each);
      return { ...list, data: list.data.map((json) => readTolerantly(event, json, 'GET /events')) };
    };
    return iteratePages(params, this.#http, readPage, options);
  }

  retrieve(id: EventId, options?: RequestOptions): Promise<Event> {
    return this.#http.get(path`/events/${id}`, undefined, event, options);
  }
}
