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
 * The number of actions that Temporal Cloud bills for one run. Exact after its activities have ended: attempts of a
 * running activity, and queries, are in no history. A run that continues another is billed to the event that ended the
 * other. Source: Temporal Cloud's pricing page, "Actions".
 * @throws {Error} for a kind of event that this function does not know.
 */
export function billedActions(events: readonly HistoryEvent[]): number {
  return sum(events.map(billedFor)) + tasksWithLocalActivities(events);
}

/**
 * All local activities of one workflow task are one action. Each leaves a marker with the event that ended the task.
 */
function tasksWithLocalActivities(events: readonly HistoryEvent[]): number {
  const markers = events.filter((event) => kindOf(event) === 'markerRecorded').map(attributesOf);
  const local = markers.filter(({ markerName }) => markerName === LOCAL_ACTIVITY_MARKER);
  return new Set(local.map((marker) => String(marker['workflowTaskCompletedEventId']))).size;
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
      if (FREE_MARKERS.has(attributes['markerName'])) return 0;
      throw new Error(`It is not known whether the marker ${String(attributes['markerName'])} is billed`);
    default:
      throw new Error(`It is not known whether ${kind} is billed`);
  }
}

const LOCAL_ACTIVITY_MARKER = 'core_local_activity';
/**
 * The marker that `patched` records is free. The workflow task is billed for its local activities, not each of them.
 */
const FREE_MARKERS: ReadonlySet<unknown> = new Set(['core_patch', LOCAL_ACTIVITY_MARKER]);

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

const eventsOf = (runs: readonly RunHistory[]): number => sum(runs.map(({ events }) => events.length));
export const bytesOf = (runs: readonly RunHistory[]): number => sum(runs.map(({ bytes }) => bytes));

/** Every run of a workflow id that continued one another, the oldest first. */
export async function runsOf({ client }: Temporal, workflowId: string): Promise<RunHistory[]> {
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
