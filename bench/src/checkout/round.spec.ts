import { describe, expect, it } from 'vitest';
import { cpuOf, rateOf } from './round.js';

const cpu = (server: number) => ({ server, worker: 1, api: 0, sandbox: 0, floors: 0, load: 9 });
const samples = (count: number) => Array.from({ length: count }, () => ({ answeredMs: 1, paidMs: null, totalMs: 1 }));

describe('several rounds together', () => {
  it('have the rate of all their steady parts', () => {
    expect(rateOf([{ steady: { count: 30, seconds: 2 } }, { steady: { count: 10, seconds: 3 } }])).toBe(8);
  });

  it('have the CPU of the parts that are asked for, each round by its operations', () => {
    const rounds = [
      { samples: samples(3), cpuMs: cpu(10) },
      { samples: samples(1), cpuMs: cpu(30) },
    ];
    expect(cpuOf(rounds, ['server'])).toBe(15);
    expect(cpuOf(rounds, ['server', 'worker'])).toBe(16);
  });
});
