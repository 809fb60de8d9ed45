import { describe, expect, it } from 'vitest';
import { cpuOf, hasCpu, rateOf } from './round.js';

const cpu = (server: number) => ({ server, worker: 1, api: 0, sandbox: 0, floors: 0, load: 9 });
const samples = (count: number, totalMs = 1) =>
  Array.from({ length: count }, () => ({ answeredMs: 1, paidMs: null, totalMs }));

describe('several rounds together', () => {
  it('have the rate of so many callers, each of which waits for its own', () => {
    expect(rateOf([{ samples: samples(40, 500), concurrency: 20 }])).toBe(40);
    expect(
      rateOf([
        { samples: samples(3, 1_000), concurrency: 1 },
        { samples: samples(1, 5_000), concurrency: 1 },
      ]),
    ).toBe(0.5);
  });

  it('have the CPU of the parts that are asked for, each round by its operations', () => {
    const rounds = [
      { samples: samples(3), cpuMs: cpu(10) },
      { samples: samples(1), cpuMs: cpu(30) },
    ];
    expect(cpuOf(rounds, ['server'])).toBe(15);
    expect(cpuOf(rounds, ['server', 'worker'])).toBe(16);
    expect(hasCpu(rounds)).toBe(true);
  });

  it('have no CPU when lanes took turns', () => {
    const rounds = [{ samples: samples(1), cpuMs: null }];
    expect(hasCpu(rounds)).toBe(false);
    expect(() => cpuOf(rounds, ['server'])).toThrow(RangeError);
  });
});
