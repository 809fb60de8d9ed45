import { describe, expect, it } from 'vitest';
import { Readiness } from './readiness.js';
import type { TemporalAccess } from '../temporal/temporal.provider.js';

/** A Temporal with given answers, which counts its calls. */
function temporalThat(answers: () => Promise<unknown>): { temporal: TemporalAccess; calls: () => number } {
  let calls = 0;
  const temporal = {
    client: { options: { namespace: 'default' } },
    connection: {
      withDeadline: () => {
        calls += 1;
        return answers();
      },
    },
  };
  return { temporal: temporal as unknown as TemporalAccess, calls: () => calls };
}

describe('a flood of /health/ready', () => {
  it('costs Temporal one call per second', async () => {
    const { temporal, calls } = temporalThat(() => Promise.resolve());
    const readiness = new Readiness(temporal);
    const flood = Array.from({ length: 2_000 }, (_, n) => readiness.isReady(n));
    expect(new Set(await Promise.all(flood))).toEqual(new Set([true]));
    expect(calls()).toBe(2);
  });

  it('shares one answer, and is not ready without one', async () => {
    const { temporal, calls } = temporalThat(() => Promise.reject(new Error('Temporal is down')));
    const readiness = new Readiness(temporal);
    expect(await Promise.all([readiness.isReady(0), readiness.isReady(1)])).toEqual([false, false]);
    expect(calls()).toBe(1);
  });
});
