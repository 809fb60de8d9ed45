import 'reflect-metadata';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Temporal } from '@tillflow/temporal';
import { expect, it, vi } from 'vitest';
import { Problem } from '../problems/problem.js';
import { Settings } from '../providers.js';
import { apiSettings } from '../settings.js';
import { budgetOf, withBudget } from '../temporal/request-budget.js';
import { TemporalAccess } from '../temporal/temporal.provider.js';
import { DayReportsService } from './day-reports.service.js';

it('500 reports at once search for two of them, and leave the background call of the pause its place', async () => {
  const search = vi.fn<() => Promise<never>>(() => new Promise(() => undefined));
  const client = { options: { namespace: 'default' }, workflowService: { listWorkflowExecutions: search } };
  const connection = { withDeadline: (_: number, work: () => unknown) => work() };
  const places = { write: 1, read: 1, list: 1, hint: 1, background: 1 };
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
  const reports = new DayReportsService(temporal, settings);
  const request = (store: string): Promise<unknown> =>
    withBudget(budgetOf(new EventEmitter() as ServerResponse, 500), () =>
      reports.read('2026-01-02', { store }).catch((error: unknown) => error),
    );
  const answers = Promise.all(Array.from({ length: 500 }, (_, store) => request(String(store))));
  expect(await temporal.within('background', 1_000, () => Promise.resolve('read'))).toBe('read');
  const problems = (await answers) as Problem[];
  expect(search).toHaveBeenCalledTimes(2);
  expect(new Set(problems.map(({ code }) => code))).toEqual(new Set(['overloaded']));
  expect(problems.every(({ extra: { retryAfterSeconds = 0 } }) => retryAfterSeconds > 0)).toBe(true);
});
