import { defaultPayloadConverter } from '@temporalio/common';
import type { Engine } from '../engine/engine.js';
import type { ActivityTask, Completion, Poller, Progress, RenewedTask, TaskForWorker } from '../engine/pollers.js';
import type { Run } from '../engine/run.js';
import type { Network } from '../network/network.js';
import { running, type Machine, type VirtualTime } from '../virtual/time.js';
import type { ActivityContext } from './activities.js';
import { Divergence, rebuild } from './replay.js';
import type { WorkflowCode, WorkflowInstance } from './workflow-code.js';
import { WorkflowTaskInProgress } from './workflow-task.js';

/** A run in a worker's memory. */
type Cached = {
  readonly instance: WorkflowInstance;
  /** The task that it carried out last; -1: unknown, so the run is repeated before its next task. */
  after: number;
  isBusy: boolean;
};

/** A worker that cannot report tries again. Milliseconds. */
const REPORT_AGAIN_MS = 500;
const REPORT_TRIES = 20;

export type WorkerParts = {
  readonly engine: Engine;
  readonly network: Network;
  readonly time: VirtualTime;
  readonly workflows: WorkflowCode;
  readonly activities: ActivityContext;
  readonly machine: Machine;
  readonly engineMachine: () => Machine | null;
  /** Writes a line into the trace. */
  readonly note: (what: string) => void;
};

/**
 * A worker process. In place of Temporal's Core it makes activations of the tasks, carries out local activities, and
 * repeats a run that it does not have in memory.
 */
export class SimulatedWorker implements Poller {
  readonly #cache = new Map<string, Cached>();
  /** A task that is handed out although the worker is cut off or frozen: it had asked for it before. */
  openPolls = 0;
  /** So many of the next workflow tasks never reach the worker. */
  loseTasks = 0;
  /** So many of the next results are sent twice. */
  repeatReports = 0;
  /** The delays of the next workflow tasks, and of their local activities: the worker has no CPU. Milliseconds. */
  readonly delays: number[] = [];

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

  /** Ends the faults of this worker. */
  heal(): void {
    this.openPolls = 0;
    this.loseTasks = 0;
    this.repeatReports = 0;
    this.delays.length = 0;
  }

  /** The engine hands over a message. One that was handed to a cut-off worker is lost, a frozen one gets it later. */
  #receive(work: () => Promise<void>): void {
    const { machine, network, time } = this.parts;
    if (!this.#isReachable) this.openPolls -= 1;
    if (machine.isDead || network.isCut('worker-engine')) return;
    time.after(0.5, () => void running.run(machine, work), machine);
  }

  /** Sends to the engine, again while it is cut off. @param then gets null when it stays cut off */
  #report<T>(send: () => T, then: (answer: T | null) => void = () => undefined): void {
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
          else then(null);
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
    const slowByMs = this.delays.shift() ?? 0;
    this.#receive(() => this.#work(task, slowByMs));
  }

  async #work(task: TaskForWorker, slowByMs: number): Promise<void> {
    const { run } = task;
    const { time, engine } = this.parts;
    const { runId } = run.start;
    const known = this.#cache.get(runId);
    let cached: Cached;
    try {
      const isUsable = known !== undefined && !known.isBusy && known.after === task.after;
      cached = isUsable ? known : await this.#rebuild(task);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#finish(run, task.token, undefined, { kind: 'failed', why, isDivergence: error instanceof Divergence });
      return;
    }
    cached.isBusy = true;
    cached.after = -1;
    const inProgress = new WorkflowTaskInProgress(task, cached.instance, {
      time,
      readAfterMs: slowByMs,
      local: async (command) => {
        // While the clock of workflows stands, a local call takes no time on it.
        const end = await this.parts.activities.local(run, command, slowByMs);
        return engine.parts.clockStandsAt === null ? end : { ...end, tookMs: 0 };
      },
      renew: (token, progress) => this.#renew(run, token, progress),
    });
    const completion = await inProgress.run();
    cached.isBusy = false;
    if (completion === null) {
      engine.parts.counts.late += 1;
      this.#forget(run, cached);
    } else this.#finish(run, inProgress.token, cached, completion);
  }

  #renew(run: Run, token: number, progress: Progress): Promise<RenewedTask | null> {
    return new Promise<RenewedTask | null>((resolve) => {
      this.#report<RenewedTask | null>(() => this.parts.engine.tasks.renew(run, token, this.name, progress), resolve);
    });
  }

  #finish(run: Run, token: number, cached: Cached | undefined, completion: Completion): void {
    if (completion.kind === 'failed') this.#forget(run, cached);
    this.#report(
      () => this.parts.engine.tasks.complete(run, token, this.name, completion) && run.journalEnd,
      (after) => {
        // Another task may have put the run into memory again meanwhile.
        if (after === null || after === false || !run.isOpen) this.#forget(run, cached);
        else if (cached !== undefined && this.#cache.get(run.start.runId) !== cached) this.#forget(run, cached);
        else if (cached !== undefined && !cached.isBusy) cached.after = after;
      },
    );
  }

  #forget(run: Run, cached: Cached | undefined): void {
    if (cached === undefined) return;
    if (this.#cache.get(run.start.runId) === cached) this.#cache.delete(run.start.runId);
    if (!cached.isBusy) cached.instance.dispose();
  }

  /** The worker has too little memory for its runs. */
  forgetAll(): void {
    for (const [runId, cached] of this.#cache) {
      this.#cache.delete(runId);
      if (!cached.isBusy) cached.instance.dispose();
    }
  }

  async #rebuild({ run, steps, startedAt, historyLength, after }: TaskForWorker): Promise<Cached> {
    this.#forget(run, this.#cache.get(run.start.runId));
    if (steps.length > 0) this.parts.engine.parts.counts.replays += 1;
    const first = { timestamp: startedAt, historyLength };
    const instance = await rebuild(this.parts.workflows, run, steps, first);
    const cached: Cached = { instance, after, isBusy: true };
    this.#cache.set(run.start.runId, cached);
    return cached;
  }

  takeActivity(task: ActivityTask): void {
    this.#receive(() => this.#carryOut(task));
  }

  async #carryOut({ run, activity: state, attempt }: ActivityTask): Promise<void> {
    const { activities } = this.parts.engine;
    const { seq } = state;
    const { activity, result } = this.parts.activities.begin(run, {
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
          () => activities.heartbeat(run, seq, attempt, payloads),
          (isKnown) => {
            if (isKnown === false) activity.cancel('NOT_FOUND', { notFound: true } as never);
          },
        );
      },
    });
    const outcome = await result;
    if ('completed' in outcome) {
      this.#report(() => activities.complete(run, seq, attempt, outcome.completed.result));
    } else this.#report(() => activities.fail(run, seq, attempt, outcome.failure));
  }
}
