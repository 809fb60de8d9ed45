import { fileURLToPath } from 'node:url';
import { SupervisedChild } from '../supervised-child.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const READY_WITHIN_MS = 60_000;

/** A program of the product as a process of its own, which can be killed and frozen. */
export class Program {
  #child: SupervisedChild | undefined;

  constructor(
    private readonly app: 'api' | 'worker' | 'cli',
    private readonly environment: Readonly<Record<string, string>>,
  ) {}

  /** Starts it, and waits until it is ready. */
  async start(): Promise<void> {
    await (await this.begin()).waitForLine(new RegExp(`\\b${this.app} ready`), READY_WITHIN_MS);
  }

  /** Starts it, and does not wait until it is ready. */
  async begin(more: Readonly<Record<string, string>> = {}): Promise<SupervisedChild> {
    this.#child = this.#spawn([], more);
    await this.#child.pid;
    return this.#child;
  }

  /** Runs it until it ends. @returns its output @throws when it ends with another exit code than these */
  async run(args: readonly string[], codes: readonly number[] = [0]): Promise<string> {
    const lines: string[] = [];
    const code = await this.#spawn(args, {}, (line) => lines.push(line)).exited;
    const output = lines.join('\n');
    if (!codes.includes(code)) throw new Error(`${args.join(' ')} ended with ${code}: ${output}`);
    return output;
  }

  async freeze(): Promise<void> {
    await this.#signal('SIGSTOP');
  }

  async thaw(): Promise<void> {
    await this.#signal('SIGCONT');
  }

  async kill(): Promise<void> {
    this.#child?.killNow();
    await this.#child?.exited;
  }

  async #signal(signal: NodeJS.Signals): Promise<void> {
    if (this.#child !== undefined) process.kill(await this.#child.pid, signal);
  }

  #spawn(
    args: readonly string[],
    more: Readonly<Record<string, string>>,
    onLine: (line: string) => void = () => undefined,
  ): SupervisedChild {
    return new SupervisedChild(process.execPath, [`apps/${this.app}/dist/main.js`, ...args], {
      cwd: ROOT,
      env: { ...process.env, ...this.environment, ...more },
      graceMs: 1_000,
      onLine,
    });
  }
}
