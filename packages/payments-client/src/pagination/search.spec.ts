import { describe, expect, test } from 'vitest';
import { clientOf, provider, refuse, reply } from '../../test/provider.js';
import { CHARGE_SCHEDULE, RECEIPT, searchOf } from '../../test/samples.js';
import { InvalidRequestError, ServerError } from '../errors.js';
import { iterateSearch, type Search, type SearchParams } from './search.js';

interface Row {
  id: string;
}
type Params = SearchParams<object>;

const rows = (from: number, to: number): Row[] =>
  Array.from({ length: to - from }, (_, index) => ({ id: `r${from + index}` }));

const pageOf = (all: Row[], params: Params, size = 30): Search<Row> => {
  const page = params.page ?? 1;
  const total_pages = Math.ceil(all.length / size);
  return { data: all.slice((page - 1) * size, page * size), page, per_page: size, total: all.length, total_pages };
};

/** Reads a whole search; `find` gives each page. */
async function read(find: (params: Params) => Search<Row>, params: Params = {}) {
  const asked: Params[] = [];
  const records = iterateSearch(params, async (given) => {
    asked.push(given);
    return find(given);
  });
  return { records: await records.toArray(), asked };
}

const refusal = (outcome: 'rejected' | 'not_sent'): InvalidRequestError =>
  new InvalidRequestError('invalid_page', { code: 'invalid_page', outcome, retryable: false });

describe('iterateSearch', () => {
  test.each([0, 1, 29, 30, 31, 60, 95])('finds all of %i records, 30 a page', async (size) => {
    const all = rows(0, size);
    const { records, asked } = await read((params) => pageOf(all, params), { query: 'tea', filters: { active: true } });
    expect(records).toEqual(all);
    expect(asked).toEqual(asked.map((_, index) => ({ query: 'tea', filters: { active: true }, page: index + 1 })));
  });

  test('begins at the page that the caller names', async () => {
    const { records } = await read((params) => pageOf(rows(0, 95), params), { page: 3 });
    expect(records).toEqual(rows(60, 95));
  });

  test.each([{ total_pages: 1, total: 30 }, { total_pages: null }, { total_pages: 0, per_page: null }])(
    'reads every record when the totals are too low or missing: %j',
    async (totals) => {
      const all = rows(0, 95);
      expect((await read((params) => ({ ...pageOf(all, params), ...totals }))).records).toEqual(all);
    },
  );

  test('follows another page size', async () => {
    const all = rows(0, 95);
    expect((await read((params) => pageOf(all, params, 7))).records).toEqual(all);
  });

  test('ends when the provider refuses the page after the last', async () => {
    const all = rows(0, 60);
    const { records, asked } = await read((params) => {
      if ((params.page ?? 1) > 2) throw refusal('rejected');
      return pageOf(all, params);
    });
    expect(records).toEqual(all);
    expect(asked).toHaveLength(3);
  });

  test.each([
    [1, refusal('rejected')],
    [2, refusal('rejected')],
    [3, refusal('not_sent')],
    [3, new ServerError('502', { code: 'http_502', outcome: 'unknown', retryable: true, retryAfterMs: undefined })],
  ])('fails on any other failure, here of page %i', async (page, failure) => {
    const reading = read((params) => {
      if (params.page === page) throw failure;
      return pageOf(rows(0, 60), params);
    });
    await expect(reading).rejects.toBe(failure);
  });

  test('fails on a search that ignores the page', async () => {
    let pages = 0;
    const reading = read(() => {
      pages += 1;
      return pageOf(rows(0, 100), { page: 1 });
    });
    await expect(reading).rejects.toMatchObject({ code: 'list_does_not_advance' });
    expect(pages).toBeLessThan(50);
  });
});

describe('a search', () => {
  const queryOf = (url = ''): [string, string][] => [...new URLSearchParams(url.split('?')[1])];

  test('for charge schedules sends every parameter and filter', async () => {
    const fake = await provider(reply(200, searchOf(CHARGE_SCHEDULE)));
    const created = new Date('2025-06-09T03:00:00Z');
    await clientOf(fake).chargeSchedules.search({
      scope: 'charge_schedule',
      query: 'rent & tea',
      filters: { status: 'active', active: true, amount: 150_000, created, card_last_digits: '0042' },
      order: 'reverse_chronological',
      page: 2,
    });
    expect(queryOf(fake.seen[0]?.url)).toEqual([
      ['scope', 'charge_schedule'],
      ['query', 'rent & tea'],
      ['filters[status]', 'active'],
      ['filters[active]', 'true'],
      ['filters[amount]', '150000'],
      ['filters[created]', '2025-06-09T03:00:00.000Z'],
      ['filters[card_last_digits]', '0042'],
      ['order', 'reverse_chronological'],
      ['page', '2'],
    ]);
  });

  test('for receipts asks page by page', async () => {
    const receiptOf = ({ id }: Row) => ({ ...RECEIPT, id });
    const found = rows(0, 45).map(receiptOf);
    const fake = await provider(
      reply(200, { ...searchOf(...found.slice(0, 30)), total_pages: 2 }),
      reply(200, { ...searchOf(...found.slice(30)), total_pages: 2, page: 2 }),
    );
    const search = clientOf(fake).receipts.iterateSearch({ filters: { created: '2025-06-09' } });
    expect(await search.toArray()).toEqual(found);
    const filter = ['filters[created]', '2025-06-09'];
    expect(fake.seen.map(({ url }) => queryOf(url))).toEqual([
      [filter, ['page', '1']],
      [filter, ['page', '2']],
    ]);
  });

  test('for receipts that answers with a bare receipt, as the reference words it, is a page of one', async () => {
    const { receipts } = clientOf(await provider(reply(200, RECEIPT)));
    expect(await receipts.search({ query: 'tea' })).toEqual({ data: [RECEIPT] });
    expect(await receipts.iterateSearch({ query: 'tea' }).toArray()).toEqual([RECEIPT]);
  });

  test('whose filter the provider refuses is rejected', async () => {
    const fake = await provider(refuse(400, 'invalid_filters'));
    const found = clientOf(fake).chargeSchedules.iterateSearch({ filters: { status: 'odd' } });
    await expect(found.toArray()).rejects.toMatchObject({ code: 'invalid_filters', outcome: 'rejected' });
  });
});
