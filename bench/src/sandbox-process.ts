import { fileURLToPath } from 'node:url';
import { Pool, type Dispatcher } from 'undici';
import { MeasuredProcess } from './measured-process.js';
import type { Usage } from './usage-reporter.js';

const PROGRAM = fileURLToPath(new URL('main.js', import.meta.resolve('@tillflow/sandbox')));

/** What the provider and its callers share in a bench. */
export const PROVIDER = {
  secretKey: 'skey_test_bench',
  publicKey: 'pkey_test_bench',
  webhookSecret: 'YmVuY2g=',
} as const;

const AUTHORIZATION = `Basic ${Buffer.from(`${PROVIDER.secretKey}:`).toString('base64')}`;

/** The sandbox's program in a process of its own, with a few connections to it. */
export class SandboxProcess {
  readonly #pool: Pool;

  private constructor(
    private readonly process: MeasuredProcess,
    connections: number,
  ) {
    this.#pool = new Pool(process.address, { connections, pipelining: 1 });
  }

  static async start(connections: number): Promise<SandboxProcess> {
    const program = await MeasuredProcess.start(PROGRAM, /^sandbox ready (\S+)$/, {
      SANDBOX_PORT: '0',
      SANDBOX_SEED: 'bench',
      PROVIDER_SECRET_KEY: PROVIDER.secretKey,
      PROVIDER_PUBLIC_KEY: PROVIDER.publicKey,
      PROVIDER_WEBHOOK_SECRET: PROVIDER.webhookSecret,
    });
    return new SandboxProcess(program, connections);
  }

  get url(): string {
    return this.process.address;
  }

  usage(): Promise<Usage> {
    return this.process.usage();
  }

  /** The body of a 200. @throws on any other answer. */
  async call(method: Dispatcher.HttpMethod, path: string, form?: string): Promise<string> {
    return this.#request(method, path, form, 'application/x-www-form-urlencoded');
  }

  /** A control route of the sandbox. @throws on any answer but a 200. */
  async control(method: Dispatcher.HttpMethod, path: string, body?: unknown): Promise<void> {
    await this.#request(
      method,
      `/__sandbox${path}`,
      body === undefined ? undefined : JSON.stringify(body),
      'application/json',
    );
  }

  async stop(): Promise<void> {
    await this.#pool.close();
    await this.process.stop();
  }

  async #request(method: Dispatcher.HttpMethod, path: string, body: string | undefined, type: string): Promise<string> {
    const { statusCode, body: answer } = await this.#pool.request({
      method,
      path,
      headers: {
        authorization: AUTHORIZATION,
        'content-type': type,
      },
      body: body ?? null,
    });
    const text = await answer.text();
    if (statusCode !== 200) throw new Error(`${method} ${path} answered ${statusCode}: ${text}`);
    return text;
  }
}
