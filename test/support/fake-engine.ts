import { createServer, type Http2Server, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { vi } from 'vitest';

/** Calls that a client makes for itself, to learn whether the engine is there. */
const OF_THE_CLIENT = new Set(['GetSystemInfo', 'DescribeNamespace']);
/** The answer is an empty list. */
const LIST = 'ListWorkflowExecutions';
const EMPTY_MESSAGE = Buffer.alloc(5);
const OK = '0';
const NOT_FOUND = '5';

/**
 * An engine without a single workflow, for tests of the API that must not need one: it answers lists with nothing and
 * every other call with `NOT_FOUND`, and remembers its name. Set its address as `TEMPORAL_ADDRESS`.
 */
export class FakeEngine {
  /** The names of the calls it received, such as `DescribeWorkflowExecution`. */
  readonly calls: string[] = [];
  readonly #sessions = new Set<ServerHttp2Session>();

  private constructor(private readonly server: Http2Server) {}

  static async start(): Promise<FakeEngine> {
    const server = createServer();
    const engine = new FakeEngine(server);
    server.on('session', (session) => {
      engine.#sessions.add(session);
      session.on('close', () => engine.#sessions.delete(session));
    });
    server.on('stream', (stream, { ':path': path = '' }) => {
      const call = path.split('/').at(-1) ?? '';
      const isKnown = OF_THE_CLIENT.has(call) || call === LIST;
      if (!OF_THE_CLIENT.has(call)) engine.calls.push(call);
      stream.on('error', () => undefined);
      stream.resume();
      const headers = { ':status': 200, 'content-type': 'application/grpc' };
      if (!isKnown) {
        stream.respond({ ...headers, 'grpc-status': NOT_FOUND, 'grpc-message': 'not there' }, { endStream: true });
        return;
      }
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': OK }));
      stream.respond(headers, { waitForTrailers: true });
      stream.end(EMPTY_MESSAGE);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return engine;
  }

  /** Waits until the API has listed the event endpoints, as it does once when it starts. */
  async untilListed(): Promise<void> {
    await vi.waitUntil(() => this.calls.includes(LIST), { timeout: 90_000 });
  }

  get address(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    for (const session of this.#sessions) session.destroy();
    this.server.close();
  }
}
