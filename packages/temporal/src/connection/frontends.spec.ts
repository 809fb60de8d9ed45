import { promises as dns } from 'node:dns';
import { once } from 'node:events';
import { createServer, type Http2Server, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { isGrpcServiceError } from '@temporalio/client';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { openTemporal, type Temporal } from './connection.js';
import { within } from './bounded-call.js';
import { temporalSettings } from '../settings/settings.js';

const NAME = 'temporal.test';
const HOSTS = ['127.0.0.1', '127.0.0.2'] as const;
const CALL_WITHIN_MS = 10_000;
/** The status that the frontends answer with: `NOT_FOUND`. */
const ANSWERED = 5;

/** A server in place of one of Temporal's frontends. It refuses each call, which is an answer. */
class Frontend {
  calls = 0;
  readonly #server: Http2Server = createServer();
  readonly #sessions = new Set<ServerHttp2Session>();

  constructor(readonly host: string) {
    this.#server.on('session', (session) => {
      this.#sessions.add(session);
      session.on('error', () => undefined);
    });
    this.#server.on('stream', (stream) => {
      this.calls += 1;
      stream.on('error', () => undefined);
      stream.respond(
        { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': String(ANSWERED) },
        { endStream: true },
      );
    });
  }

  async listen(port: number): Promise<number> {
    this.#server.listen(port, this.host);
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  /** As a killed process: it breaks every connection, and takes no new one. */
  kill(): void {
    this.#server.close();
    for (const session of this.#sessions) session.destroy();
  }
}

let frontends: Frontend[] = [];
let temporal: Temporal | undefined;

afterEach(async () => {
  vi.restoreAllMocks();
  await temporal?.close();
  for (const frontend of frontends) frontend.kill();
});

// Only Linux answers on every address of 127.0.0.0/8.
describe.runIf(process.platform === 'linux')('a host name with several addresses', () => {
  it('is served by the other frontends after one of them was killed', async () => {
    frontends = HOSTS.map((host) => new Frontend(host));
    const [first, second] = frontends;
    const port = (await first?.listen(0)) ?? 0;
    await second?.listen(port);
    const addresses = HOSTS.map((address) => ({ address, family: 4 }));
    vi.spyOn(dns, 'lookup').mockImplementation((() => Promise.resolve(addresses)) as unknown as typeof dns.lookup);
    vi.spyOn(dns, 'resolveTxt').mockResolvedValue([]);
    const settings = z.object(temporalSettings).parse({ TEMPORAL_ADDRESS: `${NAME}:${port}` });
    temporal = await openTemporal(settings);
    const { connection } = temporal;
    const call = () =>
      within(connection, CALL_WITHIN_MS, () =>
        connection.workflowService.describeNamespace({ namespace: 'default' }),
      ).catch((error: unknown) => (isGrpcServiceError(error) ? error.code : error));

    expect(await Promise.all([call(), call(), call()])).toEqual([ANSWERED, ANSWERED, ANSWERED]);
    const [used, other] = frontends.toSorted((a, b) => b.calls - a.calls);
    expect(other?.calls).toBe(0);
    used?.kill();
    expect(await Promise.all([call(), call(), call()])).toEqual([ANSWERED, ANSWERED, ANSWERED]);
    expect(other?.calls).toBe(3);
  });
});
