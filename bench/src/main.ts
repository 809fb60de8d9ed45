import { parseArgs } from 'node:util';
import { benchAccounts } from './accounts.js';
import { benchCache } from './cache.js';
import { benchCheckout } from './checkout/bench.js';
import { benchClient } from './client/bench.js';
import { benchCompare } from './compare/bench.js';
import { benchCounter } from './counter.js';
import { benchEdge } from './edge.js';
import { benchEvents } from './events.js';
import { benchReconcile } from './reconcile.js';
import { print } from './report.js';
import { benchResolve } from './resolve.js';
import { benchSandbox } from './sandbox.js';
import { benchSizing } from './sizing.js';
import { benchTraces } from './traces.js';

type Options = { readonly quick: boolean; readonly seed: number };

/** The one bench that needs `--ref`. It runs only when it is named. */
const COMPARE = 'compare';

/** Each bench measures, prints a table, writes `bench/results/<name>.json`, and returns whether every bound is met. */
const BENCHES: Readonly<Record<string, (options: Options) => Promise<boolean>>> = {
  sandbox: benchSandbox,
  checkout: benchCheckout,
  cache: benchCache,
  reconcile: benchReconcile,
  resolve: benchResolve,
  client: benchClient,
  edge: benchEdge,
  events: benchEvents,
  counter: benchCounter,
  accounts: benchAccounts,
  traces: benchTraces,
  sizing: benchSizing,
};

const MISSED = 1;
const WRONG_ARGUMENTS = 2;
const SEEDS = 1_000_000;

const USAGE = `usage: pnpm bench [${Object.keys(BENCHES).join(' | ')}] [--quick] [--seed <number>]
       pnpm bench ${COMPARE} --ref <commit> [--quick] [--seed <number>]

  --quick   a short run of each bench except sandbox
  --seed    repeats the order of the rounds in the benches checkout, client and compare
`;

type Run = Options & { readonly names: readonly string[]; readonly benches: typeof BENCHES };

/** What the arguments ask for. `null`: they cannot be read. */
function readArguments(): Run | null {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { quick: { type: 'boolean', default: false }, seed: { type: 'string' }, ref: { type: 'string' } },
    });
    const seed = Number(values.seed ?? Date.now() % SEEDS);
    const { quick, ref } = values;
    const benches: typeof BENCHES =
      ref === undefined ? BENCHES : { [COMPARE]: (options) => benchCompare({ ...options, ref }) };
    const names = positionals.length === 0 ? Object.keys(BENCHES) : positionals;
    const isKnown = names.every((name) => Object.hasOwn(benches, name));
    return isKnown && positionals.length <= 1 && Number.isInteger(seed) ? { names, benches, quick, seed } : null;
  } catch {
    return null;
  }
}

async function main(): Promise<void> {
  const run = readArguments();
  if (run === null) {
    process.stderr.write(USAGE);
    process.exitCode = WRONG_ARGUMENTS;
    return;
  }
  // Two benches at the same time would disturb each other.
  for (const name of run.names) {
    if ((await run.benches[name]?.(run)) === true) continue;
    print(`${name} missed a bound.`);
    process.exitCode = MISSED;
  }
}

await main();
