import type { Reading, WorkerClock } from '@tillflow/temporal';
import type { Check, Finding } from './finding.js';

/** Signed webhooks, the void cut-off and searches by time tolerate a difference of seconds, not of minutes. */
const TOLERANCE_MS = 3_000;
/** An HTTP date has no fraction of a second. */
const HTTP_DATE_STEP_MS = 1_000;
const READ_WITHIN_MS = 5_000;
/** A worker reports its clock every 20 s. */
const REPORTED_WITHIN_MS = 60_000;

/** One reading of a clock, with the times of this machine's clock before and after. Milliseconds. */
export type NamedReading = Reading & { readonly whose: string };

/** A difference between `least` and `most`, in milliseconds. */
type Range = { readonly least: number; readonly most: number };

/** All readings. Temporal's is null when its clock could not be read. */
export type Readings = {
  readonly temporal: Reading | null;
  readonly others: readonly NamedReading[];
  readonly workers: readonly WorkerClock[];
};

/**
 * Compares every clock with Temporal's. When that could not be read, compares them with this machine's clock.
 */
export function checkClocks({ temporal, others, workers }: Readings): Check {
  const reference = temporal === null ? { whose: "this machine's", ahead: ZERO } : ofTemporal(temporal);
  const compared = [
    ...others.map((one) => ({ whose: one.whose, ahead: minus(rangeOf(one, HTTP_DATE_STEP_MS), reference.ahead) })),
    ...(temporal === null ? [] : [{ whose: 'this machine', ahead: minus(ZERO, reference.ahead) }]),
    ...reported(workers, temporal).map(({ identity, temporal: ahead }) => ({
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
  'Synchronize the clock of that machine (NTP). If all clocks differ by the same amount, the reference clock is wrong.';

function meaningFor(whose: string): string {
  if (whose.startsWith('worker ')) {
    return 'Calls to the provider are still sent in time, because the worker uses Temporal’s clock. Beyond MAX_CLOCK_OFFSET_MS the worker takes no work.';
  }
  if (whose === 'this machine') {
    return 'If the API or a worker runs on this machine, it may refuse webhooks or take no work. Otherwise only the signatures and times of this command are affected.';
  }
  return 'When the clocks of API, Temporal and provider differ, webhooks are refused and the void cut-off is missed.';
}

/** How far a clock is ahead of this machine's clock. */
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

/** The workers that recently reported how far their clock is ahead of Temporal's. */
function reported(
  workers: readonly WorkerClock[],
  temporal: Reading | null,
): readonly (WorkerClock & { readonly temporal: number })[] {
  const now = temporal?.said ?? Number.POSITIVE_INFINITY;
  return workers.flatMap((worker) =>
    worker.temporal === null || worker.seenAt < now - REPORTED_WITHIN_MS
      ? []
      : [{ ...worker, temporal: worker.temporal }],
  );
}

/** The time of Temporal's clock in milliseconds, or of this machine's clock when Temporal's could not be read. */
export function temporalNow(reading: Reading | null): number {
  return Date.now() + (reading === null ? 0 : nearestToZero(rangeOf(reading, 0)));
}

/** The time in the reply to a request that began at `from`, in milliseconds. Null when the reply has no time. */
export function clockOf(whose: string, from: number, { headers }: Response): NamedReading | null {
  const time = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(time) ? null : { whose, from, to: Date.now(), said: time };
}

/** Reads the clock of an HTTP server from any answer. Null when it does not answer, or its answer has no time. */
export async function readHttpClock(whose: string, url: string): Promise<NamedReading | null> {
  const from = Date.now();
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(READ_WITHIN_MS) });
    await response.body?.cancel();
    return clockOf(whose, from, response);
  } catch {
    // Another check reports that the server does not answer.
    return null;
  }
}
