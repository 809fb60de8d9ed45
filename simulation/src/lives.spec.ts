import { FULL } from '../../test/support/full.js';
import { describe, expect, it } from 'vitest';
import { failures } from './report.js';
import { SCRIPT_COUNT } from './scripted/scripts.js';
import { simulate, worldsOf } from './simulate.js';

/** The same lives each time, so that a change is what breaks one. `pnpm simulate` draws a seed of its own. */
const SEED = Number(process.env['SEED'] ?? 1);
const LIVES = 2_000;
const REPETITIONS = 100;

describe('lives of checkouts on a virtual clock', () => {
  it('are all final and right, and the same seed gives the same trace, whatever ran before', async () => {
    const [first, second, other] = await simulate({ seed: 3, worlds: [0, 1, 0], livesPerWorld: 6 });
    expect([first, second, other].flatMap((result) => result?.breaches)).toEqual([]);
    expect(second?.digest).toBe(first?.digest);
    expect(other?.digest).not.toBe(first?.digest);
  });

  it(`${LIVES} of them are final and right (SEED=${SEED})`, { ...FULL, timeout: 1_800_000 }, async () => {
    const results = await simulate({ seed: SEED, worlds: worldsOf(LIVES), processes: 2 });
    expect(results.flatMap((result) => failures(result, SEED))).toEqual([]);
    expect(results.reduce((sum, { lives }) => sum + lives, 0)).toBe(LIVES);
    expect(new Set(results.flatMap(({ script }) => script ?? [])).size).toBe(SCRIPT_COUNT);
  });

  it(
    `have the same trace in ${REPETITIONS} of ${REPETITIONS} runs of one world, with other worlds between them`,
    { ...FULL, timeout: 1_800_000 },
    async () => {
      const worlds = Array.from({ length: REPETITIONS }, (_, index) => [0, index + 1]).flat();
      const results = await simulate({ seed: 20_261_126, worlds, livesPerWorld: 4, processes: 2 });
      const repeated = results.filter(({ batch }) => batch === 0);
      expect(repeated).toHaveLength(REPETITIONS);
      expect(new Set(repeated.map(({ digest }) => digest)).size).toBe(1);
    },
  );
});
