import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { call, iterate, METHOD_NAMES, METHODS } from '../../test/methods.js';
import { clientOf, type Provider, provider, reply, virtualClock } from '../../test/provider.js';
import type { PaymentsClient } from '../client.js';
import { InvalidRequestError } from '../errors.js';
import { iterateList, type List } from './list.js';
import { Listing } from './listing.js';
import { iterateSearch, type SearchParams } from './search.js';

interface Row {
  id: string;
}
const rows = (from: number, to: number): Row[] =>
  Array.from({ length: to - from }, (_, index) => ({ id: `r${from + index}` }));

/** A listing of 25 records in pages of 10, and how many pages were read. */
function listing(): { all: Listing<Row>; read: () => number } {
  let pages = 0;
  const all = new Listing(async function* inTens() {
    for (let from = 0; from < 25; from += 10) {
      pages += 1;
      yield rows(from, Math.min(from + 10, 25));
    }
  });
  return { all, read: () => pages };
}

describe('toArray', () => {
  test('returns every record, in order', async () => {
    expect(await listing().all.toArray()).toEqual(rows(0, 25));
  });

  test.each([
    [0, 0],
    [1, 1],
    [10, 1],
    [11, 2],
    [20, 2],
    [25, 3],
    [1_000, 3],
  ])('with the limit %i reads no more than %i pages', async (limit, pages) => {
    const { all, read } = listing();
    expect(await all.toArray({ limit })).toEqual(rows(0, Math.min(limit, 25)));
    expect(read()).toBe(pages);
  });

  test.each([-1, 1.5, Number.NaN, Number.NEGATIVE_INFINITY, '3' as unknown as number])(
    'refuses the limit %s and reads nothing',
    async (limit) => {
      const { all, read } = listing();
      const refusal = all.toArray({ limit });
      await expect(refusal).rejects.toBeInstanceOf(InvalidRequestError);
      await expect(refusal).rejects.toMatchObject({ code: 'invalid_parameter', outcome: 'not_sent' });
      expect(read()).toBe(0);
    },
  );
});

describe('for await', () => {
  test('reads nothing before the first record is taken, and no page ahead', async () => {
    const { all, read } = listing();
    expect(read()).toBe(0);
    const seen: string[] = [];
    for await (const { id } of all) {
      seen.push(`${id} of page ${read()}`);
      if (seen.length === 11) break;
    }
    expect([seen[0], seen[9], seen[10]]).toEqual(['r0 of page 1', 'r9 of page 1', 'r10 of page 2']);
    expect(read()).toBe(2);
  });

  test('for await reads the list again from its beginning each time', async () => {
    const { all, read } = listing();
    for await (const { id } of all) if (id === 'r3') break;
    expect(await all.toArray()).toEqual(rows(0, 25));
    expect(read()).toBe(4);
  });

  test('throws the error of a page after the records before it', async () => {
    const all = new Listing(async function* broken() {
      yield rows(0, 2);
      throw new Error('the second page broke');
    });
    const seen: string[] = [];
    const reading = (async () => {
      for await (const { id } of all) seen.push(id);
    })();
    await expect(reading).rejects.toThrow('the second page broke');
    expect(seen).toEqual(['r0', 'r1']);
  });
});

/** Reads all of what `current` returns for each page; the list has pages of `most` records at the most. */
const READERS = {
  list: (current: () => Row[], most: number) =>
    iterateList({}, { now: () => 0, providerAheadMs: () => 0 }, async ({ offset, limit }) => {
      const all = current();
      const size = Math.min(limit ?? 20, most);
      return { data: all.slice(offset ?? 0, (offset ?? 0) + size), limit: size, total: all.length };
    }),
  search: (current: () => Row[]) =>
    iterateSearch<SearchParams<object>, Row>({}, async ({ page }) => {
      const all = current();
      const from = ((page ?? 1) - 1) * 30;
      return { data: all.slice(from, from + 30), per_page: 30, total_pages: Math.ceil(all.length / 30) };
    }),
};

test.each(['list', 'search'] as const)(
  'a %s that grows at either end while it is read misses no record that was there and repeats none',
  async (kind) => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: kind === 'list' ? 450 : 150 }),
        fc.array(fc.integer({ min: 0, max: kind === 'list' ? 130 : 40 }), { maxLength: 6 }),
        fc.boolean(),
        fc.integer({ min: 1, max: 150 }),
        async (size, arrivals, newestFirst, most) => {
          const there = rows(0, size);
          let all = [...there];
          let added = 10_000;
          let pages = 0;
          const grown = (): Row[] => {
            const late = rows(added, (added += arrivals[pages - 1] ?? 0));
            pages += 1;
            all = newestFirst ? [...late.toReversed(), ...all] : [...all, ...late];
            return all;
          };
          const ids = (await READERS[kind](grown, most).toArray()).map(({ id }) => id);
          expect(new Set(ids).size).toBe(ids.length);
          expect(ids).toEqual(expect.arrayContaining(there.map(({ id }) => id)));
        },
      ),
      { numRuns: 200 },
    );
  },
);

describe.each(METHOD_NAMES.filter((name) => name.includes('.iterate')))('%s', (name) => {
  const isSearch = name.endsWith('Search');
  const perPage = isSearch ? 30 : 100;

  /** 230 records in the order of the list; a new one comes first with each request after the first one. */
  async function growing(): Promise<{ client: PaymentsClient; seen: Provider['seen']; there: string[] }> {
    const page = METHODS[name].reply as List<object>;
    const recordOf = (id: string): object => ({ ...page.data[0], id });
    const there = rows(0, 230).map(({ id }) => id);
    let all = there;
    const fake = await provider((response, request) => {
      const query = new URLSearchParams(request.url.split('?')[1]);
      const offset = isSearch ? (Number(query.get('page')) - 1) * perPage : Number(query.get('offset'));
      const data = all.slice(offset, offset + perPage).map(recordOf);
      const totals = { total: all.length, total_pages: Math.ceil(all.length / perPage) };
      reply(200, { ...page, data, limit: perPage, per_page: perPage, ...totals })(response, request);
      all = [`late${fake.seen.length}`, ...all];
    });
    return { client: clientOf(fake, { clock: virtualClock(Date.UTC(2025, 5, 9, 12)) }), seen: fake.seen, there };
  }

  test('returns every record that was there, each once, in its order', async () => {
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

  test('sends nothing more after a break', async () => {
    const { client, seen } = await growing();
    for await (const { id } of iterate(client, name)) if (id === `r${perPage - 1}`) break;
    expect(seen).toHaveLength(1);
  });
});
