import type { Client } from '@temporalio/client';
import { defaultPayloadConverter, noopMetricMeter, type ActivityFunction } from '@temporalio/common';
import { DefaultLogger, type ActivityInterceptorsFactory } from '@temporalio/worker';
import { Activity } from '@temporalio/worker/lib/activity.js';
import { TIMEOUT, toMs, type Failure, type Payload } from '../engine/protocol.js';
import type { LocalResult, Run } from '../engine/run.js';
import type { VirtualTime } from '../virtual/time.js';
import type { LocalCommand } from './workflow-code.js';

export type Activities = Readonly<Record<string, ActivityFunction>>;
export type Outcome = { readonly completed: { readonly result: Payload | null } } | { readonly failure: Failure };

/** One attempt of an activity. Times in milliseconds. */
type Attempt = {
  readonly type: string;
  readonly id: string;
  readonly input: readonly Payload[];
  readonly attempt: number;
  readonly isLocal: boolean;
  readonly scheduledAt: number;
  readonly timeoutMs: number;
  readonly heartbeatMs: number;
  readonly heartbeatDetails: readonly Payload[];
  readonly heartbeat: (details: unknown) => void;
};

const quiet = new DefaultLogger('ERROR', () => undefined);
const LOCAL_TIMEOUT_MS = 60_000;

/** Carries out activities of the product in the context of Temporal's library. */
export class ActivityContext {
  constructor(
    private readonly parts: {
      readonly time: VirtualTime;
      readonly client: Client;
      readonly activities: Activities;
      readonly interceptors: readonly ActivityInterceptorsFactory[];
      readonly taskQueue: string;
    },
  ) {}

  begin({ start }: Run, task: Attempt): { readonly activity: Activity; readonly result: Promise<Outcome> } {
    const { client, activities, interceptors } = this.parts;
    const activity = new Activity(
      this.#infoOf(start, task) as never,
      activities[task.type],
      client.options.loadedDataConverter,
      { type: 'activity', namespace: 'default', workflowId: start.workflowId, isLocal: task.isLocal } as never,
      undefined,
      task.heartbeat,
      undefined,
      quiet,
      noopMetricMeter,
      [...interceptors],
    );
    const args = task.input.map((payload) => defaultPayloadConverter.fromPayload(payload));
    const result = activity.run({ args, headers: {} }).then((outcome): Outcome => {
      if (outcome.completed) return { completed: { result: outcome.completed.result ?? null } };
      return { failure: outcome.failed?.failure ?? outcome.cancelled?.failure ?? { message: 'activity failed' } };
    });
    return { activity, result };
  }

  #infoOf(start: Run['start'], task: Attempt) {
    const [details] = task.heartbeatDetails;
    return {
      taskToken: new Uint8Array(),
      base64TaskToken: task.id,
      workflowNamespace: 'default',
      namespace: 'default',
      workflowExecution: { workflowId: start.workflowId, runId: start.runId },
      attempt: task.attempt,
      isLocal: task.isLocal,
      inWorkflow: true,
      activityId: task.id,
      activityType: task.type,
      workflowType: start.type,
      taskQueue: this.parts.taskQueue,
      heartbeatDetails: details === undefined ? undefined : defaultPayloadConverter.fromPayload<unknown>(details),
      heartbeatTimeoutMs: Number.isFinite(task.heartbeatMs) ? task.heartbeatMs : undefined,
      scheduleToCloseTimeoutMs: task.timeoutMs,
      startToCloseTimeoutMs: task.timeoutMs,
      scheduledTimestampMs: task.scheduledAt,
      startedTimestampMs: this.parts.time.now,
      currentAttemptScheduledTimestampMs: task.scheduledAt,
      priority: {},
    };
  }

  /** @param slowByMs the worker has no CPU: it reports the result this much later */
  local(run: Run, command: LocalCommand, slowByMs: number): Promise<LocalResult['result']> {
    const { time } = this.parts;
    const timeoutMs = toMs(command.scheduleToCloseTimeout) || toMs(command.startToCloseTimeout) || LOCAL_TIMEOUT_MS;
    const { activity, result } = this.begin(run, {
      type: command.activityType ?? '',
      id: command.activityId || String(command.seq),
      input: command.arguments ?? [],
      attempt: 1,
      isLocal: true,
      scheduledAt: time.now,
      timeoutMs,
      heartbeatMs: Infinity,
      heartbeatDetails: [],
      heartbeat: () => undefined,
    });
    return new Promise((resolve) => {
      const cancel = time.after(timeoutMs, () => {
        activity.cancel('TIMED_OUT', {} as never);
        const timeoutFailureInfo = { timeoutType: TIMEOUT.SCHEDULE_TO_CLOSE };
        resolve({
          failed: { failure: { message: 'activity timeout', source: 'Server', timeoutFailureInfo } },
        });
      });
      const report = (outcome: Outcome): void => {
        cancel();
        resolve('completed' in outcome ? { completed: outcome.completed } : { failed: { failure: outcome.failure } });
      };
      const ended = async (): Promise<void> => {
        const outcome = await result;
        // Each one ends at a moment of its own.
        time.after(slowByMs + time.random.fraction(), () => report(outcome));
      };
      void ended();
    });
  }
}
