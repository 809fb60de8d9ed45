import { Gauge, type Registry } from 'prom-client';
import type { Clocks } from './clocks.js';

/** Shows how far the machine's clock is off, once that is known. */
export function measureClocks(registry: Registry, clocks: () => Clocks | undefined): void {
  const gauge = new Gauge({
    name: 'tillflow_worker_clock_offset_seconds',
    help: "How far the clock of the worker's machine is from Temporal's or the provider's, at least; positive: ahead.",
    labelNames: ['of'],
    registers: [registry],
    collect() {
      const offsets = clocks()?.offsets;
      for (const of of ['temporal', 'provider'] as const) {
        const offset = offsets?.[of] ?? null;
        if (offset !== null) gauge.set({ of }, offset / 1_000);
      }
    },
  });
}
