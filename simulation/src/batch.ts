import type { Breach } from '@tillflow/workflows/testing';
import { Faults } from './faults.js';
import { Life } from './life.js';
import { Plans } from './plan.js';
import { World } from './world.js';

/** So many lives share a world. */
const LIVES_PER_WORLD = 20;
const WORKERS = 2;
/** A checkout that is not final so long after the last fault counts as broken. Virtual milliseconds. */
const FINAL_WITHIN_MS = 30 * 60_000;
const CHECK_EVERY_MS = 20_000;
/** The runbook of an attention says that a person looks it up. */
const LOOK_AFTER_MS = 10 * 60_000;
const HOUR_MS = 3_600_000;

export type BatchResult = {
  readonly batch: number;
  readonly lives: number;
  /** Of everything that happened, in its order. */
  readonly digest: string;
  readonly breaches: readonly Breach[];
  readonly statuses: Readonly<Record<string, number>>;
  readonly counts: Readonly<Record<string, number>>;
  /** Virtual time from the last fault until every checkout was final, in milliseconds. */
  readonly finalAfterMs: number;
  /** How often a provider's fault of each kind struck. */
  readonly struck: Readonly<Record<string, number>>;
  readonly lines: readonly string[];
};

/** Runs some of a run's lives in a world of their own. Depends on the seed and the numbers of the lives only. */
export async function runBatch(
  seed: number,
  batch: number,
  lives: number,
  options: { readonly keepsLines?: boolean } = {},
): Promise<BatchResult> {
  const plans = new Plans(seed);
  const world = await World.open(`${seed}/${batch}`, { workers: WORKERS, keepsLines: options.keepsLines ?? false });
  const faults = new Faults(world, world.random.stream('faults'));
  const people = Array.from(
    { length: lives },
    (_, index) => new Life(world, faults, plans.life(batch * LIVES_PER_WORLD + index)),
  );
  let finalAfterMs = -1;
  let open: readonly Breach[] = [];
  let isDone = false;
  const play = async (): Promise<void> => {
    await Promise.all(people.map((life) => life.run()));
    faults.end();
    const healedAt = world.time.now;
    for (const life of people) life.stopReviewing();
    const asked = new Set<Life>();
    for (;;) {
      await world.time.sleep(CHECK_EVERY_MS);
      const records = world.records();
      const found = people.map((life) => [life, life.compare(records)] as const);
      open = found.flatMap(([, breaches]) => breaches);
      const elapsed = world.time.now - healedAt;
      if (open.length === 0) finalAfterMs = elapsed;
      if (open.length === 0 || elapsed > FINAL_WITHIN_MS) break;
      if (elapsed < LOOK_AFTER_MS) continue;
      for (const [life, breaches] of found) {
        if (breaches.length === 0 || asked.has(life) || life.memo?.state?.attention === null) continue;
        asked.add(life);
        void life.lookUp();
      }
    }
    isDone = true;
  };
  const playing = play();
  playing.catch((error: unknown) => world.time.fail(error));
  try {
    await world.time.run(() => isDone, world.time.now + 24 * HOUR_MS);
    await playing;
  } catch (error) {
    throw new Error(`World ${seed}/${batch} fails`, { cause: error });
  } finally {
    world.close();
  }
  const statuses: Record<string, number> = {};
  for (const { memo, id } of people) {
    const status = memo?.state?.status ?? 'none';
    statuses[status] = (statuses[status] ?? 0) + 1;
    world.note(`${id} ${JSON.stringify(memo)}`);
  }
  const struck: Record<string, number> = {};
  for (const entry of world.sandbox.faultLog()) {
    for (const name of entry.kind === 'request' ? [entry.fault.action] : entry.faults)
      struck[name] = (struck[name] ?? 0) + 1;
  }
  const problems = world.engine.problems.map((what): Breach => ({ guarantee: 6, checkout: 'engine', what }));
  return {
    batch,
    lives,
    digest: world.digest,
    breaches: [...people.flatMap(({ breaches }) => breaches), ...open, ...problems],
    statuses,
    counts: { ...world.engine.counts },
    finalAfterMs,
    struck,
    lines: world.lines,
  };
}
