import type { Reading, WorkerClock } from '@tillflow/temporal';
import type { Check, Finding } from './finding.js';

/** Signed webhooks, the void cut-off and searches by time stand a difference of seconds, not of minutes. */
const TOLERANCE_MS = 3_000;
/** An HTTP date is cut to whole seconds. */
const HTTP_DATE_STEP_MS = 1_000;
const READ_WITHIN_MS = 5_000;
/** A worker says what its clock shows every 20 s. */
const SAID_WITHIN_MS = 60_000;

/** What a clock said, in steps of its own, read by this machine's clock. Milliseconds. */
export type NamedReading = Reading & { readonly whose: string };

/** A difference that lies between the two, in milliseconds. */
type Range = { readonly least: number; readonly most: number };

/** What was read of the clocks; Temporal's is null where it could not be. */
export type Readings = {
  readonly temporal: Reading | null;
  readonly others: readonly NamedReading[];
  readonly workers: readonly WorkerClock[];
};

/**
 * Compares every clock with Temporal's, whatever this machine's own clock shows; with this machine's where Temporal's
 * could not be read.
 */
export function checkClocks({ temporal, others, workers }: Readings): Check {
  const reference = temporal === null ? { whose: "this machine's", ahead: ZERO } : ofTemporal(temporal);
  const compared = [
    ...others.map((one) => ({ whose: one.whose, ahead: minus(rangeOf(one, HTTP_DATE_STEP_MS), reference.ahead) })),
    ...(temporal === null ? [] : [{ whose: 'this machine', ahead: minus(ZERO, reference.ahead) }]),
    ...said(workers, temporal).map(({ identity, temporal: ahead }) => ({
      whose: `worker ${identity}`,
      ahead: { least: ahead, most: ahead },
    })),
  ];
  const findings = compared.flatMap(({ whose, ahead }) => skewed(whose, nearestToZero(ahead), reference.whose));
  const names = compared.map(({ whose }) => whose);
  return { area: 'clocks', findings, seen: `${names.join(', ') || 'none'} compared with ${reference.whose}` };
}

function skewed(whose: string, ahead: number, reference: string): Finding[] {
  if (Math.abs(ahead) < TOLERANCE_MS) return [];
  const what = `the clock of ${whose} is ${Math.round(Math.abs(ahead) / 1_000)} s ${ahead > 0 ? 'ahead of' : 'behind'} ${reference}`;
  return [{ code: 'clock_skew', what, means: meaningFor(whose), remedy: REMEDY }];
}

const REMEDY =
  'Let that machine take its time from the network (NTP). If all are off by as much, it is the one they are compared with.';

function meaningFor(whose: string): string {
  if (whose.startsWith('worker ')) {
    return 'Calls are sent in time all the same: that is measured by Temporal’s clock. Beyond MAX_CLOCK_OFFSET_MS the worker takes no work.';
  }
  if (whose === 'this machine') {
    return 'If the API or a worker runs here too, webhooks are refused or work is not taken. Otherwise only what this command signs or dates is affected.';
  }
  return 'Where the clocks of API, Temporal and provider differ, webhooks are refused and the void cut-off is missed.';
}

/** By how much a clock is ahead of this machine's. */
function rangeOf({ from, to, said: time }: Reading, stepMs: number): Range {
  return { least: time - to, most: time + stepMs - from };
}

function ofTemporal(reading: Reading): { readonly whose: string; readonly ahead: Range } {
  return { whose: "Temporal's", ahead: rangeOf(reading, 0) };
}

const ZERO: Range = { least: 0, most: 0 };

function minus(one: Range, other: Range): Range {
  return { least: one.least - other.most, most: one.most - other.least };
}

function nearestToZero({ least, most }: Range): number {
  if (least > 0) return least;
  return most < 0 ? most : 0;
}

/** Workers that said how far their clock is off, and not too long ago. */
function said(
  workers: readonly WorkerClock[],
  temporal: Reading | null,
): readonly (WorkerClock & { readonly temporal: number })[] {
  const now = temporal?.said ?? Number.POSITIVE_INFINITY;
  return workers.flatMap((worker) =>
    worker.temporal === null || worker.seenAt < now - SAID_WITHIN_MS ? [] : [{ ...worker, temporal: worker.temporal }],
  );
}

/** What time it is by Temporal's clock, in milliseconds; by this machine's where that could not be read. */
export function temporalNow(reading: Reading | null): number {
  return Date.now() + (reading === null ? 0 : nearestToZero(rangeOf(reading, 0)));
}

/** The time in the reply to a request that was begun at `from`, in milliseconds; null when it says none. */
export function clockOf(whose: string, from: number, { headers }: Response): NamedReading | null {
  const time = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(time) ? null : { whose, from, to: Date.now(), said: time };
}

/** What an HTTP server says the time is, whatever else it answers; null when it says nothing. */
export async function readHttpClock(whose: string, url: string): Promise<NamedReading | null> {
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
