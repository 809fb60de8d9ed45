import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the server does with a request, and when. */
export interface Fault {
  /** When the head of the request has come; its body is not read. */
  readonly early?: (response: ServerResponse) => void;
  /** When the whole request has been read. */
  readonly late?: (response: ServerResponse, nth: number) => void;
}

/** A server that answers every request in the same wrong way. */
export class FaultServer {
  /** Methods and bodies of the requests. */
  readonly requests: { readonly method: string; readonly body: Buffer[] }[] = [];
  readonly #server = createServer((request, response) => {
    const seen = { method: request.method ?? '', body: [] as Buffer[] };
    this.requests.push(seen);
    const nth = this.requests.length;
    // The tests' clients have virtual clocks: a real date would be ahead of them.
    response.sendDate = false;
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    if (this.fault.early) {
      this.fault.early(response);
      return;
    }
    request.on('data', (chunk: Buffer) => seen.body.push(chunk));
    request.on('end', () => this.fault.late?.(response, nth));
  });

  private constructor(private readonly fault: Fault) {
    // A socket that the client leaves open must stay open, or the test would not see the leak.
    this.#server.keepAliveTimeout = 0;
    this.#server.headersTimeout = 0;
    this.#server.requestTimeout = 0;
  }

  static async start(fault: Fault): Promise<FaultServer> {
    const server = new FaultServer(fault);
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get baseUrl(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  openSockets(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => void this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }
}
