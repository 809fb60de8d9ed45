import type { Client } from '@temporalio/client';
import { defaultDataConverter, defaultPayloadConverter } from '@temporalio/common';
import { businessDay, UTC_DAYS } from '@tillflow/domain';
import { emptySummary, type ReconcileSummary } from '@tillflow/workflows';
import { describe, expect, it } from 'vitest';
import type { Temporal } from './connection/connection.js';
import { msToTs } from './connection/sdk-internals.js';
import { Reconciliations } from './reconciliations.js';

const HOUR_MS = 3_600_000;
const DAY = businessDay('2026-01-05', UTC_DAYS);

type Run = { readonly at: number } & Pick<ReconcileSummary, 'from' | 'to'> & Partial<ReconcileSummary>;

const windowFrom = (from: number, hours: number) => {
  const to = new Date(from + hours * HOUR_MS).toISOString();
  return { from: new Date(from).toISOString(), to, compared_until: to };
};

/**
 * Completed runs, and the number of searches for them. Like Temporal's, a search answers with the newest runs first.
 */
function runsOf(runs: readonly Run[]) {
  let searches = 0;
  const newestFirst = runs
    .toSorted((a, b) => b.at - a.at)
    .map(({ at, ...summary }) => ({
      at,
      raw: {
        type: { name: 'reconcile' },
        execution: { workflowId: `reconcile/default/${at}`, runId: '01993f5e-8a52-7f4e-9c58-2f1d7f3a9a10' },
        status: 2,
        historyLength: { toNumber: () => 1 },
        startTime: msToTs(at),
        memo: {
          fields: {
            reconciliation: defaultPayloadConverter.toPayload({
              ...emptySummary({ from: 0, to: 0, dry_run: false }),
              ...summary,
            }),
          },
        },
      },
    }));
  const search = ({
    query,
    pageSize,
    nextPageToken = Buffer.of(),
  }: {
    readonly query: string;
    readonly pageSize: number;
    readonly nextPageToken?: Uint8Array;
  }) => {
    const timeOf = (operator: string, none: number): number =>
      Date.parse(new RegExp(`StartTime ${operator} '([^']+)'`).exec(query)?.[1] ?? '') || none;
    const [from, to] = [timeOf('>=', 0), timeOf('<', Number.POSITIVE_INFINITY)];
    const first = Number(Buffer.from(nextPageToken).toString() || 0);
    if (first === 0) searches += 1;
    const found = newestFirst.filter(({ at }) => at >= from && at < to);
    const next = first + pageSize < found.length ? String(first + pageSize) : '';
    return Promise.resolve({
      executions: found.slice(first, first + pageSize).map(({ raw }) => raw),
      nextPageToken: Buffer.from(next),
    });
  };
  const client = {
    options: { namespace: 'default', loadedDataConverter: defaultDataConverter },
    workflowService: { listWorkflowExecutions: search },
  } as unknown as Client;
  const reconciliations = new Reconciliations({ client } as unknown as Temporal, {
    taskQueue: 'tillflow',
    readWithinMs: 1_000,
    bounded: (_kind, _milliseconds, work) => work(),
  });
  const covering = async () => (await reconciliations.covering(DAY)).map(({ createdAt }) => Date.parse(createdAt));
  return { reconciliations, covering, searches: () => searches };
}

it.each([
  [249, 250],
  [250, 250],
  [251, 250],
])('of %i runs, the newest %i at most are read, over several pages', async (count, most) => {
  const runs = Array.from({ length: count }, (_, n) => ({ at: DAY.to + n * 60_000, ...windowFrom(DAY.from, 24) }));
  const read: number[] = [];
  for await (const { createdAt } of runsOf(runs).reconciliations.runs(most)) read.push(Date.parse(createdAt));
  const newest = runs.map(({ at }) => at).toReversed();
  expect(read).toEqual(newest.slice(0, most));
});

describe('the runs that cover a day', () => {
  const daily = { at: DAY.to + HOUR_MS, ...windowFrom(DAY.from, 24) };

  it('are found behind 1,000 later runs', async () => {
    const later = Array.from({ length: 1_000 }, (_, n) => {
      const at = DAY.to + 72 * HOUR_MS + n * 60_000;
      return { at, ...windowFrom(at - 2 * HOUR_MS, 1) };
    });
    const { covering, searches } = runsOf([daily, ...later]);
    expect(await covering()).toEqual([daily.at]);
    expect(searches()).toBe(2);
  });

  it('are completed ones with all payments of the day: the shortest first, of equal ones the newest', async () => {
    const again = { ...daily, at: DAY.to + 100 * HOUR_MS };
    const wide = { at: DAY.to + 101 * HOUR_MS, ...windowFrom(DAY.from - 24 * HOUR_MS, 72) };
    const others = [
      { at: DAY.to + 1, ...windowFrom(DAY.from, 24), compared_until: new Date(DAY.to - 1).toISOString() },
      { at: DAY.to + 2, ...windowFrom(DAY.from + 1, 24) },
      { at: DAY.to + 3, ...windowFrom(DAY.from, 24), dry_run: true },
    ];
    expect(await runsOf([wide, daily, again, ...others]).covering()).toEqual([again.at, daily.at, wide.at]);
  });
});
