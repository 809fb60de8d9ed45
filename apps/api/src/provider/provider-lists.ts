import { Injectable } from '@nestjs/common';
import type { List, ListParams, RequestOptions, Search } from '@tillflow/payments-client';
import { Cursors } from '../shared/cursors.js';
import type { ListQuery, Page } from './lists.schema.js';
import { ProviderReads } from './provider-reads.js';

/** The provider's default page size. Source: reference, "Limits". */
const DEFAULT_LIMIT = 20;

/** A place in a list: the next offset, and the upper bound of the first page. In a search: the next page. */
type Place = { readonly at: number; readonly to?: string | undefined };

/**
 * The provider's lists with Tillflow's cursors. A cursor has the next offset and the upper bound of the first page, so
 * that new records do not shift the pages. A caller can also send an `offset`.
 */
@Injectable()
export class ProviderLists {
  constructor(
    private readonly reads: ProviderReads,
    private readonly cursors: Cursors,
  ) {}

  /** @param name of the list: a cursor is valid only for its own list */
  async page<T>(
    name: string,
    { cursor, offset, limit = DEFAULT_LIMIT, ...filters }: ListQuery,
    ask: (params: ListParams, options: RequestOptions) => Promise<List<T>>,
  ): Promise<Page<T>> {
    const list = [name, JSON.stringify(filters)];
    const place: Place = cursor === undefined ? { at: offset ?? 0, to: filters.to } : this.#read(cursor, list);
    const params = { ...filters, to: place.to, offset: place.at, limit };
    const { data, total, to, limit: inEffect } = await this.reads.read((options) => ask(params, options));
    const at = place.at + data.length;
    // The total may be stale, so one more page follows a full page. It may be empty.
    const isLast = data.length === 0 || (data.length < (inEffect ?? limit) && at >= (total ?? 0));
    const next_cursor = isLast ? null : this.#write({ at, to: place.to ?? to ?? undefined }, list);
    return { data, next_cursor, total: total ?? null };
  }

  /** As {@link page}, for a search. The provider decides the page size. */
  async search<T>(
    name: string,
    cursor: string | undefined,
    filters: object,
    ask: (page: number, options: RequestOptions) => Promise<Search<T>>,
  ): Promise<Page<T>> {
    const list = [name, JSON.stringify(filters)];
    const { at: page } = cursor === undefined ? { at: 1 } : this.#read(cursor, list);
    const { data, total, total_pages: pages } = await this.reads.read((options) => ask(page, options));
    const next_cursor = data.length > 0 && page < (pages ?? 1) ? this.#write({ at: page + 1 }, list) : null;
    return { data, next_cursor, total: total ?? null };
  }

  #write(place: Place, list: readonly string[]): string {
    return this.cursors.write({ search: 0, token: Buffer.from(JSON.stringify(place)) }, list);
  }

  /** The cursor is signed, so its token is one that `#write` made. */
  #read(cursor: string, list: readonly string[]): Place {
    const { token } = this.cursors.read(cursor, list);
    return JSON.parse(Buffer.from(token ?? []).toString('utf8')) as Place;
  }
}
