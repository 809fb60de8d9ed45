import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeTaskQueue, type Temporal } from '@tillflow/temporal';
import type { Check, Finding } from './finding.js';

/** A money call may leave within 5 s after it was decided (SEND_WITHIN_MS): clocks must agree well within that. */
const TOLERANCE_MS = 3_000;
/** An HTTP date is cut to whole seconds. */
const HTTP_DATE_STEP_MS = 1_000;
const READ_WITHIN_MS = 5_000;
const POLL_PAUSE_MS = 50;

/** One clock as it was read: when we asked, when the answer was there, what it said. All in milliseconds. */
export type Reading = { readonly whose: string; readonly from: number; readonly to: number; readonly said: number };

/** How far a clock is surely from ours, in milliseconds; 0 when it may be right. Positive: ahead of ours. */
export function skewOf({ from, to, said }: Reading): number {
  if (said > to) return said - to;
  return said + HTTP_DATE_STEP_MS < from ? said + HTTP_DATE_STEP_MS - from : 0;
}

/** Compares clocks with this machine's. */
export function checkClocks(readings: readonly Reading[]): Check {
  const findings = readings.flatMap((reading): Finding[] => {
    const skew = skewOf(reading);
    if (Math.abs(skew) < TOLERANCE_MS) return [];
    const seconds = Math.round(Math.abs(skew) / 1_000);
    return [
      {
        code: 'clock_skew',
        what: `the clock of ${reading.whose} is ${seconds} s ${skew > 0 ? 'ahead of' : 'behind'} this machine's`,
        means:
          'Where the clocks of API, worker, Temporal and provider differ, webhooks are refused, money calls are not sent in time, and the void cut-off is missed.',
        remedy:
          'Let every machine take its time from the network (NTP). If all but this machine agree, it is this one.',
      },
    ];
  });
  return { area: 'clocks', findings, seen: `compared with ${readings.map(({ whose }) => whose).join(', ') || 'none'}` };
}

/** The time in the reply to a request that was begun at `from`, in milliseconds; null when it says none. */
export function clockOf(whose: string, from: number, { headers }: Response): Reading | null {
  const said = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(said) ? null : { whose, from, to: Date.now(), said };
}

/** What an HTTP server says the time is, whatever else it answers; null when it says nothing. */
export async function readHttpClock(whose: string, url: string): Promise<Reading | null> {
  const from = Date.now();
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(READ_WITHIN_MS) });
    await response.body?.cancel();
    return clockOf(whose, from, response);
  } catch {
    // That it does not answer is found where it is asked for something.
    return null;
  }
}

/**
 * Temporal's clock. It tells it nowhere, but writes down when a poller came: one of ours comes to a queue that nobody
 * uses, and leaves again.
 */
export async function readTemporalClock(temporal: Temporal): Promise<Reading | null> {
  const { client, connection } = temporal;
  const { namespace } = client.options;
  const name = `tillflow-doctor-${randomUUID()}`;
  const leave = new AbortController();
  const from = Date.now();
  const polling = connection
    .withAbortSignal(leave.signal, () =>
      connection.withDeadline(from + READ_WITHIN_MS, () =>
        connection.workflowService.pollActivityTaskQueue({
          namespace,
          taskQueue: { name },
          identity: 'tillflow doctor',
        }),
      ),
    )
    .catch(() => undefined);
  try {
    while (Date.now() < from + READ_WITHIN_MS) {
      const [poller] = (await describeTaskQueue(temporal, name, 'activities')).pollers;
      if (poller !== undefined) return { whose: 'Temporal', from, to: Date.now(), said: poller.seenAt };
      await sleep(POLL_PAUSE_MS);
    }
    return null;
  } finally {
    leave.abort();
    await polling;
  }
}
