import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { DefaultLogger } from '@temporalio/worker';
import { parseWorkflowCode } from '@temporalio/worker/lib/worker.js';
import { Activity } from '@temporalio/worker/lib/activity.js';
import { ReusableVMWorkflowCreator } from '@temporalio/worker/lib/workflow/reusable-vm.js';
import {
  defaultPayloadConverter,
  noopMetricMeter,
  TypedSearchAttributes,
  type ActivityFunction,
} from '@temporalio/common';
import type { Client } from '@temporalio/client';
import { readFileSync } from 'node:fs';
import type { Completion, ActivityTask, Engine, Poller, TaskForWorker } from './engine/engine.js';
import {
  toMs,
  toTime,
  WorkflowActivation,
  type Command,
  type Failure,
  type Job,
  type Payload,
} from './engine/protocol.js';
import type { Run, Step } from './engine/run.js';
import type { Network } from './network/network.js';
import { running, type Machine, type VirtualTime } from './virtual/time.js';

export type Activities = Readonly<Record<string, ActivityFunction>>;

type Workflow = Awaited<ReturnType<ReusableVMWorkflowCreator['createWorkflow']>>;

/** A run in a worker's memory. */
type Cached = { readonly workflow: Workflow; steps: number; isBusy: boolean };

const SDK_VERSION = '1.24.0';
const quiet = new DefaultLogger('ERROR', () => undefined);
/** A worker that cannot report tries again. Milliseconds. */
const REPORT_AGAIN_MS = 500;
const REPORT_TRIES = 20;

/** The workflow code of the product, in the sandbox of Temporal's library. One for all workers of this process. */
export async function loadWorkflows(
  bundlePath: string,
  activities: readonly string[],
): Promise<ReusableVMWorkflowCreator> {
  const bundle = parseWorkflowCode(readFileSync(bundlePath, 'utf8'), bundlePath);
  // Without a limit for each call: Node would start a thread for it.
  return ReusableVMWorkflowCreator.create(bundle, undefined as never, new Set(activities), undefined as never);
}

export type WorkerParts = {
  readonly engine: Engine;
  readonly network: Network;
  readonly time: VirtualTime;
  readonly workflows: ReusableVMWorkflowCreator;
  readonly activities: Activities;
  readonly interceptors: readonly ActivityInterceptorsFactory[];
  readonly client: Client;
  readonly machine: Machine;
  readonly taskQueue: string;
  readonly engineMachine: () => Machine | null;
  readonly note: (what: string) => void;
};

/**
 * A worker process: workflow code in the library's sandbox, activities in the library's context. In place of Temporal's
 * Core it makes activations of the tasks, carries out local activities, and repeats a run that it does not have in
 * memory from the steps that the engine keeps.
 */
export class SimulatedWorker implements Poller {
  readonly #cache = new Map<string, Cached>();
  /** A task that is handed out although the worker is cut off or frozen: it had asked for it before. */
  openPolls = 0;
  /** So many of the next workflow tasks never reach the worker. */
  loseTasks = 0;
  /** So many of the next results are sent twice. */
  repeatReports = 0;

  constructor(private readonly parts: WorkerParts) {}

  get name(): string {
    return this.parts.machine.name;
  }

  get machine(): Machine {
    return this.parts.machine;
  }

  get #isReachable(): boolean {
    const { machine, network, time } = this.parts;
    return !machine.isDead && machine.frozenUntil <= time.now && !network.isCut('worker-engine');
  }

  get isPolling(): boolean {
    return this.openPolls > 0 || this.#isReachable;
  }

  /** The engine hands over a message. One that was handed to a cut-off worker is lost, a frozen one gets it later. */
  #receive(work: () => Promise<void>): void {
    const { machine, network, time } = this.parts;
    if (!this.#isReachable) this.openPolls -= 1;
    if (machine.isDead || network.isCut('worker-engine')) return;
    time.after(0.5, () => void running.run(machine, work), machine);
  }

  /** Sends a result to the engine, again while it is cut off. */
  #report<T>(send: () => T, then: (answer: T) => void = () => undefined): void {
    const { network, engineMachine, time } = this.parts;
    let tries = 0;
    const attempt = (): void => {
      tries += 1;
      network.exchange(
        'worker-engine',
        engineMachine,
        () => Promise.resolve(send()),
        (result) => {
          if ('answer' in result) then(result.answer);
          else if (tries < REPORT_TRIES) time.after(REPORT_AGAIN_MS, attempt);
        },
      );
    };
    attempt();
    if (this.repeatReports <= 0) return;
    this.repeatReports -= 1;
    // The connection broke after the result had arrived.
    network.exchange(
      'worker-engine',
      engineMachine,
      () => Promise.resolve(send()),
      () => undefined,
    );
  }

  takeTask(task: TaskForWorker): void {
    if (this.loseTasks > 0) {
      this.loseTasks -= 1;
      this.parts.note(`task lost ${task.run.start.workflowId}`);
      return;
    }
    this.#receive(() => this.#work(task));
  }

  async #work(task: TaskForWorker): Promise<void> {
    const { run } = task;
    let completion: Completion;
    let cached = this.#cache.get(run.start.runId);
    try {
      if (cached === undefined || cached.isBusy || cached.steps !== task.steps.length) {
        this.#forget(run);
        cached = await this.#rebuild(task);
      }
      cached.isBusy = true;
      completion = await this.#activate(task, cached);
      cached.isBusy = false;
    } catch (error) {
      completion = { kind: 'failed', why: error instanceof Error ? error.message : String(error) };
    }
    if (completion.kind === 'failed') this.#forget(run);
    this.#report(
      () => this.parts.engine.complete(run, task.token, this.name, completion),
      (isKnown) => {
        // Another task may have put the run into memory again meanwhile.
        if (!isKnown && this.#cache.get(run.start.runId) === cached) this.#forget(run);
        else if (!run.isOpen) this.#forget(run);
        else if (isKnown && cached !== undefined) cached.steps = run.journal.length;
      },
    );
  }

  #forget(run: Run): void {
    const cached = this.#cache.get(run.start.runId);
    if (cached === undefined) return;
    this.#cache.delete(run.start.runId);
    if (!cached.isBusy) void cached.workflow.dispose();
  }

  /** The worker has too little memory for all runs, or was told to forget them. */
  forgetAll(): void {
    for (const runId of this.#cache.keys()) {
      const run = this.parts.engine.runs.get(runId);
      if (run !== undefined) this.#forget(run);
    }
  }

  async #rebuild({ run, steps, jobs, startedAt, historyLength }: TaskForWorker): Promise<Cached> {
    const first = steps[0] ?? { jobs, timestamp: startedAt, historyLength };
    const workflow = await this.#create(run, first);
    if (steps.length > 0) this.parts.engine.counts.replays += 1;
    for (const step of steps) {
      const { commands } = await this.#call(run, workflow, step, true);
      const made = digest(commands);
      if (made !== step.commands) {
        throw new Error(`a repeated step makes other commands: ${made} instead of ${step.commands}`);
      }
    }
    const cached: Cached = { workflow, steps: steps.length, isBusy: true };
    this.#cache.set(run.start.runId, cached);
    return cached;
  }

  #create({ start }: Run, first: Pick<Step, 'timestamp' | 'historyLength'>): Promise<Workflow> {
    const info = {
      workflowId: start.workflowId,
      runId: start.runId,
      workflowType: start.type,
      searchAttributes: {},
      typedSearchAttributes: new TypedSearchAttributes(),
      taskQueue: start.taskQueue,
      namespace: 'default',
      firstExecutionRunId: start.firstRunId,
      originalExecutionRunId: start.runId,
      continuedFromExecutionRunId: start.continuedFrom ?? undefined,
      startTime: new Date(start.startedAt),
      runStartTime: new Date(first.timestamp),
      taskTimeoutMs: 10_000,
      attempt: 1,
      historyLength: first.historyLength,
      historySize: 0,
      continueAsNewSuggested: false,
      currentBuildId: '',
      unsafe: { now: () => first.timestamp, isReplaying: false, isReplayingHistoryEvents: false, random: {} },
    };
    return this.parts.workflows.createWorkflow({
      info,
      randomnessSeed: start.seed.toBytes(),
      now: first.timestamp,
      showStackTraceSources: false,
      failureExceptionTypeNames: [],
    } as never);
  }

  async #call(
    { start }: Run,
    workflow: Workflow,
    step: Pick<Step, 'jobs' | 'timestamp' | 'historyLength'>,
    isReplaying: boolean,
  ): Promise<{ readonly commands: readonly Command[] }> {
    const activation = WorkflowActivation.fromObject({
      runId: start.runId,
      timestamp: toTime(step.timestamp),
      isReplaying,
      historyLength: step.historyLength,
      jobs: [...step.jobs],
      availableInternalFlags: FLAGS,
      lastSdkVersion: SDK_VERSION,
    });
    const completion = await workflow.activate(activation as never);
    await workflow.getAndResetSinkCalls();
    const { successful, failed } = completion as {
      readonly successful?: { readonly commands?: readonly Command[] } | null;
      readonly failed?: { readonly failure?: Failure | null } | null;
    };
    if (failed) throw new Error(failed.failure?.message ?? 'workflow code failed');
    return { commands: successful?.commands ?? [] };
  }

  /** One workflow task: an activation, and one more for each local activity that ends within it. */
  async #activate(task: TaskForWorker, { workflow }: Cached): Promise<Completion> {
    const { run, startedAt, historyLength } = task;
    const receivedAt = this.parts.time.now;
    const steps: Step[] = [];
    const all: Command[] = [];
    let markers = 0;
    let jobs: readonly Job[] = inOrder(task.jobs);
    const ended: Job[] = [];
    let underWay = 0;
    let wake: (() => void) | null = null;
    while (jobs.length > 0) {
      const timestamp = startedAt + Math.round(this.parts.time.now - receivedAt);
      const step = { jobs, timestamp, historyLength };
      const { commands } = await this.#call(run, workflow, step, false);
      const patches = commands.flatMap(({ setPatchMarker }): Job[] =>
        setPatchMarker ? [{ notifyHasPatch: { patchId: setPatchMarker.patchId } }] : [],
      );
      steps.push({ ...step, jobs: [...patches, ...jobs], commands: digest(commands) });
      for (const command of commands) {
        const local = command.scheduleLocalActivity;
        if (!local) {
          if (!command.requestCancelLocalActivity) all.push(command);
          continue;
        }
        underWay += 1;
        const seq = Number(local.seq ?? 0);
        void this.#local(run, local).then((result) => {
          underWay -= 1;
          ended.push({ resolveActivity: { seq, result, isLocal: true } });
          wake?.();
        });
      }
      if (ended.length === 0 && underWay > 0) await new Promise<void>((resolve) => (wake = resolve));
      jobs = ended.splice(0);
      markers += jobs.length;
    }
    return { kind: 'done', steps, commands: all, markers };
  }

  async #local(
    run: Run,
    command: NonNullable<Command['scheduleLocalActivity']>,
  ): Promise<NonNullable<NonNullable<Job['resolveActivity']>['result']>> {
    const timeoutMs = toMs(command.scheduleToCloseTimeout) || toMs(command.startToCloseTimeout) || 60_000;
    const { activity, result } = this.#execute(run, {
      type: command.activityType ?? '',
      id: command.activityId || String(command.seq),
      input: command.arguments ?? [],
      attempt: 1,
      isLocal: true,
      scheduledAt: this.parts.time.now,
      timeoutMs,
      heartbeatMs: Infinity,
      heartbeatDetails: [],
      heartbeat: () => undefined,
    });
    return new Promise((resolve) => {
      const cancel = this.parts.time.after(timeoutMs, () => {
        activity.cancel('TIMED_OUT', {} as never);
        resolve({
          failed: {
            failure: { message: 'activity timeout', source: 'Server', timeoutFailureInfo: { timeoutType: 3 } },
          },
        });
      });
      void result.then((outcome) => {
        cancel();
        resolve('completed' in outcome ? { completed: outcome.completed } : { failed: { failure: outcome.failure } });
      });
    });
  }

  takeActivity(task: ActivityTask): void {
    this.#receive(() => this.#carryOut(task));
  }

  async #carryOut({ run, activity: state, attempt }: ActivityTask): Promise<void> {
    const { engine } = this.parts;
    const { activity, result } = this.#execute(run, {
      type: state.type,
      id: state.id,
      input: state.input,
      attempt,
      isLocal: false,
      scheduledAt: state.attemptScheduledAt,
      timeoutMs: state.timeouts.startToCloseMs,
      heartbeatMs: state.timeouts.heartbeatMs,
      heartbeatDetails: state.heartbeatDetails,
      heartbeat: (details) => {
        const payloads = details === undefined ? [] : [defaultPayloadConverter.toPayload(details)];
        this.#report(
          () => engine.heartbeat(run, state.seq, attempt, payloads),
          (isKnown) => {
            if (!isKnown) activity.cancel('NOT_FOUND', { notFound: true } as never);
          },
        );
      },
    });
    const outcome = await result;
    if ('completed' in outcome) {
      this.#report(() => engine.completeActivity(run, state.seq, attempt, outcome.completed.result));
    } else this.#report(() => engine.failActivity(run, state.seq, attempt, outcome.failure));
  }

  #execute(
    { start }: Run,
    task: {
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
    },
  ) {
    const { client, activities, interceptors, taskQueue } = this.parts;
    const [details] = task.heartbeatDetails;
    const info = {
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
      taskQueue,
      heartbeatDetails: details === undefined ? undefined : (defaultPayloadConverter.fromPayload(details) as unknown),
      heartbeatTimeoutMs: Number.isFinite(task.heartbeatMs) ? task.heartbeatMs : undefined,
      scheduleToCloseTimeoutMs: task.timeoutMs,
      startToCloseTimeoutMs: task.timeoutMs,
      scheduledTimestampMs: task.scheduledAt,
      startedTimestampMs: this.parts.time.now,
      currentAttemptScheduledTimestampMs: task.scheduledAt,
      priority: {},
    };
    const activity = new Activity(
      info as never,
      activities[task.type],
      client.options.loadedDataConverter,
      { type: 'activity', namespace: 'default', workflowId: start.workflowId, isLocal: task.isLocal } as never,
      undefined,
      task.heartbeat as never,
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
}

type Outcome = { readonly completed: { readonly result: Payload | null } } | { readonly failure: Failure };

/** Every flag of the library: new runs use all of them. */
const FLAGS = [1, 2, 3, 4, 5, 6];

/** As Temporal's Core orders the jobs of an activation. */
function inOrder(jobs: readonly Job[]): readonly Job[] {
  const rank = (job: Job): number =>
    job.initializeWorkflow
      ? 0
      : job.notifyHasPatch
        ? 1
        : job.signalWorkflow || job.doUpdate
          ? 3
          : job.resolveActivity?.isLocal === true
            ? 5
            : 4;
  return jobs.toSorted((a, b) => rank(a) - rank(b));
}

/** What a repeated step must make again: the commands in their order, as Temporal's Core compares them. */
function digest(commands: readonly Command[]): string {
  return commands
    .map(digestOf)
    .filter((text) => text !== '')
    .join(' ');
}

function digestOf(command: Command): string {
  if (command.startTimer) return `timer ${command.startTimer.seq}`;
  if (command.cancelTimer) return `cancel ${command.cancelTimer.seq}`;
  if (command.scheduleActivity)
    return `activity ${command.scheduleActivity.seq} ${command.scheduleActivity.activityType}`;
  if (command.scheduleLocalActivity) {
    return `local ${command.scheduleLocalActivity.seq} ${command.scheduleLocalActivity.activityType}`;
  }
  // Validators are not asked again, so only what they accepted is compared.
  if (command.updateResponse)
    return command.updateResponse.accepted ? `accept ${command.updateResponse.protocolInstanceId}` : '';
  return Object.keys(command).find((name) => command[name as keyof Command] !== null && name !== 'userMetadata') ?? '';
}
