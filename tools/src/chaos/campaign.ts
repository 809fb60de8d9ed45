import { setTimeout as sleep } from 'node:timers/promises';
import { resolve } from '@tillflow/workflows';
import { audit, GUARANTEES, type Breach, type Findings, type Guarantee } from './audit.js';
import { Life, plan } from './life.js';
import { Random } from './random.js';
import { breakPrograms, breakProvider, type Blows } from './trouble.js';
import { QUIET_MS, VOID_DATE_OFFSET_MINUTES, World } from './world.js';

export type CampaignOptions = {
  readonly seed: number;
  readonly checkouts: number;
  /** How many of them live at the same time. */
  readonly atOnce: number;
  readonly workers: number;
  readonly temporalAddress: string;
  /** Null where the server is not ours to kill. */
  readonly restartTemporal: (() => Promise<void>) | null;
  readonly log: (line: string) => void;
};

export type CampaignResult = {
  readonly seed: number;
  readonly checkouts: number;
  readonly seconds: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly blows: Blows;
  /** What struck requests and webhooks, and how often. */
  readonly faults: Readonly<Record<string, number>>;
  readonly guarantees: readonly { readonly guarantee: Guarantee; readonly checked: number; readonly broken: number }[];
  readonly breaches: readonly Breach[];
  /** Of each checkout with a breach: what happened to it. */
  readonly traces: Readonly<
    Record<string, { readonly trace: readonly string[]; readonly timeline: readonly unknown[] }>
  >;
};

/** What is not settled by then never will be. */
const SETTLED_WITHIN_MS = 120_000;
const BETWEEN_AUDITS_MS = 500;

/**
 * Many checkouts at once, on the real product, while everything around them breaks; then all is healed, everyone
 * waits, and the provider's books are compared with ours. The seed decides what is done and what fails; which of two
 * things at the same time comes first, it does not.
 */
export async function runCampaign(options: CampaignOptions): Promise<CampaignResult> {
  const { seed, checkouts, log } = options;
  const startedAt = Date.now();
  const random = new Random(seed);
  const plans = random.fork();
  const blowsOf = random.fork();
  const world = await World.open(options);
  try {
    const lives = Array.from({ length: checkouts }, (_, index) => {
      return new Life(world, plan(`chaos-${seed}-${index}-${startedAt.toString(36)}`, plans.fork()));
    });
    breakProvider(world);
    const healed = new AbortController();
    const breaking = breakPrograms(world, blowsOf, options.restartTemporal, healed.signal);
    log(`${checkouts} checkouts, ${options.atOnce} at a time, seed ${seed}`);
    await inParallel(lives, options.atOnce, async (life) => life.run());
    healed.abort();
    const blows = await breaking;
    const faults = countBy(
      world.sandbox
        .faultLog()
        .flatMap((one) => (one.kind === 'request' ? one.fault.action : one.faults.map((name) => `webhook ${name}`))),
    );
    log(`everything is healed after ${Math.round((Date.now() - startedAt) / 1_000)} s; waiting until all is settled`);
    await world.heal();
    for (const life of lives) {
      life.turnBack();
      await life.announceLateNews();
    }
    await inParallel(lives, options.atOnce, (life) => life.learnTheRest());

    const first = await untilSettled(world, lives, log);
    // Every look that is still owed is taken now, and must not change anything.
    await inParallel(lives, 8, (life) => lookOnceMore(world, life));
    const last = await auditAll(world, lives);
    const breaches = [...lives.flatMap(({ seen }) => seen), ...unique([...first.breaches, ...last.breaches])];
    const broken = new Set(breaches.map(({ checkout }) => checkout));
    return {
      seed,
      checkouts,
      seconds: Math.round((Date.now() - startedAt) / 1_000),
      statuses: last.statuses,
      blows,
      faults,
      guarantees: Object.keys(GUARANTEES).map((number) => {
        const guarantee = Number(number) as Guarantee;
        const isOf = (breach: Breach): boolean => breach.guarantee === guarantee;
        return { guarantee, checked: last.checked[guarantee], broken: breaches.filter(isOf).length };
      }),
      breaches,
      traces: Object.fromEntries(
        await Promise.all(
          lives
            .filter(({ id }) => broken.has(id))
            .map(async ({ id, trace, plan: { reference } }) => {
              const memo = await world.memoOf(reference);
              return [id, { trace, timeline: memo?.timeline ?? [] }] as const;
            }),
        ),
      ),
    };
  } finally {
    await world.close();
  }
}

type Verdict = Findings & { readonly statuses: Readonly<Record<string, number>> };

/** Nobody helps but the operator who is asked to. */
async function untilSettled(world: World, lives: readonly Life[], log: (line: string) => void): Promise<Verdict> {
  const deadline = Date.now() + SETTLED_WITHIN_MS;
  const asked = new Set<string>();
  for (;;) {
    const verdict = await auditAll(world, lives);
    const unsettled = new Set(verdict.breaches.map(({ checkout }) => checkout));
    if (unsettled.size === 0 || Date.now() > deadline) {
      log(`${lives.length - unsettled.size} of ${lives.length} settled`);
      return verdict;
    }
    for (const life of lives) {
      if (!unsettled.has(life.id) || asked.has(life.id)) continue;
      const attention = (await world.memoOf(life.plan.reference))?.state?.attention ?? null;
      // The provider refused for good to take back what we may not keep: the page of this says "look again".
      if (attention?.code !== 'return_refused') continue;
      asked.add(life.id);
      await lookOnceMore(world, life);
    }
    await sleep(BETWEEN_AUDITS_MS);
  }
}

async function lookOnceMore(world: World, { plan: { reference } }: Life): Promise<void> {
  const workflow = world.workflowOf(reference);
  const look = { action: 'look', reason: 'the campaign is over' } as const;
  await world.tolerant(() => workflow.executeUpdate(resolve, { args: [look] }), 30_000);
}

async function auditAll(world: World, lives: readonly Life[]): Promise<Verdict> {
  const checked: Record<Guarantee, number> = { 1: 0, 2: 0, 3: 0, 4: 0, 5: 0, 6: 0, 12: 0 };
  const breaches: Breach[] = [];
  const statuses: string[] = [];
  const memos = await Promise.all(lives.map(async ({ plan: { reference } }) => world.memoOf(reference)));
  const books = world.books();
  for (const [index, { id, promised }] of lives.entries()) {
    const memo = memos[index] ?? null;
    if (memo === null) {
      breaches.push({ guarantee: 6, checkout: id, what: 'nobody knows it' });
      continue;
    }
    statuses.push(memo.state?.status ?? 'creating');
    const findings = audit(books, {
      memo,
      promised,
      voidDateOffsetMinutes: VOID_DATE_OFFSET_MINUTES,
      quietMs: QUIET_MS,
    });
    breaches.push(...findings.breaches);
    for (const [number, count] of Object.entries(findings.checked)) checked[Number(number) as Guarantee] += count;
  }
  return { checked, breaches, statuses: countBy(statuses) };
}

function unique(breaches: readonly Breach[]): Breach[] {
  return [...new Map(breaches.map((breach) => [JSON.stringify(breach), breach])).values()];
}

function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names.toSorted()) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

async function inParallel<T>(all: readonly T[], atOnce: number, work: (one: T) => Promise<void>): Promise<void> {
  const left = all.values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const one of left) await work(one);
    }),
  );
}
