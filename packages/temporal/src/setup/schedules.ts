import { randomUUID } from 'node:crypto';
import { isGrpcServiceError } from '@temporalio/client';
import {
  accountOf,
  DEFAULT_ACCOUNT,
  installationQueue,
  instant,
  latestBeginning,
  UTC_DAYS,
  type BusinessDayRule,
} from '@tillflow/domain';
import type { Temporal } from '../connection/connection.js';
import { msToTs } from '../connection/sdk-internals.js';
import { millisecondsOf } from '../connection/time.js';
import { DEFAULT_TASK_QUEUE } from '../settings/settings.js';
import type { SetupStep } from './setup.js';

/** A workflow that a Temporal Schedule starts, without input. */
type ScheduleDefinition = {
  /** The id of the Schedule, without account and queue: see {@link scheduleIdOf}. The id of each run adds the scheduled time. */
  readonly name: string;
  /** The workflow's type, as the bundle exports it. */
  readonly workflowType: string;
  /** For people, in the Temporal UI. */
  readonly summary: string;
  /** The interval, and the offset from its multiples since 1970-01-01T00:00:00Z, in milliseconds. */
  readonly everyMs: number;
  readonly offsetMs: number;
  /** After an outage, Temporal starts runs that were due at most this long ago, in milliseconds. At least 10 s. */
  readonly catchupMs: number;
  /** Whether the first run starts when the Schedule is created. */
  readonly startsAtOnce: boolean;
};

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** The Schedule of the daily reconciliation. */
export const RECONCILE_DAILY = 'reconcile-daily';

/** By then, the last payments of the day are old enough to be compared. */
const AFTER_DAY_MS = 30 * MINUTE_MS;

/**
 * Temporal skips a run while the one before it is still running. The reconciliation runs at one time of the UTC day,
 * after the end of the business day in summer and winter.
 */
const schedulesFor = (businessDays: BusinessDayRule): readonly ScheduleDefinition[] => [
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
    summary: 'Compares the payments of the business day before with the provider',
    everyMs: DAY_MS,
    offsetMs: (latestBeginning(businessDays, instant(Date.now())) + AFTER_DAY_MS) % DAY_MS,
    catchupMs: 7 * DAY_MS,
    startsAtOnce: false,
  },
];

/**
 * The id of a singleton workflow on a task queue: without the queue's name on the default queue, with it on any other
 * queue, so that two stacks can share a namespace. The id already names its account.
 */
export function nameOnQueue(name: string, taskQueue: string): string {
  const queue = installationQueue(taskQueue);
  return queue === DEFAULT_TASK_QUEUE ? name : `${name}@${queue}`;
}

/** The id of a Schedule on a task queue, as {@link nameOnQueue}. Those of further accounts name the account. */
export function scheduleIdOf(name: string, taskQueue: string): string {
  const account = accountOf(taskQueue);
  return nameOnQueue(account === DEFAULT_ACCOUNT ? name : `${name}/${account}`, taskQueue);
}

/**
 * Creates the Schedules of a task queue, and updates those that differ from their definition. Idempotent; with `dryRun`
 * it only returns the steps. A Schedule that an operator has paused stays paused, with its note.
 */
export async function setUpSchedules(
  temporal: Temporal,
  taskQueue: string,
  options: {
    readonly dryRun: boolean;
    /** Default: the days of UTC. */
    readonly businessDays?: BusinessDayRule;
  },
): Promise<SetupStep[]> {
  const { namespace } = temporal.client.options;
  const { workflowService } = temporal.connection;
  const steps: SetupStep[] = [];
  for (const definition of schedulesFor(options.businessDays ?? UTC_DAYS)) {
    const scheduleId = scheduleIdOf(definition.name, taskQueue);
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

/** The Schedules of a task queue that an operator has paused, with the operator's note. */
export async function pausedSchedules(
  temporal: Temporal,
  taskQueue: string,
): Promise<{ readonly scheduleId: string; readonly note: string }[]> {
  const paused: { readonly scheduleId: string; readonly note: string }[] = [];
  for (const { name } of schedulesFor(UTC_DAYS)) {
    const scheduleId = scheduleIdOf(name, taskQueue);
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
/** gRPC's status code. */
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

/** In Temporal's own protocol, so that it can be compared with the existing Schedule. */
function toSchedule(definition: ScheduleDefinition, taskQueue: string): Schedule {
  const { name, workflowType, everyMs, offsetMs, catchupMs, summary } = definition;
  return {
    spec: { interval: [{ interval: msToTs(everyMs), phase: msToTs(offsetMs) }] },
    action: {
      startWorkflow: {
        workflowId: scheduleIdOf(name, taskQueue),
        workflowType: { name: workflowType },
        taskQueue: { name: taskQueue },
        userMetadata: { summary: textPayload(summary) },
      },
    },
    // The default overlap policy skips a run.
    policies: { catchupWindow: msToTs(catchupMs) },
  };
}

function isAsDefined({ schedule }: Description, definition: ScheduleDefinition, taskQueue: string): boolean {
  const { spec, action, policies } = schedule ?? {};
  const { workflowId, workflowType, taskQueue: queue } = action?.startWorkflow ?? {};
  const [interval, ...others] = spec?.interval ?? [];
  return (
    others.length === 0 &&
    millisecondsOf(interval?.interval) === definition.everyMs &&
    millisecondsOf(interval?.phase) === definition.offsetMs &&
    workflowId === scheduleIdOf(definition.name, taskQueue) &&
    workflowType?.name === definition.workflowType &&
    queue?.name === taskQueue &&
    Number(policies?.overlapPolicy) === OVERLAP_SKIP &&
    millisecondsOf(policies?.catchupWindow) === definition.catchupMs
  );
}

/** The summary is for people and not encrypted: it contains nothing about payments. */
function textPayload(text: string) {
  return {
    metadata: { encoding: Buffer.from('json/plain') },
    data: Buffer.from(JSON.stringify(text)),
  };
}
