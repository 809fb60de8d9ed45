import { ENDPOINTS, type Endpoint, type Input } from './endpoints.js';
import { pathOf } from './endpoint-rows.js';
import type { JsonObject } from './kinds.js';
import { NotShown, type Form } from './provider.js';
import { expect, expectRefusal, type Row } from './row.js';
import { idIn, recordsIn, type Samples, timeIn } from './samples.js';

/** Source: API reference, "Shared list parameters", "List envelope"; assumptions, "order", "limit". */
export const LIST_ROWS: readonly Row[] = ENDPOINTS.filter(({ list }) => list === true).flatMap(listRows);

/** Source: API reference, "Shared search parameters"; assumption, "Search result". */
export const SEARCH_ROWS: readonly Row[] = ENDPOINTS.flatMap((endpoint) =>
  endpoint.search === undefined ? [] : searchRows(endpoint, endpoint.search),
);

type Ask = (query?: Form) => Promise<JsonObject>;

function listRows(endpoint: Endpoint): Row[] {
  const title = endpoint.path;
  const row = (fact: string, shows: (ask: Ask, samples: Samples) => Promise<void>): Row => ({
    fact: `${title} ${fact}`,
    shows: async (samples) => {
      const path = await pathOf(endpoint, samples);
      await shows(async (query = {}) => await samples.provider.record('GET', path, { query }), samples);
    },
  });
  const refused = (query: Form): Row => {
    const [[name, value] = ['', '']] = Object.entries(query);
    return {
      fact: `${title}?${name}=${value} is 400`,
      shows: async (samples) => {
        expectRefusal(await samples.provider.call('GET', await pathOf(endpoint, samples), { query }), 400, null);
      },
    };
  };
  const ids = (list: JsonObject): string[] => recordsIn(list).map(idIn);
  const created = (list: JsonObject): number[] => recordsIn(list).map((record) => timeIn(record, 'created_at'));

  return [
    row('starts at 1970-01-01T00:00Z by default', async (ask) => expect(timeIn(await ask(), 'from')).toBe(0)),
    row('starts at offset 0 by default', async (ask) => expect((await ask())['offset']).toBe(0)),
    row('has 20 records by default', async (ask) => {
      const list = await ask();
      expect(list['limit']).toBe(20);
      expect(recordsIn(list).length).toBe(Math.min(20, Number(list['total'])));
    }),
    row('is chronological by default', async (ask) => {
      const list = await ask();
      expect(list['order']).toBe('chronological');
      expect(created(list)).toEqual(created(list).toSorted((a, b) => a - b));
    }),
    row('has its own path as location', async (ask, samples) =>
      expect((await ask())['location']).toBe(await pathOf(endpoint, samples)),
    ),
    row('has at most `limit` records and repeats the limit', async (ask) => {
      const list = await ask({ limit: 1 });
      expect(list['limit']).toBe(1);
      expect(recordsIn(list).length).toBe(Math.min(1, Number(list['total'])));
    }),
    row('accepts a limit of 100', async (ask) => expect((await ask({ limit: 100 }))['limit']).toBe(100)),
    row('lowers a limit above 100 to 100', async (ask) => expect((await ask({ limit: 101 }))['limit']).toBe(100)),
    row('starts at `offset` and keeps the total', async (ask) => {
      const all = await ask({ limit: 3 });
      const rest = await ask({ limit: 2, offset: 1 });
      expect(rest['offset']).toBe(1);
      expect(rest['total']).toBe(all['total']);
      expect(ids(rest)).toEqual(ids(all).slice(1));
    }),
    row('is empty beyond its end and keeps the total', async (ask) => {
      const { total } = await ask();
      const beyond = await ask({ offset: Number(total) });
      expect(beyond).toMatchObject({ data: [], total });
    }),
    row('is reversed by order=reverse_chronological', async (ask) => {
      const { total } = await ask();
      const last = await ask({ order: 'reverse_chronological', limit: 3 });
      const tail = await ask({ offset: Math.max(0, Number(total) - 3), limit: 3 });
      expect(last['order']).toBe('reverse_chronological');
      expect(ids(last)).toEqual(ids(tail).toReversed());
    }),
    row('accepts order=chronological', async (ask) =>
      expect((await ask({ order: 'chronological' }))['order']).toBe('chronological'),
    ),
    row('contains and counts only records created at `from` or later', async (ask) => {
      const all = await ask({ limit: 100 });
      const from = recordsIn(all).at(-1)?.['created_at'];
      if (typeof from !== 'string') throw new NotShown('the list is empty');
      const list = await ask({ from, limit: 100 });
      expect(timeIn(list, 'from')).toBe(Date.parse(from));
      expect(created(list).every((at) => at >= Date.parse(from))).toBe(true);
      expect(Number(list['total'])).toBeGreaterThan(0);
      expect(await ask({ from: '2999-01-01T00:00:00Z', to: '2999-01-02T00:00:00Z' })).toMatchObject({
        data: [],
        total: 0,
      });
    }),
    row('contains and counts only records created until `to`, inclusive', async (ask) => {
      const [first] = recordsIn(await ask());
      const to = first?.['created_at'];
      if (typeof to !== 'string') throw new NotShown('the list is empty');
      const list = await ask({ to, limit: 100 });
      expect(timeIn(list, 'to')).toBe(Date.parse(to));
      expect(created(list).every((at) => at <= Date.parse(to))).toBe(true);
      expect(ids(list)).toContain(idIn(first ?? {}));
      expect(await ask({ to: '1970-01-02T00:00:00Z' })).toMatchObject({ data: [], total: 0 });
    }),
    refused({ order: 'newest' }),
    refused({ limit: 'many' }),
    refused({ limit: -1 }),
    refused({ offset: -1 }),
    refused({ offset: '1.5' }),
    refused({ from: 'yesterday' }),
    refused({ to: 'tomorrow' }),
  ];
}

function searchRows(
  endpoint: Endpoint,
  { scope, filters }: { readonly scope: string; readonly filters: readonly Input[] },
): Row[] {
  const { path, method } = endpoint;
  const row = (fact: string, shows: (ask: Ask) => Promise<void>): Row => ({
    fact: `${path} ${fact}`,
    shows: async (samples) => {
      await shows(async (query = {}) => await samples.provider.record(method, path, { query }));
    },
  });
  const refused = (query: Form, code: string): Row => {
    const [[name, value] = ['', '']] = Object.entries(query);
    return {
      fact: `${path}?${name}=${value} is 400 ${code}`,
      shows: async (samples) => expectRefusal(await samples.provider.call(method, path, { query }), 400, code),
    };
  };
  return [
    row(`searches ${scope} by default`, async (ask) => expect((await ask())['scope']).toBe(scope)),
    row(`accepts scope=${scope}`, async (ask) => expect((await ask({ scope }))['scope']).toBe(scope)),
    refused({ scope: 'nothing' }, 'invalid_scope'),
    row('answers page 1 with 30 records per page', async (ask) =>
      expect(await ask()).toMatchObject({ page: 1, per_page: 30 }),
    ),
    row('counts records and pages', async (ask) => {
      const found = await ask();
      const total = Number(found['total']);
      expect(recordsIn(found).length).toBe(Math.min(30, total));
      expect([Math.ceil(total / 30), Math.max(1, Math.ceil(total / 30))]).toContain(found['total_pages']);
    }),
    refused({ page: 0 }, 'invalid_page'),
    refused({ page: 'first' }, 'invalid_page'),
    row('has its own path as location', async (ask) => expect((await ask())['location']).toBe(path)),
    row('repeats the query', async (ask) => expect((await ask({ query: 'tea' }))['query']).toBe('tea')),
    row('finds nothing for a query without a match', async (ask) =>
      expect(await ask({ query: 'zzzzzzzz-no-such-thing' })).toMatchObject({ total: 0, data: [] }),
    ),
    refused({ 'filters[nothing]': 1 }, 'invalid_filters'),
    ...filters.flatMap(({ name, type, example }) => [
      row(`accepts ${name} (${type}) and repeats it`, async (ask) => {
        const inner = name.slice('filters['.length, -1);
        expect(Object.keys((await ask(example ?? {}))['filters'] as JsonObject)).toEqual([inner]);
      }),
      ...(type === 'string' ? [] : [refused({ [name]: 'perhaps' }, 'invalid_filters')]),
    ]),
  ];
}
