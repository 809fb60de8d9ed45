import type { Client } from '@temporalio/client';
import { defaultPayloadConverter, noopMetricMeter, type ActivityFunction } from '@temporalio/common';
import { DefaultLogger, type ActivityInterceptorsFactory } from '@temporalio/worker';
import { pauseAfter, retryOf, TIMEOUT, toMs, type Failure, type Payload } from '../engine/protocol.js';
import type { LocalResult, Run } from '../engine/run.js';
import type { VirtualTime } from '../virtual/time.js';
import { Activity } from './sdk-internals.js';
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

export type LocalEnd = Pick<LocalResult, 'result'> & { readonly tookMs: number };

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

  /**
   * As Temporal's Core carries it out, with its further attempts: only the time of all of them together ends it at once.
   * @param slowByMs the worker has no CPU: it reports the result this much later
   * @returns also how long the last attempt took, in milliseconds
   */
  async local(run: Run, command: LocalCommand, slowByMs: number): Promise<LocalEnd> {
    const { time } = this.parts;
    const closesAt = time.now + (toMs(command.scheduleToCloseTimeout) || Infinity);
    const retry = retryOf(command.retryPolicy);
    for (let attempt = 1; ; attempt += 1) {
      const startToCloseMs = toMs(command.startToCloseTimeout) || LOCAL_TIMEOUT_MS;
      const isLast = time.now + startToCloseMs >= closesAt;
      const timeout = isLast
        ? { ms: closesAt - time.now, type: TIMEOUT.SCHEDULE_TO_CLOSE }
        : { ms: startToCloseMs, type: TIMEOUT.START_TO_CLOSE };
      const begunAt = time.now;
      const result = await this.#tryLocal(run, command, attempt, timeout, slowByMs);
      const pause = isFinal(result) ? null : pauseAfter(attempt, retry);
      if (pause === null || time.now + pause > closesAt) return { result, tookMs: Math.round(time.now - begunAt) };
      await new Promise<void>((resolve) => time.after(pause, resolve));
    }
  }

  #tryLocal(
    run: Run,
    command: LocalCommand,
    attempt: number,
    timeout: { readonly ms: number; readonly type: number },
    slowByMs: number,
  ): Promise<LocalResult['result']> {
    const { time } = this.parts;
    const { activity, result } = this.begin(run, {
      type: command.activityType ?? '',
      id: command.activityId || String(command.seq),
      input: command.arguments ?? [],
      attempt,
      isLocal: true,
      scheduledAt: time.now,
      timeoutMs: timeout.ms,
      heartbeatMs: Infinity,
      heartbeatDetails: [],
      heartbeat: () => undefined,
    });
    return new Promise((resolve) => {
      const cancel = time.after(timeout.ms, () => {
        activity.cancel('TIMED_OUT', {} as never);
        const timeoutFailureInfo = { timeoutType: timeout.type };
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

/** Nothing follows a result, a failure that says so, and the end of the time for all attempts. */
function isFinal({ failed }: LocalResult['result']): boolean {
  const { applicationFailureInfo, timeoutFailureInfo } = failed?.failure ?? {};
  return (
    (failed ?? null) === null ||
    applicationFailureInfo?.nonRetryable === true ||
    Number(timeoutFailureInfo?.timeoutType) === TIMEOUT.SCHEDULE_TO_CLOSE
  );
}
