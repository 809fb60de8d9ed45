import Long from 'long';
import type { EngineParts } from './parts.js';
import {
  events,
  pauseAfter,
  retryOf,
  TIMEOUT,
  toMs,
  type Command,
  type Failure,
  type Job,
  type Payload,
} from './protocol.js';
import type { ActivityState, Run } from './run.js';

type Result = NonNullable<NonNullable<Job['resolveActivity']>['result']>;

/** Activities with their attempts, timeouts and heartbeats. Only the latest attempt may report. */
export class ActivityTasks {
  /** @param arrive adds an event to a run, now or after its workflow task */
  constructor(
    private readonly parts: EngineParts,
    private readonly arrive: (run: Run, apply: () => void) => void,
  ) {}

  schedule(run: Run, command: NonNullable<Command['scheduleActivity']>): void {
    const { time } = this.parts;
    const scheduledEventId = run.append(events.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, time.now);
    const { scheduleToCloseMs, ...timeouts } = timeoutsOf(command);
    const activity: ActivityState = {
      seq: command.seq ?? 0,
      id: command.activityId || String(command.seq),
      type: command.activityType ?? '',
      taskQueue: command.taskQueue ?? '',
      input: command.arguments ?? [],
      scheduledAt: time.now,
      scheduledEventId,
      timeouts: { scheduleToCloseMs, ...timeouts },
      retry: retryOf(command.retryPolicy),
      attempt: 1,
      attemptScheduledAt: time.now,
      startedAt: null,
      heartbeatDetails: [],
      timers: [],
      closeTimer: { cancel: () => undefined },
    };
    run.activities.set(activity.seq, activity);
    if (scheduleToCloseMs < Infinity) {
      const expire = (): void => this.#timedOut(run, activity, TIMEOUT.SCHEDULE_TO_CLOSE);
      activity.closeTimer.cancel = time.after(scheduleToCloseMs, expire, undefined);
    }
    this.#dispatch(run, activity);
  }

  #dispatch(run: Run, activity: ActivityState): void {
    if (run.activities.get(activity.seq) !== activity || activity.startedAt !== null) return;
    const { pollers, time, counts } = this.parts;
    const worker = pollers.any();
    if (worker === undefined) {
      pollers.whenPolling(() => this.#dispatch(run, activity));
      return;
    }
    counts.activities += 1;
    activity.startedAt = time.now;
    const { startToCloseMs } = activity.timeouts;
    if (startToCloseMs < Infinity) {
      const expire = (): void => this.#timedOut(run, activity, TIMEOUT.START_TO_CLOSE);
      activity.timers.push(time.after(startToCloseMs, expire, undefined));
    }
    this.#expectHeartbeat(run, activity);
    worker.takeActivity({ run, activity, attempt: activity.attempt });
  }

  #expectHeartbeat(run: Run, activity: ActivityState): void {
    const { heartbeatMs } = activity.timeouts;
    if (heartbeatMs === Infinity) return;
    const { attempt } = activity;
    const expire = (): void => {
      if (activity.attempt === attempt) this.#timedOut(run, activity, TIMEOUT.HEARTBEAT);
    };
    activity.timers[1]?.();
    activity.timers[1] = this.parts.time.after(heartbeatMs, expire, undefined);
  }

  /** @returns false when the attempt has ended: the worker stops it */
  heartbeat(run: Run, seq: number, attempt: number, details: Payload[]): boolean {
    const activity = attemptOf(run, seq, attempt);
    if (activity === null) return false;
    activity.heartbeatDetails = details;
    this.#expectHeartbeat(run, activity);
    return true;
  }

  complete(run: Run, seq: number, attempt: number, result: Payload | null): void {
    const activity = attemptOf(run, seq, attempt);
    if (activity === null) this.parts.counts.late += 1;
    else this.#resolve(run, activity, { completed: { result } }, events.EVENT_TYPE_ACTIVITY_TASK_COMPLETED);
  }

  fail(run: Run, seq: number, attempt: number, failure: Failure): void {
    const activity = attemptOf(run, seq, attempt);
    if (activity === null) {
      this.parts.counts.late += 1;
      return;
    }
    const isFinal = failure.applicationFailureInfo?.nonRetryable === true;
    if (!isFinal && this.#retry(run, activity)) return;
    this.#resolve(run, activity, failedWith(activity, failure), events.EVENT_TYPE_ACTIVITY_TASK_FAILED);
  }

  #timedOut(run: Run, activity: ActivityState, timeoutType: number): void {
    if (run.activities.get(activity.seq) !== activity) return;
    this.parts.counts.timeouts += 1;
    this.parts.note(`activity timeout ${timeoutType} ${activity.type} ${run.start.workflowId}`);
    const details = { timeoutType, lastHeartbeatDetails: { payloads: activity.heartbeatDetails } };
    const failure = { message: 'activity timeout', source: 'Server', timeoutFailureInfo: details } as Failure;
    if (timeoutType !== TIMEOUT.SCHEDULE_TO_CLOSE && this.#retry(run, activity)) return;
    this.#resolve(run, activity, failedWith(activity, failure), events.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT);
  }

  /** @returns whether there is another attempt */
  #retry(run: Run, activity: ActivityState): boolean {
    const { retry, timeouts } = activity;
    const { time } = this.parts;
    const pause = pauseAfter(activity.attempt, retry);
    if (pause === null) return false;
    if (time.now + pause > activity.scheduledAt + timeouts.scheduleToCloseMs) return false;
    for (const cancel of activity.timers) cancel?.();
    activity.timers = [];
    activity.attempt += 1;
    activity.startedAt = null;
    activity.attemptScheduledAt = time.now + pause;
    time.after(pause, () => this.#dispatch(run, activity), undefined);
    return true;
  }

  #resolve(run: Run, activity: ActivityState, result: Result, eventType: number): void {
    for (const cancel of activity.timers) cancel?.();
    activity.closeTimer.cancel();
    run.activities.delete(activity.seq);
    this.arrive(run, () => {
      const { now } = this.parts.time;
      run.append(events.EVENT_TYPE_ACTIVITY_TASK_STARTED, now);
      const answer = result.completed?.result;
      const attributes = { activityTaskCompletedEventAttributes: { result: { payloads: answer ? [answer] : [] } } };
      run.append(eventType, now, result.completed ? attributes : {});
      run.jobs.push({ resolveActivity: { seq: activity.seq, result, isLocal: false } });
    });
  }
}

function timeoutsOf(command: NonNullable<Command['scheduleActivity']>): ActivityState['timeouts'] {
  const scheduleToCloseMs = toMs(command.scheduleToCloseTimeout) || Infinity;
  return {
    scheduleToCloseMs,
    startToCloseMs: Math.min(toMs(command.startToCloseTimeout) || Infinity, scheduleToCloseMs),
    heartbeatMs: toMs(command.heartbeatTimeout) || Infinity,
  };
}

function attemptOf(run: Run, seq: number, attempt: number): ActivityState | null {
  const activity = run.activities.get(seq);
  return activity !== undefined && activity.attempt === attempt && activity.startedAt !== null ? activity : null;
}

function failedWith(activity: ActivityState, cause: Failure): Result {
  const failure: Failure = {
    message: 'Activity task failed',
    cause,
    activityFailureInfo: {
      scheduledEventId: Long.fromNumber(activity.scheduledEventId),
      activityType: { name: activity.type },
      activityId: activity.id,
      identity: '',
    },
  };
  return { failed: { failure } };
}
