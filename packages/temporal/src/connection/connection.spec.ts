import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openTemporal } from './connection.js';
import { readSettings, temporalSettings } from '../settings/settings.js';

/** An address that refuses every connection, so that each call is retried after a pause. */
async function refusingAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('No port');
  return `127.0.0.1:${address.port}`;
}

describe('closing a connection', () => {
  it('fails every call that was waiting for a retry', async () => {
    const settings = readSettings(z.object(temporalSettings), { TEMPORAL_ADDRESS: await refusingAddress() });
    const temporal = await openTemporal(settings);
    const handle = temporal.client.workflow.getHandle('nothing');
    const calls: Promise<string>[] = [];
    for (let started = 0; started < 30; started += 1) {
      calls.push(
        handle.describe().then(
          () => 'answered',
          () => 'failed',
        ),
      );
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await temporal.close();
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['failed']));
  });
});
