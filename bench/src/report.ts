import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Interval } from './statistics.js';

/** One measured value. Without a bound it only explains another result. */
export type Result = {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** Digits after the point. Default: 0. */
  readonly digits?: number;
  /** The 95 % interval of a value that was estimated from rounds. */
  readonly interval?: Interval;
  readonly bound?: Bound;
};

export type Bound = ({ readonly atLeast: number } | { readonly atMost: number }) & {
  /** The end of the interval on the wrong side decides, instead of the estimate. */
  readonly byInterval?: boolean;
};

const RESULTS = new URL('../results/', import.meta.url);

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A ratio with its interval. */
export function ratio(name: string, interval: Interval, bound?: Bound): Result {
  return { name, value: interval.value, unit: '×', digits: 2, interval, ...(bound && { bound }) };
}

/**
 * Prints the results as a table, and writes them with the machine, the time and the details to
 * `bench/results/<bench>.json`.
 * @returns whether every bound is met.
 */
export async function report(bench: string, results: readonly Result[], details: object): Promise<boolean> {
  print(`\n${bench}: ${machineLine()}\n`);
  printTable(results.map(rowOf));
  const file = new URL(`${bench}.json`, RESULTS);
  await mkdir(RESULTS, { recursive: true });
  const judged = results.map((result) => ({ ...result, met: isMet(result) }));
  const written = { bench, at: new Date().toISOString(), machine: machine(), results: judged, ...details };
  await writeFile(file, `${JSON.stringify(written, null, 2)}\n`);
  print(`\nWritten to ${fileURLToPath(file)}`);
  return results.every(isMet);
}

/** Whether the bound is met. Without `byInterval`, the estimate decides. */
export function isMet({ value, interval, bound }: Result): boolean {
  if (bound === undefined) return true;
  const { low, high } = (bound.byInterval === true ? interval : undefined) ?? { low: value, high: value };
  return 'atLeast' in bound ? low >= bound.atLeast : high <= bound.atMost;
}

function rowOf(result: Result): string[] {
  const { name, value, unit, digits = 0, interval, bound } = result;
  const fixed = (number: number): string =>
    number.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const limit = (number: number): string => number.toLocaleString('en-US', { maximumFractionDigits: digits });
  return [
    name,
    fixed(value),
    interval === undefined ? unit : `${unit} (${fixed(interval.low)} to ${fixed(interval.high)})`,
    bound === undefined ? '' : limitOf(bound, limit),
    bound === undefined ? '' : isMet(result) ? 'met' : 'MISSED',
  ];
}

/** Such as `≥ 0.8`, and `low ≥ 1` for the lower end of an interval. */
function limitOf(bound: Bound, format: (number: number) => string): string {
  const [end, limit] =
    'atLeast' in bound ? ['low', `≥ ${format(bound.atLeast)}`] : ['high', `≤ ${format(bound.atMost)}`];
  return bound.byInterval === true ? `${end} ${limit}` : limit;
}

/** Prints aligned columns. Columns of numbers (by default only the second) are aligned to the right. */
export function printTable(
  rows: readonly (readonly string[])[],
  isNumber: (column: number) => boolean = (column) => column === 1,
): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of rows) {
    const cells = row.map((cell, i) => (isNumber(i) ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)));
    print(`  ${cells.join('  ')}`.trimEnd());
  }
}

/** The machine of the measurement, for people. */
export function machineLine(): string {
  const { node, cpu, cores } = machine();
  return `Node ${node}, ${cores} × ${cpu}`;
}

function machine(): { readonly node: string; readonly cpu: string; readonly cores: number } {
  return { node: process.version, cpu: cpus()[0]?.model.trim() ?? 'unknown', cores: cpus().length };
}
