import Long from 'long';
import type { EngineParts } from './parts.js';
import { events, GRPC, Refusal, STATUS, toTime, type Command, type Job, type Status } from './protocol.js';
import { Run, type RunStart } from './run.js';
import { endUpdates } from './updates.js';
import type { Entry } from './visibility.js';
import { TASK_TIMEOUT_MS, type WorkflowTasks } from './workflow-tasks.js';

/** The runs of all workflows, and what a search finds of them. */
export class Runs {
  readonly byId = new Map<string, Run>();
  /** The newest run of each workflow. */
  readonly newest = new Map<string, Run>();
  /** What a search finds, by the id of the run. */
  readonly entries = new Map<string, Entry>();
  /** Milliseconds until a search finds a change. */
  visibilityLagMs = 40;
  /** Called when a run has changed. */
  onChange: (run: Run) => void = () => undefined;

  constructor(
    private readonly parts: EngineParts,
    private readonly tasks: () => WorkflowTasks,
  ) {}

  /** @throws {Refusal} when the id is taken */
  start(
    start: Omit<RunStart, 'runId' | 'firstRunId' | 'continuedFrom' | 'seed' | 'startedAt'>,
    policies: { readonly usesExisting: boolean; readonly allowsDuplicate: boolean },
  ): { readonly run: Run; readonly isNew: boolean } {
    const existing = this.newest.get(start.workflowId);
    if (existing !== undefined) {
      // The same request again, because its answer was lost.
      if (existing.start.requestId === start.requestId) return { run: existing, isNew: false };
      if (existing.isOpen && policies.usesExisting) return { run: existing, isNew: false };
      if (existing.isOpen || !policies.allowsDuplicate) {
        throw new Refusal(GRPC.ALREADY_EXISTS, 'Workflow execution is already running or has finished.');
      }
    }
    const runId = this.#id();
    return {
      run: this.#open({ ...start, runId, firstRunId: runId, continuedFrom: null, ...this.#fresh() }),
      isNew: true,
    };
  }

  /** The next run starts at once, as with `workflowIdReuseMinimalInterval=0s`. */
  continueAsNew(run: Run, next: NonNullable<Command['continueAsNewWorkflowExecution']>): void {
    run.append(events.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW, this.parts.time.now);
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
      requestId: this.#id(),
      ...this.#fresh(),
    });
  }

  #fresh(): Pick<RunStart, 'seed' | 'startedAt'> {
    const { random, time } = this.parts;
    return { seed: Long.fromBits(random.uint32(), random.uint32(), true), startedAt: time.now };
  }

  #open(start: RunStart): Run {
    const run = new Run(start);
    this.byId.set(start.runId, run);
    this.newest.set(start.workflowId, run);
    run.append(events.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, this.parts.time.now, {
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
    this.parts.note(`run ${start.workflowId} ${start.type}`);
    run.jobs.push({ initializeWorkflow: initialize(start) });
    this.changed(run);
    this.tasks().ensure(run, false);
    return run;
  }

  close(run: Run, status: Status): void {
    run.status = status;
    run.closedAt = this.parts.time.now;
    for (const cancel of run.timers.values()) cancel();
    run.timers.clear();
    for (const activity of run.activities.values()) {
      for (const cancel of [...activity.timers, activity.closeTimer.cancel]) cancel?.();
    }
    run.activities.clear();
    for (const cancel of run.task?.timers ?? []) cancel();
    run.task = null;
    run.sticky = null;
    endUpdates(run, status);
    this.parts.note(`closed ${run.start.workflowId} ${status}`);
    this.changed(run);
  }

  /** Those who wait learn of it now, the search finds it later. */
  changed(run: Run): void {
    run.changed();
    this.onChange(run);
    const { status, memo, searchAttributes } = run;
    const entry: Entry = { run, status, memo: { ...memo }, searchAttributes: { ...searchAttributes } };
    this.parts.time.after(this.visibilityLagMs, () => this.entries.set(run.start.runId, entry), undefined);
  }

  #id(): string {
    const hex = this.parts.random.bytes(16).toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }
}

function initialize(start: RunStart): NonNullable<Job['initializeWorkflow']> {
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
