import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

// The tests run this file as TypeScript source, but the supervisor must be compiled JavaScript.
const supervisor = fileURLToPath(new URL('../dist/child-supervisor.js', import.meta.url));
const tailLength = 40;
/** How much longer than the child's grace period the supervisor may take before this process kills its group. */
const supervisorSlackMs = 2_000;

export interface SupervisedChildOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Called with each line of standard output and standard error. */
  readonly onLine?: (line: string) => void;
  /** How long the child may take to end after SIGTERM. Default: 10 s. */
  readonly graceMs?: number;
}

/** A child process that always ends with this process, even when this process is killed with SIGKILL. */
export class SupervisedChild {
  /** Resolves with the child's exit code, or 128 + n when signal n ended it. */
  readonly exited: Promise<number>;
  /** The process id of the child, not of its supervisor. Rejects when the command cannot be started. */
  readonly pid: Promise<number>;
  readonly #supervisor: ChildProcess;
  readonly #name: string;
  readonly #graceMs: number;
  readonly #tail: string[] = [];
  readonly #listeners = new Set<(line: string) => void>();

  constructor(command: string, args: readonly string[], options: SupervisedChildOptions = {}) {
    this.#name = [command, ...args.slice(0, 1)].join(' ');
    this.#graceMs = options.graceMs ?? 10_000;
    if (options.onLine !== undefined) this.#listeners.add(options.onLine);
    this.#supervisor = spawn(process.execPath, [supervisor, String(this.#graceMs), '--', command, ...args], {
      // With its own process group, Ctrl-C reaches only this process, which stops its children in order.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: options.env ?? process.env,
      cwd: options.cwd,
    });
    for (const stream of [this.#supervisor.stdout, this.#supervisor.stderr]) {
      if (stream !== null)
        createInterface({ input: stream, crlfDelay: Infinity }).on('line', (line) => this.#take(line));
    }
    this.exited = new Promise((resolve) => {
      this.#supervisor.once('error', (error) => {
        this.#take(error.message);
        resolve(127);
      });
      // 'close' comes after the last line of output. 'exit' may come before it.
      this.#supervisor.once('close', (code) => {
        this.killNow();
        resolve(code ?? 128);
      });
    });
    this.pid = new Promise((resolve, reject) => {
      this.#supervisor.once('message', (message: { pid: number }) => resolve(message.pid));
      void this.exited.then((code) => reject(new Error(`${this.#name} ended with exit code ${code}:\n${this.tail()}`)));
    });
    // Most callers never read the id, so its rejection must not be unhandled.
    this.pid.catch(() => undefined);
  }

  /** The last lines of output. */
  tail(): string {
    return this.#tail.join('\n');
  }

  /**
   * Waits for the first line that matches.
   * @throws {Error} with the last output, when the child ends first or takes longer than `withinMs`.
   */
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

  /**
   * Sends SIGTERM, and SIGKILL to the whole group after the grace period. Resolves when no process of the group is
   * left.
   */
  async stop(): Promise<void> {
    // After disconnect() Node would never emit 'close'.
    this.#supervisor.kill('SIGTERM');
    const timer = setTimeout(() => this.killNow(), this.#graceMs + supervisorSlackMs);
    await this.exited;
    clearTimeout(timer);
  }

  /** Kills the child and all of its children with SIGKILL. Synchronous, for exit handlers. */
  killNow(): void {
    if (this.#supervisor.pid === undefined) return;
    try {
      process.kill(-this.#supervisor.pid, 'SIGKILL');
    } catch {
      // The group has already ended.
    }
  }

  #take(line: string): void {
    this.#tail.push(line);
    if (this.#tail.length > tailLength) this.#tail.shift();
    for (const listener of this.#listeners) listener(line);
  }
}
