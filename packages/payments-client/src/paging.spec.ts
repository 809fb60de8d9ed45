import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chargeOf, clientOf, eventOf, listOf, provider, refundOf, reply, virtualClock } from '../test/provider.js';
import { iteratePages, type List, type ListParams } from './paging.js';

interface Row {
  id: string;
}
const rows = (from: number, to: number): Row[] =>
  Array.from({ length: to - from }, (_, index) => ({ id: `r${from + index}` }));

async function collect<T>(records: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const record of records) all.push(record);
  return all;
}

/** A list kept by a provider; `page` may change it while it is read. */
function listing(page: (params: ListParams, nth: number) => List<Row>): {
  asked: ListParams[];
  read: (params: ListParams) => Promise<List<Row>>;
} {
  const asked: ListParams[] = [];
  return { asked, read: (params) => Promise.resolve(page(params, asked.push(params))) };
}

const slice = (all: Row[], params: ListParams, most = 100): List<Row> => {
  const limit = Math.min(params.limit ?? 20, most);
  const offset = params.offset ?? 0;
  return { data: all.slice(offset, offset + limit), limit, offset, total: all.length };
};

describe('iterate', () => {
  test('pages by 100 with one upper bound, and stops where page and total agree that it is the end', async () => {
    const all = rows(0, 250);
    const { asked, read } = listing((params) => slice(all, params));
    expect(await collect(iteratePages({ order: 'chronological' }, 0, read))).toEqual(all);
    expect(asked.map(({ limit, offset }) => [limit, offset])).toEqual([
      [100, 0],
      [100, 100],
      [100, 200],
    ]);
    expect(new Set(asked.map(({ to }) => String(to))).size).toBe(1);
    expect(asked[0]).toMatchObject({ to: new Date(0), order: 'chronological' });
  });

  test("the caller's upper bound is kept", async () => {
    const { asked, read } = listing((params) => slice(rows(0, 101), params));
    await collect(iteratePages({ to: '2025-06-09T00:00:00Z', from: '2025-06-08T00:00:00Z' }, 0, read));
    expect(asked.every(({ to, from }) => to === '2025-06-09T00:00:00Z' && from === '2025-06-08T00:00:00Z')).toBe(true);
  });

  test('an empty list is one request', async () => {
    const { asked, read } = listing((params) => slice([], params));
    expect(await collect(iteratePages({}, 0, read))).toEqual([]);
    expect(asked).toHaveLength(1);
  });

  test('a total that is too low ends nothing', async () => {
    const all = rows(0, 230);
    for (const total of [0, 1, 100, 229, null]) {
      const { read } = listing((params) => ({ ...slice(all, params), total }));
      expect(await collect(iteratePages({}, 0, read))).toEqual(all);
    }
  });

  test('a total that is too high ends too', async () => {
    const all = rows(0, 30);
    const { read } = listing((params) => ({ ...slice(all, params), total: 9_999 }));
    expect(await collect(iteratePages({}, 0, read))).toEqual(all);
  });

  test('a page size that the provider lowered is followed, whether it says so or not', async () => {
    const all = rows(0, 95);
    for (const says of [true, false]) {
      const { read } = listing((params) => ({ ...slice(all, params, 20), ...(says ? {} : { limit: 100 }) }));
      expect(await collect(iteratePages({}, 0, read))).toEqual(all);
    }
  });

  test('a lowered page size together with a total of one page ends nothing', async () => {
    const all = rows(0, 95);
    const { read } = listing((params) => ({ ...slice(all, params, 20), total: 20 }));
    expect(await collect(iteratePages({}, 0, read))).toEqual(all);
  });

  test('a page that only repeats is passed over', async () => {
    const all = rows(0, 150);
    const { read } = listing((params, nth) => {
      const grown = nth > 1 ? [...rows(1_000, 1_100), ...all] : all;
      const page = slice(grown, params);
      return { ...page, data: page.data.filter(({ id }) => !id.startsWith('r10') || id.length < 5) };
    });
    expect(await collect(iteratePages({}, 0, read))).toEqual(all);
  });

  test('a list that ignores the offset fails instead of being read for ever', async () => {
    const { asked, read } = listing(() => ({ data: rows(0, 100), limit: 100, total: 500 }));
    await expect(collect(iteratePages({}, 0, read))).rejects.toMatchObject({ code: 'list_does_not_advance' });
    expect(asked.length).toBeLessThan(100);
  });

  test('breaking out sends nothing more', async () => {
    const { asked, read } = listing((params) => slice(rows(0, 500), params));
    for await (const { id } of iteratePages({}, 0, read)) if (id === 'r99') break;
    expect(asked).toHaveLength(1);
  });

  test('whatever is added while it is read, in either order, nothing that was there is skipped and nothing comes twice', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 450 }),
        fc.array(fc.integer({ min: 0, max: 130 }), { maxLength: 6 }),
        fc.boolean(),
        fc.integer({ min: 1, max: 150 }),
        async (size, arrivals, newestFirst, most) => {
          const there = rows(0, size);
          let all = [...there];
          let added = 0;
          const { read } = listing((params, nth) => {
            const count = arrivals[nth - 2] ?? 0;
            const late = rows(10_000 + added, 10_000 + added + count);
            added += count;
            all = newestFirst ? [...late.toReversed(), ...all] : [...all, ...late];
            return slice(all, params, most);
          });
          const ids = (await collect(iteratePages({}, 0, read))).map(({ id }) => id);
          expect(new Set(ids).size).toBe(ids.length);
          expect(ids).toEqual(expect.arrayContaining(there.map(({ id }) => id)));
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('over the wire', () => {
  test('list sends its parameters as a query and gives the envelope back', async () => {
    const fake = await provider(reply(200, listOf([chargeOf()], { total: 7, limit: 5 })));
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
    const fake = await provider(reply(200, listOf([])));
    await clientOf(fake).events.list();
    expect(fake.seen[0]?.url).toBe('/events');
  });

  test('every iterate pins `to` to the clock of the client when it is called', async () => {
    const now = Date.UTC(2025, 5, 9, 12);
    const fake = await provider((response, request) => {
      const record = request.url.startsWith('/events') ? eventOf() : refundOf();
      const first = request.url.startsWith('/charges?') ? chargeOf() : record;
      const offset = Number(new URLSearchParams(request.url.split('?')[1]).get('offset'));
      reply(200, listOf(offset === 0 ? [first] : [], { total: 1 }))(response, request);
    });
    const client = clientOf(fake, { clock: virtualClock(now) });
    expect(await collect(client.charges.iterate())).toHaveLength(1);
    expect(await collect(client.charges.iterateRefunds('chrg_test_1'))).toHaveLength(1);
    expect(await collect(client.events.iterate({ offset: 3 }))).toHaveLength(0);
    expect(fake.seen.map(({ url }) => url.split('?')[0])).toEqual([
      '/charges',
      '/charges/chrg_test_1/refunds',
      '/events',
    ]);
    for (const { url } of fake.seen) {
      expect(url).toContain('limit=100');
      expect(new URLSearchParams(url.split('?')[1]).get('to')).toBe('2025-06-09T12:00:00.000Z');
    }
  });

  test('one unreadable record fails the page: a list never silently lacks one', async () => {
    const fake = await provider(reply(200, listOf([chargeOf(), chargeOf({ amount: null })])));
    await expect(clientOf(fake).charges.list()).rejects.toMatchObject({ code: 'unexpected_response' });
  });
});
