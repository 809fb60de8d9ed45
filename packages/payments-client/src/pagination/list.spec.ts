import { describe, expect, test } from 'vitest';
import { chargeOf, clientOf, provider, reply, virtualClock } from '../../test/provider.js';
import { listOf } from '../../test/samples.js';
import { iterateList, type List, type ListParams } from './list.js';

interface Row {
  id: string;
}
const rows = (from: number, to: number): Row[] =>
  Array.from({ length: to - from }, (_, index) => ({ id: `r${from + index}` }));

const HOUR = 3_600_000;
const SAME_CLOCKS = { now: () => 0, providerAheadMs: () => 0 };

const pageOf = (all: Row[], params: ListParams, most = 100): List<Row> => {
  const limit = Math.min(params.limit ?? 20, most);
  const offset = params.offset ?? 0;
  return { data: all.slice(offset, offset + limit), limit, offset, total: all.length };
};

/** Reads a whole list; `page` gives each page and may change what comes. */
async function read(
  page: (params: ListParams, nth: number) => List<Row>,
  params: ListParams = {},
  clocks = SAME_CLOCKS,
) {
  const asked: ListParams[] = [];
  const records = iterateList(params, clocks, (given) => Promise.resolve(page(given, asked.push(given))));
  return { records: await records.toArray(), asked };
}

describe('iterateList', () => {
  test('pages by 100 with one upper bound, and stops where page and total agree on the end', async () => {
    const all = rows(0, 250);
    const { records, asked } = await read((params) => pageOf(all, params), { order: 'chronological' });
    expect(records).toEqual(all);
    expect(asked).toEqual(
      [0, 100, 200].map((offset) => ({ limit: 100, offset, to: new Date(0), order: 'chronological' })),
    );
  });

  test("reads up to the provider's time when the provider's clock is ahead", async () => {
    let aheadMs = 0;
    const clocks = { now: () => 0, providerAheadMs: () => aheadMs };
    const page = (params: ListParams): List<Row> => {
      aheadMs = HOUR;
      return pageOf(Number(params.to) >= HOUR ? rows(0, 150) : [], params);
    };
    const first = await read(page, {}, clocks);
    expect(first.records).toEqual(rows(0, 150));
    const bounds = first.asked.map(({ to, offset }) => [Number(to), offset]);
    expect(bounds).toEqual([
      [0, 0],
      [HOUR, 0],
      [HOUR, 100],
    ]);
    const next = await read(page, {}, clocks);
    expect(next.asked.map(({ to }) => Number(to))).toEqual([HOUR, HOUR]);
  });

  test("keeps the caller's bounds", async () => {
    const bounds = { to: '2025-06-09T00:00:00Z', from: '2025-06-08T00:00:00Z' };
    const { asked } = await read((params) => pageOf(rows(0, 101), params), bounds);
    expect(asked).toMatchObject([bounds, bounds]);
  });

  test('reads an empty list with one request', async () => {
    const { records, asked } = await read((params) => pageOf([], params));
    expect([records, asked.length]).toEqual([[], 1]);
  });

  test.each<[pageSize: number, reported: Partial<List<Row>>]>([
    [100, { total: 0 }],
    [100, { total: 1 }],
    [100, { total: 100 }],
    [100, { total: 229 }],
    [100, { total: null }],
    [100, { total: 9_999 }],
    [20, {}],
    [20, { limit: 100 }],
    [20, { total: 20 }],
  ])('reads every record of 230 in pages of %i, though the pages report %j', async (pageSize, reported) => {
    const all = rows(0, 230);
    expect((await read((params) => ({ ...pageOf(all, params, pageSize), ...reported }))).records).toEqual(all);
  });

  test('passes over a page that contains only repeated records', async () => {
    const all = rows(0, 150);
    const { records } = await read((params, nth) => {
      const page = pageOf(nth > 1 ? [...rows(1_000, 1_100), ...all] : all, params);
      return { ...page, data: page.data.filter(({ id }) => !id.startsWith('r10') || id.length < 5) };
    });
    expect(records).toEqual(all);
  });

  test('fails on a list that ignores the offset', async () => {
    let pages = 0;
    const reading = read((_, nth) => {
      pages = nth;
      return { data: rows(0, 100), limit: 100, total: 500 };
    });
    await expect(reading).rejects.toMatchObject({ code: 'list_does_not_advance' });
    expect(pages).toBeLessThan(100);
  });
});

describe('charges', () => {
  test('list sends its parameters as a query and returns the envelope', async () => {
    const fake = await provider(reply(200, { ...listOf(chargeOf()), total: 7, limit: 5 }));
    const page = await clientOf(fake).charges.list({
      from: new Date('2025-06-08T00:00:00Z'),
      to: '2025-06-09T00:00:00Z',
      offset: 10,
      limit: 5,
      order: 'reverse_chronological',
    });
    expect(fake.seen[0]?.url).toBe(
      '/charges?from=2025-06-08T00%3A00%3A00.000Z&to=2025-06-09T00%3A00%3A00Z&offset=10&limit=5&order=reverse_chronological',
    );
    expect(page).toMatchObject({ object: 'list', total: 7, limit: 5, data: [{ id: 'chrg_test_1' }] });
  });

  test('list without parameters has no query', async () => {
    const fake = await provider(reply(200, listOf()));
    await clientOf(fake).charges.list();
    expect(fake.seen[0]?.url).toBe('/charges');
  });

  test('list fails when one record is unreadable: a page never misses a record silently', async () => {
    const fake = await provider(reply(200, listOf(chargeOf(), chargeOf({ amount: null }))));
    await expect(clientOf(fake).charges.list()).rejects.toMatchObject({ code: 'unexpected_response' });
  });

  test("iterate finds a charge of a provider whose clock is ahead, by the replies' dates", async () => {
    const now = Date.UTC(2025, 5, 9, 12);
    const fake = await provider((response, request) => {
      response.setHeader('date', new Date(now + HOUR).toUTCString());
      const to = Date.parse(new URLSearchParams(request.url.split('?')[1]).get('to') ?? '');
      reply(200, listOf(...(to >= now + HOUR ? [chargeOf()] : [])))(response, request);
    });
    const client = clientOf(fake, { clock: virtualClock(now) });
    expect(await client.charges.iterate().toArray()).toHaveLength(1);
    expect(fake.seen).toHaveLength(2);
  });
});
