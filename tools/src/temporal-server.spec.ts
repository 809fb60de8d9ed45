import { describe, expect, it } from 'vitest';

import { freePorts } from './ports.js';
import { startTemporalServer } from './temporal-server.js';

/** TEMPORAL_ADDRESS of the person who runs the tests must not reach the server under test. */
const { TEMPORAL_ADDRESS: _, ...env } = process.env;

describe('the Temporal server', () => {
  it('can be started twice at once, each with its own UI, and has ended when stop() resolves', async () => {
    const servers = await Promise.all([
      startTemporalServer({ env, ui: true }),
      startTemporalServer({ env, ui: true, forTests: true }),
    ]);
    expect(new Set(servers.map(({ address }) => address)).size).toBe(2);
    for (const { uiUrl = '', pid = 0, stop } of servers) {
      const page = await fetch(uiUrl);
      expect(page.status).toBe(200);
      await stop();
      expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    }
  });

  it('is the server at TEMPORAL_ADDRESS when that is set, and stop() leaves that server running', async () => {
    const server = await startTemporalServer({ env, forTests: true });
    const given = await startTemporalServer({ env: { ...env, TEMPORAL_ADDRESS: server.address } });
    expect(given).toMatchObject({ address: server.address, pid: undefined, uiUrl: undefined });
    await given.stop();
    expect(process.kill(server.pid ?? 0, 0)).toBe(true);
    await server.stop();
  });

  it('cannot be used when nothing answers at TEMPORAL_ADDRESS, and the error says so', async () => {
    const [port = 0] = await freePorts(1);
    const start = startTemporalServer({ env: { ...env, TEMPORAL_ADDRESS: `127.0.0.1:${port}` } });
    await expect(start).rejects.toThrow('nothing answers');
  });

  it('reports its last output when it cannot start', async () => {
    const [port = 0] = await freePorts(1);
    const server = await startTemporalServer({ env, forTests: true, port });
    await expect(startTemporalServer({ env, forTests: true, port })).rejects.toThrow('address already in use');
    await server.stop();
  });
});
