import { FULL } from '../../test/support/full.js';
import { describe, expect, it } from 'vitest';
import { failures } from './report.js';
import { simulate, worldsOf } from './simulate.js';

/** Printed, so that the run can be repeated: pnpm simulate --seed … --lives 2000. */
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const LIVES = 2_000;
const REPETITIONS = 100;

describe('lives of checkouts on a virtual clock', () => {
  it('are all final and right, and the same seed gives the same trace twice', async () => {
    const [first, second] = await simulate({ seed: 3, worlds: [0, 0], livesPerWorld: 6 });
    expect(first?.breaches).toEqual([]);
    expect(second?.digest).toBe(first?.digest);
  });

  it(
    `with a random seed, ${LIVES} of them are final and right (SEED=${SEED})`,
    { ...FULL, timeout: 1_800_000 },
    async () => {
      const results = await simulate({ seed: SEED, worlds: worldsOf(LIVES), processes: 2 });
      expect(results.flatMap((result) => failures(result, SEED))).toEqual([]);
      expect(results.reduce((sum, { lives }) => sum + lives, 0)).toBe(LIVES);
    },
  );

  it(
    `repeat ${REPETITIONS} times of ${REPETITIONS}, in whichever process`,
    { ...FULL, timeout: 1_800_000 },
    async () => {
      const worlds = Array.from({ length: REPETITIONS }, () => 0);
      const results = await simulate({ seed: 20_261_126, worlds, livesPerWorld: 4, processes: 2 });
      expect(new Set(results.map(({ digest }) => digest)).size).toBe(1);
    },
  );
});
