import { randomUUID } from 'node:crypto';
import { isGrpcServiceError } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import type { Temporal } from './connection.js';
import { DEFAULT_TASK_QUEUE } from './settings.js';
import type { SetupStep } from './setup.js';

/** What Temporal starts by itself. It is started without input: what it needs, it finds out. */
type ScheduleDefinition = {
  /** The id of the Temporal Schedule, but for the queue: {@link nameOnQueue}. Each of its runs has this id and the time it was due at. */
  readonly name: string;
  /** The workflow's type, as the bundle exports it. */
  readonly workflowType: string;
  /** For people, in the Temporal UI. */
  readonly summary: string;
  /** How often, in milliseconds, and how long after the full multiple of it since 1970-01-01T00:00:00Z. */
  readonly everyMs: number;
  readonly offsetMs: number;
  /** What was due while Temporal was down is made up for within this time, in milliseconds. At least 10 s. */
  readonly catchupMs: number;
  /** Whether the first run begins with the schedule rather than when it is first due. */
  readonly startsAtOnce: boolean;
};

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** The Schedule of the daily reconciliation. */
export const RECONCILE_DAILY = 'reconcile-daily';

/** All of them. A run that is still under way when the next is due is left alone. */
const SCHEDULES: readonly ScheduleDefinition[] = [
  {
    name: 'event-tail',
    workflowType: 'eventTail',
    summary: 'Starts the event tail when it does not run',
    everyMs: MINUTE_MS,
    offsetMs: 0,
    catchupMs: MINUTE_MS,
    startsAtOnce: true,
  },
  {
    name: RECONCILE_DAILY,
    workflowType: 'reconcile',
    summary: 'Compares the payments of the day before with the provider',
    everyMs: DAY_MS,
    // The last payments of the day are old enough by then to be compared.
    offsetMs: 30 * MINUTE_MS,
    catchupMs: 7 * DAY_MS,
    startsAtOnce: false,
  },
];

/**
 * The id of a schedule, or of a workflow that there is one of, on a task queue: bare on the default queue, with the
 * queue's name elsewhere, so that two stacks on one namespace keep apart.
 */
export function nameOnQueue(name: string, taskQueue: string): string {
  return taskQueue === DEFAULT_TASK_QUEUE ? name : `${name}@${taskQueue}`;
}

/**
 * Creates the schedules of a task queue, and changes those that are not as defined. Idempotent; with `dryRun` it only
 * says what it would do. Whether an operator has paused one, and why, is left alone.
 */
export async function setUpSchedules(
  temporal: Temporal,
  taskQueue: string,
  options: { readonly dryRun: boolean },
): Promise<SetupStep[]> {
  const { namespace } = temporal.client.options;
  const { workflowService } = temporal.connection;
  const steps: SetupStep[] = [];
  for (const definition of SCHEDULES) {
    const scheduleId = nameOnQueue(definition.name, taskQueue);
    const present = await describe(temporal, scheduleId);
    if (present !== null && isAsDefined(present, definition, taskQueue)) continue;
    const schedule = toSchedule(definition, taskQueue);
    const request = { namespace, scheduleId, requestId: randomUUID(), identity: 'tillflow setup' };
    if (!options.dryRun && present === null) {
      await workflowService.createSchedule({
        ...request,
        schedule,
        ...(definition.startsAtOnce ? { initialPatch: { triggerImmediately: {} } } : {}),
      });
    } else if (!options.dryRun && present !== null) {
      await workflowService.updateSchedule({
        ...request,
        schedule: { ...schedule, state: present.schedule?.state ?? null },
        conflictToken: present.conflictToken,
      });
    }
    const what = `${present === null ? 'create' : 'change'} schedule ${scheduleId} (${definition.workflowType})`;
    steps.push({ what, done: !options.dryRun });
  }
  return steps;
}

/** The schedules of a task queue that an operator has paused, with what they wrote about it. */
export async function pausedSchedules(
  temporal: Temporal,
  taskQueue: string,
): Promise<{ readonly scheduleId: string; readonly note: string }[]> {
  const paused: { readonly scheduleId: string; readonly note: string }[] = [];
  for (const { name } of SCHEDULES) {
    const scheduleId = nameOnQueue(name, taskQueue);
    const state = (await describe(temporal, scheduleId))?.schedule?.state;
    if (state?.paused === true) paused.push({ scheduleId, note: state.notes ?? '' });
  }
  return paused;
}

type Service = Temporal['connection']['workflowService'];
type Description = Awaited<ReturnType<Service['describeSchedule']>>;
type Schedule = NonNullable<Description['schedule']>;

/** The number of Temporal's `SCHEDULE_OVERLAP_POLICY_SKIP`. */
const OVERLAP_SKIP = 1;
/** gRPC. */
const NOT_FOUND = 5;

async function describe({ client, connection }: Temporal, scheduleId: string): Promise<Description | null> {
  const { namespace } = client.options;
  try {
    return await connection.workflowService.describeSchedule({ namespace, scheduleId });
  } catch (error) {
    const code: number | null = isGrpcServiceError(error) ? error.code : null;
    if (code === NOT_FOUND) return null;
    throw error;
  }
}

/** In the engine's own protocol, so that what is asked for can be compared with what is there. */
function toSchedule(definition: ScheduleDefinition, taskQueue: string): Schedule {
  const { name, workflowType, everyMs, offsetMs, catchupMs, summary } = definition;
  return {
    spec: { interval: [{ interval: msToTs(everyMs), phase: msToTs(offsetMs) }] },
    action: {
      startWorkflow: {
        workflowId: nameOnQueue(name, taskQueue),
        workflowType: { name: workflowType },
        taskQueue: { name: taskQueue },
        userMetadata: { summary: textPayload(summary) },
      },
    },
    // Overlaps are skipped: so it is where nothing is said.
    policies: { catchupWindow: msToTs(catchupMs) },
  };
}

function isAsDefined({ schedule }: Description, definition: ScheduleDefinition, taskQueue: string): boolean {
  const { spec, action, policies } = schedule ?? {};
  const { workflowId, workflowType, taskQueue: queue } = action?.startWorkflow ?? {};
  const [interval, ...others] = spec?.interval ?? [];
  return (
    others.length === 0 &&
    milliseconds(interval?.interval) === definition.everyMs &&
    milliseconds(interval?.phase) === definition.offsetMs &&
    workflowId === nameOnQueue(definition.name, taskQueue) &&
    workflowType?.name === definition.workflowType &&
    queue?.name === taskQueue &&
    Number(policies?.overlapPolicy) === OVERLAP_SKIP &&
    milliseconds(policies?.catchupWindow) === definition.catchupMs
  );
}

/** A duration of the engine's, in milliseconds. */
function milliseconds(duration: { readonly seconds?: unknown; readonly nanos?: number | null } | null | undefined) {
  return Number(duration?.seconds ?? 0) * 1_000 + (duration?.nanos ?? 0) / 1e6;
}

/** What is shown to people is not encrypted by us: it says nothing of any payment. */
function textPayload(text: string) {
  return {
    metadata: { encoding: Buffer.from('json/plain') },
    data: Buffer.from(JSON.stringify(text)),
  };
}
