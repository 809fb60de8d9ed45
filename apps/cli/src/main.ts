import { parseArgs } from 'node:util';
import { SettingsError } from '@tillflow/temporal';
import { setup } from './setup.js';
import { cliSettings } from './settings.js';

/** Exit codes of every command. */
const EXIT = { ok: 0, finding: 1, usage: 2, unreachable: 3 } as const;

const USAGE = `Usage: pnpm tillflow <command> [options]

  setup [--dry-run] [--json]   search attributes and retention in Temporal; safe to repeat`;

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      'dry-run': { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const [command, ...rest] = positionals;
  if (values.help) {
    console.log(USAGE);
    return EXIT.ok;
  }
  if (command !== 'setup' || rest.length > 0) {
    console.error(USAGE);
    return EXIT.usage;
  }
  const settings = cliSettings(process.env);
  try {
    const steps = await setup(settings, { dryRun: values['dry-run'] });
    if (values.json) console.log(JSON.stringify({ steps }));
    else if (steps.length === 0) console.log(`${settings.TEMPORAL_NAMESPACE}: nothing to do`);
    else for (const { what, done } of steps) console.log(`${done ? 'done' : 'would'}: ${what}`);
    return EXIT.ok;
  } catch (error) {
    console.error(
      `Cannot set up ${settings.TEMPORAL_ADDRESS}: ${error instanceof Error ? error.message : String(error)}`,
    );
    return EXIT.unreachable;
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof SettingsError ? error.message : `${String(error)}\n\n${USAGE}`);
  process.exitCode = EXIT.usage;
}
