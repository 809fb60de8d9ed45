import type { EngineParts } from './parts.js';
import type { Completion, Poller, Progress, RenewedTask } from './pollers.js';
import { events, toTime, type Command, type Job } from './protocol.js';
import type { LocalResult, Run, Step, WorkflowTask } from './run.js';
import { doUpdate, rejectedUpdates, withoutValidator } from './updates.js';

/** A started task that is neither completed nor renewed by then goes to another worker. Milliseconds. */
export const TASK_TIMEOUT_MS = 10_000;
/** A task waits so long for the worker that has the run in memory. Milliseconds. */
const STICKY_TIMEOUT_MS = 3_000;
/** A task that failed is tried again after a pause that grows. Milliseconds. */
const TASK_RETRY_MS = [0, 0, 1_000, 2_000, 5_000, 10_000];
/** A task that was heartbeated fails once or twice by design: see `LocalCalls`. A task that fails this often is a defect. */
const FAILURES_OF_A_DEFECT = 5;

const UTF8 = new TextEncoder();

const TERMINAL = [
  'completeWorkflowExecution',
  'failWorkflowExecution',
  'cancelWorkflowExecution',
  'continueAsNewWorkflowExecution',
] as const;

/** Workflow tasks: one at a time for each run. A started task belongs to one worker, until it times out. */
export class WorkflowTasks {
  #tokens = 0;

  /** @param apply carries out a command @param changed tells those who wait for news of the run */
  constructor(
    private readonly parts: EngineParts,
    private readonly apply: (run: Run, command: Command) => void,
    private readonly changed: (run: Run) => void,
  ) {}

  /** Adds an event to the run now, or after the workflow task that is under way. @param timerSeq of a timer's event */
  arrive(run: Run, apply: () => void, timerSeq?: number): void {
    if (!run.isOpen) return;
    if (run.task !== null && run.task.startedAt !== null) {
      run.buffered.push(timerSeq === undefined ? { apply } : { apply, timerSeq });
      return;
    }
    apply();
    run.changed();
    this.ensure(run, false);
  }

  /** @param isSpeculative only an update needs it: it leaves no trace when the update is rejected */
  ensure(run: Run, isSpeculative: boolean): void {
    if (!run.isOpen) return;
    if (run.task !== null) {
      if (!isSpeculative && run.task.isSpeculative && run.task.startedAt === null) {
        run.task.isSpeculative = false;
        run.append(events.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, this.parts.time.now);
      }
      return;
    }
    if (!isSpeculative) run.append(events.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, this.parts.time.now);
    this.#schedule(run, isSpeculative, 1);
  }

  /** The server forgets a task that is only in its memory. */
  dropSpeculative(run: Run): void {
    if (run.task?.isSpeculative !== true) return;
    const { timers, jobs } = run.task;
    for (const cancel of timers) cancel();
    run.task = null;
    run.jobs = [...jobs, ...run.jobs];
    flush(run);
    if (run.jobs.length > 0) this.ensure(run, false);
  }

  #schedule(run: Run, isSpeculative: boolean, attempt: number): void {
    const task = this.#task(isSpeculative, attempt);
    run.task = task;
    const pause = TASK_RETRY_MS[Math.min(attempt, TASK_RETRY_MS.length) - 1] ?? 0;
    if (pause > 0) this.parts.time.after(pause, () => this.#dispatch(run, task), undefined);
    else this.#dispatch(run, task);
  }

  #task(isSpeculative: boolean, attempt: number): WorkflowTask {
    const { now } = this.parts.time;
    const token = ++this.#tokens;
    return { token, isSpeculative, scheduledAt: now, startedAt: null, historyLength: 0, jobs: [], attempt, timers: [] };
  }

  #dispatch(run: Run, task: WorkflowTask): void {
    if (run.task !== task || task.startedAt !== null) return;
    const { pollers } = this.parts;
    if (run.sticky !== null) {
      const sticky = pollers.get(run.sticky);
      if (sticky?.isPolling === true) this.#begin(run, task, sticky);
      else task.timers.push(this.parts.time.after(STICKY_TIMEOUT_MS, () => this.#leaveSticky(run, task), undefined));
      return;
    }
    const worker = pollers.any();
    if (worker === undefined) pollers.whenPolling(() => this.#dispatch(run, task));
    else this.#begin(run, task, worker);
  }

  /** The worker that has the run in memory does not ask for its tasks. */
  #leaveSticky(run: Run, task: WorkflowTask): void {
    if (run.task !== task || task.startedAt !== null) return;
    run.sticky = null;
    if (!task.isSpeculative) {
      run.append(events.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT, this.parts.time.now);
      run.append(events.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, this.parts.time.now);
    }
    this.#dispatch(run, task);
  }

  #begin(run: Run, task: WorkflowTask, worker: Poller): void {
    const jobs = this.#start(run, task);
    const { token, historyLength } = task;
    const startedAt = this.#clock;
    worker.takeTask({ run, token, startedAt, historyLength, jobs, steps: [...run.journal], after: run.journalEnd });
  }

  /** @returns what the worker is asked within the task */
  #start(run: Run, task: WorkflowTask): Job[] {
    const { time, counts } = this.parts;
    counts.tasks += 1;
    task.startedAt = time.now;
    if (task.isSpeculative) task.historyLength = run.events.length + 2;
    else task.historyLength = run.append(events.EVENT_TYPE_WORKFLOW_TASK_STARTED, time.now);
    task.jobs = [...task.jobs, ...run.jobs];
    const jobs = [...run.jobs, ...admitted(run).map((update) => doUpdate(update))];
    run.jobs = [];
    run.changed();
    this.#expectEnd(run, task);
    return jobs;
  }

  #expectEnd(run: Run, task: WorkflowTask): void {
    for (const cancel of task.timers.splice(0)) cancel();
    task.timers.push(this.parts.time.after(TASK_TIMEOUT_MS, () => this.#timedOut(run, task), undefined));
  }

  #timedOut(run: Run, task: WorkflowTask): void {
    if (run.task !== task) return;
    this.parts.counts.timeouts += 1;
    this.parts.note(`task timeout ${run.start.workflowId}`);
    this.#again(run, task, events.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT);
  }

  /** The task ended without a completion. Its jobs come again, and what arrived meanwhile. */
  #again(run: Run, task: WorkflowTask, eventType: number): void {
    for (const cancel of task.timers) cancel();
    run.task = null;
    run.sticky = null;
    if (!task.isSpeculative) run.append(eventType, this.parts.time.now);
    run.jobs = [...task.jobs, ...run.jobs];
    const isNews = flush(run);
    const isSpeculative = task.isSpeculative && run.jobs.length === 0;
    if (!isSpeculative) run.append(events.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, this.parts.time.now);
    this.#schedule(run, isSpeculative, isNews ? 1 : task.attempt + 1);
  }

  /** @returns false when the worker has to forget the run: it does not know the run's present state */
  complete(run: Run, token: number, worker: string, completion: Completion): boolean {
    const task = this.#started(run, token);
    if (task === null) return false;
    if (completion.kind === 'failed') {
      this.#failed(run, task, completion);
      return false;
    }
    const last = completion.commands.at(-1);
    const isLast = last !== undefined && TERMINAL.some((kind) => last[kind] !== null && last[kind] !== undefined);
    if (isLast && run.buffered.length > 0) {
      this.parts.note(`unhandled command ${run.start.workflowId}`);
      this.#again(run, task, events.EVENT_TYPE_WORKFLOW_TASK_FAILED);
      return false;
    }
    this.#end(run, task, worker, completion);
    run.problem = null;
    if (run.isOpen) {
      flush(run);
      if (run.jobs.length > 0) this.ensure(run, false);
      else if (admitted(run).length > 0) this.ensure(run, true);
    }
    this.changed(run);
    return true;
  }

  /**
   * The worker asks for more time, because a local activity takes long. Temporal completes the task with what there is,
   * and starts another one for the same worker. When neither a command nor a message lies between the two, and the task
   * before them had no command either, a replay sees one task that started when the latter did.
   *
   * @returns null when the worker has lost the task
   */
  renew(run: Run, token: number, worker: string, progress: Progress): RenewedTask | null {
    const task = this.#started(run, token);
    if (task === null) return null;
    this.parts.counts.renewals += 1;
    this.parts.note(`task renewed ${run.start.workflowId}`);
    const isQuiet = progress.commands.length === 0 && progress.step.locals.length === 0 && run.buffered.length === 0;
    const isSame = isQuiet && !hasCommands(run.journal.at(-1));
    let renewed = task;
    if (isSame) {
      this.#recordStart(run, task);
      run.append(events.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, this.parts.time.now);
      task.isSpeculative = false;
      task.token = ++this.#tokens;
    } else {
      this.#end(run, task, worker, progress);
      flush(run);
      renewed = this.#task(false, 1);
      run.task = renewed;
    }
    run.append(events.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, this.parts.time.now);
    const jobs = this.#start(run, renewed);
    this.changed(run);
    return { token: renewed.token, startedAt: this.#clock, historyLength: renewed.historyLength, jobs, isSame };
  }

  /** What workflow code sees as the present. */
  get #clock(): number {
    return this.parts.clockStandsAt ?? this.parts.time.now;
  }

  #started(run: Run, token: number): WorkflowTask | null {
    const { task } = run;
    if (task !== null && task.token === token && task.startedAt !== null) return task;
    this.parts.counts.late += 1;
    return null;
  }

  #failed(run: Run, task: WorkflowTask, { why, isDivergence }: Extract<Completion, { kind: 'failed' }>): void {
    this.parts.counts.failures += 1;
    run.problem ??= why;
    const { workflowId } = run.start;
    if (isDivergence || task.attempt >= FAILURES_OF_A_DEFECT) this.parts.problems.push({ workflowId, why });
    this.parts.note(`task failed ${workflowId}: ${why}`);
    this.#again(run, task, events.EVENT_TYPE_WORKFLOW_TASK_FAILED);
  }

  /** Stores what the worker did within the task. */
  #end(run: Run, task: WorkflowTask, worker: string, { step, commands }: Progress): void {
    for (const cancel of task.timers) cancel();
    run.task = null;
    run.sticky = worker;
    const rejected = rejectedUpdates(run, commands);
    const isTraceless =
      task.isSpeculative &&
      step.locals.length === 0 &&
      commands.every(({ updateResponse: one }) => one && rejected.has(one.protocolInstanceId ?? ''));
    if (!isTraceless) {
      this.#recordStart(run, task);
      run.append(events.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, this.parts.time.now, {
        workflowTaskCompletedEventAttributes: { identity: worker },
      });
      run.journal.push(stored(step, rejected));
      run.journalEnd = task.token;
    }
    for (const local of step.locals)
      run.append(events.EVENT_TYPE_MARKER_RECORDED, this.parts.time.now, markerOf(local));
    for (const command of commands) this.apply(run, command);
  }

  #recordStart(run: Run, task: WorkflowTask): void {
    if (!task.isSpeculative) return;
    run.append(events.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, task.scheduledAt);
    run.append(events.EVENT_TYPE_WORKFLOW_TASK_STARTED, task.startedAt ?? task.scheduledAt);
  }
}

function hasCommands(step: Step | undefined): boolean {
  return step !== undefined && (step.commands !== '' || step.locals.length > 0);
}

/** As Temporal's core writes it. */
function markerOf({ at, result }: LocalResult) {
  const { seconds, nanos } = toTime(at);
  const data = {
    metadata: { encoding: UTF8.encode('json/plain') },
    data: UTF8.encode(JSON.stringify({ complete_time: { seconds: Number(seconds), nanos } })),
  };
  const answer = result.completed?.result;
  const details = { data: { payloads: [data] }, ...(answer ? { result: { payloads: [answer] } } : {}) };
  return { markerRecordedEventAttributes: { markerName: 'core_local_activity', details } };
}

function admitted(run: Run) {
  return [...run.updates.values()].filter(({ stage, lost }) => stage === 'admitted' && lost === undefined);
}

/** Applies what arrived during the task. @returns whether there was anything */
function flush(run: Run): boolean {
  const { buffered } = run;
  run.buffered = [];
  for (const { apply } of buffered) apply();
  return buffered.length > 0;
}

/** As a replay reads it: without the updates that left no trace, and with those that a validator has accepted. */
function stored(step: Step, rejected: ReadonlySet<string>): Step {
  const jobs = step.jobs.filter(({ doUpdate: one }) => !rejected.has(one?.protocolInstanceId ?? ''));
  return { ...step, jobs: jobs.map((job) => withoutValidator(job)) };
}
