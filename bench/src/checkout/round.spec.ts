import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { byPart } from '../stack.js';
import { randomOf } from '../statistics.js';
import { cpuOf, hasCpu, rateOf, runRound, takeTurns } from './round.js';
import type { Variant } from './variants.js';

/** A stack whose parts use no CPU. */
const idle = { usage: async () => byPart(() => ({ cpuSeconds: 0, rssBytes: 0 })) };

const variantOf = (id: string, once: () => Promise<void>): Variant => ({
  name: 'checkout',
  leavesOpen: false,
  once: async () => {
    await once();
    return { answeredMs: 1, totalMs: 1, workflowId: `${id}-${Math.random()}` };
  },
});

describe('a round', () => {
  it('counts operations that began after the first of every caller, while all callers were busy', async () => {
    const inProgress: number[] = [];
    let open = 0;
    const variant = variantOf('busy', async () => {
      open += 1;
      await sleep(5);
      inProgress.push(open);
      open -= 1;
    });
    const round = await runRound(idle, variant, { concurrency: 3, seconds: 0.1 });
    expect(round.concurrency).toBe(3);
    expect(round.samples.length).toBeGreaterThanOrEqual(3);
    expect(round.samples.length).toBeLessThanOrEqual(inProgress.length - 3);
    expect(inProgress.slice(0, round.samples.length + 3).every((count) => count > 0)).toBe(true);
    expect(round.workflowIds).toHaveLength(inProgress.length);
  });

  it('counts one operation of each caller even when one takes longer than the round', async () => {
    const round = await runRound(
      idle,
      variantOf('slow', () => sleep(300)),
      { concurrency: 4, seconds: 0.25 },
    );
    expect(round.samples).toHaveLength(4);
  });

  it('records failures, and stops when a variant only fails', async () => {
    let count = 0;
    const flaky = variantOf('flaky', async () => {
      await sleep(1);
      count += 1;
      if (count === 2) throw new Error('once');
    });
    const round = await runRound(idle, flaky, { concurrency: 1, seconds: 0.05 });
    expect(round.failures).toEqual(['once']);
    const broken = variantOf('broken', async () => {
      await sleep(1);
      throw new Error('always');
    });
    await expect(runRound(idle, broken, { concurrency: 2, seconds: 5 })).rejects.toThrow('always');
  });
});

describe('variants that take turns', () => {
  it('run one operation each, one at a time, in a random order', async () => {
    const done: string[] = [];
    let open = 0;
    const variants = ['a', 'b', 'c'].map((name) =>
      variantOf(name, async () => {
        open += 1;
        await sleep(1);
        done.push(open === 1 ? name : 'two at once');
        open -= 1;
      }),
    );
    const rounds = await takeTurns(idle, variants, 0, randomOf(1));
    expect(variants.map((variant) => rounds.get(variant)?.map(({ samples }) => samples.length))).toEqual([
      [10],
      [10],
      [10],
    ]);
    const turns = Array.from({ length: 10 }, (_, turn) => done.slice(3 * turn, 3 * turn + 3));
    for (const turn of turns) expect(turn.toSorted((one, other) => one.localeCompare(other))).toEqual(['a', 'b', 'c']);
    expect(new Set(turns.map(String)).size).toBeGreaterThan(1);
  });
});

describe('variants with programs of their own', () => {
  it('have the CPU of one operation although they take turns', async () => {
    let used = 0;
    const programs = {
      usage: async () => byPart((part) => ({ cpuSeconds: part === 'server' ? used : 0, rssBytes: 0 })),
    };
    const working = { ...variantOf('working', async () => void (used += 0.05)), programs };
    const other = { ...variantOf('other', async () => undefined), programs: idle };
    const rounds = await takeTurns(idle, [working, other], 0, randomOf(1));
    expect(rounds.get(working)?.[0]?.cpuMs?.server).toBeCloseTo(50);
    expect(rounds.get(other)?.[0]?.cpuMs?.server).toBe(0);
  });
});

const cpu = (server: number) => ({ server, database: 0, worker: 1, api: 0, sandbox: 0, baseline: 0, load: 9 });
const samples = (count: number, totalMs = 1) => Array.from({ length: count }, () => ({ answeredMs: 1, totalMs }));

describe('several rounds', () => {
  it('have a rate of the number of callers divided by the mean time of an operation', () => {
    expect(rateOf([{ samples: samples(40, 500), concurrency: 20 }])).toBe(40);
    expect(
      rateOf([
        { samples: samples(3, 1_000), concurrency: 1 },
        { samples: samples(1, 5_000), concurrency: 1 },
      ]),
    ).toBe(0.5);
  });

  it('have the CPU per operation of the given parts, weighted by operations', () => {
    const rounds = [
      { samples: samples(3), cpuMs: cpu(10) },
      { samples: samples(1), cpuMs: cpu(30) },
    ];
    expect(cpuOf(rounds, ['server'])).toBe(15);
    expect(cpuOf(rounds, ['server', 'worker'])).toBe(16);
    expect(hasCpu(rounds)).toBe(true);
  });

  it('have no CPU when variants took turns', () => {
    const rounds = [{ samples: samples(1), cpuMs: null }];
    expect(hasCpu(rounds)).toBe(false);
    expect(() => cpuOf(rounds, ['server'])).toThrow(RangeError);
  });
});
