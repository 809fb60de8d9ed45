import { DEFAULT_POLICY } from '@tillflow/workflows';
import { print, printTable } from '../report.js';
import { percentile } from '../statistics.js';
import { USUAL_EXPIRY, type Count, type CountOfKind } from './counts.js';
import type { Reads } from './reads.js';
import { answeredMs, cpuOf, hasCpu, paidMs, rateOf } from './round.js';
import type { Size } from './size.js';
import type { Cell, Speed } from './speed.js';
import { byPart, type Part } from './stack.js';

const KILOBYTE = 1_000;
const MEGABYTE = 1_000_000;
const SHARES = [0.5, 0.95, 0.99] as const;
const CPU_PARTS: readonly Part[] = ['server', 'worker', 'floors', 'api', 'sandbox', 'load'];

/** What is kept of the rounds, for the file. */
export function summaryOf({ cells }: Speed): object {
  return {
    cells: cells.map(({ rounds, ...cell }) => ({
      ...cell,
      perSecond: rateOf(rounds),
      answeredMs: percentiles(answeredMs(rounds)),
      paidMs: percentiles(paidMs(rounds)),
      cpuMs: hasCpu(rounds) ? byPart((part) => cpuOf(rounds, [part])) : null,
      rounds: rounds.map((round) => ({
        operations: round.samples.length,
        perSecond: rateOf([round]),
        othersCores: round.othersCores,
        failures: round.failures,
      })),
    })),
  };
}

export function printSpeed({ cells }: Speed, open: number): void {
  const header = ['', 'provider', 'at once', 'per s', 'n', 'QR p50', 'p95', 'p99', 'paid p50', 'p95', 'p99'];
  print(`\nSpeed with ${open} open. Times in ms; CPU in ms per operation. One at a time, the lanes took turns.\n`);
  printTable([[...header, ...CPU_PARTS.map((part) => `${part} CPU`)], ...cells.map(speedRow)], isNotFirst);
  printOthers(cells);
}

/** What else the machine did: with much of it, a run says little. */
function printOthers(cells: readonly Cell[]): void {
  const cores = cells.flatMap(({ rounds }) => rounds.flatMap(({ othersCores }) => othersCores ?? []));
  if (cores.length === 0) return;
  const mean = cores.reduce((sum, used) => sum + used, 0) / cores.length;
  print(
    `  other processes of this machine used ${mean.toFixed(2)} cores meanwhile, ${Math.max(...cores).toFixed(2)} at most`,
  );
}

function speedRow({ lane, delayMs, concurrency, rounds }: Cell): string[] {
  const answered = answeredMs(rounds);
  return [
    lane,
    `${delayMs} ms`,
    String(concurrency),
    rateOf(rounds).toFixed(1),
    String(answered.length),
    ...percentileCells(answered),
    ...percentileCells(paidMs(rounds)),
    ...CPU_PARTS.map((part) => (hasCpu(rounds) ? cpuOf(rounds, [part]).toFixed(1) : '')),
  ];
}

function percentiles(sample: readonly number[]): readonly number[] {
  return sample.length === 0 ? [] : SHARES.map((share) => percentile(sample, share));
}

function percentileCells(sample: readonly number[]): readonly string[] {
  return sample.length === 0 ? SHARES.map(() => '') : percentiles(sample).map((ms) => ms.toFixed(1));
}

/** What was counted, and what a usual expiry comes to by it. */
export function printCounts(kinds: readonly CountOfKind[]): void {
  const header = ['', 'events', 'bytes', 'billed', 'start', 'update', 'signal', 'timer', 'activity', 'attr.', 'c-a-n'];
  const rows = kinds.flatMap(({ kind, untilThen, aftercare, billedFrom, billedTo }) => [
    countRow(billedFrom === billedTo ? kind : `${kind} (${billedFrom} to ${billedTo} billed)`, untilThen),
    ...(aftercare === null ? [] : [countRow('  its aftercare, open, so far', aftercare)]),
  ]);
  print('\nHistories, counted\n');
  printTable([header, ...rows], isNotFirst);
  printLooks(kinds);
  if (!kinds.some(({ kind }) => kind === 'refunded')) print('  refunded: the API of this build has no refunds');
}

/** Looks of an unpaid checkout between its start and its expiry. */
function printLooks(kinds: readonly CountOfKind[]): void {
  const [soon, late] = kinds.filter(({ kind }) => kind.startsWith('expired')).map(({ untilThen }) => untilThen);
  if (soon === undefined || late === undefined) return;
  const looks = late.actions.timer - soon.actions.timer;
  if (looks <= 0) return;
  const each = (of: (count: Count) => number): number => (of(late) - of(soon)) / looks;
  const usual = Math.ceil((USUAL_EXPIRY * 1_000) / DEFAULT_POLICY.pollIntervalMs) - 1;
  const billed = each((count) => count.billed);
  const events = each((count) => count.events);
  const bytes = each((count) => count.bytes);
  print(`  each look in between: ${billed} billed, ${events} events, ${bytes.toFixed(0)} bytes; so an expiry after`);
  print(
    `  ${USUAL_EXPIRY} s, with ${usual} looks, comes to ${soon.billed + usual * billed} billed, ` +
      `${soon.events + usual * events} events, ${(soon.bytes + usual * bytes).toFixed(0)} bytes (derived)`,
  );
}

function countRow(name: string, { events, bytes, billed, actions }: Count): string[] {
  const { start, update, signal, timer, activity, attributes, continueAsNew } = actions;
  return [
    name,
    ...[events, bytes, billed, start, update, signal, timer, activity, attributes, continueAsNew].map(String),
  ];
}

export function printReads({ getMs, cpuMsOfGet, streams }: Reads): void {
  print('\nReads\n');
  const rows = [
    ['GET, one at a time: p50, p95, p99', percentileCells(getMs).join(', '), 'ms'],
    ['  CPU of API and server', cpuMsOfGet.toFixed(2), 'ms'],
    ...(streams === null
      ? [['stream', 'none', 'in the API of this build']]
      : [
          [`first event of ${streams.count} streams opened together: p50`, ms(streams.firstEventMs), 'ms'],
          ['  mark of the charge → event that shows it paid: p50', ms(streams.paidMs), 'ms'],
          ['  CPU of API and server, one idle stream', streams.cpuMsPerMinute.toFixed(1), 'ms a minute'],
          ['  memory of the API, one stream', (streams.memoryBytes / KILOBYTE).toFixed(0), 'KB'],
        ]),
  ];
  printTable(rows);
}

export function printSizes(aftercare: Size | null, unpaid: Size): void {
  print('\nDisk and memory\n');
  const rows = [
    ...(aftercare === null ? [] : sizeRows('aftercare', aftercare)),
    ...sizeRows('checkout that waits for its payment', unpaid),
  ];
  printTable([['', 'each', ''], ...rows]);
}

function sizeRows(name: string, { count, diskBytes, memoryBytes, rssBytes }: Size): string[][] {
  const memory = (part: Part): string[] => [
    `  ${part}, memory (then ${(rssBytes[part] / MEGABYTE).toFixed(0)} MB)`,
    (memoryBytes[part] / KILOBYTE).toFixed(1),
    'KB',
  ];
  return [
    [`${count} × ${name}: database file`, (diskBytes / KILOBYTE).toFixed(1), 'KB'],
    memory('server'),
    memory('worker'),
    memory('api'),
  ];
}

function ms(sample: readonly number[]): string {
  return percentile(sample, 0.5).toFixed(1);
}

const isNotFirst = (column: number): boolean => column !== 0;
