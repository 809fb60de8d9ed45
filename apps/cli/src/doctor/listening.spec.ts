import { describe, expect, it } from 'vitest';
import { providerSettings } from '../settings.js';
import { checkListening } from './listening.js';

const codes = (environment: Record<string, string>): string[] =>
  checkListening(providerSettings(environment)).findings.map(({ what }) => what);

describe('the ports of a worker', () => {
  it.each(['0.0.0.0', '::'])('are found open when they listen on all interfaces: %s', (host) => {
    expect(codes({ WORKER_HOST: host, WORKER_HEALTH_PORT: '8081', WORKER_SDK_METRICS_PORT: '8082' })).toEqual([
      `workers answer on all interfaces (WORKER_HOST=${host}): WORKER_HEALTH_PORT 8081, WORKER_SDK_METRICS_PORT 8082`,
    ]);
  });

  it('are not, on an address that was chosen, on the loopback one, or where there are none', () => {
    expect(codes({ WORKER_HOST: '10.0.0.7', WORKER_HEALTH_PORT: '8081' })).toEqual([]);
    expect(codes({ WORKER_HEALTH_PORT: '8081' })).toEqual([]);
    expect(codes({ WORKER_HOST: '0.0.0.0' })).toEqual([]);
  });
});
