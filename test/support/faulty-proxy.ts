import { once } from 'node:events';
import { Agent, createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const FAULTS = [
  /** The request does not arrive. */
  'cut_before',
  /** The request arrives, and its answer does not. */
  'cut_after',
  /** Half of the answer arrives. */
  'truncate',
  /** Request and answer take long, perhaps longer than the caller waits. */
  'delay',
  /** The request arrives twice at the same time. */
  'duplicate',
  /** The request arrives again when its caller has the answer. */
  'duplicate_later',
  /** The proxy answers in place of the server, which has the request. */
  'bad_gateway',
  /** The proxy limits requests: this one does not arrive. */
  'too_many',
  /** The same, with `Retry-After`, in the form of the API. */
  'too_many_for_now',
  /** The proxy gives up, although the server has the request. */
  'unavailable',
  /** The same, with `Retry-After`, in the form of the API. */
  'unavailable_for_now',
] as const;

const STREAM_FAULTS = [
  /** The stream breaks, perhaps within an event. */
  'cut_stream',
  /** Nothing of the stream arrives. */
  'hold_stream',
  /** What arrived before arrives again. */
  'repeat_stream',
  /** Each part of the stream arrives late. */
  'slow_stream',
] as const;

export const PROXY_FAULTS = [...FAULTS, ...STREAM_FAULTS] as const;
export type ProxyFault = (typeof PROXY_FAULTS)[number];

/** Longest delay of a request and of an answer. Milliseconds. */
const DELAY_MS = 2_000;
/** A stream breaks within so long. Milliseconds. */
const STREAM_MS = 1_500;

type Whole = { readonly status: number; readonly headers: IncomingMessage['headers']; readonly body: Buffer };

/** An HTTP proxy that breaks a part of the requests and streams, as random numbers decide. */
export class FaultyProxy {
  /** How often each fault occurred. */
  readonly counts = new Map<ProxyFault, number>();
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 500 });

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
    private readonly random: () => number,
    private readonly rate: number,
  ) {
    server.on('request', (incoming, outgoing) => {
      incoming.on('error', () => {});
      outgoing.on('error', () => {});
      this.#handle(incoming, outgoing).catch(() => outgoing.destroy());
    });
  }

  /** @param rate the part of the requests with a fault, 0 to 1. */
  static async to(target: string, random: () => number, rate: number): Promise<FaultyProxy> {
    const server = createServer({ keepAliveTimeout: 60_000 });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new FaultyProxy(server, new URL(target), random, rate);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
    this.#agent.destroy();
  }

  async #handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await bodyOf(incoming);
    const gone = new AbortController();
    // A change goes on without its caller, as behind a real proxy.
    if (incoming.method === 'GET') outgoing.once('close', () => gone.abort());
    if (incoming.url?.endsWith('/events') === true) return this.#stream(incoming, outgoing, gone.signal);
    const send = (): Promise<Whole> => this.#send(incoming, body, gone.signal);
    switch (this.#draw(FAULTS)) {
      case null:
        return answer(outgoing, await send());
      case 'cut_before':
        return void outgoing.destroy();
      case 'cut_after':
        await send();
        return void outgoing.destroy();
      case 'truncate': {
        const { status, headers, body: text } = await send();
        outgoing.writeHead(status, headers);
        outgoing.write(text.subarray(0, Math.floor(this.random() * text.length)), () => outgoing.destroy());
        return;
      }
      case 'delay':
        await sleep(this.random() * DELAY_MS);
        return this.#late(outgoing, await send());
      case 'duplicate': {
        const [first] = await Promise.all([send(), send()]);
        return answer(outgoing, first);
      }
      case 'duplicate_later':
        answer(outgoing, await send());
        await sleep(this.random() * DELAY_MS);
        await send();
        return;
      case 'bad_gateway':
        await send();
        return answer(outgoing, page(502));
      case 'too_many':
        return answer(outgoing, page(429));
      case 'too_many_for_now':
        return answer(outgoing, problem(429, 'rate_limited'));
      case 'unavailable':
        await send();
        return answer(outgoing, page(503));
      case 'unavailable_for_now':
        await send();
        return answer(outgoing, problem(503, 'temporal_unavailable'));
    }
  }

  async #late(outgoing: ServerResponse, whole: Whole): Promise<void> {
    await sleep(this.random() * DELAY_MS);
    answer(outgoing, whole);
  }

  async #stream(incoming: IncomingMessage, outgoing: ServerResponse, signal: AbortSignal): Promise<void> {
    const fault = this.#draw(STREAM_FAULTS);
    const upstream = this.#open(incoming, signal);
    upstream.end();
    const [response] = (await once(upstream, 'response')) as [IncomingMessage];
    response.on('error', () => outgoing.destroy());
    if (fault === 'hold_stream') return;
    outgoing.writeHead(response.statusCode ?? 0, response.headers);
    outgoing.flushHeaders();
    if (fault === 'cut_stream') setTimeout(() => outgoing.destroy(), this.random() * STREAM_MS);
    const seen: Buffer[] = [];
    for await (const chunk of response as AsyncIterable<Buffer>) {
      if (fault === 'slow_stream') await sleep(this.random() * STREAM_MS);
      const cut = fault === 'cut_stream' && this.random() < 0.5;
      outgoing.write(cut ? chunk.subarray(0, Math.floor(this.random() * chunk.length)) : chunk);
      if (cut) return void outgoing.destroy();
      seen.push(chunk);
      if (fault === 'repeat_stream') await repeat(outgoing, seen);
    }
    outgoing.end();
  }

  #draw<T extends ProxyFault>(faults: readonly T[]): T | null {
    if (this.random() >= this.rate) return null;
    const fault = faults[Math.floor(this.random() * faults.length)] ?? null;
    if (fault !== null) this.counts.set(fault, (this.counts.get(fault) ?? 0) + 1);
    return fault;
  }

  async #send(incoming: IncomingMessage, body: Buffer, signal: AbortSignal): Promise<Whole> {
    const upstream = this.#open(incoming, signal);
    upstream.end(body);
    const [response] = (await once(upstream, 'response')) as [IncomingMessage];
    return { status: response.statusCode ?? 0, headers: response.headers, body: await bodyOf(response) };
  }

  #open({ method, url, headers }: IncomingMessage, signal: AbortSignal) {
    const { hostname, port } = this.target;
    const upstream = request({ agent: this.#agent, hostname, port, method, path: url, headers, signal });
    upstream.on('error', () => {});
    return upstream;
  }
}

/** What arrived before arrives again, each part alone: parts that are written together would arrive together. */
async function repeat(outgoing: ServerResponse, seen: readonly Buffer[]): Promise<void> {
  for (const chunk of seen) {
    await sleep(10);
    outgoing.write(chunk);
  }
}

/** An answer of the proxy. */
function page(status: number): Whole {
  return { status, headers: { 'content-type': 'text/html' }, body: Buffer.from(`<h1>${status}`) };
}

/** An answer as the API refuses a request for now. */
function problem(status: number, code: string): Whole {
  const type = `https://pay.example/errors/${code}`;
  const body = { type, title: code, status, code, detail: 'Try again', request_id: 'proxy' };
  const headers = { 'content-type': 'application/problem+json', 'retry-after': '1' };
  return { status, headers, body: Buffer.from(JSON.stringify(body)) };
}

/** A caller who has gone gets nothing. */
function answer(outgoing: ServerResponse, { status, headers, body }: Whole): void {
  if (outgoing.destroyed) return;
  outgoing.writeHead(status, headers);
  outgoing.end(body);
}

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
