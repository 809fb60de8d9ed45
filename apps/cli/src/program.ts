import { escapeControls } from '@tillflow/telemetry';
import { isTemporalFailure, SettingsError } from '@tillflow/temporal';
import type { Command, Report } from './command.js';
import { backfill } from './commands/backfill.js';
import { doctor } from './commands/doctor.js';
import { list } from './commands/list.js';
import { notices } from './commands/notices.js';
import { plans } from './commands/plans.js';
import { reconcile } from './commands/reconcile.js';
import { refund } from './commands/refund.js';
import { resolve } from './commands/resolve.js';
import { setup } from './commands/setup.js';
import { show } from './commands/show.js';
import { EXIT, UnreachableError, UsageError, type ExitCode } from './exit.js';
import { columns } from './text.js';

const COMMANDS: readonly Command[] = [setup, doctor, list, show, resolve, refund, reconcile, backfill, notices, plans];

/** What a run of the program leaves behind. */
export type Outcome = { readonly exit: ExitCode; readonly out: string; readonly err: string };

/**
 * Runs one command. Never throws: what goes wrong has an exit code and a word about it.
 * @param progress told, line by line, how far long work is. @param warn told what goes wrong and is tried again.
 */
export async function run(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  progress: (line: string) => void = () => undefined,
  warn: (line: string) => void = () => undefined,
): Promise<Outcome> {
  const [name, ...rest] = args;
  const end = args.indexOf('--');
  const options = end === -1 ? args : args.slice(0, end);
  const isAskedForHelp = options.includes('--help') || options.includes('-h');
  const asJson = options.includes('--json');
  const command = COMMANDS.find((one) => one.name === name);
  if (command === undefined) {
    if (name === undefined || name.startsWith('-')) {
      return isAskedForHelp ? said(EXIT.ok, usage()) : failed(EXIT.usage, usage(), asJson);
    }
    return failed(EXIT.usage, `There is no command ${name}.\n\n${usage()}`, asJson);
  }
  if (isAskedForHelp) return said(EXIT.ok, help(command));
  try {
    // What programs read is one document.
    const warnUnlessRead = asJson ? () => undefined : warn;
    return told(await command.run(rest, environment, progress, warnUnlessRead), asJson);
  } catch (error) {
    return failed(exitOf(error), wordsOf(error, command), asJson);
  }
}

function exitOf(error: unknown): ExitCode {
  if (error instanceof UsageError || error instanceof SettingsError) return EXIT.usage;
  if (error instanceof UnreachableError || isTemporalFailure(error)) return EXIT.unreachable;
  return EXIT.finding;
}

function wordsOf(error: unknown, command: Command): string {
  if (error instanceof UsageError) return `${error.message}\n\n${help(command)}`;
  const message = error instanceof Error ? error.message : String(error);
  if (!isTemporalFailure(error)) return message;
  // The client's own words are few; what is behind them says more.
  const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return `Temporal did not do it: ${message}${cause}. pnpm tillflow doctor may tell why.`;
}

function told({ exit, lines, json }: Report, asJson: boolean): Outcome {
  return said(exit, asJson ? jsonText(json) : lines.map(escapeControls).join('\n'));
}

function said(exit: ExitCode, text: string): Outcome {
  return { exit, out: `${text}\n`, err: '' };
}

/** Programs read standard output, whatever came of it. */
function failed(exit: ExitCode, words: string, asJson: boolean): Outcome {
  if (!asJson) return { exit, out: '', err: `${escapedLines(words)}\n` };
  const [message] = words.split('\n\n', 1);
  return said(exit, jsonText({ error: { code: NAMES[exit], message } }));
}

/** JSON leaves some control characters in a string as they are. */
function jsonText(json: unknown): string {
  return escapedLines(JSON.stringify(json, null, 2));
}

function escapedLines(text: string): string {
  return text.split('\n').map(escapeControls).join('\n');
}

const NAMES: Readonly<Record<ExitCode, string>> = {
  [EXIT.ok]: 'ok',
  [EXIT.finding]: 'failed',
  [EXIT.usage]: 'usage',
  [EXIT.unreachable]: 'unreachable',
};

function usage(): string {
  const rows = COMMANDS.map(({ name, summary }) => [`  ${name}`, summary]);
  return [
    'Usage: pnpm tillflow <command> [options]',
    '',
    ...columns(rows),
    '',
    'Every command takes --help, which tells its options, and --json. The settings are those of the API and the worker.',
    '',
    'Exit codes:',
    `  ${EXIT.ok}  done, and nothing was found`,
    `  ${EXIT.finding}  something was found, or was refused`,
    `  ${EXIT.usage}  wrong usage, wrong settings`,
    `  ${EXIT.unreachable}  cannot reach`,
  ].join('\n');
}

function help({ name, synopsis, summary, details }: Command): string {
  return [`Usage: pnpm tillflow ${[name, synopsis].join(' ').trim()} [--json]`, '', summary, '', ...details].join('\n');
}
