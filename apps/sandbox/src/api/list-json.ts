import { formatInstant, instant, type Instant } from '@tillflow/domain';
import type { Assumptions } from '../assumptions.js';
import { pageOf, type Page, type PageQuery, type Row } from '../records/table.js';

/** Settings of the wire form. */
export type Rendering = {
  readonly assumptions: Assumptions;
  readonly livemode: boolean;
  /** Absolute address of this sandbox, without a slash at the end. */
  readonly publicUrl: () => string;
};

/** The list envelope. Source: API reference, "List envelope". */
export function listJson<T, J>(page: Page<T>, query: PageQuery, location: string, render: (row: T) => J) {
  return {
    object: 'list',
    data: page.rows.map(render),
    limit: query.limit,
    offset: query.offset,
    total: page.total,
    location,
    order: query.order,
    from: formatInstant(query.from),
    to: formatInstant(query.to),
  };
}

/** The first rows of a list that is embedded in another record. */
export function embeddedRows<T extends Row>(rows: readonly T[], { assumptions }: Rendering, at: Instant): Page<T> {
  return pageOf(rows, embeddedQuery(assumptions, at));
}

/** An embedded list. @param page its first rows. */
export function embeddedJson<T, J>(
  page: Page<T>,
  location: string,
  { assumptions }: Rendering,
  at: Instant,
  render: (row: T) => J,
) {
  return listJson(page, embeddedQuery(assumptions, at), location, render);
}

function embeddedQuery({ embeddedLimit }: Assumptions, at: Instant): PageQuery {
  return { from: instant(0), to: at, offset: 0, limit: embeddedLimit, order: 'chronological' };
}
