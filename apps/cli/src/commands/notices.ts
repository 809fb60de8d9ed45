import { dismissNotice, MAX_NOTICES, MAX_UNPLACED, type TailNotice, type UnplacedEvent } from '@tillflow/workflows';
import { command, EXIT, UsageError } from '../command.js';
import { tailOf, withTemporal } from '../temporal.js';
import { checkReason, operator } from '../operator.js';
import { cliSettings } from '../settings.js';
import { ago, columns, utc } from '../text.js';

export const notices = command({
  name: 'notices',
  synopsis: '[--dismiss <id> --reason <text>] [--dry-run]',
  summary: 'Lists events of the provider that belong to no checkout, and events that could not be delivered yet.',
  details: [
    '  --dismiss <id>    remove one from the list after a person has dealt with it. An event is then not tried again',
    '  --reason <text>   what was done; it is written to the log',
    '  --dry-run         show what would be dismissed',
  ],
  takes: 0,
  options: { dismiss: { type: 'string' }, reason: { type: 'string' }, 'dry-run': { type: 'boolean' } },
  async run({ values: { dismiss: id, reason = '', 'dry-run': dryRun = false }, environment }) {
    if (id !== undefined && reason.trim() === '') throw new UsageError('--dismiss needs a --reason');
    if (id === undefined && reason !== '') throw new UsageError('--reason is only valid with --dismiss');
    checkReason(reason);
    const settings = cliSettings(environment);
    return withTemporal(settings, async ({ temporal }) => {
      const { run, memo } = await tailOf(temporal, settings);
      const { notices: all = [], unplaced = [] } = memo;
      if (id === undefined) {
        return { exit: EXIT.ok, json: { notices: all, unplaced }, lines: describe(all, unplaced) };
      }
      const found = all.find((notice) => notice.id === id) ?? unplaced.find((event) => event.event_id === id);
      if (found === undefined) {
        return {
          exit: EXIT.finding,
          json: { dismissed: null },
          lines: [`No notice and no event has the id ${id}`],
        };
      }
      if (!dryRun) {
        const dismissal = { id, reason, by: operator() };
        await temporal.client.workflow.getHandle(run.workflowId).signal(dismissNotice, dismissal);
      }
      return {
        exit: EXIT.ok,
        json: { dismissed: found, dry_run: dryRun },
        lines: [
          `${dryRun ? 'would dismiss' : 'dismissed'}: ${id}: ${'detail' in found ? found.detail : describeEvent(found)}`,
        ],
      };
    });
  },
});

function describe(all: readonly TailNotice[], unplaced: readonly UnplacedEvent[]): string[] {
  const now = Date.now();
  const notices = all.map(({ id, since, detail }) => [id, `${ago(since, now)} ago`, detail]);
  const events = unplaced.map((event) => [event.event_id, `${ago(event.since, now)} ago`, describeEvent(event)]);
  return [
    ...(notices.length === 0 ? ['No notices.'] : columns([['ID', 'WHEN', 'WHAT'], ...notices])),
    ...(events.length === 0
      ? []
      : [
          '',
          'Events that could not be delivered yet. The event tail tries them again automatically.',
          ...columns([['ID', 'SINCE', 'WHAT'], ...events]),
        ]),
    ...(notices.length < MAX_NOTICES && events.length < MAX_UNPLACED
      ? []
      : [
          '',
          `Only the last ${MAX_NOTICES} notices and ${MAX_UNPLACED} events are kept. There may have been others: run \`pnpm tillflow reconcile\` to find payments.`,
        ]),
  ];
}

function describeEvent({
  event_key: key,
  subject,
  checkout_id,
  charge_id,
  why,
  tries,
  retry_at,
}: UnplacedEvent): string {
  const about = checkout_id ?? charge_id ?? (subject === '' ? 'an unknown record' : subject);
  return `${key} of ${about}: ${why}; tried ${tries} times, next try at ${utc(retry_at)}`;
}
