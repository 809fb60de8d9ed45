import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Stack, type StackOptions } from './stack.js';

type Json = Readonly<Record<string, unknown>>;

/** Replaces one record in the provider's answers by another one, or by nothing. */
export type Tampering = (record: Json) => Json | null;

/**
 * Makes the sandbox look like a provider with wrong records. The sandbox never contradicts itself, so this proxy
 * changes its answers on the way: the records in lists, and the records that are retrieved.
 */
export class TamperedProvider {
  readonly #tamperings = new Map<string, Tampering>();
  #ofAll: Tampering | null = null;

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async before(target: string): Promise<TamperedProvider> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const provider = new TamperedProvider(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on('request', (request, reply) => {
      void provider.#forward(target, request).then(
        ({ status, text }) => reply.writeHead(status, { 'content-type': 'application/json' }).end(text),
        () => reply.destroy(),
      );
    });
    return provider;
  }

  /** @param id of the record that is shown otherwise. */
  tamper(id: string, how: Tampering): void {
    this.#tamperings.set(id, how);
  }

  /** Of every record, also of one that was just made. */
  tamperAll(how: Tampering): void {
    this.#ofAll = how;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  async #forward(target: string, request: IncomingMessage): Promise<{ status: number; text: string }> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = 'GET', url = '/', headers } = request;
    const { authorization, 'content-type': type } = headers;
    const response = await fetch(`${target}${url}`, {
      method,
      headers: {
        ...(authorization === undefined ? {} : { authorization }),
        ...(type === undefined ? {} : { 'content-type': type }),
      },
      ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
    });
    const text = await response.text();
    const isShown = method === 'GET' || this.#ofAll !== null;
    if (!isShown || !response.ok) return { status: response.status, text };
    const shown = this.#shown(JSON.parse(text) as Json);
    if (shown === null)
      return { status: 404, text: JSON.stringify({ object: 'error', code: 'not_found', message: 'gone' }) };
    return { status: 200, text: JSON.stringify(shown) };
  }

  #shown(body: Json): Json | null {
    const { object, data, id } = body;
    if (object !== 'list') {
      const how = this.#tamperings.get(String(id)) ?? this.#ofAll;
      return how === null ? body : how(body);
    }
    return { ...body, data: (data as Json[]).flatMap((record) => this.#shown(record) ?? []) };
  }
}

/** A stack for one test, whose provider shows every record as `how` says. */
export async function withTampered(
  options: StackOptions,
  how: Tampering,
  work: (stack: Stack, provider: TamperedProvider) => Promise<void>,
): Promise<void> {
  let provider: TamperedProvider | undefined;
  const stack = await Stack.start({
    ...options,
    before: async (sandboxUrl) => {
      provider = await TamperedProvider.before(sandboxUrl);
      provider.tamperAll(how);
      return provider.url;
    },
  });
  try {
    if (provider === undefined) throw new Error('The stack has not put the provider in its place');
    await work(stack, provider);
  } finally {
    await stack.stop();
    provider?.close();
  }
}
