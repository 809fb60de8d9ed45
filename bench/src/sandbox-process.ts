import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Pool, type Dispatcher } from 'undici';
import type { Usage } from './usage-reporter.js';

const PROGRAM = fileURLToPath(new URL('main.js', import.meta.resolve('@tillflow/sandbox')));
const REPORTER = new URL('usage-reporter.js', import.meta.url).href;
const SECRET_KEY = 'skey_test_bench';
const READY_MS = 10_000;
const AUTHORIZATION = `Basic ${Buffer.from(`${SECRET_KEY}:`).toString('base64')}`;

/** The sandbox's program in a process of its own, with a few connections to it. */
export class SandboxProcess {
  readonly #pool: Pool;

  private constructor(
    private readonly child: ChildProcess,
    url: string,
    connections: number,
  ) {
    this.#pool = new Pool(url, { connections, pipelining: 1 });
  }

  static async start(connections: number): Promise<SandboxProcess> {
    const child = fork(PROGRAM, {
      execArgv: ['--import', REPORTER],
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      env: {
        PATH: process.env['PATH'],
        SANDBOX_PORT: '0',
        SANDBOX_SEED: 'bench',
        PROVIDER_SECRET_KEY: SECRET_KEY,
        PROVIDER_PUBLIC_KEY: 'pkey_test_bench',
        PROVIDER_WEBHOOK_SECRET: 'YmVuY2g=',
      },
    });
    // A bench that is broken off leaves nothing behind.
    process.once('exit', () => child.kill('SIGKILL'));
    if (child.stdout === null) throw new Error('no standard output');
    const lines = createInterface({ input: child.stdout });
    const [line] = (await once(lines, 'line', { signal: AbortSignal.timeout(READY_MS) })) as [string];
    const [, url] = /^sandbox ready (\S+)$/.exec(line) ?? [];
    if (url === undefined) throw new Error(`not ready: ${line}`);
    return new SandboxProcess(child, url, connections);
  }

  async usage(): Promise<Usage> {
    this.child.send('usage');
    const [usage] = (await once(this.child, 'message')) as [Usage];
    return usage;
  }

  /** The body of a 200. @throws on any other answer. */
  async call(method: Dispatcher.HttpMethod, path: string, form?: string): Promise<string> {
    const { statusCode, body } = await this.#pool.request({
      method,
      path,
      headers: {
        authorization: AUTHORIZATION,
        ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      body: form ?? null,
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${method} ${path} answered ${statusCode}: ${text}`);
    return text;
  }

  async stop(): Promise<void> {
    await this.#pool.close();
    if (this.child.exitCode !== null) return;
    this.child.kill('SIGTERM');
    await once(this.child, 'exit');
  }
}
