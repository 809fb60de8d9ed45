import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { onInterruption } from '../interruption.js';
import { findPrometheus } from '../prometheus.js';
import { FAULTS } from './faults.js';
import {
  FINAL_WITHIN_MS,
  FIRES_WITHIN_MS,
  isPassed,
  runGameDay,
  type FaultResult,
  type GameDayResult,
} from './game-day.js';
import { alertsIn } from './rules.js';

const ROOT = new URL('../../../', import.meta.url);
const RESULT = new URL('bench/results/gameday.json', ROOT);
/** Of a run of some faults: it must not replace the result of all. */
const RESULT_OF_SOME = new URL('bench/results/gameday-some.json', ROOT);
const NOT_AVAILABLE = 77;
const USAGE = `usage: pnpm gameday [<part of a fault's name> ...]

Breaks a running installation under load, one fault after the other. For each fault, the expected alert must fire, no other
alert may page anyone, and afterwards Tillflow's records and the provider's must agree. Takes about ten minutes. Exits 0 when
all of that holds, 1 when it does not, 2 for a name that no fault has, and 77 where Prometheus cannot be had.

Faults:
${FAULTS.map(({ name }) => `  ${name}`).join('\n')}`;

async function main(names: readonly string[]): Promise<number> {
  if (names.some((part) => !FAULTS.some(({ name }) => name.includes(part)))) {
    console.error(USAGE);
    return 2;
  }
  const faults = FAULTS.filter(({ name }) => names.length === 0 || names.some((part) => name.includes(part)));
  const prometheus = await findPrometheus();
  if (prometheus === null) {
    console.error(
      'Prometheus is neither installed nor in the package registry of this system. PROMTOOL names its path.',
    );
    return NOT_AVAILABLE;
  }
  onInterruption().addEventListener('abort', () => process.exit(130));
  const result = await runGameDay({ prometheus, faults, log: (line) => console.log(line) });
  await report(result, faults.length === FAULTS.length ? RESULT : RESULT_OF_SOME);
  return result.calm.pages.length === 0 && result.faults.every(isPassed) ? 0 : 1;
}

async function report(result: GameDayResult, file: URL): Promise<void> {
  const { calm, faults } = result;
  const rules = alertsIn(await readFile(new URL('deploy/prometheus/alerts.yml', ROOT), 'utf8'));
  const reported = faults.map((one) => {
    const runbook = rules.find(({ alert }) => alert === one.alert)?.annotations.runbook ?? '';
    return Object.assign(one, { runbook });
  });
  const rows = reported.map((one) => rowOf(one, one.runbook));
  const head = ['', 'FAULT', 'ALERT', 'FIRED AFTER', 'OTHER PAGES', 'SALES', 'FINAL AFTER', 'RUNBOOK'];
  const widths = head.map((name, column) => Math.max(...[head, ...rows].map((row) => (row[column] ?? name).length)));
  console.log('');
  for (const row of [head, ...rows]) {
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  }
  console.log(`\nAll is well: ${calm.sales} sales in ${calm.seconds} s, pages: ${calm.pages.join(', ') || 'none'}`);
  for (const { fault, alsoPages, breaches, isQuiet } of faults) {
    if (alsoPages.length > 0) {
      const why = FAULTS.find(({ name }) => name === fault)?.alsoPages?.why;
      console.log(`${fault}: also pages ${alsoPages.join(', ')}, because ${why}`);
    }
    if (!isQuiet) console.log(`${fault}: an alert still fires`);
    for (const { guarantee, checkout, what } of breaches) console.log(`${fault}: ${guarantee}, ${checkout}: ${what}`);
  }
  const machine = { node: process.version, cpu: cpus()[0]?.model.trim() ?? 'unknown', cores: cpus().length };
  await mkdir(new URL('./', file), { recursive: true });
  const written = { at: new Date().toISOString(), machine, calm, faults: reported };
  await writeFile(file, `${JSON.stringify(written, null, 2)}\n`);
  console.log(`\nWritten to ${fileURLToPath(file)}`);
}

function rowOf(result: FaultResult, runbook: string): string[] {
  const { fault, alert, firedAfterMs, otherPages, sales, finalAfterMs } = result;
  const seconds = (ms: number | null, limitMs: number): string =>
    ms === null ? `not within ${limitMs / 1_000} s` : `${Math.ceil(ms / 1_000)} s`;
  return [
    isPassed(result) ? 'ok' : 'FAILED',
    fault,
    alert,
    seconds(firedAfterMs, FIRES_WITHIN_MS),
    otherPages.join(', ') || 'none',
    String(sales),
    seconds(finalAfterMs, FINAL_WITHIN_MS),
    runbook,
  ];
}

process.exit(await main(process.argv.slice(2)));
