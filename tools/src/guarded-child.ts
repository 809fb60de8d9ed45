import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

// Next to this file once compiled; tests run the source, whose neighbour is TypeScript.
const guard = fileURLToPath(new URL('../dist/child-guard.js', import.meta.url));
const tailLength = 40;
/** What the guard may take beyond the child's grace before its group is killed from here. */
const guardSlackMs = 2_000;

export interface GuardedChildOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Each line of standard output and standard error, as it comes. */
  readonly onLine?: (line: string) => void;
  /** How long the child may take to end by itself after SIGTERM. Default 10 s. */
  readonly graceMs?: number;
}

/** A child process that ends with this one, whatever ends this one. */
export class GuardedChild {
  /** The end of the child: its exit code, 128 + n for a signal. */
  readonly exited: Promise<number>;
  /** The child's own process id, not the guard's. Rejects when the command cannot be started. */
  readonly pid: Promise<number>;
  readonly #guard: ChildProcess;
  readonly #name: string;
  readonly #graceMs: number;
  readonly #tail: string[] = [];
  readonly #listeners = new Set<(line: string) => void>();

  constructor(command: string, args: readonly string[], options: GuardedChildOptions = {}) {
    this.#name = [command, ...args.slice(0, 1)].join(' ');
    this.#graceMs = options.graceMs ?? 10_000;
    if (options.onLine !== undefined) this.#listeners.add(options.onLine);
    this.#guard = spawn(process.execPath, [guard, String(this.#graceMs), '--', command, ...args], {
      // Its own process group: Ctrl-C reaches only the parent, which stops its children in order.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: options.env ?? process.env,
      cwd: options.cwd,
    });
    for (const stream of [this.#guard.stdout, this.#guard.stderr]) {
      if (stream !== null)
        createInterface({ input: stream, crlfDelay: Infinity }).on('line', (line) => this.#take(line));
    }
    this.exited = new Promise((resolve) => {
      this.#guard.once('error', (error) => {
        this.#take(error.message);
        resolve(127);
      });
      // 'close' comes after the last line of output, 'exit' may come before it.
      this.#guard.once('close', (code) => {
        this.killNow();
        resolve(code ?? 128);
      });
    });
    this.pid = new Promise((resolve, reject) => {
      this.#guard.once('message', (message: { pid: number }) => resolve(message.pid));
      void this.exited.then((code) => reject(new Error(`${this.#name} ended with exit code ${code}:\n${this.tail()}`)));
    });
    // Most callers never ask for it.
    this.pid.catch(() => undefined);
  }

  /** The last lines of output. */
  tail(): string {
    return this.#tail.join('\n');
  }

  /** Waits for the first line that matches. @throws {Error} with the last output when the child ends or takes longer. */
  async waitForLine(pattern: RegExp, withinMs: number): Promise<void> {
    let listener: ((line: string) => void) | undefined;
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const fail = (reason: string): void => reject(new Error(`${this.#name} ${reason}:\n${this.tail()}`));
        listener = (line) => (pattern.test(line) ? resolve() : undefined);
        this.#tail.forEach(listener);
        this.#listeners.add(listener);
        timer = setTimeout(() => fail(`was not ready after ${withinMs / 1000} s`), withinMs);
        void this.exited.then((code) => fail(`ended with exit code ${code}`));
      });
    } finally {
      clearTimeout(timer);
      if (listener !== undefined) this.#listeners.delete(listener);
    }
  }

  /** SIGTERM, and SIGKILL to the whole group when the grace is over. Resolves when nothing of it is left. */
  async stop(): Promise<void> {
    // Not disconnect(): after it Node never emits 'close'.
    this.#guard.kill('SIGTERM');
    const timer = setTimeout(() => this.killNow(), this.#graceMs + guardSlackMs);
    await this.exited;
    clearTimeout(timer);
  }

  /** SIGKILL to the child and all of its children, now; usable in an exit handler. */
  killNow(): void {
    if (this.#guard.pid === undefined) return;
    try {
      process.kill(-this.#guard.pid, 'SIGKILL');
    } catch {
      // Already gone.
    }
  }

  #take(line: string): void {
    this.#tail.push(line);
    if (this.#tail.length > tailLength) this.#tail.shift();
    for (const listener of this.#listeners) listener(line);
  }
}
