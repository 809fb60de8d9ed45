import { formatInstant } from '@tillflow/domain';
import type { Page, PageQuery } from '../records/table.js';

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
