import { GUARANTEES, runCampaign, type CampaignResult, type Guarantee } from '@tillflow/tools/chaos';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { FULL } from './support/full.js';

const CHECKOUTS = 20;
const print = (line: string): void => void process.stdout.write(`${line}\n`);
/** Printed, so that you can repeat the same campaign: SEED=… FULL=1 npx vitest run test/interleavings.spec.ts. */
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/**
 * Random scenarios of checkouts: attempts, payments in time, late and double, cancels, refunds, hints lost, repeated,
 * reordered and forged, a provider that fails, workers killed and frozen. `pnpm chaos` is a larger campaign.
 */
describe(
  `${CHECKOUTS} random interleavings on the real server, with kills (SEED=${SEED})`,
  { ...FULL, timeout: 600_000 },
  () => {
    let result: CampaignResult;
    beforeAll(async () => {
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

    it.each(Object.entries(GUARANTEES))('break no guarantee: %s, %s', (number) => {
      const guarantee = Number(number) as Guarantee;
      expect(result.breaches.filter((breach) => breach.guarantee === guarantee)).toEqual([]);
      // Whether a payment's every webhook was lost is chance.
      const atLeast = guarantee === 5 ? 0 : 1;
      expect(result.guarantees.find((one) => one.guarantee === guarantee)?.checked).toBeGreaterThanOrEqual(atLeast);
    });

    it('include workers that were killed and frozen, and answers and webhooks that were lost', () => {
      expect(result.blows.killed).toBeGreaterThan(0);
      expect(result.blows.frozen).toBeGreaterThan(0);
      expect(Object.keys(result.faults).length).toBeGreaterThan(5);
    });
  },
);
