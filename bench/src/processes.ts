import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

export type Usage = {
  /** CPU time of all threads, with garbage collection, in seconds. */
  readonly cpuSeconds: number;
  readonly rssBytes: number;
};

const NONE: Usage = { cpuSeconds: 0, rssBytes: 0 };

const REPORTER = new URL('usage-reporter.js', import.meta.url).href;
const READY_MS = 30_000;
/** Clock ticks per second in /proc, and bytes of a page. Source: proc(5), sysconf(3). */
const TICKS = 100;
const PAGE_BYTES = 4_096;

/** A program in its own process, whose CPU and memory can be read. */
export class MeasuredProcess {
  private constructor(
    private readonly child: ChildProcess,
    /** The first group that the `ready` pattern found, such as the address that the program printed. */
    readonly address: string,
  ) {}

  /**
   * @param ready matches the line that the program prints when it is ready.
   * @throws {Error} when the program ends first, or is not ready in time.
   */
  static async start(program: string, ready: RegExp, env: Readonly<Record<string, string>>): Promise<MeasuredProcess> {
    const child = fork(program, {
      execArgv: ['--import', REPORTER],
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      env: { PATH: process.env['PATH'], ...env },
    });
    const killNow = (): void => void child.kill('SIGKILL');
    process.once('exit', killNow);
    child.once('exit', () => process.off('exit', killNow));
    const { stdout } = child;
    if (stdout === null) throw new Error('The program has no standard output');
    const lines = createInterface({ input: stdout });
    const address = await new Promise<string>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${program} was not ready in time`)), READY_MS);
      child.once('exit', (code) => reject(new Error(`${program} ended with exit code ${code}`)));
      lines.on('line', (line) => {
        const found = ready
          .exec(line)
          ?.slice(1)
          .find((group) => group !== undefined);
        if (found === undefined) return;
        clearTimeout(timer);
        resolve(found);
      });
    });
    lines.close();
    // The log is written as in production, and must be read so that the pipe does not fill up.
    stdout.resume();
    return new MeasuredProcess(child, address);
  }

  async usage(): Promise<Usage> {
    this.child.send('usage');
    const [usage] = (await once(this.child, 'message')) as [Usage];
    return usage;
  }

  /** What the pattern finds in the paths of the modules that the program has loaded, each once. Only CommonJS. */
  async loaded(pattern: RegExp): Promise<string[]> {
    this.child.send('modules');
    const [paths] = (await once(this.child, 'message')) as [string[]];
    return [...new Set(paths.flatMap((path) => pattern.exec(path)?.[0] ?? []))];
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGTERM');
    await once(this.child, 'exit');
  }
}

/**
 * The usage of a process that cannot load the reporter, with the CPU of its children that have ended. Zero on a system
 * without /proc.
 */
export async function usageOfProcess(pid: number): Promise<Usage> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (stat === null) return NONE;
  // The second field, the name in brackets, may contain blanks. The third field comes after the last bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  return { cpuSeconds: (field(14) + field(15) + field(16) + field(17)) / TICKS, rssBytes: field(24) * PAGE_BYTES };
}

/** The usage of a process and its children. Memory that they share counts several times. */
export async function usageOfFamily(pid: number): Promise<Usage> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const family = [pid, ...children.split(' ').filter(Boolean).map(Number)];
  return addUsage(await Promise.all(family.map(usageOfProcess)));
}

export function addUsage(all: readonly Usage[]): Usage {
  return all.reduce(
    (one, other) => ({
      cpuSeconds: one.cpuSeconds + other.cpuSeconds,
      rssBytes: one.rssBytes + other.rssBytes,
    }),
    NONE,
  );
}

/** CPU seconds of all processes of the machine. Null on a system without /proc. */
export async function cpuSecondsOfMachine(): Promise<number | null> {
  const stat = await readFile('/proc/stat', 'utf8').catch(() => null);
  if (stat === null) return null;
  const [, user = 0, nice = 0, system = 0] = (stat.split('\n')[0] ?? '').split(/\s+/).map(Number);
  return (user + nice + system) / TICKS;
}

/** Runs `work` `count` times, `concurrency` calls at a time. @param work gets the number of the call, from 1. */
export async function times(
  count: number,
  concurrency: number,
  work: (number: number) => Promise<unknown>,
): Promise<void> {
  let begun = 0;
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (begun < count) {
        begun += 1;
        await work(begun);
      }
    }),
  );
}

/** Begins `work` at an even pace, however long it takes. @returns what was begun, in its order */
export async function evenly<T>(count: number, everyMs: number, work: () => Promise<T>): Promise<Promise<T>[]> {
  const began = performance.now();
  const all: Promise<T>[] = [];
  for (let number = 0; number < count; number += 1) {
    await sleep(Math.max(0, began + number * everyMs - performance.now()));
    all.push(work());
  }
  return all;
}
