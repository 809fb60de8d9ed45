import { escapeControls } from '@tillflow/telemetry';
import { isTemporalFailure, SettingsError } from '@tillflow/temporal';
import type { Command, Report } from './command.js';
import { approvals } from './commands/approvals.js';
import { audit } from './commands/audit.js';
import { backfill } from './commands/backfill.js';
import { breaks } from './commands/breaks.js';
import { counterLink } from './commands/counter-link.js';
import { day } from './commands/day.js';
import { doctor } from './commands/doctor.js';
import { endpoints } from './commands/endpoints.js';
import { list } from './commands/list.js';
import { notices } from './commands/notices.js';
import { pause, resume } from './commands/pause.js';
import { plans } from './commands/plans.js';
import { reconcile } from './commands/reconcile.js';
import { refund } from './commands/refund.js';
import { resolve } from './commands/resolve.js';
import { setup } from './commands/setup.js';
import { show } from './commands/show.js';
import { EXIT, UnreachableError, UsageError, type ExitCode } from './command.js';
import { columns } from './text.js';

const COMMANDS: readonly Command[] = [
  setup,
  doctor,
  list,
  show,
  resolve,
  refund,
  approvals,
  audit,
  reconcile,
  breaks,
  day,
  backfill,
  notices,
  endpoints,
  counterLink,
  plans,
  pause,
  resume,
];

/** The result of a run: the exit code, and the text for standard output and standard error. */
export type Outcome = { readonly exit: ExitCode; readonly out: string; readonly err: string };

/**
 * Runs one command. Never throws: each failure has an exit code and a message.
 * @param progress called with each line about the progress of long work.
 * @param warn called with each problem after which the command tries again.
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
      return isAskedForHelp ? outcome(EXIT.ok, usage()) : failed(EXIT.usage, usage(), asJson);
    }
    return failed(EXIT.usage, `Unknown command: ${name}.\n\n${usage()}`, asJson);
  }
  if (isAskedForHelp) return outcome(EXIT.ok, help(command));
  try {
    // Programs read one JSON document and nothing else.
    const warnPeople = asJson ? () => undefined : warn;
    return reported(await command.run(rest, environment, progress, warnPeople), asJson);
  } catch (error) {
    return failed(exitOf(error), messageOf(error, command), asJson);
  }
}

function exitOf(error: unknown): ExitCode {
  if (error instanceof UsageError || error instanceof SettingsError) return EXIT.usage;
  if (error instanceof UnreachableError || isTemporalFailure(error)) return EXIT.unreachable;
  return EXIT.finding;
}

function messageOf(error: unknown, command: Command): string {
  if (error instanceof UsageError) return `${error.message}\n\n${help(command)}`;
  const message = error instanceof Error ? error.message : String(error);
  if (!isTemporalFailure(error)) return message;
  // The cause says more than the short message of Temporal's client.
  const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return `Temporal refused or failed: ${message}${cause}. Run \`pnpm tillflow doctor\` to find out why.`;
}

function reported({ exit, lines, json }: Report, asJson: boolean): Outcome {
  return outcome(exit, asJson ? jsonText(json) : lines.map(escapeControls).join('\n'));
}

function outcome(exit: ExitCode, text: string): Outcome {
  return { exit, out: `${text}\n`, err: '' };
}

/** Programs read standard output, so with --json errors go there, too. */
function failed(exit: ExitCode, words: string, asJson: boolean): Outcome {
  if (!asJson) return { exit, out: '', err: `${escapedLines(words)}\n` };
  const [message] = words.split('\n\n', 1);
  return outcome(exit, jsonText({ error: { code: NAMES[exit], message } }));
}

/** JSON.stringify does not escape all control characters. */
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
    'Every command accepts --help and --json. The settings are the same as those of the API and the worker.',
    'With ACCOUNTS_FILE, --account <name> chooses an account: without it, setup and doctor are about all of them, and the',
    'other commands about the account default.',
    '',
    'Exit codes:',
    `  ${EXIT.ok}  done, without a finding`,
    `  ${EXIT.finding}  a finding that needs a person, or a refusal`,
    `  ${EXIT.usage}  wrong usage or wrong settings`,
    `  ${EXIT.unreachable}  cannot reach Temporal, the provider or a worker`,
  ].join('\n');
}

function help({ name, synopsis, summary, details }: Command): string {
  return [`Usage: pnpm tillflow ${[name, synopsis].join(' ').trim()} [--json]`, '', summary, '', ...details].join('\n');
}
