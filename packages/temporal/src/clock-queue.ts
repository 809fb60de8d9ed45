import { setTimeout as sleep } from 'node:timers/promises';
import type { Temporal } from './connection.js';
import { describeTaskQueue } from './task-queues.js';

/**
 * One look at another clock: what it said, and by our own clock the last instant before that and the first after it. In
 * milliseconds.
 */
export type Reading = { readonly from: number; readonly to: number; readonly said: number };

/** How far the clock of a worker's machine is from others, in milliseconds; positive: it is ahead. Null: not known. */
export type Offsets = { readonly temporal: number | null; readonly provider: number | null };

/** What a worker last said of its clock. */
export type WorkerClock = Offsets & {
  /** The worker's identity, as on the task queue that it works for. */
  readonly identity: string;
  /** When it said so, by Temporal's clock, in milliseconds. */
  readonly seenAt: number;
};

const READ_WITHIN_MS = 5_000;
/** Between two looks for the poller; most are there at the first or the second. */
const POLL_PAUSE_MS = 10;

/** No task is ever put on this queue: Temporal dates those who ask it for work, and shows what they are called. */
function clockQueue(taskQueue: string): string {
  return `${taskQueue}/clocks`;
}

let readings = 0;

/**
 * Reads Temporal's clock. Temporal has no call for that, but it dates each poller: we come to a queue that holds no
 * work, under a name that is used once, and leave again.
 * @param who names the poller, in at most 200 characters. @param now our own clock, in milliseconds.
 * @returns null when the poller does not show within 5 s.
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
    // It ends with the deadline or the leave; what is wrong with Temporal, the look below says too.
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

/** The name under which a worker reads Temporal's clock: whoever looks at the queue sees how far its own is off. */
export function clockName(identity: string, { temporal, provider }: Offsets): string {
  const word = (offset: number | null): string => (offset === null ? '?' : `${Math.round(offset)}ms`);
  return `${identity} temporal=${word(temporal)} provider=${word(provider)}`;
}

const CLOCK_NAME = /^(.*) temporal=(-?\d+ms|\?) provider=(-?\d+ms|\?) #\d+$/s;

/** What each worker of a task queue said of its clock, the newest word of each, within the last few minutes. */
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

function toOffset(word: string): number | null {
  const offset = Number.parseInt(word, 10);
  return Number.isNaN(offset) ? null : offset;
}
