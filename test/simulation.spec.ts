import { setTimeout as sleep } from 'node:timers/promises';
import { FaultsOfCharges, Life, Plans, simulate, type End } from '@tillflow/simulation';
import { describe, expect, it } from 'vitest';
import { FULL } from './support/full.js';
import { LivedWorld } from './support/lived-world.js';
import { ALWAYS_VOIDABLE_MINUTES, Stack } from './support/stack.js';

/** The same lives each time. Others: SEED=… FULL=1 npx vitest run test/simulation.spec.ts. */
const SEED = Number(process.env['SEED'] ?? 1);
const LIVES = 60;
const FINAL_WITHIN_MS = 150_000;
const CHECK_EVERY_MS = 2_000;

/** What the plans of the simulation are on the real server. @returns how each life ended */
async function live(): Promise<readonly End[]> {
  // No two runs share a reference on the server, and a second try is a run of its own.
  const run = Date.now().toString(36);
  const stack = await Stack.start({ api: { VOID_DATE_OFFSET_MINUTES: String(ALWAYS_VOIDABLE_MINUTES) } });
  const world = new LivedWorld(stack);
  const plans = new Plans(SEED);
  const lives = Array.from({ length: LIVES }, (_, index) => {
    const plan = plans.shortLife(index);
    const surroundings = world.surroundings(`${SEED}/${index}`);
    return new Life(surroundings, new FaultsOfCharges(surroundings.provider), {
      ...plan,
      reference: `${plan.reference}-${run}`,
    });
  });
  const following = world.follow(lives.map(({ plan }) => `checkout/default/${plan.reference}`));
  try {
    await Promise.all(lives.map((life) => life.run()));
    expect(stack.sandbox.faultLog().length).toBeGreaterThan(0);
    stack.sandbox.faults.clear();
    for (const life of lives) life.stopReviewing();
    const deadline = Date.now() + FINAL_WITHIN_MS;
    const isOpen = (life: Life): boolean => life.compare(world.records()).some(({ guarantee }) => guarantee === 6);
    while (lives.some((life) => isOpen(life)) && Date.now() < deadline) await sleep(CHECK_EVERY_MS);
    return lives.map(({ end, plan }) => Object.assign(end, { reference: plan.reference.replace(`-${run}`, '') }));
  } finally {
    world.close();
    await following;
    await stack.stop();
  }
}

describe(`lives whose people act one after another (SEED=${SEED})`, { ...FULL, timeout: 600_000 }, () => {
  it(`end on the real server as in the simulation: ${LIVES} of ${LIVES}`, async () => {
    const worlds = Array.from({ length: LIVES }, (_, index) => index);
    const simulated = await simulate({ seed: SEED, worlds, livesPerWorld: 1, plan: 'short' });
    expect(simulated.flatMap(({ breaches }) => breaches)).toEqual([]);
    expect(simulated.flatMap(({ struck }) => Object.keys(struck))).toContain('commit_then_reset');
    expect(await live()).toEqual(simulated.flatMap(({ ends }) => ends));
  });
});
