import { isOpen, type Break } from '@tillflow/domain';
import { ReconciliationNotFoundError, Reconciliations, type FullReconciliation } from '@tillflow/temporal';
import { breakTables, countOf, numbered } from '../breaks.js';
import { command, EXIT, UsageError, type Report } from '../command.js';
import { openBreaks, type OpenRun } from '../open-breaks.js';
import { checkReason, operator } from '../operator.js';
import { cliSettings } from '../settings.js';
import { utc } from '../text.js';
import { READ_WITHIN_MS, withTemporal } from '../temporal.js';

const NUMBER = /^[1-9]\d{0,9}$/;

export const breaks = command({
  name: 'breaks',
  synopsis: '[--reconciliation <id>] [--acknowledge <n> --reason <text>] [--dry-run]',
  summary: 'Lists the open breaks of recent reconciliations, and acknowledges those that need no action any more.',
  details: [
    '  --reconciliation <id>   only this reconciliation (rec_…), with its acknowledged breaks',
    '  --acknowledge <n>       acknowledge this break of the reconciliation: later reconciliations report it only after',
    '                          one of its amounts or statuses has changed',
    '  --reason <text>         why; it is stored with the acknowledgement',
    '  --dry-run               show what would be acknowledged',
    '',
    'Without --reconciliation, each break is shown as the newest reconciliation of its days found it.',
    'Exit code 1: a break is open, or there is no such reconciliation or break. The first acknowledgement of a break stays.',
  ],
  takes: 0,
  options: {
    reconciliation: { type: 'string' },
    acknowledge: { type: 'string' },
    reason: { type: 'string' },
    'dry-run': { type: 'boolean' },
  },
  async run({ values, environment }) {
    const { reconciliation: id, acknowledge: n, reason = '', 'dry-run': dryRun = false } = values;
    if (n === undefined && reason !== '') throw new UsageError('--reason is only valid with --acknowledge');
    if (n !== undefined && !NUMBER.test(n)) throw new UsageError('--acknowledge needs the number of a break');
    if (n !== undefined && id === undefined) throw new UsageError('--acknowledge needs a --reconciliation');
    if (n !== undefined && reason.trim() === '') throw new UsageError('--acknowledge needs a --reason');
    checkReason(reason);
    const settings = cliSettings(environment);
    return withTemporal(settings, async ({ temporal }) => {
      const { TEMPORAL_TASK_QUEUE: taskQueue } = settings;
      const reconciliations = new Reconciliations(temporal, { taskQueue, readWithinMs: READ_WITHIN_MS });
      if (id === undefined) return listed(await openBreaks(reconciliations));
      const run = await find(reconciliations, id);
      if (run === null) return notFound(`No reconciliation has the id ${id}`);
      if (run.result === null) return notFound(`${id} is ${run.status}: it has no result`);
      if (n === undefined) return shown(run);
      const one = run.result.found[Number(n) - 1];
      if (one === undefined) return notFound(`${id} has no break ${n}`);
      const asked = { by: operator(), reason };
      const acknowledged = dryRun ? null : await reconciliations.acknowledge(one, asked);
      return acknowledgedAs({ id, n: Number(n), one, asked, acknowledged });
    });
  },
});

async function find(reconciliations: Reconciliations, id: string): Promise<FullReconciliation | null> {
  try {
    return await reconciliations.get(id);
  } catch (error) {
    if (error instanceof ReconciliationNotFoundError) return null;
    throw error;
  }
}

function listed(reconciliations: readonly OpenRun[]): Report {
  const lines = reconciliations.map(({ id, from, to, breaks: open }) => [
    `${id}: ${utc(from)} to ${utc(to)}`,
    ...breakTables(open),
  ]);
  return {
    exit: reconciliations.length === 0 ? EXIT.ok : EXIT.finding,
    json: { reconciliations },
    lines: lines.length === 0 ? ['No break is open.'] : lines.flat(),
  };
}

function shown({ id, summary: { from, to }, result }: FullReconciliation): Report {
  const all = numbered(result?.found ?? []);
  return {
    exit: all.some(isOpen) ? EXIT.finding : EXIT.ok,
    json: { reconciliations: [{ id, from, to, breaks: all }] },
    lines: [`${id}: ${utc(from)} to ${utc(to)}, ${countOf(all)}`, ...breakTables(all)],
  };
}

type Asked = Pick<NonNullable<Break['acknowledged']>, 'by' | 'reason'>;

function acknowledgedAs({
  id,
  n,
  one,
  asked,
  acknowledged,
}: {
  readonly id: string;
  readonly n: number;
  readonly one: Break;
  readonly asked: Asked;
  /** Null in a dry run. */
  readonly acknowledged: Break['acknowledged'] | null;
}): Report {
  const what = `${one.type}, break ${n} of ${id}`;
  const known = acknowledged ?? one.acknowledged;
  const isRepeated = known !== undefined && (known.by !== asked.by || known.reason !== asked.reason);
  const line =
    known !== undefined && (isRepeated || acknowledged === null)
      ? `already acknowledged by ${known.by} at ${utc(known.at)} (${known.reason}): ${what}`
      : `${acknowledged === null ? 'would acknowledge' : 'acknowledged'}: ${what}`;
  return {
    exit: EXIT.ok,
    json: { reconciliation: id, n, acknowledged: known ?? null, dry_run: acknowledged === null },
    lines: [line],
  };
}

function notFound(message: string): Report {
  return { exit: EXIT.finding, json: { error: { code: 'not_found', message } }, lines: [message] };
}
