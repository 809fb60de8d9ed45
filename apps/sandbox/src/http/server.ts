import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerOf, sendJson } from './answer.js';
import { readBody, type Body, type BodyLimits } from './body.js';

/** One request with its body. */
export type Incoming = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly method: string;
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
  readonly body: Body;
};

/** Answers the requests of one kind. */
export type Handler = {
  /** The limits of the body, or null when another handler answers this request. */
  readonly accept: (method: string, path: string) => BodyLimits | null;
  readonly handle: (incoming: Incoming) => Promise<void> | void;
};

/** Longer than the idle time of any client, so that a kept connection is not closed under a request. */
const KEEP_ALIVE_MS = 65_000;
const CLOSE_GRACE_MS = 2_000;

/** Reads each request and passes it to the first handler that accepts it. */
export class Server {
  readonly #http: HttpServer;

  constructor(
    private readonly handlers: readonly Handler[],
    private readonly onError: (error: unknown) => void,
  ) {
    this.#http = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
      void this.serve(request, response);
    });
    this.#http.on('clientError', (_error, socket) => {
      if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
      else socket.destroy();
    });
  }

  /** @param port 0 for a free one. @throws when the port is taken. */
  async listen(port: number, host: string): Promise<AddressInfo> {
    await new Promise<void>((resolve, reject) => {
      this.#http.once('error', reject);
      this.#http.listen(port, host, () => {
        this.#http.off('error', reject);
        resolve();
      });
    });
    return this.#http.address() as AddressInfo;
  }

  /** Closes after the requests in progress are answered, at the latest after two seconds. */
  async close(): Promise<void> {
    if (!this.#http.listening) return;
    const force = setTimeout(() => this.#http.closeAllConnections(), CLOSE_GRACE_MS);
    await new Promise<void>((resolve) => {
      this.#http.close(() => resolve());
      this.#http.closeIdleConnections();
    });
    clearTimeout(force);
  }

  /** Answers one request. */
  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const url = request.url ?? '/';
      const mark = url.indexOf('?');
      const path = mark === -1 ? url : url.slice(0, mark);
      const query = mark === -1 ? '' : url.slice(mark + 1);
      const method = request.method ?? 'GET';
      for (const handler of this.handlers) {
        const limits = handler.accept(method, path);
        if (limits === null) continue;
        const body = await readBody(request, limits);
        if (body !== null) await handler.handle({ request, response, method, path, query, body });
        return;
      }
    } catch (error) {
      const answer = answerOf(() => {
        throw error;
      }, this.onError);
      if (response.headersSent) response.destroy();
      else if ('status' in answer) sendJson(response, answer);
    }
  }
}
