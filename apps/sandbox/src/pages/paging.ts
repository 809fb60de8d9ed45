import type { FormMap } from '../http/form.js';
import { integerOf } from '../http/params.js';
import { markup, type Markup } from './markup.js';
import { counted } from './parts.js';

const ROWS_PER_PAGE = 50;

export function offsetOf(query: FormMap): number {
  return Math.max(0, integerOf(query, 'offset') ?? 0);
}

/** One page of the rows that match, newest first, and how many match. */
export function newestOf<T>(
  rows: readonly T[],
  offset: number,
  matches: (row: T) => boolean,
): { readonly rows: readonly T[]; readonly total: number } {
  const found: T[] = [];
  let total = 0;
  for (let i = rows.length - 1; i >= 0; i -= 1) {
    const row = rows[i];
    if (row === undefined || !matches(row)) continue;
    if (total >= offset && found.length < ROWS_PER_PAGE) found.push(row);
    total += 1;
  }
  return { rows: found, total };
}

/** The position in the list, with links to newer and older rows. @param fields of the address, without the offset. */
export function pager(
  path: string,
  fields: Readonly<Record<string, string>>,
  { offset, shown, total, noun }: { offset: number; shown: number; total: number; noun: string },
): Markup {
  const link = (to: number, label: string): Markup => markup`<a href="${addressOf(path, fields, to)}">${label}</a>`;
  const range = shown === 0 || shown === total ? '' : `, ${offset + 1} to ${offset + shown}`;
  return markup`<p class="row quiet"><span>${counted(total, noun)}${range}</span>
${offset > 0 && link(Math.max(0, offset - ROWS_PER_PAGE), 'Newer')}
${offset + shown < total && link(offset + ROWS_PER_PAGE, 'Older')}</p>`;
}

/** An address with the fields that are not empty. */
export function addressOf(path: string, fields: Readonly<Record<string, string>>, offset = 0): string {
  const query = new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== ''));
  if (offset > 0) query.set('offset', String(offset));
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}
