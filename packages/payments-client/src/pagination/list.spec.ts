import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { call, iterate, METHOD_NAMES, METHODS } from '../../test/methods.js';
import { chargeOf, clientOf, type Provider, provider, reply, virtualClock } from '../../test/provider.js';
import { listOf } from '../../test/samples.js';
import type { PaymentsClient } from '../client.js';
import { iterateList, type List, type ListParams } from './list.js';

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

/** Clocks that agree. */
const AT_0 = { now: () => 0, providerAheadMs: () => 0 };

describe('iterate', () => {
  test('pages by 100 with one upper bound, and stops where page and total agree that it is the end', async () => {
    const all = rows(0, 250);
    const { asked, read } = listing((params) => slice(all, params));
    expect(await collect(iterateList({ order: 'chronological' }, AT_0, read))).toEqual(all);
    expect(asked.map(({ limit, offset }) => [limit, offset])).toEqual([
      [100, 0],
      [100, 100],
      [100, 200],
    ]);
    expect(new Set(asked.map(({ to }) => String(to))).size).toBe(1);
    expect(asked[0]).toMatchObject({ to: new Date(0), order: 'chronological' });
  });

  test('a provider whose clock is ahead is read up to its own time, and told so from the first page on', async () => {
    const hour = 3_600_000;
    let known = 0;
    const time = { now: () => 0, providerAheadMs: () => known };
    const { asked, read } = listing((params) => {
      known = hour;
      return slice(Number(params.to) >= hour ? rows(0, 150) : [], params);
    });
    expect(await collect(iterateList({}, time, read))).toEqual(rows(0, 150));
    expect(asked.map(({ to, offset }) => [Number(to), offset])).toEqual([
      [0, 0],
      [hour, 0],
      [hour, 100],
    ]);
    asked.length = 0;
    await collect(iterateList({}, time, read));
    expect(asked.map(({ to }) => Number(to))).toEqual([hour, hour]);
  });

  test("the caller's upper bound is kept", async () => {
    const { asked, read } = listing((params) => slice(rows(0, 101), params));
    await collect(iterateList({ to: '2025-06-09T00:00:00Z', from: '2025-06-08T00:00:00Z' }, AT_0, read));
    expect(asked.every(({ to, from }) => to === '2025-06-09T00:00:00Z' && from === '2025-06-08T00:00:00Z')).toBe(true);
  });

  test('an empty list is one request', async () => {
    const { asked, read } = listing((params) => slice([], params));
    expect(await collect(iterateList({}, AT_0, read))).toEqual([]);
    expect(asked).toHaveLength(1);
  });

  test('a total that is too low ends nothing', async () => {
    const all = rows(0, 230);
    for (const total of [0, 1, 100, 229, null]) {
      const { read } = listing((params) => ({ ...slice(all, params), total }));
      expect(await collect(iterateList({}, AT_0, read))).toEqual(all);
    }
  });

  test('a total that is too high ends too', async () => {
    const all = rows(0, 30);
    const { read } = listing((params) => ({ ...slice(all, params), total: 9_999 }));
    expect(await collect(iterateList({}, AT_0, read))).toEqual(all);
  });

  test('a page size that the provider lowered is followed, whether it says so or not', async () => {
    const all = rows(0, 95);
    for (const says of [true, false]) {
      const { read } = listing((params) => ({ ...slice(all, params, 20), ...(says ? {} : { limit: 100 }) }));
      expect(await collect(iterateList({}, AT_0, read))).toEqual(all);
    }
  });

  test('a lowered page size together with a total of one page ends nothing', async () => {
    const all = rows(0, 95);
    const { read } = listing((params) => ({ ...slice(all, params, 20), total: 20 }));
    expect(await collect(iterateList({}, AT_0, read))).toEqual(all);
  });

  test('a page that only repeats is passed over', async () => {
    const all = rows(0, 150);
    const { read } = listing((params, nth) => {
      const grown = nth > 1 ? [...rows(1_000, 1_100), ...all] : all;
      const page = slice(grown, params);
      return { ...page, data: page.data.filter(({ id }) => !id.startsWith('r10') || id.length < 5) };
    });
    expect(await collect(iterateList({}, AT_0, read))).toEqual(all);
  });

  test('a list that ignores the offset fails instead of being read for ever', async () => {
    const { asked, read } = listing(() => ({ data: rows(0, 100), limit: 100, total: 500 }));
    await expect(collect(iterateList({}, AT_0, read))).rejects.toMatchObject({ code: 'list_does_not_advance' });
    expect(asked.length).toBeLessThan(100);
  });

  test('breaking out sends nothing more', async () => {
    const { asked, read } = listing((params) => slice(rows(0, 500), params));
    for await (const { id } of iterateList({}, AT_0, read)) if (id === 'r99') break;
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
          const ids = (await collect(iterateList({}, AT_0, read))).map(({ id }) => id);
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

  test('iterate finds what a provider made whose clock is ahead, as its replies are dated', async () => {
    const hour = 3_600_000;
    const now = Date.UTC(2025, 5, 9, 12);
    const fake = await provider((response, request) => {
      response.setHeader('date', new Date(now + hour).toUTCString());
      const to = Date.parse(new URLSearchParams(request.url.split('?')[1]).get('to') ?? '');
      reply(200, listOf(...(to >= now + hour ? [chargeOf()] : [])))(response, request);
    });
    const client = clientOf(fake, { clock: virtualClock(now) });
    expect(await client.charges.iterate().toArray()).toHaveLength(1);
    expect(fake.seen).toHaveLength(2);
  });

  test('list without parameters has no query', async () => {
    const fake = await provider(reply(200, listOf()));
    await clientOf(fake).events.list();
    expect(fake.seen[0]?.url).toBe('/events');
  });

  test('one unreadable record fails the page: a list never silently lacks one', async () => {
    const fake = await provider(reply(200, listOf(chargeOf(), chargeOf({ amount: null }))));
    await expect(clientOf(fake).charges.list()).rejects.toMatchObject({ code: 'unexpected_response' });
  });
});

describe.each(METHOD_NAMES.filter((name) => name.includes('.iterate')))('%s', (name) => {
  const isSearch = name.endsWith('Search');
  const perPage = isSearch ? 30 : 100;
  const now = Date.UTC(2025, 5, 9, 12);

  /** 230 records in the order of the list; a new one comes first with each request after the first one. */
  async function growing(): Promise<{ client: PaymentsClient; seen: Provider['seen']; there: string[] }> {
    const { data } = METHODS[name].reply as List<object>;
    const recordOf = (id: string): object => ({ ...data[0], id });
    const there = rows(0, 230).map(({ id }) => id);
    let all = there;
    const fake = await provider((response, request) => {
      const query = new URLSearchParams(request.url.split('?')[1]);
      const offset = isSearch ? (Number(query.get('page')) - 1) * perPage : Number(query.get('offset'));
      const page = all.slice(offset, offset + perPage).map(recordOf);
      const totals = { total: all.length, total_pages: Math.ceil(all.length / perPage) };
      reply(200, { ...listOf(...page), limit: perPage, per_page: perPage, ...totals })(response, request);
      all = [`late${fake.seen.length}`, ...all];
    });
    return { client: clientOf(fake, { clock: virtualClock(now) }), seen: fake.seen, there };
  }

  test('gives every record that was there, each once, in its order', async () => {
    const { client, seen, there } = await growing();
    const given = (await call(client, name)) as Row[];
    expect(given.map(({ id }) => id)).toEqual(there);
    const queries = seen.map(({ url }) => new URLSearchParams(url.split('?')[1]));
    if (isSearch) {
      expect(queries.map((query) => query.get('page'))).toEqual(seen.map((_, index) => String(index + 1)));
    } else {
      expect(queries.map((query) => query.get('limit'))).toEqual(seen.map(() => '100'));
      expect(queries.map((query) => query.get('to'))).toEqual(seen.map(() => '2025-06-09T12:00:00.000Z'));
    }
  });

  test('breaking out sends nothing more', async () => {
    const { client, seen } = await growing();
    for await (const { id } of iterate(client, name)) if (id === `r${perPage - 1}`) break;
    expect(seen).toHaveLength(1);
  });
});
