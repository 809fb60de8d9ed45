import { BREAK_TYPES } from '@tillflow/domain';
import type { FullReconciliation, Reconciliations } from '@tillflow/temporal';
import { Gauge, type Registry } from 'prom-client';

/** Enough to find the last daily run among those that people started. */
const LATEST = 20;

/** What the last reconciliation found, as gauges. */
export class ReconciliationGauges {
  readonly #breaks: Gauge;
  readonly #age: Gauge;
  /** A result is large, and never changes. */
  #known: FullReconciliation | null = null;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#breaks = new Gauge({
      name: 'tillflow_reconciliation_breaks',
      help: 'Differences between our books and the provider’s that the last run left, by type. Dry runs do not count.',
      labelNames: ['type'],
      registers,
    });
    this.#age = new Gauge({
      name: 'tillflow_reconciliation_age_seconds',
      help: 'Since the last reconciliation was started that has completed; 0 before the first.',
      registers,
    });
  }

  /** The last run that completed. @throws what Temporal's client throws. */
  async read(reconciliations: Reconciliations): Promise<FullReconciliation | null> {
    const { data } = await reconciliations.page(LATEST, null);
    const last = data.find(({ status, summary }) => status === 'completed' && !summary.dry_run);
    if (last === undefined) return null;
    if (this.#known?.id !== last.id) this.#known = await reconciliations.get(last.id);
    return this.#known;
  }

  /** @param now milliseconds. */
  show(last: FullReconciliation | null, now: number): void {
    const left = (last?.result?.found ?? []).filter(({ healed }) => !healed);
    for (const type of BREAK_TYPES) this.#breaks.set({ type }, left.filter((one) => one.type === type).length);
    this.#age.set(last === null ? 0 : Math.max(0, now - Date.parse(last.createdAt)) / 1_000);
  }
}
