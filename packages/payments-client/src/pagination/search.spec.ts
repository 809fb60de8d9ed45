import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clientOf, provider, refuse, reply } from '../../test/provider.js';
import { CHARGE_SCHEDULE, RECEIPT, searchOf } from '../../test/samples.js';
import { InvalidRequestError, ServerError } from '../errors.js';
import type { Receipt } from '../resources/receipts/schema.js';
import { iterateSearch, type Search, type SearchParams } from './search.js';

interface Row {
  id: string;
}
type Params = SearchParams<object>;

const rows = (from: number, to: number): Row[] =>
  Array.from({ length: to - from }, (_, index) => ({ id: `r${from + index}` }));

const pageOf = (all: Row[], params: Params, size = 30): Search<Row> => {
  const page = params.page ?? 1;
  return {
    data: all.slice((page - 1) * size, page * size),
    page,
    per_page: size,
    total: all.length,
    total_pages: Math.ceil(all.length / size),
  };
};

function searching(find: (params: Params, nth: number) => Search<Row>): {
  asked: Params[];
  read: (params: Params) => Promise<Search<Row>>;
} {
  const asked: Params[] = [];
  return { asked, read: async (params) => find(params, asked.push(params)) };
}

const refusal = (outcome: 'rejected' | 'not_sent'): InvalidRequestError =>
  new InvalidRequestError('invalid_page', { code: 'invalid_page', outcome, retryable: false });

describe('a search that is read to its end', () => {
  test.each([0, 1, 29, 30, 31, 60, 95])('finds all of %i records, 30 a page', async (size) => {
    const all = rows(0, size);
    const { asked, read } = searching((params) => pageOf(all, params));
    expect(await iterateSearch({ query: 'tea', filters: { active: true } }, read).toArray()).toEqual(all);
    expect(asked.map(({ page }) => page)).toEqual(asked.map((_, index) => index + 1));
    expect(asked[0]).toMatchObject({ query: 'tea', filters: { active: true } });
  });

  test('begins at the page that is asked for', async () => {
    const { read } = searching((params) => pageOf(rows(0, 95), params));
    expect(await iterateSearch({ page: 3 }, read).toArray()).toEqual(rows(60, 95));
  });

  test('reads on where the totals are too low, or not told', async () => {
    const all = rows(0, 95);
    for (const told of [{ total_pages: 1, total: 30 }, { total_pages: null }, { total_pages: 0, per_page: null }]) {
      const { read } = searching((params) => ({ ...pageOf(all, params), ...told }));
      expect(await iterateSearch({}, read).toArray()).toEqual(all);
    }
  });

  test('follows another page size', async () => {
    const all = rows(0, 95);
    const { read } = searching((params) => pageOf(all, params, 7));
    expect(await iterateSearch({}, read).toArray()).toEqual(all);
  });

  test('a refusal of the page after the last is its end', async () => {
    const all = rows(0, 60);
    const { asked, read } = searching((params) => {
      if ((params.page ?? 1) > 2) throw refusal('rejected');
      return pageOf(all, params);
    });
    expect(await iterateSearch({}, read).toArray()).toEqual(all);
    expect(asked).toHaveLength(3);
  });

  test.each([
    [1, refusal('rejected')],
    [2, refusal('rejected')],
    [3, refusal('not_sent')],
    [3, new ServerError('502', { code: 'http_502', outcome: 'unknown', retryable: true, retryAfterMs: undefined })],
  ])('any other failure, here of page %i, is one', async (page, failure) => {
    const { read } = searching((params) => {
      if (params.page === page) throw failure;
      return pageOf(rows(0, 60), params);
    });
    await expect(iterateSearch({}, read).toArray()).rejects.toBe(failure);
  });

  test('one that ignores the page fails instead of being read for ever', async () => {
    const { asked, read } = searching(() => pageOf(rows(0, 100), { page: 1 }));
    await expect(iterateSearch({}, read).toArray()).rejects.toMatchObject({ code: 'list_does_not_advance' });
    expect(asked.length).toBeLessThan(50);
  });

  test('breaking out sends nothing more', async () => {
    const { asked, read } = searching((params) => pageOf(rows(0, 95), params));
    for await (const { id } of iterateSearch({}, read)) if (id === 'r29') break;
    expect(asked).toHaveLength(1);
  });

  test('whatever is added while it is read, in either order, nothing that was there is skipped and nothing comes twice', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 150 }),
        fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 6 }),
        fc.boolean(),
        async (size, arrivals, newestFirst) => {
          const there = rows(0, size);
          let all = [...there];
          let added = 0;
          const { read } = searching((params, nth) => {
            const count = arrivals[nth - 2] ?? 0;
            const late = rows(10_000 + added, 10_000 + added + count);
            added += count;
            all = newestFirst ? [...late.toReversed(), ...all] : [...all, ...late];
            return pageOf(all, params);
          });
          const ids = (await iterateSearch({}, read).toArray()).map(({ id }) => id);
          expect(new Set(ids).size).toBe(ids.length);
          expect(ids).toEqual(expect.arrayContaining(there.map(({ id }) => id)));
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('over the wire', () => {
  const queryOf = (url = ''): [string, string][] => [...new URLSearchParams(url.split('?')[1])];

  test('every parameter and filter of a charge schedule', async () => {
    const fake = await provider(reply(200, searchOf(CHARGE_SCHEDULE)));
    await clientOf(fake).chargeSchedules.search({
      scope: 'charge_schedule',
      query: 'rent & tea',
      filters: {
        status: 'active',
        active: true,
        amount: 150_000,
        created: new Date('2025-06-09T03:00:00Z'),
        card_last_digits: '0042',
      },
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

  test('a search for receipts asks page by page', async () => {
    const receiptOf = (id: string): Receipt => ({ ...RECEIPT, id });
    const receipts = rows(0, 45).map(({ id }) => receiptOf(id));
    const fake = await provider(
      reply(200, { ...searchOf(...receipts.slice(0, 30)), total_pages: 2 }),
      reply(200, { ...searchOf(...receipts.slice(30)), total_pages: 2, page: 2 }),
    );
    const found = await clientOf(fake)
      .receipts.iterateSearch({ filters: { created: '2025-06-09' } })
      .toArray();
    expect(found).toEqual(receipts);
    expect(fake.seen.map(({ url }) => queryOf(url))).toEqual([
      [
        ['filters[created]', '2025-06-09'],
        ['page', '1'],
      ],
      [
        ['filters[created]', '2025-06-09'],
        ['page', '2'],
      ],
    ]);
  });

  test('a bare receipt, as the reference words it, is a page of one', async () => {
    const fake = await provider(reply(200, RECEIPT));
    const { receipts } = clientOf(fake);
    expect(await receipts.search({ query: 'tea' })).toEqual({ data: [RECEIPT] });
    expect(await receipts.iterateSearch({ query: 'tea' }).toArray()).toEqual([RECEIPT]);
  });

  test('an order that the provider refuses is a refusal', async () => {
    const fake = await provider(refuse(400, 'invalid_filters'));
    const found = clientOf(fake).chargeSchedules.iterateSearch({ filters: { status: 'odd' } });
    await expect(found.toArray()).rejects.toMatchObject({ code: 'invalid_filters', outcome: 'rejected' });
  });
});
