import { runCampaign, type CampaignResult } from '@tillflow/tools/chaos';
import { GUARANTEES, type Guarantee } from '@tillflow/workflows/testing';
import { beforeAll, describe, expect, inject, it } from 'vitest';

const IS_FULL = process.env['FULL'] === '1';
const LONG = 'takes minutes: `pnpm test:full` runs it';
const CHECKOUTS = 20;
const print = (line: string): void => void process.stdout.write(`${line}\n`);
/** Printed, so that the campaign can be repeated: SEED=… FULL=1 npx vitest run test/interleavings.spec.ts. */
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/** Random actions and faults on the real server, with workers killed and frozen. `pnpm chaos` runs more of them. */
describe(`a campaign of ${CHECKOUTS} random checkouts on real processes (SEED=${SEED})`, { timeout: 600_000 }, () => {
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
    for (const [id, trace] of Object.entries(result.traces)) print(`${id} ${JSON.stringify(trace, null, 1)}`);
  }, 600_000);

  it.for(Object.entries(GUARANTEES))('a chaos campaign keeps guarantee %s: %s', ([number], { skip }) => {
    skip(!IS_FULL, LONG);
    const guarantee = Number(number) as Guarantee;
    expect(result.breaches.filter((breach) => breach.guarantee === guarantee)).toEqual([]);
    const atLeast = guarantee === 5 ? 0 : 1;
    expect(result.guarantees.find((one) => one.guarantee === guarantee)?.checked).toBeGreaterThanOrEqual(atLeast);
  });

  it('a chaos campaign kills and freezes workers, and loses answers and webhooks', ({ skip }) => {
    skip(!IS_FULL, LONG);
    expect(result.disruptions.killed).toBeGreaterThan(0);
    expect(result.disruptions.frozen).toBeGreaterThan(0);
    expect(Object.keys(result.faults).length).toBeGreaterThan(5);
  });
});
