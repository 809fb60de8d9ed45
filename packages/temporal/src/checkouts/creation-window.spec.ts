import fc from 'fast-check';
import { expect, it } from 'vitest';
import { newestWindow, type Window } from './creation-window.js';

const NOW = 2_000_000_000;
const isIn =
  ({ from, to }: Window) =>
  (at: number): boolean =>
    (from === null || at >= from) && (to === null || at < to);

/** Clustered times: seconds before now, drawn by order of magnitude. */
const times = fc.array(
  fc
    .tuple(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 1, max: 9 }))
    .map(([power, digit]) => NOW - digit * 10 ** power),
  { maxLength: 300 },
);

it('newestWindow, called again and again, covers every creation time once, and needs at most 13 counts for each window', async () => {
  await fc.assert(
    fc.asyncProperty(times, fc.integer({ min: 1, max: 20 }), async (all, wanted) => {
      const met: number[] = [];
      let to: number | null = null;
      let seconds: number | null = null;
      for (let windows = 0; windows < 1_000; windows += 1) {
        let counts = 0;
        const found: Awaited<ReturnType<typeof newestWindow>> = await newestWindow(
          { to, now: NOW + 1, wanted, most: 4 * wanted, seconds },
          async (window) => {
            counts += 1;
            return all.filter(isIn(window)).length;
          },
        );
        expect(counts).toBeLessThanOrEqual(13);
        expect(found.window.to).toBe(to);
        met.push(...all.filter(isIn(found.window)));
        ({ seconds } = found);
        to = found.window.from;
        if (to === null) break;
      }
      const inOrder = (some: readonly number[]): number[] => some.toSorted((a, b) => a - b);
      expect(inOrder(met)).toEqual(inOrder(all));
    }),
  );
});
