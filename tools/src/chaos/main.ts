import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { onInterruption } from '../interruption.js';
import { RestartableTemporal } from '../restartable-temporal.js';
import { GUARANTEES } from '@tillflow/workflows/testing';
import { runCampaign, type CampaignResult } from './campaign.js';

const RESULT = new URL('../../../bench/results/chaos.json', import.meta.url);
const USAGE = `usage: pnpm chaos [--seed <number>] [--checkouts <number, 60>] [--at-once <number, 12>] [--workers <number, 3>]

Runs many checkouts while the provider, the network and every process fail. Then it ends all faults and compares
Tillflow's records with the provider's. Exits 0 when every guarantee holds, 1 when one is broken, 2 for a wrong option.`;

type Options = { readonly seed: number; readonly checkouts: number; readonly atOnce: number; readonly workers: number };

/** @returns null for a wrong option. */
function readOptions(args: readonly string[]): Options | null {
  const option = { type: 'string' } as const;
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { seed: option, checkouts: option, 'at-once': option, workers: option },
    });
    const seed = wholeNumber(values.seed, Math.floor(Math.random() * 2 ** 31), 0);
    const checkouts = wholeNumber(values.checkouts, 60, 1);
    const atOnce = wholeNumber(values['at-once'], 12, 1);
    const workers = wholeNumber(values.workers, 3, 1);
    if (seed === null || checkouts === null || atOnce === null || workers === null) return null;
    return { seed, checkouts, atOnce, workers };
  } catch {
    return null;
  }
}

function wholeNumber(text: string | undefined, fallback: number, least: number): number | null {
  if (text === undefined) return fallback;
  const number = Number(text);
  return /^\d{1,10}$/.test(text) && number >= least ? number : null;
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options === null) {
    console.error(USAGE);
    return 2;
  }
  onInterruption().addEventListener('abort', () => process.exit(130));
  const temporal = await RestartableTemporal.start((line) => console.log(line));
  try {
    const result = await runCampaign({
      ...options,
      temporalAddress: temporal.address,
      restartTemporal: () => temporal.restart(),
      log: (line) => console.log(line),
    });
    await report(result);
    return result.breaches.length === 0 ? 0 : 1;
  } finally {
    await temporal.stop();
  }
}

async function report(result: CampaignResult): Promise<void> {
  const { seed, checkouts, seconds, statuses, disruptions, faults, guarantees, breaches } = result;
  const listed = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  console.log(`\nchaos: seed ${seed}, ${checkouts} checkouts, ${seconds} s`);
  console.log(`  ended as   ${listed(statuses)}`);
  console.log(`  disrupted  ${listed(disruptions)}`);
  console.log(`  faults     ${listed(faults)}\n`);
  const width = Math.max(...Object.values(GUARANTEES).map(({ length }) => length));
  console.log(`      ${'guarantee'.padEnd(width)}  checked  broken`);
  for (const { guarantee, checked, broken } of guarantees) {
    const row = [String(guarantee).padStart(2), GUARANTEES[guarantee].padEnd(width), String(checked).padStart(7)];
    console.log(`  ${row.join('  ')}  ${String(broken).padStart(6)}`);
  }
  for (const { guarantee, checkout, what } of breaches) console.log(`\nbroken: ${guarantee}, ${checkout}: ${what}`);
  const machine = { node: process.version, cpu: cpus()[0]?.model.trim() ?? 'unknown', cores: cpus().length };
  await mkdir(new URL('./', RESULT), { recursive: true });
  await writeFile(RESULT, `${JSON.stringify({ at: new Date().toISOString(), machine, ...result }, null, 2)}\n`);
  console.log(`\nWritten to ${fileURLToPath(RESULT)}`);
  console.log(`Repeat with: pnpm chaos --seed ${seed} --checkouts ${checkouts}`);
}

process.exit(await main());
