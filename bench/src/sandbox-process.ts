import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Pool, type Dispatcher } from 'undici';
import { MeasuredProcess, type Usage } from './processes.js';

/** The directory of a built tree, whose programs are measured. By default this tree. */
export const THIS_TREE = fileURLToPath(new URL('../../', import.meta.url));

export const programOf = (tree: string, app: 'api' | 'cli' | 'sandbox' | 'worker'): string =>
  join(tree, 'apps', app, 'dist', 'main.js');

/** The options of Node with which the image of this tree runs its programs. */
export function nodeOptionsOf(tree: string): { readonly NODE_OPTIONS: string } {
  const [, quoted, plain] = /^ENV .*\bNODE_OPTIONS=(?:"([^"]*)"|(\S+))/m.exec(imageOf(tree)) ?? [];
  return { NODE_OPTIONS: quoted ?? plain ?? '' };
}

const imageOf = (tree: string): string => readFileSync(join(tree, 'Dockerfile'), 'utf8');

/** The keys of the sandbox and of its callers. */
export const PROVIDER = {
  secretKey: 'skey_test_bench',
  publicKey: 'pkey_test_bench',
  webhookSecret: 'YmVuY2g=',
} as const;

const AUTHORIZATION = `Basic ${Buffer.from(`${PROVIDER.secretKey}:`).toString('base64')}`;

/** The sandbox in its own process, with a pool of connections to it. */
export class SandboxProcess {
  readonly #pool: Pool;

  private constructor(
    private readonly process: MeasuredProcess,
    connections: number,
  ) {
    this.#pool = new Pool(process.address, { connections, pipelining: 1 });
  }

  static async start(connections: number, tree = THIS_TREE): Promise<SandboxProcess> {
    const program = await MeasuredProcess.start(programOf(tree, 'sandbox'), /^sandbox ready (\S+)$/, {
      ...nodeOptionsOf(tree),
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

  /** Calls the provider's API. Returns the body of a 200. @throws {Error} on any other answer. */
  call(method: Dispatcher.HttpMethod, path: string, form?: string): Promise<string> {
    return this.#request(method, path, form, 'application/x-www-form-urlencoded');
  }

  /** Calls a control route of the sandbox. @throws {Error} on any answer but a 200. */
  async control(method: Dispatcher.HttpMethod, path: string, body?: unknown): Promise<void> {
    await this.#request(
      method,
      `/__sandbox${path}`,
      body === undefined ? body : JSON.stringify(body),
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
      headers: { authorization: AUTHORIZATION, 'content-type': type },
      body: body ?? null,
    });
    const text = await answer.text();
    if (statusCode !== 200) throw new Error(`${method} ${path} answered ${statusCode}: ${text}`);
    return text;
  }
}

/** The id of a record in the answer of the provider. */
export function idIn(text: string): string {
  const [, id] = /"id":"(\w+)"/.exec(text) ?? [];
  if (id === undefined) throw new Error(`There is no id in ${text}`);
  return id;
}
