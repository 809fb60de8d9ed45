import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';

/** What was measured, and what it should be. */
export type Measure = {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** Digits after the point, 0 when left out. */
  readonly digits?: number;
  readonly target?: { readonly atLeast: number } | { readonly atMost: number };
};

const RESULTS = new URL('../results/', import.meta.url);

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function isMet({ value, target }: Measure): boolean {
  if (target === undefined) return true;
  return 'atLeast' in target ? value >= target.atLeast : value <= target.atMost;
}

/**
 * Prints the measures as a table and writes them, with the machine and whatever else is told, as JSON.
 * @returns whether every target was met.
 */
export async function report(name: string, measures: readonly Measure[], details: object): Promise<boolean> {
  print(`\n${name}: ${machineLine()}\n`);
  printTable(measures.map(rowOf));
  await writeResult(name, { measures: measures.map((measure) => ({ ...measure, met: isMet(measure) })), ...details });
  return measures.every(isMet);
}

function rowOf(measure: Measure): string[] {
  const { name, value, unit, digits = 0, target } = measure;
  const number = (amount: number): string => amount.toLocaleString('en-US', { maximumFractionDigits: digits });
  const wanted =
    target === undefined ? '' : 'atLeast' in target ? `≥ ${number(target.atLeast)}` : `≤ ${number(target.atMost)}`;
  const fixed = value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return [name, fixed, unit, wanted, target === undefined ? '' : isMet(measure) ? 'met' : 'MISSED'];
}

/** Aligned columns; those of numbers, the second unless told otherwise, to the right. */
export function printTable(
  rows: readonly (readonly string[])[],
  isNumber: (column: number) => boolean = isSecond,
): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of rows) {
    const cells = row.map((cell, i) => (isNumber(i) ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)));
    print(`  ${cells.join('  ')}`.trimEnd());
  }
}

/** What the figures were measured on, for people. */
export function machineLine(): string {
  const { node, cpu, cores } = machine();
  return `Node ${node}, ${cores} × ${cpu}`;
}

function machine(): { readonly node: string; readonly cpu: string; readonly cores: number } {
  return { node: process.version, cpu: cpus()[0]?.model.trim() ?? 'unknown', cores: cpus().length };
}

/** Writes `bench/results/<name>.json`: the machine, the time, and whatever is told. */
export async function writeResult(name: string, told: object): Promise<void> {
  const file = new URL(`${name}.json`, RESULTS);
  await mkdir(RESULTS, { recursive: true });
  const result = { bench: name, at: new Date().toISOString(), machine: machine(), ...told };
  await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
  print(`\nWritten to ${fileURLToPath(file)}`);
}

const isSecond = (column: number): boolean => column === 1;
