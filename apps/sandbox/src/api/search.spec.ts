import { describe, expect, it } from 'vitest';
import type { ReceiptJson, ScheduleJson } from '../index.js';
import { openSandbox, type Bench } from '../../test/harness.js';

const AT = '2026-03-10T09:00:00.000Z';

type Search<T> = {
  readonly object: string;
  readonly scope: string;
  readonly query: string;
  readonly filters: Record<string, string>;
  readonly order: string;
  readonly page: number;
  readonly per_page: number;
  readonly total: number;
  readonly total_pages: number;
  readonly location: string;
  readonly data: T[];
};

/** Three schedules: of THB 1,500 and 2,000 on one card, and, a day later, one of another card that was deleted. */
async function open(): Promise<Bench & { ids: string[]; search: (query: string) => Promise<string[]> }> {
  const bench = await openSandbox({ seed: 's', now: AT, frozen: true });
  const on = { start_date: '2026-05-01', end_date: '2026-08-01' };
  const first = bench.sandbox.seedRecords({
    customers: [{ cards: [{ last_digits: '1111' }] }],
    schedules: [
      { ...on, charge: { description: 'Rent of flat 7' } },
      { ...on, charge: { amount: 200_000, description: 'Water' } },
      { ...on, transfer: { amount: 5 } },
    ],
  });
  bench.sandbox.advance(86_400);
  const second = bench.sandbox.seedRecords({
    cards: [{ last_digits: '2222' }],
    schedules: [{ ...on, charge: { customer: first.customers[0] ?? '' } }],
  });
  const ids = [first.schedules[0] ?? '', first.schedules[1] ?? '', second.schedules[0] ?? ''];
  await bench.call('DELETE', `/schedules/${ids[2]}`);
  const search = async (query: string): Promise<string[]> => {
    const { body } = await bench.call<Search<ScheduleJson>>('GET', `/charges/schedules/search${query}`);
    return body.data.map(({ id }) => id);
  };
  return { ...bench, ids, search };
}

describe('a search', () => {
  it.each<[string, number[]]>([
    ['', [0, 1, 2]],
    ['?scope=charge_schedule', [0, 1, 2]],
    ['?order=reverse_chronological', [2, 1, 0]],
    ['?query=RENT+7', [0]],
    ['?query=rent+water', []],
    ['?filters[status]=deleted', [2]],
    ['?filters[active]=true', [0, 1]],
    ['?filters[active]=false', [2]],
    ['?filters[amount]=200000', [1]],
    ['?filters[amount]=', [0, 1, 2]],
    ['?filters[created]=2026-03-10T00:00:00Z', [0, 1]],
    ['?filters[created]=2026-03-11', [2]],
    ['?filters[card_last_digits]=1111', [0, 1, 2]],
    ['?filters[card_last_digits]=2222', []],
    ['?filters[active]=true&filters[amount]=150000', [0]],
    ['?page=2', []],
  ])('%s finds %j', async (query, places) => {
    const { ids, search } = await open();
    expect(await search(query)).toEqual(places.map((place) => ids[place]));
  });

  it.each([
    ['?scope=receipt', 'invalid_scope'],
    ['?scope[]=charge_schedule', 'invalid_scope'],
    ['?page=0', 'invalid_page'],
    ['?page=1.5', 'invalid_page'],
    ['?page=x', 'invalid_page'],
    ['?page[a]=1', 'invalid_page'],
    ['?filters=x', 'invalid_filters'],
    ['?filters[colour]=red', 'invalid_filters'],
    ['?filters[__defineGetter__]=x', 'invalid_filters'],
    ['?filters[status]=broken', 'invalid_filters'],
    ['?filters[active]=yes', 'invalid_filters'],
    ['?filters[amount]=many', 'invalid_filters'],
    ['?filters[created]=yesterday', 'invalid_filters'],
    ['?filters[amount][]=1', 'invalid_filters'],
    ['?order=random', 'bad_request'],
    ['?query[]=x', 'bad_request'],
  ])('%s is refused with %s', async (query, code) => {
    const { call } = await open();
    expect(await call('GET', `/charges/schedules/search${query}`)).toMatchObject({ status: 400, body: { code } });
  });

  it('shows thirty a page', async () => {
    const { call, sandbox } = await openSandbox();
    sandbox.seedRecords({ receipts: Array.from({ length: 61 }, () => ({})) });
    const page = async (number: number) =>
      (await call<Search<ReceiptJson>>('GET', `/receipts/receipts/search?page=${number}`)).body;
    const [first, third] = [await page(1), await page(3)];
    expect([first.data.length, first.total, first.total_pages, third.data.length]).toEqual([30, 61, 3, 1]);
    expect(first.scope).toBe('receipt');
  });

  it('of receipts takes the filter that the reference names and no other', async () => {
    const { call } = await openSandbox();
    expect((await call('GET', '/receipts/receipts/search?filters[created]=2026-03-10T00:00:00Z')).status).toBe(200);
    expect((await call('GET', '/receipts/receipts/search?filters[status]=x')).body.code).toBe('invalid_filters');
  });
});
