import { isInstant, parseInstant } from '@tillflow/domain';
import { AuditTrail, type AuditRecord } from '@tillflow/temporal';
import { cannotBeRead } from '../checkouts.js';
import { command, EXIT, UsageError } from '../command.js';
import { cliSettings } from '../settings.js';
import { READ_WITHIN_MS, withTemporal } from '../temporal.js';
import { columns, utc } from '../text.js';

const LONGEST_MS = 366 * 86_400_000;

export const audit = command({
  name: 'audit',
  synopsis: '--from <time> --to <time> [--key <name>]',
  summary: 'Lists what people and other systems asked for: who, what, when, from where, and the outcome.',
  details: [
    '  --from <time>   ISO 8601 with a zone: requests since then',
    '  --to <time>     and before then, at most 366 days later',
    '  --key <name>    only those of one requester: the name of a key, or cli:<user>',
    '',
    'Reads every checkout that was open in this time, so it takes a while where there are many. The log of the API has the',
    'same requests, and all others, as lines with the field `audit`.',
  ],
  takes: 0,
  options: { from: { type: 'string' }, to: { type: 'string' }, key: { type: 'string' } },
  async run({ values: { from, to, key }, environment, progress }) {
    const query = { from: timeOf('--from', from), to: timeOf('--to', to), by: key };
    const length = Date.parse(query.to) - Date.parse(query.from);
    if (length <= 0 || length > LONGEST_MS)
      throw new UsageError('--to must be after --from, and at most 366 days later');
    const unreadable: string[] = [];
    const records: AuditRecord[] = [];
    const settings = cliSettings(environment);
    await withTemporal(settings, async ({ temporal }) => {
      const taskQueue = settings.TEMPORAL_TASK_QUEUE;
      const trail = new AuditTrail(temporal, { taskQueue, readWithinMs: READ_WITHIN_MS });
      let pages = 0;
      for await (const page of trail.read(query, (workflow) => unreadable.push(workflow))) {
        records.push(...page);
        pages += 1;
        if (pages % 20 === 0) progress(`${pages} pages read, ${records.length} requests found`);
      }
    });
    const data = records.toSorted((one, other) => one.at.localeCompare(other.at, 'en'));
    const rows = data.map(({ at, by, origin, what, target, detail, outcome }) => [
      utc(at),
      by,
      origin ?? '-',
      what,
      target,
      outcome,
      detail ?? '',
    ]);
    return {
      exit: EXIT.ok,
      json: { data, unreadable },
      lines: [
        ...(rows.length === 0
          ? ['No request found.']
          : columns([['TIME', 'WHO', 'FROM', 'WHAT', 'TARGET', 'OUTCOME', 'DETAIL'], ...rows])),
        ...unreadable.map(cannotBeRead),
      ],
    };
  },
});

/** @throws {UsageError} */
function timeOf(option: string, text = ''): string {
  if (!isInstant(text)) throw new UsageError(`${option} must be a time with its zone, such as 2026-11-25T00:00:00Z`);
  return new Date(parseInstant(text)).toISOString();
}
