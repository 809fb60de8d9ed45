import type { Listing } from '../listing.js';
import type { RequestOptions } from '../options.js';
import { iteratePages, type List, listOf, type ListParams } from '../paging.js';
import { path } from '../path.js';
import type { Transport } from '../transport.js';
import { type Event, event, type EventId } from './schema.js';

const eventList = listOf(event);

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
    return iteratePages(params, this.#http.now(), (page) => this.list(page, options));
  }

  retrieve(id: EventId, options?: RequestOptions): Promise<Event> {
    return this.#http.get(path`/events/${id}`, undefined, event, options);
  }
}
