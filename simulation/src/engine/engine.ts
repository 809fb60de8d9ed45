import Long from 'long';
import type { Random } from '../random.js';
import type { VirtualTime } from '../virtual/time.js';
import {
  events,
  GRPC,
  Refusal,
  STATUS,
  toMs,
  toTime,
  type Command,
  type Failure,
  type Job,
  type Payload,
  type Status,
} from './protocol.js';
import { Run, type ActivityState, type RunStart, type Step, type Update, type WorkflowTask } from './run.js';
import type { Entry } from './visibility.js';

/** A workflow task, as a worker gets it. */
export type TaskForWorker = {
  readonly run: Run;
  readonly token: number;
  readonly startedAt: number;
  readonly historyLength: number;
  readonly jobs: readonly Job[];
  /** The steps before this task. A worker that has not made them repeats them. */
  readonly steps: readonly Step[];
  readonly attempt: number;
};

export type ActivityTask = {
  readonly run: Run;
  readonly activity: ActivityState;
  readonly attempt: number;
  readonly startedAt: number;
};

/** A worker, as the engine sees it. */
export type Poller = {
  readonly name: string;
  /** Whether it asks for tasks now. One that was cut off or frozen a moment ago may still have asked. */
  readonly isPolling: boolean;
  takeTask(task: TaskForWorker): void;
  takeActivity(task: ActivityTask): void;
};

/** What a worker answers to a workflow task. */
export type Completion =
  | {
      readonly kind: 'done';
      readonly steps: readonly (Step & { readonly jobs: readonly Job[] })[];
      readonly commands: readonly Command[];
      readonly markers: number;
    }
  | { readonly kind: 'failed'; readonly why: string };

const TASK_TIMEOUT_MS = 10_000;
const STICKY_TIMEOUT_MS = 3_000;
/** A task that failed is tried again after a pause that grows. */
const TASK_RETRY_MS = [0, 0, 1_000, 2_000, 5_000, 10_000];
/** Source: limits of Temporal's server. */
const MAX_UPDATES = 10;
/** A run that continues as new starts at once, as with `workflowIdReuseMinimalInterval=0s`. */
const TERMINAL = [
  'completeWorkflowExecution',
  'failWorkflowExecution',
  'cancelWorkflowExecution',
  'continueAsNewWorkflowExecution',
] as const;

/**
 * Temporal's server, as far as Tillflow uses it: runs with their histories, workflow tasks and activities with timeouts
 * and retries, timers, signals, updates, visibility that lags. A started task belongs to one worker; when that worker
 * is lost, the task times out and another worker gets it.
 */
export class Engine {
  readonly runs = new Map<string, Run>();
  /** The newest run of each workflow. */
  readonly newest = new Map<string, Run>();
  readonly entries = new Map<string, Entry>();
  readonly workers = new Map<string, Poller>();
  /** Waits for a worker. */
  #idle: (() => void)[] = [];
  #tokens = 0;
  /** Milliseconds until a search finds a change. */
  visibilityLagMs = 40;
  readonly counts = { tasks: 0, activities: 0, timeouts: 0, failures: 0, late: 0, replays: 0 };
  readonly problems: string[] = [];

  constructor(
    readonly time: VirtualTime,
    readonly random: Random,
    readonly note: (what: string) => void,
  ) {}

  // Starting and closing runs

  /** @throws {Refusal} when the id is taken */
  start(
    start: Omit<RunStart, 'runId' | 'firstRunId' | 'continuedFrom' | 'seed' | 'startedAt'>,
    policies: { readonly usesExisting: boolean; readonly allowsDuplicate: boolean },
  ): { readonly run: Run; readonly isNew: boolean } {
    const existing = this.newest.get(start.workflowId);
    if (existing !== undefined) {
      // The same request again, because its answer was lost.
      if (existing.start.requestId === start.requestId) return { run: existing, isNew: false };
      if (existing.isOpen ? policies.usesExisting : false) return { run: existing, isNew: false };
      if (existing.isOpen || !policies.allowsDuplicate) {
        throw new Refusal(GRPC.ALREADY_EXISTS, 'Workflow execution is already running or has finished.');
      }
    }
    const runId = this.#id();
    const run = this.#open({
      ...start,
      runId,
      firstRunId: runId,
      continuedFrom: null,
      seed: this.#seed(),
      startedAt: this.time.now,
    });
    return { run, isNew: true };
  }

  #open(start: RunStart): Run {
    const run = new Run(start);
    this.runs.set(start.runId, run);
    this.newest.set(start.workflowId, run);
    run.append(events.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, this.time.now, {
      workflowExecutionStartedEventAttributes: {
        workflowType: { name: start.type },
        taskQueue: { name: start.taskQueue },
        input: { payloads: [...start.input] },
        memo: { fields: { ...start.memo } },
        searchAttributes: { indexedFields: { ...start.searchAttributes } },
        firstExecutionRunId: start.firstRunId,
        originalExecutionRunId: start.runId,
        continuedExecutionRunId: start.continuedFrom ?? '',
      },
    });
    this.note(`run ${start.workflowId} ${start.type}`);
    run.jobs.push({ initializeWorkflow: initialize(run) });
    this.#changed(run);
    this.#ensureTask(run, false);
    return run;
  }

  close(run: Run, status: Status): void {
    run.status = status;
    run.closedAt = this.time.now;
    for (const cancel of run.timers.values()) cancel();
    run.timers.clear();
    for (const activity of run.activities.values()) {
      for (const cancel of [...activity.timers, activity.closeTimer.cancel]) cancel();
    }
    run.activities.clear();
    for (const cancel of run.task?.timers ?? []) cancel();
    run.task = null;
    run.sticky = null;
    for (const update of run.updates.values()) {
      if (update.stage === 'completed') continue;
      if (update.stage === 'accepted') {
        update.stage = 'completed';
        update.outcome = {
          failure: {
            message: 'Workflow Update failed because the Workflow completed before the Update completed.',
            source: 'Server',
            applicationFailureInfo: { type: 'AcceptedUpdateCompletedWorkflow', nonRetryable: true },
          },
        };
      } else update.lost = status === STATUS.CONTINUED_AS_NEW ? 'again' : 'closed';
    }
    this.note(`closed ${run.start.workflowId} ${status}`);
    this.#changed(run);
  }

  terminate(run: Run): void {
    run.append(events.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED, this.time.now);
    this.close(run, STATUS.TERMINATED);
  }

  // Messages to a run

  signal(
    run: Run,
    signal: {
      readonly name: string;
      readonly input: readonly Payload[];
      readonly identity: string;
      readonly requestId: string;
    },
  ): void {
    if (signal.requestId !== '' && run.signalIds.has(signal.requestId)) return;
    run.signalIds.add(signal.requestId);
    this.#arrive(run, () => {
      run.append(events.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, this.time.now);
      run.jobs.push({
        signalWorkflow: { signalName: signal.name, input: [...signal.input], identity: signal.identity, headers: {} },
      });
    });
  }

  requestCancel(run: Run): void {
    this.#arrive(run, () => {
      run.append(events.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED, this.time.now);
      run.jobs.push({ cancelWorkflow: { reason: '' } });
    });
  }

  /** @throws {Refusal} */
  update(run: Run, request: Pick<Update, 'id' | 'name' | 'input' | 'identity'>): Update {
    const known = run.updates.get(request.id);
    if (known !== undefined) return known;
    if (!run.isOpen) throw new Refusal(GRPC.NOT_FOUND, 'workflow execution already completed');
    const open = [...run.updates.values()].filter(({ stage }) => stage !== 'completed').length;
    if (open >= MAX_UPDATES) {
      throw new Refusal(
        GRPC.RESOURCE_EXHAUSTED,
        `limit on number of concurrent in-flight updates has been reached (${MAX_UPDATES})`,
      );
    }
    const update: Update = { ...request, stage: 'admitted' };
    run.updates.set(update.id, update);
    if (run.task === null) this.#ensureTask(run, true);
    return update;
  }

  /** The server restarts: it loses what it only had in memory. */
  restart(): void {
    for (const run of this.newest.values()) {
      for (const update of [...run.updates.values()]) {
        if (update.stage !== 'admitted') continue;
        update.lost = 'again';
        run.updates.delete(update.id);
      }
      if (run.task?.isSpeculative === true) {
        for (const cancel of run.task.timers) cancel();
        run.task = null;
        const { jobs } = run;
        if (jobs.length > 0) this.#ensureTask(run, false);
      }
      run.changed();
    }
  }

  /** Applies it now, or after the workflow task that is under way. */
  #arrive(run: Run, apply: () => void, timerSeq?: number): void {
    if (!run.isOpen) return;
    if (run.task?.startedAt !== null && run.task !== null) {
      run.buffered.push(timerSeq === undefined ? { apply } : { apply, timerSeq });
      return;
    }
    apply();
    run.changed();
    this.#ensureTask(run, false);
  }

  // Workflow tasks

  #ensureTask(run: Run, isSpeculative: boolean): void {
    if (!run.isOpen) return;
    if (run.task !== null) {
      if (!isSpeculative && run.task.isSpeculative && run.task.startedAt === null) {
        run.task.isSpeculative = false;
        run.append(events.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, this.time.now);
      }
      return;
    }
    if (!isSpeculative) run.append(events.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, this.time.now);
    this.#schedule(run, isSpeculative, 1);
  }

  #schedule(run: Run, isSpeculative: boolean, attempt: number): void {
    const task: WorkflowTask = {
      token: ++this.#tokens,
      isSpeculative,
      scheduledAt: this.time.now,
      startedAt: null,
      historyLength: 0,
      jobs: [],
      updates: [],
      attempt,
      timers: [],
    };
    run.task = task;
    const pause = TASK_RETRY_MS[Math.min(attempt, TASK_RETRY_MS.length) - 1] ?? 0;
    if (pause > 0) this.time.after(pause, () => this.#dispatch(run, task), undefined);
    else this.#dispatch(run, task);
  }

  #dispatch(run: Run, task: WorkflowTask): void {
    if (run.task !== task || task.startedAt !== null) return;
    const sticky = run.sticky === null ? undefined : this.workers.get(run.sticky);
    if (sticky?.isPolling === true) {
      this.#begin(run, task, sticky);
      return;
    }
    if (run.sticky !== null) {
      // The task waits on the queue of a worker that does not ask for it.
      task.timers.push(
        this.time.after(
          STICKY_TIMEOUT_MS,
          () => {
            if (run.task !== task || task.startedAt !== null) return;
            run.sticky = null;
            if (!task.isSpeculative) {
              run.append(events.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT, this.time.now);
              run.append(events.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, this.time.now);
            }
            this.#dispatch(run, task);
          },
          undefined,
        ),
      );
      return;
    }
    const worker = this.#anyWorker();
    if (worker === undefined) this.#idle.push(() => this.#dispatch(run, task));
    else this.#begin(run, task, worker);
  }

  #begin(run: Run, task: WorkflowTask, worker: Poller): void {
    this.counts.tasks += 1;
    task.startedAt = this.time.now;
    if (task.isSpeculative) task.historyLength = run.events.length + 2;
    else task.historyLength = run.append(events.EVENT_TYPE_WORKFLOW_TASK_STARTED, this.time.now);
    task.jobs = run.jobs;
    run.jobs = [];
    task.updates = [...run.updates.values()].filter(({ stage, lost }) => stage === 'admitted' && lost === undefined);
    const updates = task.updates.map((update): Job => doUpdate(update));
    run.changed();
    task.timers.push(this.time.after(TASK_TIMEOUT_MS, () => this.#timedOut(run, task), undefined));
    worker.takeTask({
      run,
      token: task.token,
      startedAt: task.startedAt,
      historyLength: task.historyLength,
      jobs: [...task.jobs, ...updates],
      steps: [...run.journal],
      attempt: task.attempt,
    });
  }

  #timedOut(run: Run, task: WorkflowTask): void {
    if (run.task !== task) return;
    this.counts.timeouts += 1;
    this.note(`task timeout ${run.start.workflowId}`);
    this.#again(run, task, events.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT);
  }

  /** The task ended without a completion. Its jobs come again, and what arrived meanwhile. */
  #again(run: Run, task: WorkflowTask, eventType: number): void {
    for (const cancel of task.timers) cancel();
    run.task = null;
    run.sticky = null;
    if (!task.isSpeculative) run.append(eventType, this.time.now);
    run.jobs = [...task.jobs, ...run.jobs];
    const isNews = this.#flush(run);
    const isSpeculative = task.isSpeculative && run.jobs.length === 0;
    if (!isSpeculative) run.append(events.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, this.time.now);
    this.#schedule(run, isSpeculative, isNews ? 1 : task.attempt + 1);
  }

  #flush(run: Run): boolean {
    const { buffered } = run;
    run.buffered = [];
    for (const { apply } of buffered) apply();
    return buffered.length > 0;
  }

  /** @returns false when the worker has to forget the run: it does not know the run's present state */
  complete(run: Run, token: number, worker: string, completion: Completion): boolean {
    const { task } = run;
    if (task === null || task.token !== token || task.startedAt === null) {
      this.counts.late += 1;
      return false;
    }
    if (completion.kind === 'failed') {
      this.counts.failures += 1;
      run.failures += 1;
      run.problem ??= completion.why;
      this.problems.push(`${run.start.workflowId}: ${completion.why}`);
      this.note(`task failed ${run.start.workflowId}: ${completion.why}`);
      this.#again(run, task, events.EVENT_TYPE_WORKFLOW_TASK_FAILED);
      return false;
    }
    const { commands } = completion;
    const last = commands.at(-1);
    const isLast = last !== undefined && TERMINAL.some((kind) => hasOwn(last, kind));
    if (isLast && run.buffered.length > 0) {
      this.note(`unhandled command ${run.start.workflowId}`);
      this.#again(run, task, events.EVENT_TYPE_WORKFLOW_TASK_FAILED);
      return false;
    }
    const responses = commands.flatMap(({ updateResponse }) => updateResponse ?? []);
    const accepted = new Set(responses.flatMap((one) => (one.accepted ? [one.protocolInstanceId ?? ''] : [])));
    const isRejected = (id: string): boolean => run.updates.get(id)?.stage === 'admitted' && !accepted.has(id);
    // Refused by its validator: the history has no trace of it.
    const rejected = new Set(
      responses.flatMap(({ rejected: no, protocolInstanceId: id }) => (no && isRejected(id ?? '') ? [id ?? ''] : [])),
    );
    for (const cancel of task.timers) cancel();
    run.task = null;
    run.sticky = worker;
    const isTraceless =
      task.isSpeculative &&
      commands.length === responses.length &&
      responses.every(({ protocolInstanceId: id }) => rejected.has(id ?? ''));
    if (!isTraceless) {
      if (task.isSpeculative) {
        run.append(events.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, task.scheduledAt);
        run.append(events.EVENT_TYPE_WORKFLOW_TASK_STARTED, task.startedAt);
      }
      run.append(events.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, this.time.now, {
        workflowTaskCompletedEventAttributes: { identity: worker },
      });
      for (const step of completion.steps) {
        const jobs = step.jobs.filter(({ doUpdate: update }) => !rejected.has(update?.protocolInstanceId ?? ''));
        run.journal.push({ ...step, jobs: jobs.map(withoutValidator) });
      }
    }
    for (let count = 0; count < completion.markers; count += 1)
      run.append(events.EVENT_TYPE_MARKER_RECORDED, this.time.now);
    for (const command of commands) this.#apply(run, command);
    run.problem = null;
    if (run.isOpen) {
      this.#flush(run);
      if (run.jobs.length > 0) this.#ensureTask(run, false);
      else if ([...run.updates.values()].some(({ stage }) => stage === 'admitted')) this.#ensureTask(run, true);
    }
    this.#changed(run);
    return true;
  }

  #apply(run: Run, command: Command): void {
    const { now } = this.time;
    if (command.startTimer) {
      const { seq = 0, startToFireTimeout } = command.startTimer;
      const number = Number(seq);
      run.append(events.EVENT_TYPE_TIMER_STARTED, now);
      const fire = (): void => {
        run.timers.delete(number);
        this.#arrive(
          run,
          () => {
            run.append(events.EVENT_TYPE_TIMER_FIRED, this.time.now);
            run.jobs.push({ fireTimer: { seq: number } });
          },
          number,
        );
      };
      run.timers.set(number, this.time.after(toMs(startToFireTimeout), fire, undefined));
    } else if (command.cancelTimer) {
      const number = Number(command.cancelTimer.seq ?? 0);
      run.timers.get(number)?.();
      run.timers.delete(number);
      run.buffered = run.buffered.filter(({ timerSeq }) => timerSeq !== number);
      run.append(events.EVENT_TYPE_TIMER_CANCELED, now);
    } else if (command.scheduleActivity) {
      this.#scheduleActivity(run, command.scheduleActivity);
    } else if (command.upsertWorkflowSearchAttributes) {
      Object.assign(run.searchAttributes, command.upsertWorkflowSearchAttributes.searchAttributes?.indexedFields);
      run.append(events.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES, now);
    } else if (command.modifyWorkflowProperties) {
      const upsertedMemo = command.modifyWorkflowProperties.upsertedMemo ?? {};
      Object.assign(run.memo, upsertedMemo.fields);
      run.append(events.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED, now, {
        workflowPropertiesModifiedEventAttributes: { upsertedMemo },
      });
    } else if (command.setPatchMarker) {
      run.append(events.EVENT_TYPE_MARKER_RECORDED, now);
    } else if (command.updateResponse) {
      const { protocolInstanceId = '', accepted, rejected, completed } = command.updateResponse;
      const update = run.updates.get(protocolInstanceId ?? '');
      if (update === undefined) throw new Error(`No update ${protocolInstanceId}`);
      if (accepted) {
        update.stage = 'accepted';
        run.append(events.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED, now);
      } else if (rejected) {
        // Its handler failed, unless its validator refused it.
        if (update.stage === 'accepted') run.append(events.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED, now);
        update.stage = 'completed';
        update.outcome = { failure: rejected };
      } else {
        update.stage = 'completed';
        update.outcome = { success: completed ? [completed] : [] };
        run.append(events.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED, now);
      }
    } else if (command.completeWorkflowExecution) {
      run.append(events.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, now);
      this.close(run, STATUS.COMPLETED);
    } else if (command.failWorkflowExecution) {
      run.append(events.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED, now);
      this.problems.push(`${run.start.workflowId} failed: ${command.failWorkflowExecution.failure?.message}`);
      this.close(run, STATUS.FAILED);
    } else if (command.cancelWorkflowExecution) {
      run.append(events.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED, now);
      this.close(run, STATUS.CANCELED);
    } else if (command.continueAsNewWorkflowExecution) {
      this.#continueAsNew(run, command.continueAsNewWorkflowExecution);
    } else {
      throw new Error(`The simulation does not know this command: ${Object.keys(command).join(', ')}`);
    }
  }

  #continueAsNew(run: Run, next: NonNullable<Command['continueAsNewWorkflowExecution']>): void {
    run.append(events.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW, this.time.now);
    this.close(run, STATUS.CONTINUED_AS_NEW);
    const memo = next.memo ?? {};
    const attributes = next.searchAttributes?.indexedFields ?? {};
    this.#open({
      workflowId: run.start.workflowId,
      runId: this.#id(),
      firstRunId: run.start.firstRunId,
      continuedFrom: run.start.runId,
      type: next.workflowType === '' || !next.workflowType ? run.start.type : next.workflowType,
      taskQueue: next.taskQueue === '' || !next.taskQueue ? run.start.taskQueue : next.taskQueue,
      input: next.arguments ?? [],
      memo: Object.keys(memo).length > 0 ? memo : run.memo,
      searchAttributes: Object.keys(attributes).length > 0 ? attributes : run.searchAttributes,
      seed: this.#seed(),
      startedAt: this.time.now,
      requestId: this.#id(),
    });
  }

  // Activities

  #scheduleActivity(run: Run, command: NonNullable<Command['scheduleActivity']>): void {
    const { now } = this.time;
    const scheduledEventId = run.append(events.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, now);
    const { retryPolicy } = command;
    const closeTimer = { cancel: (): void => undefined };
    const seq = Number(command.seq ?? 0);
    const scheduleToCloseMs = toMs(command.scheduleToCloseTimeout) || Infinity;
    const activity: ActivityState = {
      seq,
      id: command.activityId || String(seq),
      type: command.activityType ?? '',
      taskQueue: command.taskQueue ?? '',
      input: command.arguments ?? [],
      scheduledAt: now,
      scheduledEventId,
      timeouts: {
        scheduleToCloseMs,
        startToCloseMs: Math.min(toMs(command.startToCloseTimeout) || Infinity, scheduleToCloseMs),
        heartbeatMs: toMs(command.heartbeatTimeout) || Infinity,
      },
      retry: {
        initialMs: toMs(retryPolicy?.initialInterval) || 1_000,
        coefficient: retryPolicy?.backoffCoefficient || 2,
        maximumMs: toMs(retryPolicy?.maximumInterval) || 100_000,
        attempts: retryPolicy?.maximumAttempts || Infinity,
      },
      attempt: 1,
      attemptScheduledAt: now,
      startedAt: null,
      heartbeatDetails: [],
      lastFailure: null,
      timers: [],
      closeTimer,
    };
    run.activities.set(seq, activity);
    if (scheduleToCloseMs < Infinity) {
      closeTimer.cancel = this.time.after(
        scheduleToCloseMs,
        () => this.#activityTimedOut(run, activity, SCHEDULE_TO_CLOSE),
        undefined,
      );
    }
    this.#dispatchActivity(run, activity);
  }

  #dispatchActivity(run: Run, activity: ActivityState): void {
    if (run.activities.get(activity.seq) !== activity || activity.startedAt !== null) return;
    const worker = this.#anyWorker();
    if (worker === undefined) {
      this.#idle.push(() => this.#dispatchActivity(run, activity));
      return;
    }
    this.counts.activities += 1;
    activity.startedAt = this.time.now;
    const { startToCloseMs } = activity.timeouts;
    if (startToCloseMs < Infinity) {
      activity.timers.push(
        this.time.after(startToCloseMs, () => this.#activityTimedOut(run, activity, START_TO_CLOSE), undefined),
      );
    }
    this.#expectHeartbeat(run, activity);
    worker.takeActivity({ run, activity, attempt: activity.attempt, startedAt: activity.startedAt });
  }

  #expectHeartbeat(run: Run, activity: ActivityState): void {
    const { heartbeatMs } = activity.timeouts;
    if (heartbeatMs === Infinity) return;
    const { attempt } = activity;
    const beat = this.time.after(
      heartbeatMs,
      () => (activity.attempt === attempt ? this.#activityTimedOut(run, activity, HEARTBEAT) : undefined),
      undefined,
    );
    activity.timers[1]?.();
    activity.timers[1] = beat;
  }

  /** @returns false when the attempt has ended: the worker stops it */
  heartbeat(run: Run, seq: number, attempt: number, details: Payload[]): boolean {
    const activity = this.#attemptOf(run, seq, attempt);
    if (activity === null) return false;
    activity.heartbeatDetails = details;
    this.#expectHeartbeat(run, activity);
    return true;
  }

  completeActivity(run: Run, seq: number, attempt: number, result: Payload | null): void {
    const activity = this.#attemptOf(run, seq, attempt);
    if (activity === null) {
      this.counts.late += 1;
      return;
    }
    this.#resolve(run, activity, { completed: { result } }, events.EVENT_TYPE_ACTIVITY_TASK_COMPLETED);
  }

  failActivity(run: Run, seq: number, attempt: number, failure: Failure): void {
    const activity = this.#attemptOf(run, seq, attempt);
    if (activity === null) {
      this.counts.late += 1;
      return;
    }
    const isFinal = failure.applicationFailureInfo?.nonRetryable === true;
    if (!isFinal && this.#retry(run, activity, failure)) return;
    this.#fail(run, activity, failure, events.EVENT_TYPE_ACTIVITY_TASK_FAILED);
  }

  #attemptOf(run: Run, seq: number, attempt: number): ActivityState | null {
    const activity = run.activities.get(seq);
    return activity !== undefined && activity.attempt === attempt && activity.startedAt !== null ? activity : null;
  }

  #activityTimedOut(run: Run, activity: ActivityState, timeoutType: number): void {
    if (run.activities.get(activity.seq) !== activity) return;
    this.counts.timeouts += 1;
    this.note(`activity timeout ${timeoutType} ${activity.type} ${run.start.workflowId}`);
    const failure: Failure = {
      message: 'activity timeout',
      source: 'Server',
      timeoutFailureInfo: { timeoutType, lastHeartbeatDetails: { payloads: activity.heartbeatDetails } },
    };
    if (timeoutType !== SCHEDULE_TO_CLOSE && this.#retry(run, activity, failure)) return;
    this.#fail(run, activity, failure, events.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT);
  }

  /** @returns whether there is another attempt */
  #retry(run: Run, activity: ActivityState, failure: Failure): boolean {
    const { retry, timeouts } = activity;
    if (activity.attempt >= retry.attempts) return false;
    const pause = Math.min(retry.initialMs * retry.coefficient ** (activity.attempt - 1), retry.maximumMs);
    if (this.time.now + pause > activity.scheduledAt + timeouts.scheduleToCloseMs) return false;
    for (const cancel of activity.timers) cancel?.();
    activity.timers = [];
    activity.attempt += 1;
    activity.startedAt = null;
    activity.attemptScheduledAt = this.time.now + pause;
    activity.lastFailure = failure;
    this.time.after(pause, () => this.#dispatchActivity(run, activity), undefined);
    return true;
  }

  #fail(run: Run, activity: ActivityState, cause: Failure, eventType: number): void {
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
    this.#resolve(run, activity, { failed: { failure } }, eventType);
  }

  #resolve(
    run: Run,
    activity: ActivityState,
    result: NonNullable<NonNullable<Job['resolveActivity']>['result']>,
    eventType: number,
  ): void {
    for (const cancel of activity.timers) cancel?.();
    activity.closeTimer.cancel();
    run.activities.delete(activity.seq);
    this.#arrive(run, () => {
      run.append(events.EVENT_TYPE_ACTIVITY_TASK_STARTED, this.time.now);
      run.append(eventType, this.time.now);
      run.jobs.push({ resolveActivity: { seq: activity.seq, result, isLocal: false } });
    });
  }

  // Workers

  /** A worker asks for tasks again. */
  polls(): void {
    const idle = this.#idle;
    this.#idle = [];
    for (const dispatch of idle) dispatch();
  }

  #anyWorker(): Poller | undefined {
    const polling = [...this.workers.values()].filter(({ isPolling }) => isPolling);
    return polling.length === 0 ? undefined : this.random.pick(polling);
  }

  /** The search finds it later. */
  #changed(run: Run): void {
    run.changed();
    const entry: Entry = {
      run,
      status: run.status,
      memo: { ...run.memo },
      searchAttributes: { ...run.searchAttributes },
    };
    this.time.after(this.visibilityLagMs, () => this.entries.set(run.start.runId, entry), undefined);
  }

  #id(): string {
    const hex = this.random.bytes(16).toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }

  #seed(): Long {
    return Long.fromBits(this.random.uint32(), this.random.uint32(), true);
  }
}

/** The numbers of Temporal's `TimeoutType`. */
const START_TO_CLOSE = 1;
const SCHEDULE_TO_CLOSE = 3;
const HEARTBEAT = 4;

function initialize({ start }: Run): NonNullable<Job['initializeWorkflow']> {
  return {
    workflowType: start.type,
    workflowId: start.workflowId,
    arguments: [...start.input],
    randomnessSeed: start.seed,
    headers: {},
    workflowTaskTimeout: toTime(TASK_TIMEOUT_MS),
    continuedFromExecutionRunId: start.continuedFrom ?? '',
    firstExecutionRunId: start.firstRunId,
    originalExecutionRunId: start.runId,
    attempt: 1,
    memo: { fields: { ...start.memo } },
    searchAttributes: { indexedFields: { ...start.searchAttributes } },
    startTime: toTime(start.startedAt),
  };
}

function doUpdate({ id, name, input, identity }: Update): Job {
  return {
    doUpdate: {
      id,
      protocolInstanceId: id,
      name,
      input: [...input],
      headers: {},
      meta: { updateId: id, identity },
      runValidator: true,
    },
  };
}

/** A worker that repeats the step asks no validator. */
function withoutValidator(job: Job): Job {
  return job.doUpdate ? { doUpdate: { ...job.doUpdate, runValidator: false } } : job;
}

function hasOwn(command: Command, kind: keyof Command): boolean {
  return command[kind] !== null && command[kind] !== undefined;
}
