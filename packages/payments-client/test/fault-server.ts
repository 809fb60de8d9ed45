import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the server does with a request, at a time of its own choice. */
export interface Fault {
  /** As soon as the head of the request is there, with its body unread. */
  readonly early?: (response: ServerResponse) => void;
  /** Once the whole request was read. */
  readonly late?: (response: ServerResponse, nth: number) => void;
}

/** A server that treats every request the same, wrong way. */
export class FaultServer {
  /** Methods and bodies of the requests whose head came. */
  readonly requests: { readonly method: string; readonly body: Buffer[] }[] = [];
  readonly #server = createServer((request, response) => {
    const seen = { method: request.method ?? '', body: [] as Buffer[] };
    this.requests.push(seen);
    const nth = this.requests.length;
    // The clients of the tests have clocks of their own: a real date would be ahead of them.
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
    // What the client leaves open must stay open, or a leak could not be seen.
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
