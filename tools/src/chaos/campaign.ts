import { setTimeout as sleep } from 'node:timers/promises';
import { resolve } from '@tillflow/workflows';
import { GUARANTEES, type Breach, type Findings, type Guarantee } from '@tillflow/workflows/testing';
import fc from 'fast-check';
import { disruption, disruptProcesses, disruptProvider, type Disruptions } from './disruptions.js';
import { Environment, IN_FLIGHT_MS, VOID_DATE_OFFSET_MINUTES } from './environment.js';
import { compareRecords } from './records.js';
import { LiveScenario, planned } from './scenario.js';

export type CampaignOptions = {
  readonly seed: number;
  readonly checkouts: number;
  /** How many checkouts run at the same time. */
  readonly atOnce: number;
  readonly workers: number;
  readonly temporalAddress: string;
  /** Null where the campaign may not restart the Temporal server. */
  readonly restartTemporal: (() => Promise<void>) | null;
  readonly log: (line: string) => void;
};

export type CampaignResult = {
  readonly seed: number;
  readonly checkouts: number;
  readonly seconds: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly disruptions: Disruptions;
  /** The faults of requests and webhooks, and how often each occurred. */
  readonly faults: Readonly<Record<string, number>>;
  readonly guarantees: readonly { readonly guarantee: Guarantee; readonly checked: number; readonly broken: number }[];
  readonly breaches: readonly Breach[];
  /** For each checkout with a breach: what happened to it. */
  readonly traces: Readonly<
    Record<string, { readonly trace: readonly string[]; readonly timeline: readonly unknown[] }>
  >;
};

/** A checkout that is not settled by then counts as broken. */
const SETTLED_WITHIN_MS = 120_000;
const BETWEEN_CHECKS_MS = 500;
/** More disruptions than any campaign has time for. */
const MAX_DISRUPTIONS = 10_000;

/**
 * Runs many checkouts at once on the real processes while the provider, the network and the processes fail. Then it
 * ends all faults, waits until every checkout is settled, and compares Tillflow's records with the provider's. The seed
 * decides the actions and the faults, but not which of two concurrent events comes first.
 */
export async function runCampaign(options: CampaignOptions): Promise<CampaignResult> {
  const { seed, checkouts, log } = options;
  const startedAt = Date.now();
  const plans = fc.sample(planned, { seed, numRuns: checkouts });
  const disruptions = fc.sample(disruption(options.restartTemporal !== null), { seed, numRuns: MAX_DISRUPTIONS });
  const environment = await Environment.open(options);
  try {
    const run = startedAt.toString(36);
    const scenarios = plans.map((plan, index) => new LiveScenario(environment, `chaos-${seed}-${index}-${run}`, plan));
    disruptProvider(environment);
    const healed = new AbortController();
    const disrupting = disruptProcesses(environment, disruptions, options.restartTemporal, healed.signal);
    log(`${checkouts} checkouts, ${options.atOnce} at a time, seed ${seed}`);
    await inParallel(scenarios, options.atOnce, (scenario) => scenario.run());
    healed.abort();
    const counts = await disrupting;
    const faults = countBy(
      environment.sandbox
        .faultLog()
        .flatMap((one) => (one.kind === 'request' ? one.fault.action : one.faults.map((name) => `webhook ${name}`))),
    );
    log(`faults end after ${Math.round((Date.now() - startedAt) / 1_000)} s; waiting until every checkout is settled`);
    await environment.heal();
    for (const scenario of scenarios) {
      scenario.stopConfirming();
      await scenario.announceLateChanges();
    }
    await inParallel(scenarios, options.atOnce, (scenario) => scenario.learnDecisions());

    const first = await untilSettled(environment, scenarios, log);
    // Every pending recheck runs now, and must not change anything.
    await inParallel(scenarios, 8, (scenario) => lookUp(environment, scenario));
    const last = await compareAll(environment, scenarios);
    const breaches = [
      ...scenarios.flatMap(({ breaches: seen }) => seen),
      ...unique([...first.breaches, ...last.breaches]),
    ];
    const broken = new Set(breaches.map(({ checkout }) => checkout));
    return {
      seed,
      checkouts,
      seconds: Math.round((Date.now() - startedAt) / 1_000),
      statuses: last.statuses,
      disruptions: counts,
      faults,
      guarantees: Object.keys(GUARANTEES).map((number) => {
        const guarantee = Number(number) as Guarantee;
        const isOf = (breach: Breach): boolean => breach.guarantee === guarantee;
        return { guarantee, checked: last.checked[guarantee], broken: breaches.filter(isOf).length };
      }),
      breaches,
      traces: Object.fromEntries(
        await Promise.all(
          scenarios
            .filter(({ id }) => broken.has(id))
            .map(async ({ id, trace, reference }) => {
              const memo = await environment.memoOf(reference);
              return [id, { trace, timeline: memo?.timeline ?? [] }] as const;
            }),
        ),
      ),
    };
  } finally {
    await environment.close();
  }
}

type Comparison = Findings & { readonly statuses: Readonly<Record<string, number>> };

/** Waits until no breach is left. An operator helps only where attention asks for it. */
async function untilSettled(
  environment: Environment,
  scenarios: readonly LiveScenario[],
  log: (line: string) => void,
): Promise<Comparison> {
  const deadline = Date.now() + SETTLED_WITHIN_MS;
  const asked = new Set<string>();
  for (;;) {
    const comparison = await compareAll(environment, scenarios);
    const unsettled = new Set(comparison.breaches.map(({ checkout }) => checkout));
    if (unsettled.size === 0 || Date.now() > deadline) {
      log(`${scenarios.length - unsettled.size} of ${scenarios.length} settled`);
      return comparison;
    }
    for (const scenario of scenarios) {
      if (!unsettled.has(scenario.id) || asked.has(scenario.id)) continue;
      const attention = (await environment.memoOf(scenario.reference))?.state?.attention ?? null;
      // The runbook of return_refused says: look it up again.
      if (attention?.code !== 'return_refused') continue;
      asked.add(scenario.id);
      await lookUp(environment, scenario);
    }
    await sleep(BETWEEN_CHECKS_MS);
  }
}

async function lookUp(environment: Environment, { reference }: LiveScenario): Promise<void> {
  const workflow = environment.workflowOf(reference);
  const lookup = { action: 'look', reason: 'the campaign is over' } as const;
  await environment.tolerant(() => workflow.executeUpdate(resolve, { args: [lookup] }), 30_000);
}

async function compareAll(environment: Environment, scenarios: readonly LiveScenario[]): Promise<Comparison> {
  const checked: Record<Guarantee, number> = { 1: 0, 2: 0, 3: 0, 4: 0, 5: 0, 6: 0, 12: 0 };
  const breaches: Breach[] = [];
  const statuses: string[] = [];
  const memos = await Promise.all(scenarios.map(async ({ reference }) => environment.memoOf(reference)));
  const records = environment.records();
  for (const [index, { id, answers }] of scenarios.entries()) {
    const memo = memos[index] ?? null;
    if (memo === null) {
      breaches.push({ guarantee: 6, checkout: id, what: 'Temporal has no such checkout' });
      continue;
    }
    statuses.push(memo.state?.status ?? 'creating');
    const findings = compareRecords(records, {
      memo,
      answers,
      voidDateOffsetMinutes: VOID_DATE_OFFSET_MINUTES,
      inFlightMs: IN_FLIGHT_MS,
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
