import { setTimeout as sleep } from 'node:timers/promises';
import type { Temporal } from '../connection/connection.js';
import { describeTaskQueue } from './task-queues.js';

/**
 * A reading of another clock: the time that it showed, and, by this machine's clock, an instant before and an instant
 * after it showed that time. In milliseconds.
 */
export type Reading = { readonly from: number; readonly to: number; readonly said: number };

/**
 * The offset of a worker machine's clock from other clocks, in milliseconds; positive: it is ahead. Null: not known.
 */
export type Offsets = { readonly temporal: number | null; readonly provider: number | null };

/** The last report of a worker about its clock. */
export type WorkerClock = Offsets & {
  /** The worker's identity, as on the task queue that it works for. */
  readonly identity: string;
  /** When it reported, by Temporal's clock, in milliseconds. */
  readonly seenAt: number;
};

const READ_WITHIN_MS = 5_000;
/** The pause between two lists of the pollers; most pollers are in the first or second list. */
const POLL_PAUSE_MS = 10;

/** This queue never has tasks. Its pollers carry a time by Temporal's clock, and a name. */
function clockQueue(taskQueue: string): string {
  return `${taskQueue}/clocks`;
}

let readings = 0;

/**
 * Reads Temporal's clock. Temporal has no call for that, but it records when each poller came: so this function polls a
 * queue without tasks under a unique name, and reads the time of that poller.
 * @param who names the poller, in at most 200 characters. @param now this machine's clock, in milliseconds
 * @returns null when Temporal does not list the poller within 5 s
 * @throws Temporal's own errors.
 */
export async function readTemporalClock(
  temporal: Pick<Temporal, 'client' | 'connection'>,
  taskQueue: string,
  who: string,
  now: () => number = Date.now,
): Promise<Reading | null> {
  const { client, connection } = temporal;
  readings += 1;
  const identity = `${who} #${readings}`;
  const name = clockQueue(taskQueue);
  const leave = new AbortController();
  const giveUpAt = performance.now() + READ_WITHIN_MS;
  const from = now();
  const polling = connection
    .withAbortSignal(leave.signal, () =>
      connection.withDeadline(Date.now() + READ_WITHIN_MS, () =>
        connection.workflowService.pollActivityTaskQueue({
          namespace: client.options.namespace,
          taskQueue: { name },
          identity,
        }),
      ),
    )
    // The poll ends by its deadline or the abort. If Temporal fails, the call below fails too.
    .catch(() => undefined);
  try {
    while (performance.now() < giveUpAt) {
      const { pollers } = await connection.withDeadline(Date.now() + READ_WITHIN_MS, () =>
        describeTaskQueue(temporal, name, 'activities'),
      );
      const to = now();
      const poller = pollers.find((one) => one.identity === identity);
      if (poller !== undefined) return { from, to, said: poller.seenAt };
      await sleep(POLL_PAUSE_MS);
    }
    return null;
  } finally {
    leave.abort();
    await polling;
  }
}

/** The poller name of a worker that reads Temporal's clock. It publishes the offsets of the worker's clock. */
export function clockName(identity: string, { temporal, provider }: Offsets): string {
  const text = (offset: number | null): string => (offset === null ? '?' : `${Math.round(offset)}ms`);
  return `${identity} temporal=${text(temporal)} provider=${text(provider)}`;
}

const CLOCK_NAME = /^(.*) temporal=(-?\d+ms|\?) provider=(-?\d+ms|\?) #\d+$/s;

/** The newest report of each worker of a task queue about its clock, within the last few minutes. */
export async function workerClocks(
  temporal: Pick<Temporal, 'client' | 'connection'>,
  taskQueue: string,
): Promise<readonly WorkerClock[]> {
  const { pollers } = await describeTaskQueue(temporal, clockQueue(taskQueue), 'activities');
  const newest = new Map<string, WorkerClock>();
  for (const { identity: name, seenAt } of pollers) {
    const [, identity = '', ofTemporal = '', ofProvider = ''] = CLOCK_NAME.exec(name) ?? [];
    if (identity === '' || seenAt < (newest.get(identity)?.seenAt ?? 0)) continue;
    newest.set(identity, { identity, temporal: toOffset(ofTemporal), provider: toOffset(ofProvider), seenAt });
  }
  return [...newest.values()];
}

function toOffset(text: string): number | null {
  const offset = Number.parseInt(text, 10);
  return Number.isNaN(offset) ? null : offset;
}
