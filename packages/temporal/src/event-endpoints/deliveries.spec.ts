import type { Client } from '@temporalio/client';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import type { DeliveryRecord } from '@tillflow/workflows';
import { expect, it } from 'vitest';
import { readDeliveries, type DeliveryPage } from './deliveries.js';

const NOW = Math.floor(Date.now() / 1_000);
const DAY = 86_400;

type Run = {
  readonly id: string;
  readonly startedAt: number;
  readonly closedAt: number | null;
  readonly count: number;
};

/** An endpoint with these runs, the newest first, of which Temporal lists two at a time. Times in seconds. */
function endpointOf(runs: readonly Run[]) {
  const fetched: string[] = [];
  const listWorkflowExecutions = ({ query, nextPageToken }: { query: string; nextPageToken?: Uint8Array }) => {
    const [, before = ''] = /StartTime < '(.*)'/.exec(query) ?? [];
    const found = runs.filter(({ startedAt }) => before === '' || startedAt * 1_000 < Date.parse(before));
    const begin = nextPageToken?.[0] ?? 0;
    return Promise.resolve({
      executions: found.slice(begin, begin + 2).map(({ id, startedAt, closedAt }) => ({
        execution: { runId: id },
        startTime: { seconds: startedAt },
        closeTime: closedAt === null ? null : { seconds: closedAt },
      })),
      nextPageToken: found.length > begin + 2 ? Uint8Array.of(begin + 2) : new Uint8Array(),
    });
  };
  const getHandle = (_: string, id: string) => ({
    fetchHistory: () => {
      fetched.push(id);
      const run = runs.find((one) => one.id === id);
      const events = Array.from({ length: run?.count ?? 0 }, (_record, index) => ({
        activityTaskCompletedEventAttributes: { result: { payloads: [payloadOf(run, `${id}-${index}`)] } },
      }));
      return Promise.resolve({ events });
    },
  });
  const client = {
    options: {
      namespace: 'default',
      loadedDataConverter: { payloadConverter: defaultPayloadConverter, payloadCodecs: [] },
    },
    workflowService: { listWorkflowExecutions },
    workflow: { getHandle },
  } as unknown as Client;
  const read = (limit: number, place: string | null = null): Promise<DeliveryPage> =>
    readDeliveries(client, 'event-endpoint/default/1', { since: 0, limit, place, bound: (call) => call() });
  return { fetched, read };
}

function payloadOf(run: Run | undefined, id: string): Payload | undefined {
  const record = { id, at: (run?.startedAt ?? 0) * 1_000, ms: 1, tries: 0 } as DeliveryRecord;
  return defaultPayloadConverter.toPayload([record]);
}

const closed = (id: string, ageDays: number, count = 1): Run => ({
  id,
  startedAt: NOW - ageDays * DAY - 60,
  closedAt: NOW - ageDays * DAY,
  count,
});
const idsOf = ({ data }: DeliveryPage): string[] => data.map(({ id }) => id);

it('deliveries are listed from all runs of the last seven days, over all pages of the list', async () => {
  const runs = [0, 1, 2, 3, 4].map((day) => closed(`r${day}`, day, 2));
  const { read } = endpointOf([{ id: 'open', startedAt: NOW, closedAt: null, count: 1 }, ...runs, closed('old', 8)]);
  const listed: string[] = [];
  for (let place: string | null | undefined; place !== null;) {
    const page: DeliveryPage = await read(3, place);
    listed.push(...idsOf(page));
    place = page.next;
  }
  expect(listed).toEqual(['open-0', ...[0, 1, 2, 3, 4].flatMap((day) => [`r${day}-1`, `r${day}-0`])]);
});

it('a further page begins with its run, and reads no newer one', async () => {
  const { read, fetched } = endpointOf([closed('a', 1, 2), closed('b', 2, 2), closed('c', 3, 2), closed('d', 4, 2)]);
  const first = await read(5);
  expect(idsOf(first)).toEqual(['a-1', 'a-0', 'b-1', 'b-0', 'c-1']);
  fetched.length = 0;
  expect(idsOf(await read(2, first.next))).toEqual(['c-0', 'd-1']);
  expect(fetched).toEqual(['c', 'd']);
});

it('a request reads a bounded number of runs, also when they have no deliveries, and the next page goes on', async () => {
  const empty = Array.from({ length: 6 }, (_, index) => closed(`empty${index}`, 1, 0));
  const { read, fetched } = endpointOf([...empty, closed('full', 2)]);
  const first = await read(20);
  expect([first.data, fetched.length]).toEqual([[], 5]);
  const second = await read(20, first.next);
  expect([idsOf(second), second.next]).toEqual([['full-0'], null]);
});

it('runs that ended more than seven days ago are not read', async () => {
  const { read, fetched } = endpointOf([closed('a', 6), closed('b', 8), closed('c', 9)]);
  expect(idsOf(await read(20))).toEqual(['a-0']);
  expect(fetched).toEqual(['a']);
});
