import { setTimeout as sleep } from 'node:timers/promises';
import type { Temporal } from '@tillflow/temporal';
import type { HistoryEvent } from './billed-actions.js';

/** One run of a workflow, as the server keeps it. */
export type RunHistory = {
  readonly type: string;
  readonly runId: string;
  readonly isOpen: boolean;
  /** As the server counts it. */
  readonly bytes: number;
  readonly events: readonly HistoryEvent[];
};

/** Every run of a workflow id that continued one another, the oldest first. */
async function runsOf({ client }: Temporal, workflowId: string): Promise<RunHistory[]> {
  const runs: RunHistory[] = [];
  let runId: string | undefined;
  do {
    const handle = client.workflow.getHandle(workflowId, runId);
    const { type, runId: described, closeTime, historySize } = await handle.describe();
    const { events } = await client.workflow.getHandle(workflowId, described).fetchHistory();
    runs.unshift({
      type,
      runId: described,
      isOpen: closeTime === undefined,
      bytes: historySize ?? 0,
      events: (events ?? []) as HistoryEvent[],
    });
    runId = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? '';
  } while (runId !== '');
  return runs;
}

const SETTLED_MS = 300;

/** The runs once nothing is added to them any more: the last one begins its wait after the status is shown. */
export async function settledRunsOf(temporal: Temporal, workflowId: string): Promise<RunHistory[]> {
  let runs = await runsOf(temporal, workflowId);
  for (;;) {
    await sleep(SETTLED_MS);
    const now = await runsOf(temporal, workflowId);
    if (eventsOf(now) === eventsOf(runs)) return now;
    runs = now;
  }
}

export function eventsOf(runs: readonly RunHistory[]): number {
  return runs.reduce((sum, { events }) => sum + events.length, 0);
}

export function bytesOf(runs: readonly RunHistory[]): number {
  return runs.reduce((sum, { bytes }) => sum + bytes, 0);
}

/**
 * Resolves when the run that is current now has closed, however it closed: one request, which the server holds so long.
 */
export async function untilClosed({ client, connection }: Temporal, workflowId: string): Promise<void> {
  const end = Date.now() + CLOSED_WITHIN_MS;
  let nextPageToken: Uint8Array = new Uint8Array();
  while (Date.now() < end) {
    const { history, nextPageToken: next } = await connection.withDeadline(end, () =>
      connection.workflowService.getWorkflowExecutionHistory({
        namespace: client.options.namespace,
        execution: { workflowId },
        waitNewEvent: true,
        // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- the generated enum exists as a type only
        historyEventFilterType: CLOSE_EVENT,
        nextPageToken,
      }),
    );
    if ((history?.events?.length ?? 0) > 0) return;
    nextPageToken = next;
  }
  throw new Error(`${workflowId} did not close`);
}

const CLOSED_WITHIN_MS = 60_000;
/** The number of Temporal's `HistoryEventFilterType`. */
const CLOSE_EVENT = 2;
