import { BREAK_TYPES, isOpen } from '@tillflow/domain';
import {
  covers,
  isComplete,
  type FullReconciliation,
  type Reconciliations,
  type StoredReconciliation,
} from '@tillflow/temporal';
import { Gauge, type Registry } from 'prom-client';

/** Enough to find the last daily run among the runs that people and scripts started. */
const MOST_RUNS = 500;

/**
 * The run whose findings count: the last daily run, or the newest later one that was not dry and compared all records
 * of its window. Without a daily run, the newest; null without any.
 * @param runs the newest first
 */
export function standing(runs: readonly StoredReconciliation[]): StoredReconciliation | null {
  const counted = runs.filter(counts);
  const daily = counted.find(({ isDaily }) => isDaily);
  return counted.find((one) => daily === undefined || one === daily || (covers(one, daily) && isComplete(one))) ?? null;
}

function counts({ status, summary }: StoredReconciliation): boolean {
  return status === 'completed' && !summary.dry_run;
}

/** Gauges of the last reconciliation. */
export class ReconciliationGauges {
  readonly #breaks: Gauge;
  readonly #age: Gauge;
  /** Cached: a result is large, and only the acknowledgements of its breaks change. */
  #known: FullReconciliation | null = null;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#breaks = new Gauge({
      name: 'tillflow_reconciliation_breaks',
      help: 'Differences between the records of Tillflow and the provider after the last daily run, or a later run of the same days, by type, without those that have healed or are acknowledged. Dry runs do not count.',
      labelNames: ['type'],
      registers,
    });
    this.#age = new Gauge({
      name: 'tillflow_reconciliation_age_seconds',
      help: 'Seconds since the end of the payments that this run has compared; 0 before the first run.',
      registers,
    });
  }

  /**
   * The last completed daily run, or a later run that compared all of its days. @throws the errors of Temporal's
   * client.
   */
  async read(reconciliations: Reconciliations): Promise<FullReconciliation | null> {
    const last = standing(await recentRuns(reconciliations));
    if (last === null) return null;
    this.#known =
      this.#known?.id === last.id ? await reconciliations.refresh(this.#known) : await reconciliations.get(last.id);
    return this.#known;
  }

  /** @param now milliseconds. */
  show(last: FullReconciliation | null, now: number): void {
    const left = (last?.result?.found ?? []).filter(isOpen);
    for (const type of BREAK_TYPES) this.#breaks.set({ type }, left.filter((one) => one.type === type).length);
    const comparedUntil = last === null ? now : Date.parse(last.summary.compared_until ?? last.summary.to);
    this.#age.set(Math.max(0, now - comparedUntil) / 1_000);
  }
}

/** The newest runs, back to the last daily one that completed. */
async function recentRuns(reconciliations: Reconciliations): Promise<StoredReconciliation[]> {
  const runs: StoredReconciliation[] = [];
  for await (const run of reconciliations.runs(MOST_RUNS)) {
    runs.push(run);
    if (run.isDaily && counts(run)) break;
  }
  return runs;
}
