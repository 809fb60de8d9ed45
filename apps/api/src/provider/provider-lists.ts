import { Injectable } from '@nestjs/common';
import type { List, ListParams, RequestOptions, Search } from '@tillflow/payments-client';
import { Cursors } from '../shared/cursors.js';
import type { ListQuery, Page } from './lists.schema.js';
import { ProviderReads } from './provider-reads.js';

/** What the provider gives when nobody says. Source: reference, "Limits". */
const DEFAULT_LIMIT = 20;

/** How far a list was read: the next offset and the upper bound of the first page; or the next page of a search. */
type Place = { readonly at: number; readonly to?: string | undefined };

/**
 * The provider's lists under our cursors. A cursor carries the next offset and the upper bound that was in effect on
 * the first page, so that what is added meanwhile moves nothing; `offset` is for those who know where they want to be.
 */
@Injectable()
export class ProviderLists {
  constructor(
    private readonly reads: ProviderReads,
    private readonly cursors: Cursors,
  ) {}

  /** @param name the list, so that a cursor is of use for no other */
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
    // A total may be stale: a full page is followed by one more, which may turn out empty.
    const isLast = data.length === 0 || (data.length < (inEffect ?? limit) && at >= (total ?? 0));
    const next_cursor = isLast ? null : this.#write({ at, to: place.to ?? to ?? undefined }, list);
    return { data, next_cursor, total: total ?? null };
  }

  /** As {@link page}, of what a search finds; the provider decides how many make a page. */
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

  /** It is signed: what comes back is what we wrote. */
  #read(cursor: string, list: readonly string[]): Place {
    const { token } = this.cursors.read(cursor, list);
    return JSON.parse(Buffer.from(token ?? []).toString('utf8')) as Place;
  }
}
