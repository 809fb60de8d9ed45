import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { BatchResult, PlanKind } from './batch.js';
import { LIVES_PER_WORLD } from './plan.js';

const PROCESS = fileURLToPath(new URL('../dist/batch-process.js', import.meta.url));
/** Reality: a batch takes seconds. A process that is silent for so long has stopped. Milliseconds. */
const SILENT_FOR_MS = 600_000;

export type BatchRequest = {
  readonly seed: number;
  readonly batch: number;
  readonly lives: number;
  readonly keepsLines: boolean;
  readonly plan: PlanKind;
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
  const { seed, worlds, processes = 1, keepsLines = false, plan = 'faults', onBatch } = options;
  const lives = options.livesPerWorld ?? LIVES_PER_WORLD;
  const left = worlds.values();
  const results: BatchResult[] = [];
  let isStopped = false;
  const work = async (): Promise<void> => {
    for (const batch of left) {
      // A process of its own for each world: what the programs remember of one world must not reach the next.
      const child = fork(PROCESS, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
      try {
        const result = await ask(child, { seed, batch, lives, keepsLines, plan });
        results.push(result);
        onBatch?.(result);
        isStopped ||= options.stopsAtFailure === true && result.breaches.length > 0;
      } finally {
        child.kill('SIGKILL');
      }
      if (isStopped) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(processes, worlds.length) }, work));
  return results.toSorted((a, b) => a.batch - b.batch);
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
