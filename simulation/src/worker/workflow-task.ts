import type { Completion, Progress, RenewedTask, TaskForWorker } from '../engine/pollers.js';
import type { Command, Job } from '../engine/protocol.js';
import type { LocalResult } from '../engine/run.js';
import type { LocalEnd } from './activities.js';
import type { VirtualTime } from '../virtual/time.js';
import { Divergence } from './replay.js';
import { digest, inOrder, type LocalCommand, type Waiting, type WorkflowInstance } from './workflow-code.js';

/** A worker asks for more time when a local activity is not done this long after the task came. Milliseconds. */
const RENEW_AFTER_MS = 8_000;

export type TaskSurroundings = {
  readonly time: VirtualTime;
  /** The worker has no CPU: it begins with the task this much later. Milliseconds. */
  readonly readAfterMs: number;
  /** Carries out a local activity. */
  readonly local: (command: LocalCommand) => Promise<LocalEnd>;
  /** Asks the engine for more time. Null: the task belongs to another worker now, or the engine does not answer. */
  readonly renew: (token: number, progress: Progress) => Promise<RenewedTask | null>;
};

/**
 * One workflow task on a worker: an activation of workflow code, and one more for each local activity that ends within
 * the task.
 */
export class WorkflowTaskInProgress {
  #token: number;
  #startedAt: number;
  #historyLength: number;
  #jobs: readonly Job[];
  #asked: Job[];
  #commands: Command[] = [];
  #patches: Job[] = [];
  #locals: LocalResult[] = [];
  readonly #ended: LocalResult[] = [];
  #renewed: RenewedTask | null = null;
  #isLost = false;
  #isRenewing = false;
  #wake: () => void = () => undefined;
  /** Null before the first activation: without a local activity, nothing renews a task. */
  #stopRenewals: (() => void) | null = null;

  constructor(
    task: TaskForWorker,
    private readonly instance: WorkflowInstance,
    private readonly around: TaskSurroundings,
  ) {
    this.#token = task.token;
    this.#startedAt = task.startedAt;
    this.#historyLength = task.historyLength;
    this.#jobs = inOrder(task.jobs);
    this.#asked = [...task.jobs];
  }

  /** Differs from the task's first one when the task was renewed. */
  get token(): number {
    return this.#token;
  }

  /** @returns what to report; null when the task belongs to another worker by now */
  async run(): Promise<Completion | null> {
    const takenAt = this.around.time.now;
    try {
      await this.#read();
      for (const local of this.instance.waiting.values()) void this.#begin(local);
      for (;;) {
        if (this.#jobs.length > 0) await this.#activate();
        if (this.instance.waiting.size === 0) return { kind: 'done', ...this.#progress() };
        this.#stopRenewals ??= this.#planRenewal(takenAt);
        if (!(await this.#next())) return null;
      }
    } catch (error) {
      return {
        kind: 'failed',
        why: error instanceof Error ? error.message : String(error),
        isDivergence: error instanceof Divergence,
      };
    } finally {
      this.#stopRenewals?.();
    }
  }

  #read(): Promise<void> {
    const { time, readAfterMs } = this.around;
    return readAfterMs === 0 ? Promise.resolve() : new Promise((resolve) => time.after(readAfterMs, resolve));
  }

  async #activate(): Promise<void> {
    const timestamp = Math.max(this.#startedAt, this.instance.now);
    const answered = await this.instance.activate(this.#jobs, { timestamp, historyLength: this.#historyLength }, false);
    this.#jobs = [];
    this.#commands.push(...answered.commands);
    for (const { setPatchMarker } of answered.commands) {
      if (setPatchMarker) this.#patches.push({ notifyHasPatch: { patchId: setPatchMarker.patchId } });
    }
    for (const local of answered.locals) void this.#begin(local);
  }

  /** As in Temporal's Core, it ends at the time at which the code asked for it, plus what its last attempt takes. */
  async #begin({ command, since }: Waiting): Promise<void> {
    const { result, tookMs } = await this.around.local(command);
    this.#ended.push({ seq: command.seq ?? 0, result, at: since + tookMs });
    this.#wake();
  }

  /** Waits for the next job. @returns false when the task is lost */
  async #next(): Promise<boolean> {
    for (;;) {
      if (this.#isLost) return false;
      if (this.#renewed !== null) {
        this.#continueAs(this.#renewed);
        // What ended meanwhile comes with the jobs of the new task.
        for (const ended of this.#ended.splice(0)) this.#resolve(ended);
        return true;
      }
      const ended = this.#isRenewing ? undefined : this.#ended.shift();
      if (ended !== undefined) {
        this.#jobs = [];
        this.#resolve(ended);
        return true;
      }
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  #resolve(ended: LocalResult): void {
    const { seq, result, at } = ended;
    this.#locals.push(ended);
    this.instance.now = Math.max(this.instance.now, at);
    this.#jobs = [...this.#jobs, { resolveActivity: { seq, result, isLocal: true } }];
  }

  #planRenewal(takenAt: number): () => void {
    const { time } = this.around;
    return time.after(Math.max(takenAt + RENEW_AFTER_MS - time.now, 0), () => void this.#renew());
  }

  async #renew(): Promise<void> {
    this.#isRenewing = true;
    this.#renewed = await this.around.renew(this.#token, this.#progress());
    this.#isRenewing = false;
    this.#isLost = this.#renewed === null;
    this.#wake();
  }

  #continueAs({ token, startedAt, historyLength, jobs, isSame }: RenewedTask): void {
    this.#renewed = null;
    this.#token = token;
    this.#startedAt = startedAt;
    this.#historyLength = historyLength;
    this.#jobs = inOrder(jobs);
    if (isSame) this.#asked.push(...jobs);
    else {
      this.#asked = [...jobs];
      this.#commands = [];
      this.#patches = [];
      this.#locals = [];
    }
    this.#stopRenewals = this.#planRenewal(this.around.time.now);
  }

  #progress(): Progress {
    const step = {
      timestamp: this.#startedAt,
      historyLength: this.#historyLength,
      jobs: inOrder([...this.#patches, ...this.#asked]),
      locals: [...this.#locals],
      commands: digest(this.#commands),
    };
    return { step, commands: [...this.#commands] };
  }
}
