import { setTimeout as sleep } from 'node:timers/promises';
import { accountOf, parseInstant, returnedOn, type Instant } from '@tillflow/domain';
import { Reconciliations, type FullReconciliation } from '@tillflow/temporal';
import { breakTables, numbered } from '../breaks.js';
import { command, EXIT, type Report, UnreachableError, UsageError } from '../command.js';
import { operator } from '../operator.js';
import { cliSettings } from '../settings.js';
import { utc } from '../text.js';
import { hasWorker, READ_WITHIN_MS, withTemporal } from '../temporal.js';

const LONGEST_WINDOW_MS = 31 * 86_400_000;
const ASK_EVERY_MS = 500;
/** When a worker has polled lately, it takes the run within this time. */
const TAKEN_WITHIN_MS = 10_000;
/** Each part of a run takes less while the provider answers. */
const STALLED_MS = 300_000;

export const reconcile = command({
  name: 'reconcile',
  synopsis: '--from <time> --to <time> [--dry-run]',
  summary:
    "Compares the checkouts with the provider's charges, refunds, balance and receipts, and heals the breaks that are safe to heal.",
  details: [
    '  --from <time>   ISO 8601 with a zone: compare payments made since then',
    '  --to <time>     and before then, at most 31 days later. The next run compares the payments of the last 15 minutes',
    '  --dry-run       only compare, heal nothing',
    '',
    'Waits for the result. When you stop this command, the reconciliation continues; the same command waits for it again.',
    'Exit code 1: there is a break, healed or not, that no person has acknowledged, or something could not be compared.',
    'Each break says what to do. `breaks` acknowledges one.',
  ],
  takes: 0,
  options: { from: { type: 'string' }, to: { type: 'string' }, 'dry-run': { type: 'boolean' } },
  async run({ values, environment, progress }) {
    const window = windowOf(values.from, values.to);
    const settings = cliSettings(environment);
    return withTemporal(settings, async ({ temporal }) => {
      const options = { taskQueue: settings.TEMPORAL_TASK_QUEUE, readWithinMs: READ_WITHIN_MS };
      const reconciliations = new Reconciliations(temporal, options);
      const dryRun = values['dry-run'] === true;
      const { id } = await reconciliations.start(
        { account: accountOf(settings.TEMPORAL_TASK_QUEUE), ...window, dry_run: dryRun },
        operator(),
      );
      progress(`${id} is running`);
      return toReport(
        await untilEnded(reconciliations, id, {
          progress,
          hasWorker: () => hasWorker(temporal, settings.TEMPORAL_TASK_QUEUE),
          taskQueue: settings.TEMPORAL_TASK_QUEUE,
        }),
      );
    });
  },
});

const CONTINUES = 'The reconciliation continues without this command. Run the same command to wait for it again.';

type Watch = {
  readonly progress: (line: string) => void;
  readonly hasWorker: () => Promise<boolean>;
  readonly taskQueue: string;
};

async function untilEnded(
  reconciliations: Reconciliations,
  id: string,
  { progress, hasWorker, taskQueue }: Watch,
): Promise<FullReconciliation> {
  let seen = '';
  let changedAt = performance.now();
  let isTaken = false;
  for (;;) {
    const run = await reconciliations.get(id);
    if (run.status !== 'running') return run;
    const now = JSON.stringify(run.summary.totals);
    if (now !== seen) {
      seen = now;
      changedAt = performance.now();
      const charges = run.summary.totals.reduce((sum, total) => sum + total.charges, 0);
      if (charges > 0) progress(`${charges} charges compared`);
    }
    const stalledMs = performance.now() - changedAt;
    if (!isTaken && stalledMs > TAKEN_WITHIN_MS) {
      isTaken = await hasWorker();
      if (!isTaken) throw new UnreachableError(`No worker polls ${taskQueue}: ${id} waits for one. ${CONTINUES}`);
    }
    if (stalledMs > STALLED_MS) {
      throw new UnreachableError(
        `${id}: no progress for 5 minutes. Run \`pnpm tillflow doctor\` to find out why. ${CONTINUES}`,
      );
    }
    await sleep(ASK_EVERY_MS);
  }
}

function toReport({ id, status, summary, createdAt, result, failure }: FullReconciliation): Report {
  const { from, to, compared_until = null, dry_run, totals } = summary;
  const breaks = numbered(result?.found ?? []);
  const acknowledged = result?.acknowledged ?? 0;
  const { foreign = [], omitted = { breaks: 0, foreign: 0 }, not_compared = [] } = result ?? {};
  const others = foreign.length + omitted.foreign;
  const isFinding =
    status !== 'completed' || breaks.length > acknowledged || omitted.breaks > 0 || not_compared.length > 0;
  return {
    exit: isFinding ? EXIT.finding : EXIT.ok,
    json: {
      id,
      status,
      from,
      to,
      compared_until,
      dry_run,
      totals,
      returned: returnedOn(result?.days ?? []),
      breaks,
      acknowledged_count: acknowledged,
      foreign,
      omitted,
      not_compared,
      failure,
      created_at: createdAt,
    },
    lines: [
      `${id}: ${status}${dry_run ? ', dry run' : ''}`,
      `${utc(from)} to ${utc(to)}`,
      ...(compared_until === null || compared_until === to
        ? []
        : [`compared until ${utc(compared_until)}: the next run compares later payments`]),
      ...(failure === null ? [] : [`${failure.code}: ${failure.detail}`]),
      ...totals.map(
        ({ currency, charges, breaks: found }) => `${currency}: ${charges} charges compared, ${found} breaks`,
      ),
      ...not_compared.map(({ what, code, detail }) => `not compared: ${what} (${code}: ${detail})`),
      ...(others === 0 ? [] : [`${others} payments of another system on the same account`]),
      ...(breaks.length === 0 ? [] : ['', ...breakTables(breaks)]),
      ...(omitted.breaks === 0 ? [] : [`… and ${omitted.breaks} more: narrow the window to see them`]),
    ],
  };
}

function windowOf(from: string | undefined, to: string | undefined): { from: Instant; to: Instant } {
  const window = { from: timeOf('--from', from), to: timeOf('--to', to) };
  if (window.from >= window.to) throw new UsageError('--from must be before --to');
  if (window.to - window.from > LONGEST_WINDOW_MS) throw new UsageError('The window may be at most 31 days long');
  return window;
}

function timeOf(name: string, text: string | undefined): Instant {
  if (text === undefined) throw new UsageError(`reconcile needs a ${name}`);
  try {
    return parseInstant(text);
  } catch {
    throw new UsageError(`${name} must be ISO 8601 with a zone, such as 2026-11-21T00:00:00Z`);
  }
}
