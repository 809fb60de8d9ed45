import type { Client } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import { lastDaily } from './past-runs.js';

type Run = { readonly isCompleted: boolean; readonly from: string; readonly to: string; readonly daily?: boolean };

const completed = (from: string, to: string, daily = true): Run => ({ isCompleted: true, from, to, daily });
const failed = (from: string, to: string, daily = true): Run => ({ isCompleted: false, from, to, daily });

/** The last daily run before the 9th, by the runs that Temporal lists. */
async function lastOf(...runs: readonly Run[]): Promise<string | null> {
  const workflow = {
    async *list({ query }: { readonly query: string }) {
      const isCompleted = query.includes(`ExecutionStatus = 'Completed'`);
      for (const { from, to, daily } of runs.filter((one) => one.isCompleted === isCompleted)) {
        const memo = { reconciliation: { from, to }, ...(daily === true ? { daily } : {}) };
        yield await Promise.resolve({ workflowId: 'w', runId: 'r', memo });
      }
    },
    getHandle: () => ({}),
  };
  const last = await lastDaily({ workflow } as unknown as Client, 'tillflow', Date.parse('2026-11-09'));
  return last === null ? null : new Date(last).toISOString().slice(0, 10);
}

describe('the end of what daily runs have compared', () => {
  it.each<[string, readonly Run[], string | null]>([
    ['is none without a run', [], null],
    [
      'is the latest end of the completed ones',
      [completed('2026-11-05', '2026-11-06'), completed('2026-11-03', '2026-11-05')],
      '2026-11-06',
    ],
    [
      'leaves out one of the same day',
      [completed('2026-11-08', '2026-11-09'), completed('2026-11-05', '2026-11-06')],
      '2026-11-06',
    ],
    ['is no end of a run that someone started', [completed('2026-11-05', '2026-11-06', false)], null],
    [
      'is the first beginning of those that failed, when none completed',
      [failed('2026-11-06', '2026-11-07'), failed('2026-11-05', '2026-11-06')],
      '2026-11-05',
    ],
    [
      'is no beginning of one that failed, when one completed',
      [completed('2026-11-08', '2026-11-09'), failed('2026-11-05', '2026-11-06')],
      null,
    ],
  ])('%s', async (_, runs, expected) => {
    expect(await lastOf(...runs)).toBe(expected);
  });
});
