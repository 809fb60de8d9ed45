import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '@tillflow/sandbox';
import type { Random } from './random.js';
import { LATE_MS, type World } from './world.js';

/** How often the provider does what, to each request of a kind; the rest goes well. */
const TO_CHANGES: readonly Fault[] = [
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

const TO_LOOKS: readonly Fault[] = [
  { method: 'GET', action: 'reset_before', probability: 0.04 },
  { method: 'GET', action: 'status', status: 500, probability: 0.04 },
  { method: 'GET', action: 'garbage_body', probability: 0.02 },
  { method: 'GET', action: 'status', status: 404, probability: 0.02 },
  { method: 'GET', action: 'hang', probability: 0.005 },
  { method: 'GET', action: 'delay', delay_ms: 150, probability: 0.05 },
];

/** Also a hint that is lost, for good, costs nothing but time. */
const TO_WEBHOOKS = { drop: 0.5, duplicate: 0.2, reorder: 0.2, corrupt_signature: 0.1, delay_ms: 100 };

/** What was done to the product's own programs. */
export type Blows = { killed: number; frozen: number; apiKilled: number; temporalKilled: number };

export function breakProvider({ sandbox, apiUrl }: World): void {
  sandbox.faults.add([...TO_CHANGES, ...TO_LOOKS]);
  sandbox.webhooks.configure({ url: `${apiUrl}/webhooks/provider`, ...TO_WEBHOOKS });
}

/**
 * Kills and freezes workers and the API, and Temporal where it is ours to kill, until it is told to stop.
 * @param restartTemporal null where the server is somebody else's.
 */
export async function breakPrograms(
  world: World,
  random: Random,
  restartTemporal: (() => Promise<void>) | null,
  signal: AbortSignal,
): Promise<Blows> {
  const blows: Blows = { killed: 0, frozen: 0, apiKilled: 0, temporalKilled: 0 };
  const [first, ...others] = world.workers;
  if (first === undefined) return blows;
  const thaws: Promise<void>[] = [];
  while (!signal.aborted) {
    await pause(random.between(1_000, 3_000), signal);
    if (signal.aborted) break;
    const worker = random.pick([first, ...others]);
    const blow = random.weighted<keyof Blows>([
      [5, 'killed'],
      [4, 'frozen'],
      [1, 'apiKilled'],
      [restartTemporal === null ? 0 : 1, 'temporalKilled'],
    ]);
    blows[blow] += 1;
    switch (blow) {
      case 'killed':
        await worker.signal('SIGKILL');
        break;
      case 'frozen':
        await worker.signal('SIGSTOP');
        // Past its heartbeat and the time by which it may send, or not.
        thaws.push(pause(random.pick([300, 1_500, 8_000]), signal).then(() => worker.signal('SIGCONT')));
        break;
      case 'apiKilled':
        await world.api.signal('SIGKILL');
        break;
      case 'temporalKilled':
        await restartTemporal?.();
    }
  }
  await Promise.all(thaws);
  return blows;
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(milliseconds, undefined, { signal });
  } catch {
    // Told to stop.
  }
}
