import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { randomOf } from '../statistics.js';
import type { Lane } from './lanes.js';
import { cpuOf, hasCpu, rateOf, runRound, takeTurns } from './round.js';
import { byPart, type BenchStack } from './stack.js';

/** Of the stack, a round asks only what its parts have used. */
const idle = { usage: async () => byPart(() => ({ cpuSeconds: 0, rssBytes: 0 })) } as unknown as BenchStack;

const laneOf = (name: string, once: () => Promise<void>): Lane => ({
  name,
  leavesOpen: false,
  once: async () => {
    await once();
    return { answeredMs: 1, paidMs: null, totalMs: 1, workflowId: `${name}-${Math.random()}` };
  },
});

describe('a round', () => {
  it('counts what began after the first of every caller, and only while all were under way', async () => {
    const underWay: number[] = [];
    let open = 0;
    const lane = laneOf('busy', async () => {
      open += 1;
      await sleep(5);
      underWay.push(open);
      open -= 1;
    });
    const round = await runRound(idle, lane, { concurrency: 3, seconds: 0.1 });
    expect(round.concurrency).toBe(3);
    expect(round.samples.length).toBeGreaterThanOrEqual(3);
    expect(round.samples.length).toBeLessThanOrEqual(underWay.length - 3);
    expect(underWay.slice(0, round.samples.length + 3).every((count) => count > 0)).toBe(true);
    expect(round.workflowIds).toHaveLength(underWay.length);
  });

  it('counts one operation of each caller also where one takes longer than the round', async () => {
    const round = await runRound(
      idle,
      laneOf('slow', () => sleep(300)),
      { concurrency: 4, seconds: 0.25 },
    );
    expect(round.samples).toHaveLength(4);
  });

  it('keeps what failed, and gives up a lane that only fails', async () => {
    let count = 0;
    const flaky = laneOf('flaky', async () => {
      await sleep(1);
      count += 1;
      if (count === 2) throw new Error('once');
    });
    const round = await runRound(idle, flaky, { concurrency: 1, seconds: 0.05 });
    expect(round.failures).toEqual(['once']);
    const broken = laneOf('broken', async () => {
      await sleep(1);
      throw new Error('always');
    });
    await expect(runRound(idle, broken, { concurrency: 2, seconds: 5 })).rejects.toThrow('always');
  });
});

describe('lanes that take turns', () => {
  it('do one operation each, one at a time, in an order that is drawn', async () => {
    const done: string[] = [];
    let open = 0;
    const lanes = ['a', 'b', 'c'].map((name) =>
      laneOf(name, async () => {
        open += 1;
        await sleep(1);
        done.push(open === 1 ? name : 'two at once');
        open -= 1;
      }),
    );
    const rounds = await takeTurns(idle, lanes, 0, randomOf(1));
    expect(lanes.map((lane) => rounds.get(lane)?.map(({ samples }) => samples.length))).toEqual([[10], [10], [10]]);
    const turns = Array.from({ length: 10 }, (_, turn) => done.slice(3 * turn, 3 * turn + 3));
    for (const turn of turns) expect(turn.toSorted((one, other) => one.localeCompare(other))).toEqual(['a', 'b', 'c']);
    expect(new Set(turns.map(String)).size).toBeGreaterThan(1);
  });
});

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
