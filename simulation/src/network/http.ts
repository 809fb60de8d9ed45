import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { Dispatcher } from 'undici';
import type { Link, Network } from './network.js';
import type { Machine } from '../virtual/time.js';

/**
 * Fastify's own requests without a socket refuse a time limit without a listener, which Node accepts. The API sets such
 * a limit for the connection, and here there is none.
 */
const requireOfFastify = createRequire(createRequire(import.meta.url).resolve('fastify'));
const { prototype } = requireOfFastify('light-my-request/lib/response.js') as { readonly prototype: ServerResponse };
prototype.setTimeout = function ignore(this: ServerResponse) {
  return this;
};

export type HttpRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export type HttpAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The connection broke before the end of the body. */
  readonly isCut: boolean;
};

/** Serves a request with Node's own kind of handler, without a socket. Null: the server broke the connection off. */
export function serve(
  handle: (request: IncomingMessage, response: ServerResponse) => unknown,
  request: HttpRequest,
  onOpen: (close: () => void) => void = () => undefined,
): Promise<HttpAnswer | null> {
  return new Promise((resolve) => {
    const stream = Object.assign(Readable.from(request.body === '' ? [] : [Buffer.from(request.body)]), {
      method: request.method,
      url: request.path,
      headers: lowerCase(request.headers),
      httpVersion: '1.1',
      socket: {
        remoteAddress: '10.0.0.1',
        resetAndDestroy: () => {
          response.destroyed = true;
          response.emit('close');
          resolve(null);
        },
      },
    });
    const response = new MemoryResponse((answer) => resolve(answer));
    onOpen(() => {
      if (response.destroyed) return;
      response.destroyed = true;
      response.emit('close');
    });
    void handle(stream as unknown as IncomingMessage, response as unknown as ServerResponse);
  });
}

/** What the sandbox uses of a response. */
class MemoryResponse extends EventEmitter {
  destroyed = false;
  headersSent = false;
  #status = 200;
  readonly #headers: Record<string, string> = {};
  readonly #chunks: Buffer[] = [];

  constructor(private readonly done: (answer: HttpAnswer) => void) {
    super();
  }

  setHeader(name: string, value: string | number): this {
    this.#headers[name.toLowerCase()] = String(value);
    return this;
  }

  writeHead(status: number, headers: Readonly<Record<string, string | number>> = {}): this {
    this.#status = status;
    this.headersSent = true;
    for (const [name, value] of Object.entries(headers)) this.setHeader(name, value);
    return this;
  }

  write(chunk: string | Buffer, written?: () => void): boolean {
    this.#chunks.push(Buffer.from(chunk as string));
    if (written !== undefined) process.nextTick(written);
    return true;
  }

  end(chunk?: string | Buffer): this {
    if (chunk !== undefined) this.#chunks.push(Buffer.from(chunk as string));
    this.#finish(false);
    return this;
  }

  destroy(): this {
    if (!this.destroyed) this.#finish(true);
    return this;
  }

  #finish(isCut: boolean): void {
    this.destroyed = true;
    this.done({ status: this.#status, headers: this.#headers, body: Buffer.concat(this.#chunks), isCut });
    this.emit('close');
  }
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** Headers as a caller of undici writes them. */
function headersOf(headers: Dispatcher.DispatchOptions['headers']): Record<string, string> {
  if (headers === null || headers === undefined) return {};
  const given = headers as Record<string, unknown> | readonly string[];
  const pairs: (readonly [string, unknown])[] = Array.isArray(given)
    ? given.flatMap((name: string, index: number) => (index % 2 === 0 ? [[name, given[index + 1]] as const] : []))
    : Object.entries(given);
  return Object.fromEntries(pairs.map(([name, value]) => [name, String(value)]));
}

function bodyOf({ body }: Dispatcher.DispatchOptions): string {
  if (body === null || body === undefined) return '';
  return typeof body === 'string' ? body : Buffer.from(body as Uint8Array).toString('utf8');
}

const refused = (): Error => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const reset = (): Error => Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });

export type HttpServer = {
  readonly machine: () => Machine | null;
  answer(request: HttpRequest, onOpen: (close: () => void) => void): Promise<HttpAnswer | null>;
};

/** The connection of the provider's client to the provider. */
export function providerDispatcher(network: Network, link: Link, server: HttpServer): Pick<Dispatcher, 'dispatch'> {
  return {
    dispatch(options, handler) {
      let isOver = false;
      let close = (): void => undefined;
      const controller = {
        aborted: false,
        paused: false,
        reason: null as Error | null,
        rawHeaders: null,
        rawTrailers: null,
        abort(reason: Error) {
          controller.aborted = true;
          controller.reason = reason;
          fail(reason);
        },
        pause: () => undefined,
        resume: () => undefined,
      };
      const fail = (error: Error): void => {
        if (isOver) return;
        isOver = true;
        giveUp();
        close();
        handler.onResponseError?.(controller, error);
      };
      let giveUp = (): void => undefined;
      handler.onRequestStart?.(controller, {});
      if (controller.aborted) return true;
      const request = {
        method: options.method,
        path: pathOf(options),
        headers: headersOf(options.headers),
        body: bodyOf(options),
      };
      giveUp = network.exchange(
        link,
        server.machine,
        () => server.answer(request, (end) => (close = end)),
        (result) => {
          if (isOver) return;
          if ('broken' in result || result.answer === null) {
            fail('broken' in result && result.broken === 'refused' ? refused() : reset());
            return;
          }
          const { status, headers, body, isCut } = result.answer;
          handler.onResponseStart?.(controller, status, { ...headers }, '');
          if (body.length > 0) handler.onResponseData?.(controller, body);
          if (isCut) {
            fail(reset());
            return;
          }
          isOver = true;
          handler.onResponseEnd?.(controller, {});
        },
      );
      return true;
    },
  };
}

function pathOf({ path, query }: Dispatcher.DispatchOptions): string {
  const search = query === undefined ? '' : new URLSearchParams(query as Record<string, string>).toString();
  return search === '' ? path : `${path}?${search}`;
}

/** Handlers of `undici.request`, which the sandbox uses for webhooks. */
type OldHandler = {
  onConnect(abort: (error?: Error) => void, context: object): void;
  onHeaders(status: number, rawHeaders: readonly Buffer[], resume: () => void, text: string): boolean;
  onData(chunk: Buffer): boolean;
  onComplete(trailers: readonly Buffer[]): void;
  onError(error: Error): void;
};

/** The connection of the provider to the API, for webhooks. */
export class WebhookDispatcher extends Dispatcher {
  constructor(
    private readonly network: Network,
    private readonly server: HttpServer,
  ) {
    super();
  }

  override dispatch(options: Dispatcher.DispatchOptions, given: Dispatcher.DispatchHandler): boolean {
    const handler = given as unknown as OldHandler;
    let isOver = false;
    let giveUp = (): void => undefined;
    const fail = (error: Error): void => {
      if (isOver) return;
      isOver = true;
      giveUp();
      handler.onError(error);
    };
    handler.onConnect((error) => fail(error ?? reset()), {});
    const request = {
      method: options.method,
      path: pathOf(options),
      headers: headersOf(options.headers),
      body: bodyOf(options),
    };
    giveUp = this.network.exchange(
      'provider-api',
      this.server.machine,
      () => this.server.answer(request, () => undefined),
      (result) => {
        if (isOver) return;
        if ('broken' in result || result.answer === null) {
          fail('broken' in result && result.broken === 'refused' ? refused() : reset());
          return;
        }
        isOver = true;
        handler.onHeaders(result.answer.status, [], () => undefined, '');
        if (result.answer.body.length > 0) handler.onData(result.answer.body);
        handler.onComplete([]);
      },
    );
    return true;
  }
}
