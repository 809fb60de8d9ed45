import { TypedSearchAttributes } from '@temporalio/common';
import { readFileSync } from 'node:fs';
import { toTime, WorkflowActivation, type Command, type Failure, type Job } from '../engine/protocol.js';
import type { Run, Step } from '../engine/run.js';
import { globalHandlers, parseWorkflowCode, ReusableVMWorkflowCreator } from './sdk-internals.js';

type Workflow = Awaited<ReturnType<ReusableVMWorkflowCreator['createWorkflow']>>;
export type LocalCommand = NonNullable<Command['scheduleLocalActivity']>;
/** A local activity that workflow code waits for. */
export type Waiting = {
  readonly command: LocalCommand;
  /** The workflow's time when the code asked for it, in milliseconds since 1970. */
  readonly since: number;
};

/** Every flag of the library: new runs use all of them. */
const FLAGS = [1, 2, 3, 4, 5, 6];
const SDK_VERSION = '1.24.0';

/** The workflow code of the product, in the sandbox of Temporal's library. One for all workers of this process. */
export type WorkflowCode = Pick<ReusableVMWorkflowCreator, 'createWorkflow'>;

/** @param activities names, which the library wants to know before it runs workflow code */
export async function loadWorkflows(bundlePath: string, activities: readonly string[]): Promise<WorkflowCode> {
  const bundle = parseWorkflowCode(readFileSync(bundlePath, 'utf8'), bundlePath);
  // Without a limit for each call: Node would start a thread for it.
  const code = await ReusableVMWorkflowCreator.create(bundle, undefined as never, new Set(activities), undefined);
  // They keep the stack of each promise for stack trace queries, which no one sends here.
  globalHandlers.uninstall();
  return code;
}

/** One run of workflow code in a worker's memory. */
export class WorkflowInstance {
  /** Local activities that the code waits for. */
  readonly waiting = new Map<number, Waiting>();
  /** The workflow's time, in milliseconds since 1970. It never goes back. */
  now = 0;
  #isDisposed = false;

  private constructor(
    private readonly run: Run,
    private readonly workflow: Workflow,
  ) {}

  static async create(
    code: WorkflowCode,
    run: Run,
    first: Pick<Step, 'timestamp' | 'historyLength'>,
  ): Promise<WorkflowInstance> {
    const { start } = run;
    const workflow = await code.createWorkflow({
      info: infoOf(run, first),
      randomnessSeed: start.seed.toBytes(),
      now: first.timestamp,
      showStackTraceSources: false,
      failureExceptionTypeNames: [],
    } as never);
    return new WorkflowInstance(run, workflow);
  }

  /**
   * Gives the code these jobs. @returns its commands, without the local activities, which {@link waiting} has
   *
   * @throws {Error} when workflow code fails its task
   */
  async activate(
    jobs: readonly Job[],
    { timestamp, historyLength }: Pick<Step, 'timestamp' | 'historyLength'>,
    isReplaying: boolean,
  ): Promise<{ readonly commands: readonly Command[]; readonly locals: readonly Waiting[] }> {
    this.now = Math.max(this.now, timestamp);
    for (const { resolveActivity: local } of jobs) if (local?.isLocal) this.waiting.delete(local.seq ?? 0);
    const activation = WorkflowActivation.fromObject({
      runId: this.run.start.runId,
      timestamp: toTime(this.now),
      isReplaying,
      historyLength,
      jobs: [...jobs],
      availableInternalFlags: FLAGS,
      lastSdkVersion: SDK_VERSION,
    });
    const { successful, failed } = (await this.workflow.activate(activation)) as {
      readonly successful?: { readonly commands?: readonly Command[] | null } | null;
      readonly failed?: { readonly failure?: Failure | null } | null;
    };
    await this.workflow.getAndResetSinkCalls();
    if (failed) throw new Error(failed.failure?.message ?? 'workflow code failed');
    return this.#sorted(successful?.commands ?? []);
  }

  #sorted(all: readonly Command[]) {
    const locals = all.flatMap(({ scheduleLocalActivity: command }) => (command ? { command, since: this.now } : []));
    for (const local of locals) this.waiting.set(local.command.seq ?? 0, local);
    const commands = all.filter(
      ({ scheduleLocalActivity, requestCancelLocalActivity }) => !scheduleLocalActivity && !requestCancelLocalActivity,
    );
    return { commands, locals };
  }

  /** Takes the run out of memory. */
  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    void this.workflow.dispose();
  }
}

function infoOf({ start }: Run, { timestamp, historyLength }: Pick<Step, 'timestamp' | 'historyLength'>) {
  return {
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
    runStartTime: new Date(timestamp),
    taskTimeoutMs: 10_000,
    attempt: 1,
    historyLength,
    historySize: 0,
    continueAsNewSuggested: false,
    currentBuildId: '',
    unsafe: { now: () => timestamp, isReplaying: false, isReplayingHistoryEvents: false, random: {} },
  };
}

/** As Temporal's Core orders the jobs of an activation. */
export function inOrder(jobs: readonly Job[]): readonly Job[] {
  return jobs.toSorted((a, b) => rank(a) - rank(b));
}

function rank(job: Job): number {
  if (job.initializeWorkflow) return 0;
  if (job.notifyHasPatch) return 1;
  if (job.signalWorkflow || job.doUpdate) return 3;
  return job.resolveActivity?.isLocal === true ? 5 : 4;
}

/** What a repeated step must make again: the commands in their order, as Temporal's Core compares them. */
export function digest(commands: readonly Command[]): string {
  return commands
    .map((command) => digestOf(command))
    .filter((text) => text !== '')
    .join(', ');
}

function digestOf(command: Command): string {
  if (command.startTimer) return `timer ${command.startTimer.seq}`;
  if (command.cancelTimer) return `cancel timer ${command.cancelTimer.seq}`;
  if (command.scheduleActivity) {
    return `activity ${command.scheduleActivity.seq} ${command.scheduleActivity.activityType}`;
  }
  // A replay passes over the marker of a deprecated patch.
  if (command.setPatchMarker?.deprecated === true) return '';
  // Validators are not asked again, so only what they accepted is compared.
  if (command.updateResponse) {
    return command.updateResponse.accepted ? `accept ${command.updateResponse.protocolInstanceId}` : '';
  }
  return Object.keys(command).find((name) => command[name as keyof Command] !== null && name !== 'userMetadata') ?? '';
}
