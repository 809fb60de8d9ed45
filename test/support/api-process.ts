import { fileURLToPath } from 'node:url';
import type { RunningApi } from '@tillflow/api';
import { freePorts, SupervisedChild } from '@tillflow/tools';
import type { Stack } from './stack.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** An API as the process it is in production, in place of the stack's own, so that it can be killed. */
export class ApiProcess implements RunningApi {
  #child: SupervisedChild | undefined;

  private constructor(
    readonly url: string,
    private readonly environment: Readonly<Record<string, string>>,
  ) {}

  static async startIn(stack: Stack): Promise<ApiProcess> {
    const [port = 0] = await freePorts(1);
    const environment = { ...stack.apiEnvironment(), PORT: String(port), LOG_LEVEL: 'fatal' };
    const api = new ApiProcess(`http://127.0.0.1:${port}`, environment);
    await api.#start();
    await stack.api.close();
    stack.api = api;
    stack.sendWebhooksTo(`${api.url}/webhooks/provider`);
    return api;
  }

  /** SIGKILL, and a new one at the same address. */
  async restart(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    process.kill(await child.pid, 'SIGKILL');
    await child.exited;
    await this.#start();
  }

  async close(): Promise<void> {
    await this.#child?.stop();
  }

  async #start(): Promise<void> {
    this.#child = new SupervisedChild(process.execPath, ['apps/api/dist/main.js'], {
      cwd: ROOT,
      env: { ...process.env, ...this.environment },
    });
    await this.#child.waitForLine(/\bapi ready/, 60_000);
  }
}
