import { parseArgs } from 'node:util';
import { benchCheckout } from './checkout/bench.js';
import { benchEdge } from './edge/bench.js';
import { benchReconcile } from './reconcile/bench.js';
import { benchClient } from './client/bench.js';
import { print } from './report.js';
import { benchSandbox } from './sandbox.js';

type Options = { readonly quick: boolean; readonly seed: number };

/** Each measures, prints its table, writes `bench/results/<name>.json` and tells whether every target was met. */
const BENCHES: Readonly<Record<string, (options: Options) => Promise<boolean>>> = {
  sandbox: benchSandbox,
  checkout: benchCheckout,
  reconcile: benchReconcile,
  client: benchClient,
  edge: benchEdge,
};

const MISSED = 1;
const USAGE = 2;

function usage(): void {
  process.stderr.write(
    `usage: pnpm bench [<name>] [--quick] [--seed <number>], one of: ${Object.keys(BENCHES).join(', ')}; or all\n` +
      '  --quick: of all but sandbox; --seed: of checkout and client, the order of the rounds\n',
  );
  process.exitCode = USAGE;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { quick: { type: 'boolean', default: false }, seed: { type: 'string' } },
  });
  const names = positionals.length === 0 ? Object.keys(BENCHES) : positionals;
  const seed = Number(values.seed ?? Date.now() % SEEDS);
  if (positionals.length > 1 || !names.every((name) => Object.hasOwn(BENCHES, name)) || !Number.isInteger(seed)) {
    usage();
    return;
  }
  // One after the other: two at once would measure each other.
  for (const name of names) {
    if ((await BENCHES[name]?.({ quick: values.quick, seed })) === true) continue;
    print(`A target of ${name} was missed.`);
    process.exitCode = MISSED;
  }
}

const SEEDS = 1_000_000;

await main();
