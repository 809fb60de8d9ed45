import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Usage } from './usage-reporter.js';

const REPORTER = new URL('usage-reporter.js', import.meta.url).href;
const READY_MS = 30_000;

/** One program in a process of its own, which tells what it has used. */
export class MeasuredProcess {
  private constructor(
    private readonly child: ChildProcess,
    /** What the program printed when it was ready: the first group of the pattern. */
    readonly address: string,
  ) {}

  /**
   * @param ready the one line that says so; its first group is kept.
   * @throws {Error} when the first line of output is another.
   */
  static async start(program: string, ready: RegExp, env: Readonly<Record<string, string>>): Promise<MeasuredProcess> {
    const child = fork(program, {
      execArgv: ['--import', REPORTER],
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      env: { PATH: process.env['PATH'], ...env },
    });
    // A bench that is broken off leaves nothing behind.
    process.once('exit', () => child.kill('SIGKILL'));
    const { stdout } = child;
    if (stdout === null) throw new Error('no standard output');
    const lines = createInterface({ input: stdout });
    const address = await new Promise<string>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${program} was not ready in time`)), READY_MS);
      child.once('exit', (code) => reject(new Error(`${program} ended with exit code ${code}`)));
      lines.on('line', (line) => {
        const [, found] = ready.exec(line) ?? [];
        if (found === undefined) return;
        clearTimeout(timer);
        resolve(found);
      });
    });
    lines.close();
    // Its log is written, as always, and read by no one.
    stdout.resume();
    return new MeasuredProcess(child, address);
  }

  async usage(): Promise<Usage> {
    this.child.send('usage');
    const [usage] = (await once(this.child, 'message')) as [Usage];
    return usage;
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGTERM');
    await once(this.child, 'exit');
  }
}
