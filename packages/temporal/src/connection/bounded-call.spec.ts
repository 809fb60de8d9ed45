import { once } from 'node:events';
import { constants, createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { openTemporal, type Temporal } from './connection.js';
import { hadNoEffect, within } from './bounded-call.js';
import { temporalSettings } from '../settings/settings.js';

const servers: Http2Server[] = [];
const connections: Temporal[] = [];

afterEach(async () => {
  for (const temporal of connections.splice(0)) await temporal.close();
  for (const server of servers.splice(0)) server.close();
});

/** A server in place of Temporal. @returns a call to it, and how many calls have arrived. */
async function against(answer: (stream: ServerHttp2Stream) => void) {
  const server = createServer();
  servers.push(server);
  let arrived = 0;
  server.on('stream', (stream) => {
    arrived += 1;
    stream.on('error', () => undefined);
    answer(stream);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const settings = z.object(temporalSettings).parse({ TEMPORAL_ADDRESS: `127.0.0.1:${port}` });
  const temporal = await openTemporal(settings);
  connections.push(temporal);
  const call = () => temporal.connection.workflowService.signalWorkflowExecution({ namespace: 'default' });
  return { arrived: () => arrived, connection: temporal.connection, call };
}

it('a call is not tried again after its time, also when the clock was set back meanwhile', async () => {
  const { connection, call, arrived } = await against((stream) =>
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '14', 'grpc-message': 'not now' },
      { endStream: true },
    ),
  );
  const { now } = Date;
  let setBackMs = 0;
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() - setBackMs);
  try {
    const done = within(connection, 300, call);
    setBackMs = 3_600_000;
    await expect(done).rejects.toThrow('not now');
    const before = arrived();
    expect(before).toBeGreaterThan(0);
    await sleep(1_000);
    expect(arrived()).toBe(before);
  } finally {
    clock.mockRestore();
  }
});

describe('hadNoEffect', () => {
  it('is true when Temporal refuses the call', async () => {
    const { connection, call } = await against((stream) =>
      stream.respond(
        { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '5', 'grpc-message': 'not found' },
        { endStream: true },
      ),
    );
    const failure: unknown = await within(connection, 2_000, call).catch((error: unknown) => error);
    expect(hadNoEffect(failure)).toBe(true);
  });

  it('is false when the stream is reset after the call has arrived', async () => {
    const { connection, call, arrived } = await against((stream) => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM));
    const failure: unknown = await within(connection, 300, call).catch((error: unknown) => error);
    expect(arrived()).toBeGreaterThan(0);
    expect(hadNoEffect(failure)).toBe(false);
  });

  it('is false when a proxy refuses pings and closes the connection with the calls on it', async () => {
    const { connection, call, arrived } = await against(({ session }) => {
      session?.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 0, Buffer.from('too_many_pings'));
      setTimeout(() => session?.destroy(), 20);
    });
    const failure: unknown = await within(connection, 300, call).catch((error: unknown) => error);
    expect(arrived()).toBeGreaterThan(0);
    expect(hadNoEffect(failure)).toBe(false);
  });

  it('is false while a call is in flight', async () => {
    let hasArrived: () => void = () => undefined;
    const arriving = new Promise<void>((resolve) => (hasArrived = resolve));
    const { connection, call } = await against(() => hasArrived());
    const work = () =>
      Promise.race([
        call(),
        arriving.then(() => {
          throw new Error('something else failed first');
        }),
      ]);
    const failure: unknown = await within(connection, 5_000, work).catch((error: unknown) => error);
    expect(failure).toMatchObject({ message: 'something else failed first' });
    expect(hadNoEffect(failure)).toBe(false);
  });
});
