import { setTimeout as sleep } from 'node:timers/promises';
import type { Temporal } from '@tillflow/temporal';
import { sum } from '../statistics.js';

/** One event of a history: an object whose one set field `…EventAttributes` names its kind. */
export type HistoryEvent = { readonly [name: string]: unknown };

/** One run of a workflow, as the server keeps it. */
export type RunHistory = {
  readonly type: string;
  readonly isOpen: boolean;
  /** As the server counts them. */
  readonly bytes: number;
  readonly events: readonly HistoryEvent[];
};

const SUFFIX = 'EventAttributes';

/** The kind of an event, such as `activityTaskScheduled`. */
export function kindOf(event: HistoryEvent): string {
  const name = Object.keys(event).find(
    (key) => key.endsWith(SUFFIX) && event[key] !== null && event[key] !== undefined,
  );
  if (name === undefined) throw new Error(`An event without attributes: ${JSON.stringify(event)}`);
  return name.slice(0, -SUFFIX.length);
}

export function attributesOf(event: HistoryEvent): Readonly<Record<string, unknown>> {
  return (event[`${kindOf(event)}${SUFFIX}`] ?? {}) as Readonly<Record<string, unknown>>;
}

/**
 * The number of actions that Temporal Cloud bills for one run. Exact after its activities have ended: attempts of a running
 * activity, and queries, are in no history. A run that continues another is billed to the event that ended the other.
 * Source: Temporal Cloud's pricing page, "Actions".
 * @throws {Error} for a kind of event that this function does not know.
 */
export function billedActions(events: readonly HistoryEvent[]): number {
  return sum(events.map(billedFor));
}

function billedFor(event: HistoryEvent): number {
  const kind = kindOf(event);
  const attributes = attributesOf(event);
  if (BILLED.has(kind)) return 1;
  if (FREE.has(kind)) return 0;
  switch (kind) {
    case 'workflowExecutionStarted':
      return (attributes['continuedExecutionRunId'] ?? '') === '' ? 1 : 0;
    case 'activityTaskStarted':
      // Written once, when the activity ends, with the number of its last attempt. The first is billed as scheduled.
      return Number(attributes['attempt'] ?? 1) - 1;
    case 'markerRecorded':
      if (attributes['markerName'] === PATCH_MARKER) return 0;
      throw new Error('Only the marker of a patch is known to be free');
    default:
      throw new Error(`It is not known whether ${kind} is billed`);
  }
}

/** The marker that `patched` records. */
const PATCH_MARKER = 'core_patch';

const BILLED: ReadonlySet<string> = new Set([
  'workflowExecutionUpdateAccepted',
  'workflowExecutionSignaled',
  'timerStarted',
  'activityTaskScheduled',
  'upsertWorkflowSearchAttributes',
  'workflowExecutionContinuedAsNew',
]);

const FREE: ReadonlySet<string> = new Set([
  'workflowTaskScheduled',
  'workflowTaskStarted',
  'workflowTaskCompleted',
  'workflowTaskTimedOut',
  'workflowTaskFailed',
  'workflowExecutionUpdateCompleted',
  'workflowPropertiesModified',
  'activityTaskCompleted',
  'activityTaskFailed',
  'activityTaskTimedOut',
  'timerCanceled',
  'timerFired',
  'workflowExecutionCompleted',
  'workflowExecutionTerminated',
]);

export const eventsOf = (runs: readonly RunHistory[]): number => sum(runs.map(({ events }) => events.length));
export const bytesOf = (runs: readonly RunHistory[]): number => sum(runs.map(({ bytes }) => bytes));

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
      isOpen: closeTime === undefined,
      bytes: historySize ?? 0,
      events: (events ?? []) as HistoryEvent[],
    });
    runId = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? '';
  } while (runId !== '');
  return runs;
}

const SETTLED_MS = 300;

/** The runs when no more events are added: the last run begins to wait only after the status is visible. */
export async function settledRunsOf(temporal: Temporal, workflowId: string): Promise<RunHistory[]> {
  let runs = await runsOf(temporal, workflowId);
  for (;;) {
    await sleep(SETTLED_MS);
    const now = await runsOf(temporal, workflowId);
    if (eventsOf(now) === eventsOf(runs)) return now;
    runs = now;
  }
}

const CLOSED_WITHIN_MS = 60_000;
/** The number of Temporal's `HistoryEventFilterType` for the closing event. */
const CLOSE_EVENT = 2;

/** Resolves when the current run has closed. Uses a long poll, so that no polling interval is part of the time. */
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
  throw new Error(`${workflowId} did not close in time`);
}
