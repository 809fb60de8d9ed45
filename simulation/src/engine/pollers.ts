import type { Random } from '../random.js';
import type { Command, Job } from './protocol.js';
import type { ActivityState, Run, Step } from './run.js';

/** A started workflow task, as a worker gets it. */
export type TaskForWorker = {
  readonly run: Run;
  readonly token: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly historyLength: number;
  readonly jobs: readonly Job[];
  /** The steps before this task. A worker that has not made them repeats them. */
  readonly steps: readonly Step[];
  /** The latest task whose commands the engine keeps; 0: none. */
  readonly after: number;
};

/** What a worker gets when it renews a task: `isSame` when a replay sees both as one task. */
export type RenewedTask = Pick<TaskForWorker, 'token' | 'startedAt' | 'historyLength' | 'jobs'> & {
  readonly isSame: boolean;
};

export type ActivityTask = {
  readonly run: Run;
  readonly activity: ActivityState;
  readonly attempt: number;
};

/** What a worker did within a workflow task, or within the part of it before a renewal. */
export type Progress = {
  readonly step: Step;
  /** Without the local activities: the engine learns of these by their results only. */
  readonly commands: readonly Command[];
};

/** What a worker answers to a workflow task. */
export type Completion =
  | ({ readonly kind: 'done' } & Progress)
  | {
      readonly kind: 'failed';
      readonly why: string;
      /** Workflow code made other commands when it was repeated: never right. */
      readonly isDivergence: boolean;
    };

/** A worker, as the engine sees it. */
export type Poller = {
  readonly name: string;
  /** Whether it asks for tasks now. One that was cut off or frozen a moment ago may still have asked. */
  readonly isPolling: boolean;
  takeTask(task: TaskForWorker): void;
  takeActivity(task: ActivityTask): void;
};

/** The workers that ask for tasks, and what waits for one. */
export class Pollers {
  readonly #workers = new Map<string, Poller>();
  #waiting: (() => void)[] = [];

  constructor(private readonly random: Random) {}

  add(worker: Poller): void {
    this.#workers.set(worker.name, worker);
    this.poll();
  }

  remove(name: string): void {
    this.#workers.delete(name);
  }

  get(name: string): Poller | undefined {
    return this.#workers.get(name);
  }

  /** One of those that ask now. */
  any(): Poller | undefined {
    const polling = [...this.#workers.values()].filter(({ isPolling }) => isPolling);
    return polling.length === 0 ? undefined : this.random.pick(polling);
  }

  /** Calls it when a worker asks again. */
  whenPolling(dispatch: () => void): void {
    this.#waiting.push(dispatch);
  }

  /** A worker asks for tasks again. */
  poll(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const dispatch of waiting) dispatch();
  }
}
