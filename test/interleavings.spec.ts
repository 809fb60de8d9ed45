import { GUARANTEES, runCampaign, type CampaignResult, type Guarantee } from '@tillflow/tools/chaos';
import { beforeAll, describe, expect, inject, it } from 'vitest';

const IS_FULL = process.env['FULL'] === '1';
const LONG = 'takes minutes: `pnpm test:full` runs it';
const CHECKOUTS = 20;
const print = (line: string): void => void process.stdout.write(`${line}\n`);
/** Printed, so that the same can be done again: SEED=… FULL=1 npx vitest run test/interleavings.spec.ts. */
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/**
 * The lives of checkouts as they come: attempts, payments in time, late and double, cancels, refunds, hints lost,
 * repeated, reordered and forged, a provider that fails, workers killed and frozen. `pnpm chaos` is the same at large.
 */
describe(
  `${CHECKOUTS} random interleavings on the real server, with kills (SEED=${SEED})`,
  { timeout: 600_000 },
  () => {
    let result: CampaignResult;
    beforeAll(async () => {
      if (!IS_FULL) return;
      result = await runCampaign({
        seed: SEED,
        checkouts: CHECKOUTS,
        atOnce: 7,
        workers: 3,
        temporalAddress: inject('temporalAddress'),
        restartTemporal: null,
        log: print,
      });
      for (const [id, lived] of Object.entries(result.traces)) print(`${id} ${JSON.stringify(lived, null, 1)}`);
    }, 600_000);

    it.for(Object.entries(GUARANTEES))('break no guarantee: %s, %s', ([number], { skip }) => {
      skip(!IS_FULL, LONG);
      const guarantee = Number(number) as Guarantee;
      expect(result.breaches.filter((breach) => breach.guarantee === guarantee)).toEqual([]);
      // Whether a payment's every webhook was lost is chance.
      const atLeast = guarantee === 5 ? 0 : 1;
      expect(result.guarantees.find((one) => one.guarantee === guarantee)?.checked).toBeGreaterThanOrEqual(atLeast);
    });

    it('did break everything else: workers were killed and frozen, answers and webhooks lost', ({ skip }) => {
      skip(!IS_FULL, LONG);
      expect(result.blows.killed).toBeGreaterThan(0);
      expect(result.blows.frozen).toBeGreaterThan(0);
      expect(Object.keys(result.faults).length).toBeGreaterThan(5);
    });
  },
);
