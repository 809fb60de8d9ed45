import { runCampaign, type CampaignResult } from '@tillflow/tools/chaos';
import { GUARANTEES, type Guarantee } from '@tillflow/workflows/testing';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { FULL } from './support/full.js';

const CHECKOUTS = 20;
const print = (line: string): void => void process.stdout.write(`${line}\n`);
/** Printed, so that the campaign can be repeated: SEED=… FULL=1 npx vitest run test/chaos.spec.ts. */
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/** Random actions and faults on the real server, with workers killed and frozen. `pnpm chaos` runs more of them. */
describe(
  `a campaign of ${CHECKOUTS} random checkouts on real processes (SEED=${SEED})`,
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
    }, 600_000);

    it.each(Object.entries(GUARANTEES))('a chaos campaign keeps guarantee %s: %s', (number) => {
      const guarantee = Number(number) as Guarantee;
      const breaches = result.breaches.filter((breach) => breach.guarantee === guarantee);
      expect(breaches.map((breach) => [breach, result.traces[breach.checkout]])).toEqual([]);
      const atLeast = guarantee === 5 ? 0 : 1;
      expect(result.guarantees.find((one) => one.guarantee === guarantee)?.checked).toBeGreaterThanOrEqual(atLeast);
    });

    it('a chaos campaign kills or freezes workers, and loses answers and webhooks', () => {
      expect(result.disruptions.killed + result.disruptions.frozen).toBeGreaterThan(0);
      expect(Object.keys(result.faults).length).toBeGreaterThan(5);
    });
  },
);
