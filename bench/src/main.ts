import { print } from './report.js';
import { benchSandbox } from './sandbox.js';

/** Each measures, prints its table, writes `bench/results/<name>.json` and tells whether every target was met. */
const BENCHES: Readonly<Record<string, () => Promise<boolean>>> = {
  sandbox: benchSandbox,
};

const MISSED = 1;
const USAGE = 2;

const [name = '', ...rest] = process.argv.slice(2);
const bench = Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined;
if (bench === undefined || rest.length > 0) {
  process.stderr.write(`usage: pnpm bench <name>, one of: ${Object.keys(BENCHES).join(', ')}\n`);
  process.exitCode = USAGE;
} else if (!(await bench())) {
  print('A target was missed.');
  process.exitCode = MISSED;
}
