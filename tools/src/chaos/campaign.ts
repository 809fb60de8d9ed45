import { setTimeout as sleep } from 'node:timers/promises';
import { resolve } from '@tillflow/workflows';
import { GUARANTEES, type Breach, type Findings, type Guarantee } from '@tillflow/workflows/testing';
import fc from 'fast-check';
import { disruption, disruptProcesses, disruptProvider, type Disruptions } from './disruptions.js';
import { Environment, IN_FLIGHT_MS, VOID_DATE_OFFSET_MINUTES } from './environment.js';
import { LiveCheckout } from './live-checkout.js';
import { compareRecords } from './records.js';
import { drawPlans, LiveScenario } from './scenario.js';

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
  const { seed, checkouts, atOnce, log } = options;
  const startedAt = Date.now();
  const seconds = (): number => Math.round((Date.now() - startedAt) / 1_000);
  const environment = await Environment.open(options);
  try {
    const run = startedAt.toString(36);
    const scenarios = drawPlans(seed, checkouts).map((plan, index) => {
      return new LiveScenario(new LiveCheckout(environment, `chaos-${seed}-${index}-${run}`), plan);
    });
    log(`${checkouts} checkouts, ${atOnce} at a time, seed ${seed}`);
    const counts = await runDisrupted(environment, scenarios, options);
    log(`faults end after ${seconds()} s; waiting until every checkout is settled`);
    await endFaults(environment, scenarios, atOnce);
    const comparisons = await compareTwice(environment, scenarios, log);
    const report = await reportOn(environment, scenarios, comparisons);
    return { seed, checkouts, seconds: seconds(), ...counts, ...report };
  } finally {
    await environment.close();
  }
}

/** Runs the scenarios while everything fails. */
async function runDisrupted(
  environment: Environment,
  scenarios: readonly LiveScenario[],
  { seed, atOnce, restartTemporal }: CampaignOptions,
): Promise<Pick<CampaignResult, 'disruptions' | 'faults'>> {
  const drawn = fc.sample(disruption(restartTemporal !== null), { seed, numRuns: MAX_DISRUPTIONS });
  disruptProvider(environment);
  const healed = new AbortController();
  const disrupting = disruptProcesses(environment, drawn, restartTemporal, healed.signal);
  await inParallel(scenarios, atOnce, (scenario) => scenario.run());
  healed.abort();
  const disruptions = await disrupting;
  const faults = environment.sandbox
    .faultLog()
    .flatMap((one) => (one.kind === 'request' ? one.fault.action : one.faults.map((name) => `webhook ${name}`)));
  return { disruptions, faults: countBy(faults) };
}

/** Ends all faults, and lets customers and callers finish what they began. */
async function endFaults(environment: Environment, scenarios: readonly LiveScenario[], atOnce: number): Promise<void> {
  await environment.heal();
  for (const scenario of scenarios) await scenario.endAtProvider();
  await inParallel(scenarios, atOnce, (scenario) => scenario.learnDecisions());
}

/** Compares when every checkout is settled, and again after every pending recheck, which must not change anything. */
async function compareTwice(
  environment: Environment,
  scenarios: readonly LiveScenario[],
  log: (line: string) => void,
): Promise<{ readonly first: Comparison; readonly last: Comparison }> {
  const first = await untilSettled(environment, scenarios, log);
  await inParallel(scenarios, 8, ({ checkout }) => lookUp(checkout));
  return { first, last: await compareAll(environment, scenarios) };
}

async function reportOn(
  environment: Environment,
  scenarios: readonly LiveScenario[],
  { first, last }: { readonly first: Comparison; readonly last: Comparison },
): Promise<Pick<CampaignResult, 'statuses' | 'guarantees' | 'breaches' | 'traces'>> {
  const breaches = [
    ...scenarios.flatMap(({ checkout }) => checkout.breaches),
    ...unique([...first.breaches, ...last.breaches]),
  ];
  const guarantees = Object.keys(GUARANTEES).map((number) => {
    const guarantee = Number(number) as Guarantee;
    const broken = breaches.filter((breach) => breach.guarantee === guarantee).length;
    return { guarantee, checked: last.checked[guarantee], broken };
  });
  const broken = new Set(breaches.map(({ checkout }) => checkout));
  const traces = scenarios
    .filter(({ checkout }) => broken.has(checkout.id))
    .map(async ({ checkout: { id, trace, reference } }) => {
      const memo = await environment.memoOf(reference);
      return [id, { trace, timeline: memo?.timeline ?? [] }] as const;
    });
  return { statuses: last.statuses, guarantees, breaches, traces: Object.fromEntries(await Promise.all(traces)) };
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
    for (const { checkout } of scenarios) {
      if (!unsettled.has(checkout.id) || asked.has(checkout.id)) continue;
      const attention = (await environment.memoOf(checkout.reference))?.state?.attention ?? null;
      // The runbook of return_refused says: look it up again.
      if (attention?.code !== 'return_refused') continue;
      asked.add(checkout.id);
      await lookUp(checkout);
    }
    await sleep(BETWEEN_CHECKS_MS);
  }
}

async function lookUp({ environment, workflow }: LiveCheckout): Promise<void> {
  const lookup = { action: 'look', reason: 'the campaign is over' } as const;
  await environment.tolerant(() => workflow.executeUpdate(resolve, { args: [lookup] }), 30_000);
}

async function compareAll(environment: Environment, scenarios: readonly LiveScenario[]): Promise<Comparison> {
  const checked: Record<Guarantee, number> = { 1: 0, 2: 0, 3: 0, 4: 0, 5: 0, 6: 0, 12: 0 };
  const breaches: Breach[] = [];
  const statuses: string[] = [];
  const memos = await Promise.all(scenarios.map(({ checkout }) => environment.memoOf(checkout.reference)));
  const records = environment.records();
  for (const [index, { checkout }] of scenarios.entries()) {
    const memo = memos[index] ?? null;
    if (memo === null) {
      breaches.push({ guarantee: 6, checkout: checkout.id, what: 'Temporal has no such checkout' });
      continue;
    }
    statuses.push(memo.state?.status ?? 'creating');
    const findings = compareRecords(records, {
      memo,
      answers: checkout.answers,
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
