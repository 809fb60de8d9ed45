import 'reflect-metadata';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Temporal, Till } from '@tillflow/temporal';
import { expect, it, vi } from 'vitest';
import type { Problem } from '../problems/problem.js';
import { Settings } from '../providers.js';
import { apiSettings } from '../settings.js';
import { budgetOf, withBudget } from '../temporal/request-budget.js';
import { TemporalAccess } from '../temporal/temporal.provider.js';
import { DayReportsService } from './day-reports.service.js';

/** The service on a Temporal whose searches end as the test says. */
function service(search: () => Promise<unknown>) {
  const client = { options: { namespace: 'default' }, workflowService: { listWorkflowExecutions: search } };
  const connection = { withDeadline: (_: number, work: () => unknown) => work() };
  const places = { write: 1, change: 1, read: 1, list: 1, hint: 1, background: 1 };
  const temporal = new TemporalAccess({ client, connection } as unknown as Temporal, places);
  const settings = new Settings(
    apiSettings({
      TEMPORAL_ADDRESS: '127.0.0.1:1',
      API_KEYS: `till-7:checkout:${'0'.repeat(64)}`,
      URL_SIGNING_KEY: 'signs the links of tests and nothing else',
      PROVIDER_BASE_URL: 'http://127.0.0.1:1',
      PROVIDER_SECRET_KEY: 'skey_test_1',
      PROVIDER_WEBHOOK_SECRET: 'off',
    }),
  );
  return { temporal, reports: new DayReportsService(temporal, settings) };
}

/** Requests of one moment. */
const atOnce = <T>(count: number, answerWithinMs: number, ask: (nth: number) => Promise<T>): Promise<T[]> =>
  Promise.all(
    Array.from({ length: count }, (_, nth) =>
      withBudget(budgetOf(new EventEmitter() as ServerResponse, answerWithinMs), () => ask(nth)),
    ),
  );

const NOTHING = { executions: [], nextPageToken: [] };
const DATE = '2026-01-02';
const till = (nth: number, store: string | null): Till => ({
  terminal: `till-${nth}`,
  store: store === null ? null : { id: store, name: null },
});

it('500 reports at once search for two of them, and leave the background call of the pause its place', async () => {
  const search = vi.fn<() => Promise<never>>(() => new Promise(() => undefined));
  const { temporal, reports } = service(search);
  const answers = atOnce(500, 500, (store) =>
    reports.read(DATE, { store: String(store) }).catch((error: unknown) => error),
  );
  expect(await temporal.within('background', 1_000, () => Promise.resolve('read'))).toBe('read');
  const problems = (await answers) as Problem[];
  expect(search).toHaveBeenCalledTimes(2);
  expect(new Set(problems.map(({ code }) => code))).toEqual(new Set(['overloaded']));
  expect(problems.every(({ extra: { retryAfterSeconds = 0 } }) => retryAfterSeconds > 0)).toBe(true);
});

it.each([['silom'], [null]])(
  '50 tills of the store %s that ask for the day at once share one report',
  async (store) => {
    const searchesOf = async (tills: number): Promise<number> => {
      const search = vi.fn<() => Promise<object>>(() => Promise.resolve(NOTHING));
      const { reports } = service(search);
      await atOnce(tills, 3_500, (nth) => reports.ofTill(DATE, till(nth, store)));
      return search.mock.calls.length;
    };
    expect(await searchesOf(50)).toBe(await searchesOf(1));
  },
);

it('50 tills of 50 stores get their totals while two long reports of operators are added up', async () => {
  let free: (found: object) => void = () => undefined;
  const isFree = new Promise<object>((resolve) => (free = resolve));
  const search = vi.fn<() => Promise<object>>(() => isFree);
  const { reports } = service(search);
  const operators = atOnce(2, 30_000, (store) => reports.read(DATE, { store: String(store) }));
  expect(search).toHaveBeenCalledTimes(2);
  search.mockResolvedValue(NOTHING);
  const totals = await atOnce(50, 3_500, (nth) => reports.ofTill(DATE, till(1, `store-${nth}`)));
  expect(totals).toEqual(Array.from({ length: 50 }, () => []));
  free(NOTHING);
  expect(await operators).toHaveLength(2);
});
