import type { Instant } from '@tillflow/domain';

/** What every stored record has. */
export type Row = { readonly id: string; readonly createdAt: Instant };

/** One page of a list, in the API's own terms; `from` and `to` are inclusive. Source: API reference, "Shared list parameters". */
export type PageQuery = {
  readonly from: Instant;
  readonly to: Instant;
  readonly offset: number;
  readonly limit: number;
  readonly order: 'chronological' | 'reverse_chronological';
};

export type Page<T> = { readonly rows: readonly T[]; readonly total: number };

/** A page of rows that stand in order of creation. Costs the page and two binary searches, whatever the size. */
export function pageOf<T extends Row>(rows: readonly T[], query: PageQuery): Page<T> {
  const first = firstAtOrAfter(rows, query.from);
  const end = firstAtOrAfter(rows, (query.to + 1) as Instant);
  const total = Math.max(0, end - first);
  const size = Math.max(0, Math.min(query.limit, total - query.offset));
  if (query.order === 'chronological') {
    const start = first + query.offset;
    return { rows: rows.slice(start, start + size), total };
  }
  const stop = end - query.offset;
  return { rows: rows.slice(stop - size, stop).toReversed(), total };
}

function firstAtOrAfter(rows: readonly Row[], at: Instant): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const row = rows[middle];
    if (row !== undefined && row.createdAt < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Records by id and in order of creation. Records are immutable: a change is a new record in the old one's place, so
 * whoever holds the old one (an event) keeps what was true then without a copy.
 */
export class Table<T extends Row> {
  readonly #rows: T[] = [];
  readonly #places = new Map<string, number>();

  get rows(): readonly T[] {
    return this.#rows;
  }

  get(id: string): T | undefined {
    const place = this.#places.get(id);
    return place === undefined ? undefined : this.#rows[place];
  }

  /** Adds a record that is not older than the last one, or takes the place of the one with its id. */
  put(row: T): T {
    const place = this.#places.get(row.id) ?? this.#rows.length;
    this.#rows[place] = row;
    this.#places.set(row.id, place);
    return row;
  }

  page(query: PageQuery): Page<T> {
    return pageOf(this.#rows, query);
  }
}
