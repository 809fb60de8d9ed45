import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Coverage } from './coverage.js';
import { Plans, type Focus } from './plan.js';
import { coverageTable, failures, focusOptions, summary } from './report.js';
import { simulate, worldsOf } from './simulate.js';

const DEFAULT_LIVES = 2_000;
const USAGE = `usage: pnpm simulate [--seed <number>] [--lives <number, ${DEFAULT_LIVES}>] [--processes <number>] [--stop]
                     [--fault <text> ...] [--action <text> ...]
       pnpm simulate --seed <number> --life <number>

Runs whole lives of checkouts on a virtual clock while everything fails: docs/simulation.md. With --life, it repeats the
world of one life and prints its trace. With --stop, it stops at the first failure. With --fault or
--action, only faults or actions come whose names contain one of these texts. Exits 0 when every life is right, 1 when one is not, 2 for a wrong option.`;

type Options = {
  readonly seed: number;
  readonly lives: number;
  readonly processes: number;
  readonly life: number | null;
  readonly stops: boolean;
  readonly focus: Focus;
};

/** @returns null for a wrong option */
function readOptions(args: readonly string[]): Options | null {
  const option = { type: 'string' } as const;
  try {
    const options = {
      seed: option,
      lives: option,
      processes: option,
      life: option,
      stop: { type: 'boolean' },
      fault: { type: 'string', multiple: true },
      action: { type: 'string', multiple: true },
    } as const;
    const { values } = parseArgs({ args: [...args], options });
    const seed = wholeNumber(values.seed, Math.floor(Math.random() * 2 ** 31));
    const lives = wholeNumber(values.lives, DEFAULT_LIVES);
    const processes = wholeNumber(values.processes, availableParallelism());
    const life = values.life === undefined ? null : wholeNumber(values.life, 0);
    if (seed === null || lives === null || lives === 0 || processes === null || processes === 0) return null;
    if (values.life !== undefined && (life === null || values.seed === undefined)) return null;
    const focus = { faults: values.fault ?? [], actions: values.action ?? [] };
    void new Plans(seed, focus);
    return { seed, lives, processes, life, stops: values.stop === true, focus };
  } catch {
    return null;
  }
}

function wholeNumber(text: string | undefined, fallback: number): number | null {
  if (text === undefined) return fallback;
  return /^\d{1,10}$/.test(text) ? Number(text) : null;
}

/** Repeats the world of one life. */
async function repeat(seed: number, life: number, focus: Focus): Promise<number> {
  console.log(JSON.stringify(new Plans(seed, focus).life(life), null, 2));
  const [result] = await simulate({ seed, worlds: worldsOf(1, life), keepsLines: true, focus });
  if (result === undefined) return 1;
  const name = new RegExp(`life-${life}(?!\\d)`);
  for (const line of result.lines) if (name.test(line) || / (?:fault|healed) ?/.test(line)) console.log(line);
  const broken = failures(result, seed, focus);
  console.log(broken.length === 0 ? '\nEvery life of this world is right.' : `\n${broken.join('\n')}`);
  return broken.length === 0 ? 0 : 1;
}

async function run({ seed, lives, processes, stops, focus }: Options): Promise<number> {
  console.log(`simulation: seed ${seed}, ${lives} lives, ${processes} processes`);
  const startedAt = Date.now();
  const minutes = (): number => (Date.now() - startedAt) / 60_000;
  let done = 0;
  let failed = 0;
  let reportedAt = startedAt;
  const results = await simulate({
    seed,
    worlds: worldsOf(lives),
    processes,
    stopsAtFailure: stops,
    focus,
    onBatch: (result) => {
      done += result.lives;
      const broken = failures(result, seed, focus);
      failed += broken.length;
      for (const line of broken) console.log(line);
      if (Date.now() - reportedAt < 10_000) return;
      reportedAt = Date.now();
      console.log(`  ${done} lives, ${Math.round(done / minutes())} a minute, ${failed} broken`);
    },
  });
  const drawn = new Coverage();
  const reached = new Coverage();
  const plans = new Plans(seed, focus);
  for (let life = 0; life < done; life += 1) drawn.add(plans.life(life).beats);
  for (const result of results) reached.add(result.reached);
  const isComplete = focusOptions(focus) === '';
  if (isComplete) {
    console.log(
      `\nHow often each fault was drawn at each moment; least: the rarest of its combinations with an action\n`,
    );
    console.log(coverageTable(drawn).join('\n'));
  }
  console.log(
    `\nsimulation: seed ${seed}, ${done} lives in ${Math.round(minutes() * 60)} s, ${Math.round(done / minutes())} a minute`,
  );
  console.log(summary(results).join('\n'));
  if (isComplete)
    console.log(`  drawn      each of ${drawn.combinations} combinations at least ${drawn.least()} times`);
  console.log(`  came about ${reached.total} of ${drawn.total} draws; the others found the checkout past their moment`);
  console.log(failed === 0 ? '  every life is final and right' : `  ${failed} broken`);
  console.log(`Repeat with: pnpm simulate --seed ${seed} --lives ${lives}${focusOptions(focus)}`);
  return failed === 0 ? 0 : 1;
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options === null) {
    console.error(USAGE);
    return 2;
  }
  return options.life === null ? run(options) : repeat(options.seed, options.life, options.focus);
}

process.exit(await main());
