import type { Instant } from '@tillflow/domain';

/** The fields of every record. */
export type Row = { readonly id: string; readonly createdAt: Instant };

/** The parameters of one page; `from` and `to` are inclusive. Source: API reference, "Shared list parameters". */
export type PageQuery = {
  readonly from: Instant;
  readonly to: Instant;
  readonly offset: number;
  readonly limit: number;
  readonly order: 'chronological' | 'reverse_chronological';
};

export type Page<T> = { readonly rows: readonly T[]; readonly total: number };

/** A page of rows that are in order of creation. It costs two binary searches, whatever the number of rows. */
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
 * Records by id and in order of creation. Records are immutable: a change replaces the record. So an event can keep the
 * old record without a copy.
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

  /** Replaces the record with the same id, or adds the record, which must not be older than the last one. */
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
