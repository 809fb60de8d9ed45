import type { Breach } from '@tillflow/workflows/testing';
import { Faults, FaultsOfCharges } from './faults.js';
import { Life } from './life.js';
import { Plans, type Beat, type Focus } from './plan.js';
import { playScript, scriptOf } from './scripted/scripts.js';
import { World } from './world.js';

const WORKERS = 2;
/** What happens to the lives: everything that goes wrong, or what people do in a few seconds on a sound installation. */
export type PlanKind = 'faults' | 'short';

/** A checkout that is not final so long after the last fault counts as broken. Virtual milliseconds. */
const FINAL_WITHIN_MS = 30 * 60_000;
/** What may still happen after the faults happens within this: late calls, late-effect checks, polls. Virtual milliseconds. */
const STAYS_MS = 10 * 60_000;
const CHECK_EVERY_MS = 20_000;
/** An attention shows up to so long after what it is about: no checkout counts as final before. Virtual milliseconds. */
const ATTENTION_SHOWS_MS = 2 * 60_000;
/** The runbook of an attention says that a person looks it up. */
const LOOK_AFTER_MS = 10 * 60_000;
const DAY_MS = 86_400_000;
/** A script may wait for the end of the refund window. Virtual milliseconds. */
const SCRIPT_WITHIN_MS = 400 * DAY_MS;

/** The end of one life. Amounts in the smallest currency unit, as the provider has them. */
export type End = {
  readonly reference: string;
  readonly status: string;
  readonly kept: number;
  readonly refunded: number;
};

type BatchOptions = {
  readonly lives: number;
  readonly keepsLines: boolean;
  readonly plan: PlanKind;
  readonly focus: Focus;
};

export type BatchResult = {
  readonly batch: number;
  readonly lives: number;
  /** Of everything that happened, in its order. */
  readonly digest: string;
  readonly breaches: readonly Breach[];
  /** How the checkouts ended: how many of each status. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly counts: Readonly<Record<string, number>>;
  /** Virtual time from the last fault until every checkout was final, in milliseconds. */
  readonly finalAfterMs: number;
  /** The script that one more checkout followed afterwards; null: none. */
  readonly script: string | null;
  /** How often a provider's fault of each kind struck. */
  readonly struck: Readonly<Record<string, number>>;
  readonly ends: readonly End[];
  /** The beats whose moment came. */
  readonly reached: readonly Beat[];
  readonly lines: readonly string[];
};

/**
 * Runs the lives of a batch in a world of their own. Depends on the seed, the focus and the numbers of the lives only.
 *
 * @throws {Error} for a defect of the simulation itself
 */
export async function runBatch(
  seed: number,
  batch: number,
  { lives, keepsLines, plan: kind, focus }: BatchOptions,
): Promise<BatchResult> {
  const plans = new Plans(seed, focus);
  const world = await World.open(`${seed}/${batch}`, { workers: WORKERS, keepsLines });
  const faults = new Faults(world, world.random.stream('faults'));
  const planned = Array.from({ length: lives }, (_, index) => {
    const number = batch * lives + index;
    return kind === 'faults' ? plans.life(number) : plans.shortLife(number);
  });
  const causes = kind === 'faults' ? faults : new FaultsOfCharges(world.provider);
  const people = planned.map((plan) => new Life(world, causes, plan));
  for (const life of people) world.onPublished(life.workflowId, () => life.look());
  const play = async (): Promise<Settled> => {
    await Promise.all(people.map((life) => life.run()));
    faults.end();
    for (const life of people) life.stopReviewing();
    return settle(world, people);
  };
  const script = kind === 'faults' ? scriptOf(batch) : null;
  try {
    const { finalAfterMs, open } = await finish(world, play(), DAY_MS);
    const scripted = script === null ? [] : await finish(world, follow(script, world, batch * lives), SCRIPT_WITHIN_MS);
    return resultOf(world, people, { batch, finalAfterMs, script, open: [...open, ...scripted] });
  } catch (error) {
    throw new Error(`World ${seed}/${batch} fails`, { cause: error });
  } finally {
    world.close();
  }
}

/** @throws when the work fails, or is not done in time. Virtual milliseconds */
async function finish<T>(world: World, work: Promise<T>, withinMs: number): Promise<T> {
  let isDone = false;
  const end = (): void => {
    isDone = true;
  };
  work.then(end, end);
  await world.time.run(() => isDone, world.time.now + withinMs);
  return work;
}

/** After the faults, one more checkout follows a script. @returns what is wrong with it */
async function follow(script: string, world: World, firstLife: number): Promise<readonly Breach[]> {
  const life = await playScript(script, world, firstLife);
  const { open } = await settle(world, [life], 0);
  return [...life.breaches, ...open];
}

type Settled = {
  readonly finalAfterMs: number;
  /** What is still wrong when the time is over. */
  readonly open: readonly Breach[];
};

/** The faults are over. Waits until every checkout is final, and stays so for a while. Virtual milliseconds. */
async function settle(world: World, people: readonly Life[], staysMs = STAYS_MS): Promise<Settled> {
  const healedAt = world.time.now;
  const asked = new Set<Life>();
  let finalSince: number | null = null;
  for (;;) {
    await world.time.sleep(CHECK_EVERY_MS);
    const records = world.provider.records();
    const found = people.map((life) => [life, life.compare(records)] as const);
    const open = found.flatMap(([, breaches]) => breaches);
    const elapsed = world.time.now - healedAt;
    if (open.length === 0) {
      if (elapsed < ATTENTION_SHOWS_MS) continue;
      finalSince ??= elapsed;
      if (elapsed - finalSince >= staysMs) return { finalAfterMs: finalSince, open };
      continue;
    }
    if (finalSince !== null || elapsed > FINAL_WITHIN_MS) return { finalAfterMs: -1, open };
    for (const life of people) await life.decideRefunds();
    if (elapsed < LOOK_AFTER_MS) continue;
    for (const [life, breaches] of found) {
      if (breaches.length === 0 || asked.has(life) || life.memo?.state?.attention === null) continue;
      asked.add(life);
      void life.lookUp();
    }
  }
}

function resultOf(
  world: World,
  people: readonly Life[],
  { open, ...batch }: Pick<BatchResult, 'batch' | 'script'> & Settled,
): BatchResult {
  const statuses: Record<string, number> = {};
  for (const { memo, id } of people) {
    const status = memo?.state?.status ?? 'none';
    statuses[status] = (statuses[status] ?? 0) + 1;
    world.trace.note(`${id} ${JSON.stringify(memo)}`);
  }
  const { counts, problems } = world.engine.parts;
  const ofEngine = problems.map(({ workflowId, why }): Breach => ({ guarantee: 6, checkout: workflowId, what: why }));
  return {
    ...batch,
    lives: people.length,
    digest: world.trace.digest,
    breaches: [...people.flatMap(({ breaches }) => breaches), ...open, ...ofEngine],
    statuses,
    counts: { ...counts },
    struck: world.provider.struck(),
    ends: people.map((life) => life.end),
    reached: people.flatMap(({ reached }) => reached),
    lines: world.trace.lines,
  };
}
