import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { BatchResult, PlanKind } from './batch.js';
import { EVERYTHING, LIVES_PER_WORLD, type Focus } from './plan.js';

const PROCESS = fileURLToPath(new URL('../dist/batch-process.js', import.meta.url));
/** Real time, not virtual: a batch takes seconds, so a process without an answer for this long has stopped. Milliseconds. */
const SILENT_FOR_MS = 600_000;
/** A process keeps some memory of each world: another one takes its place after so many. */
const WORLDS_PER_PROCESS = 25;

export type BatchRequest = {
  readonly seed: number;
  readonly batch: number;
  readonly lives: number;
  readonly keepsLines: boolean;
  readonly plan: PlanKind;
  readonly focus: Focus;
};
export type BatchReply = { readonly result: BatchResult } | { readonly error: string };

export type SimulationOptions = {
  readonly seed: number;
  /** The worlds to run: {@link worldsOf} so many lives. One that comes twice runs twice. */
  readonly worlds: readonly number[];
  /** Default {@link LIVES_PER_WORLD}. */
  readonly livesPerWorld?: number;
  /** Default 1. */
  readonly processes?: number;
  /** The results have the lines of the trace. */
  readonly keepsLines?: boolean;
  /** Default `faults`. */
  readonly plan?: PlanKind;
  /** Default: everything goes wrong. */
  readonly focus?: Focus;
  /** Runs no further batch once a life has failed. */
  readonly stopsAtFailure?: boolean;
  readonly onBatch?: (result: BatchResult) => void;
};

/** The worlds in which so many lives are lived, rounded up to full worlds. @param from the number of the first life */
export function worldsOf(lives: number, from = 0): readonly number[] {
  const first = Math.floor(from / LIVES_PER_WORLD);
  return Array.from({ length: Math.ceil(lives / LIVES_PER_WORLD) }, (_, index) => first + index);
}

/**
 * Runs lives in processes of their own, because a simulation replaces the clocks of its process. The results are in the
 * order of the lives, whichever process ran them.
 *
 * @throws {Error} for a defect of the simulation itself, with the world that shows it
 */
export async function simulate(options: SimulationOptions): Promise<readonly BatchResult[]> {
  const { seed, worlds, processes = 1, keepsLines = false, plan = 'faults', focus = EVERYTHING, onBatch } = options;
  const lives = options.livesPerWorld ?? LIVES_PER_WORLD;
  const left = worlds.values();
  const results: BatchResult[] = [];
  let isStopped = false;
  const work = async (): Promise<void> => {
    const process = new BatchProcess();
    try {
      for (const batch of left) {
        const result = await process.run({ seed, batch, lives, keepsLines, plan, focus });
        results.push(result);
        onBatch?.(result);
        isStopped ||= options.stopsAtFailure === true && result.breaches.length > 0;
        if (isStopped) return;
      }
    } finally {
      await process.end();
    }
  };
  await Promise.all(Array.from({ length: Math.min(processes, worlds.length) }, work));
  return results.toSorted((a, b) => a.batch - b.batch);
}

/** A process that lives in one world after another. It starts when it is needed. */
class BatchProcess {
  #child: ChildProcess | null = null;
  #worlds = 0;

  async run(request: BatchRequest): Promise<BatchResult> {
    if (this.#worlds === WORLDS_PER_PROCESS) await this.end();
    this.#worlds += 1;
    this.#child ??= startProcess();
    return ask(this.#child, request);
  }

  async end(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    this.#worlds = 0;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}

/** It takes the CPU that others leave: the tests beside it run in real time. */
function startProcess(): ChildProcess {
  const child = fork(PROCESS, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  return child;
}

function ask(child: ChildProcess, request: BatchRequest): Promise<BatchResult> {
  return new Promise((resolve, reject) => {
    const where = `Seed ${request.seed}, lives from ${request.batch * request.lives}`;
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      child.off('message', answered);
      child.off('exit', exited);
      settle();
    };
    const answered = (reply: BatchReply): void =>
      end(() => ('result' in reply ? resolve(reply.result) : reject(new Error(`${where}: ${reply.error}`))));
    const exited = (): void => end(() => reject(new Error(`${where}: the process has ended`)));
    const timer = setTimeout(() => end(() => reject(new Error(`${where}: no result in time`))), SILENT_FOR_MS);
    child.on('message', answered);
    child.on('exit', exited);
    child.send(request);
  });
}
