import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '@tillflow/sandbox';
import fc from 'fast-check';
import { LATE_MS, type Environment } from './environment.js';

/** The probability of each fault of a request that changes something. */
const CHANGE_FAULTS: readonly Fault[] = [
  { method: 'POST', action: 'reset_before', probability: 0.05 },
  { method: 'POST', action: 'commit_then_reset', probability: 0.06 },
  { method: 'POST', action: 'hang', probability: 0.03 },
  { method: 'POST', action: 'commit_then_hang', probability: 0.04 },
  { method: 'POST', action: 'commit_then_status', status: 500, probability: 0.05 },
  { method: 'POST', action: 'status', status: 503, probability: 0.03 },
  { method: 'POST', action: 'garbage_body', probability: 0.04 },
  { method: 'POST', action: 'truncated_body', probability: 0.02 },
  { method: 'POST', action: 'delay', delay_ms: LATE_MS, probability: 0.05 },
  { method: 'POST', action: 'commit_then_delay', delay_ms: 200, probability: 0.05 },
  { method: 'POST', action: 'status', status: 429, probability: 0.04 },
  { method: 'POST', action: 'status', status: 400, probability: 0.01 },
];

/** The same of a read. */
const READ_FAULTS: readonly Fault[] = [
  { method: 'GET', action: 'reset_before', probability: 0.04 },
  { method: 'GET', action: 'status', status: 500, probability: 0.04 },
  { method: 'GET', action: 'garbage_body', probability: 0.02 },
  { method: 'GET', action: 'status', status: 404, probability: 0.02 },
  { method: 'GET', action: 'hang', probability: 0.005 },
  { method: 'GET', action: 'delay', delay_ms: 150, probability: 0.05 },
];

const WEBHOOK_FAULTS = { drop: 0.5, duplicate: 0.2, reorder: 0.2, corrupt_signature: 0.1, delay_ms: 100 };

/** How often the processes were disrupted, and how. */
export type Disruptions = { killed: number; frozen: number; apiKilled: number; temporalKilled: number };

type Disruption = {
  readonly afterMs: number;
  readonly kind: keyof Disruptions;
  readonly worker: number;
  /** Sometimes longer and sometimes shorter than the heartbeat timeout and than `SEND_WITHIN_MS`. */
  readonly frozenMs: number;
};

export function disruption(canRestartTemporal: boolean): fc.Arbitrary<Disruption> {
  return fc.record({
    afterMs: fc.integer({ min: 1_000, max: 3_000 }),
    kind: fc.oneof(
      { weight: 5, arbitrary: fc.constant('killed' as const) },
      { weight: 4, arbitrary: fc.constant('frozen' as const) },
      { weight: 1, arbitrary: fc.constant('apiKilled' as const) },
      { weight: canRestartTemporal ? 1 : 0, arbitrary: fc.constant('temporalKilled' as const) },
    ),
    worker: fc.nat(9),
    frozenMs: fc.constantFrom(300, 1_500, 8_000),
  });
}

export function disruptProvider({ sandbox, apiUrl }: Environment): void {
  sandbox.faults.add([...CHANGE_FAULTS, ...READ_FAULTS]);
  sandbox.webhooks.configure({ url: `${apiUrl}/webhooks/provider`, ...WEBHOOK_FAULTS });
}

/** Kills and freezes workers and the API, and Temporal, one disruption after the other until `signal` aborts. */
export async function disruptProcesses(
  environment: Environment,
  disruptions: Iterable<Disruption>,
  restartTemporal: (() => Promise<void>) | null,
  signal: AbortSignal,
): Promise<Disruptions> {
  const counts: Disruptions = { killed: 0, frozen: 0, apiKilled: 0, temporalKilled: 0 };
  const { workers } = environment;
  const thaws: Promise<void>[] = [];
  for (const { afterMs, kind, worker: index, frozenMs } of disruptions) {
    await pause(afterMs, signal);
    if (signal.aborted) break;
    const worker = workers[index % workers.length];
    counts[kind] += 1;
    switch (kind) {
      case 'killed':
        await worker?.signal('SIGKILL');
        break;
      case 'frozen':
        await worker?.signal('SIGSTOP');
        thaws.push(pause(frozenMs, signal).then(() => worker?.signal('SIGCONT')));
        break;
      case 'apiKilled':
        await environment.api.signal('SIGKILL');
        break;
      case 'temporalKilled':
        await restartTemporal?.();
    }
  }
  await Promise.all(thaws);
  return counts;
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  // An abort ends the pause early.
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
}
