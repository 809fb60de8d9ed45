import { parseInstant } from '@tillflow/domain';
import { ApiError, type ApiErrorCode } from '../http/api-error.js';
import { dayOf, inWords, parseDay } from '../records/calendar.js';
import type { FormMap, FormValue } from '../http/form.js';
import { choiceOf, mapOf, textOf } from '../http/params.js';
import { SCHEDULE_STATUSES, type ReceiptRecord, type ScheduleRecord } from '../records/records.js';
import type { Records } from '../records/store.js';
import type { Row } from '../records/table.js';

/** Makes the test of a filter value, once per search. @throws {ApiError} when the value is wrong. */
type Filter<T> = (value: string) => (row: T) => boolean;

/** One kind of search: its records, filters and texts. */
type Search<T extends Row> = {
  readonly scope: string;
  readonly rows: readonly T[];
  readonly filters: Readonly<Record<string, Filter<T>>>;
  /** The texts that `query` searches. */
  readonly texts: (row: T) => readonly (string | null)[];
};

const FIRST_PAGES = /^[1-9]\d{0,8}$/;

/** Source: API reference, "Receipts". */
export function receiptSearch(rows: readonly ReceiptRecord[]): Search<ReceiptRecord> {
  return {
    scope: 'receipt',
    rows,
    filters: { created: createdOn },
    texts: ({ id, number, customerName, customerEmail, currency }) => [
      id,
      number,
      customerName,
      customerEmail,
      currency,
    ],
  };
}

/** Source: API reference, "Schedules". */
export function scheduleSearch({ chargeSchedules, customers }: Records): Search<ScheduleRecord> {
  const lastDigits = ({ work }: ScheduleRecord): string | undefined => {
    if (work.kind === 'transfer') return undefined;
    const { cards, defaultCardId } = customers.get(work.customerId) ?? { cards: [], defaultCardId: null };
    return cards.find(({ id }) => id === (work.cardId ?? defaultCardId))?.lastDigits;
  };
  return {
    scope: 'charge_schedule',
    rows: chargeSchedules.rows,
    filters: {
      status: (value) => {
        const status = SCHEDULE_STATUSES.find((name) => name === value);
        if (status === undefined) throw wrongFilter('status', `one of ${SCHEDULE_STATUSES.join(', ')}`);
        return (schedule) => schedule.status === status;
      },
      active: (value) => {
        if (value !== 'true' && value !== 'false') throw wrongFilter('active', 'true or false');
        return ({ endedAt }) => (endedAt === null) === (value === 'true');
      },
      amount: (value) => {
        if (!/^\d{1,15}$/.test(value)) throw wrongFilter('amount', 'a whole number');
        return ({ work }) => work.kind === 'charge' && work.amount === Number(value);
      },
      created: createdOn,
      card_last_digits: (value) => (schedule) => lastDigits(schedule) === value,
    },
    texts: ({ id, work, rule }) => [
      id,
      work.id,
      inWords(rule),
      ...(work.kind === 'charge' ? [work.customerId, work.cardId, work.description] : []),
    ],
  };
}

/**
 * The search envelope. `query` finds records that contain each of its words, in any case. Source: assumption, "Search
 * result"; the searched texts are an assumption too.
 */
export function searchJson<T extends Row, J>(
  { scope, rows, filters, texts }: Search<T>,
  params: FormMap,
  location: string,
  pageSize: number,
  render: (row: T) => J,
) {
  if ((readText(params, 'scope', 'invalid_scope') ?? scope) !== scope) {
    throw new ApiError('invalid_scope', `scope must be ${scope}.`);
  }
  const page = readPage(params);
  const order = choiceOf(params, 'order', ['chronological', 'reverse_chronological']) ?? 'chronological';
  const query = textOf(params, 'query') ?? '';
  const given = readFilters(params);
  const passes = Object.entries(given).map(([name, value]) => {
    const filter = Object.hasOwn(filters, name) ? filters[name] : undefined;
    if (filter === undefined) {
      throw new ApiError('invalid_filters', `filters[${name}] is not one of ${Object.keys(filters).join(', ')}.`);
    }
    return filter(value);
  });
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = rows.filter((row) => {
    if (!passes.every((pass) => pass(row))) return false;
    if (words.length === 0) return true;
    const text = texts(row).join('\n').toLowerCase();
    return words.every((word) => text.includes(word));
  });
  if (order === 'reverse_chronological') found.reverse();
  return {
    object: 'search',
    scope,
    query,
    filters: given,
    order,
    page,
    per_page: pageSize,
    total: found.length,
    total_pages: Math.ceil(found.length / pageSize),
    location,
    data: found.slice((page - 1) * pageSize, page * pageSize).map(render),
  };
}

function readPage(params: FormMap): number {
  const text = readText(params, 'page', 'invalid_page') ?? '1';
  if (!FIRST_PAGES.test(text)) throw new ApiError('invalid_page', 'page must be a whole number of at least 1.');
  return Number(text);
}

/** An empty filter counts as left out. */
function readFilters(params: FormMap): Readonly<Record<string, string>> {
  const given = withCode('invalid_filters', () => mapOf(params, 'filters')) ?? {};
  const isSet = (entry: [string, FormValue]): entry is [string, string] => {
    const [name, value] = entry;
    if (typeof value !== 'string') throw wrongFilter(name, 'a text');
    return value !== '';
  };
  return Object.fromEntries(Object.entries(given).filter(isSet));
}

function readText(params: FormMap, name: string, code: ApiErrorCode): string | null {
  return withCode(code, () => textOf(params, name));
}

/** Changes the code of a refusal to the one of the parameter. */
function withCode<T>(code: ApiErrorCode, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof ApiError ? new ApiError(code, error.message) : error;
  }
}

/**
 * The day (UTC) of a date-time or date. Source: API reference, "filters[created]"; the precision of a day is an
 * assumption.
 */
function createdOn(value: string): (row: Row) => boolean {
  const day = parseDay(value) ?? dayOfInstant(value);
  return ({ createdAt }) => dayOf(createdAt) === day;
}

function dayOfInstant(text: string) {
  try {
    return dayOf(parseInstant(text));
  } catch {
    throw wrongFilter('created', 'an ISO 8601 date-time with a zone');
  }
}

function wrongFilter(name: string, expected: string): ApiError {
  return new ApiError('invalid_filters', `filters[${name}] must be ${expected}.`);
}
