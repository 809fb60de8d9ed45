import { dismissNotice, MAX_NOTICES, MAX_UNPLACED, type TailNotice, type UnplacedEvent } from '@tillflow/workflows';
import { command } from '../command.js';
import { tailOf } from '../event-tail.js';
import { EXIT, UsageError } from '../exit.js';
import { operator } from '../operator.js';
import { checkReason } from '../reason.js';
import { cliSettings } from '../settings.js';
import { ago, columns, utc } from '../text.js';
import { withTemporal } from '../with-temporal.js';

export const notices = command({
  name: 'notices',
  synopsis: '[--dismiss <id> --reason <text>] [--dry-run]',
  summary: 'What happened at the provider and no checkout shows, and events that could not be delivered yet.',
  details: [
    '  --dismiss <id>    take one off the list: somebody has seen to it. An event that is tried again is not any more',
    '  --reason <text>   what was done; it is logged',
    '  --dry-run         say what would be dismissed',
  ],
  takes: 0,
  options: { dismiss: { type: 'string' }, reason: { type: 'string' }, 'dry-run': { type: 'boolean' } },
  async run({ values: { dismiss: id, reason = '', 'dry-run': dryRun = false }, environment }) {
    if (id !== undefined && reason.trim() === '') throw new UsageError('--dismiss wants a --reason');
    if (id === undefined && reason !== '') throw new UsageError('--reason goes with --dismiss');
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
          lines: [`No notice and no event here has the id ${id}`],
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
          `${dryRun ? 'would dismiss' : 'dismissed'}: ${id}: ${'detail' in found ? found.detail : wordsFor(found)}`,
        ],
      };
    });
  },
});

function describe(all: readonly TailNotice[], unplaced: readonly UnplacedEvent[]): string[] {
  const now = Date.now();
  const notices = all.map(({ id, since, detail }) => [id, `${ago(since, now)} ago`, detail]);
  const events = unplaced.map((event) => [event.event_id, `${ago(event.since, now)} ago`, wordsFor(event)]);
  return [
    ...(notices.length === 0 ? ['No notices.'] : columns([['ID', 'WHEN', 'WHAT'], ...notices])),
    ...(events.length === 0
      ? []
      : [
          '',
          'Events that could not be delivered yet; they are tried again by themselves.',
          ...columns([['ID', 'SINCE', 'WHAT'], ...events]),
        ]),
    ...(notices.length < MAX_NOTICES && events.length < MAX_UNPLACED
      ? []
      : [
          '',
          `No more than ${MAX_NOTICES} notices and ${MAX_UNPLACED} events are kept: there may have been others. pnpm tillflow reconcile finds payments.`,
        ]),
  ];
}

function wordsFor({ event_key: key, subject, checkout_id, charge_id, why, tries, retry_at }: UnplacedEvent): string {
  const about = checkout_id ?? charge_id ?? (subject === '' ? 'nobody' : subject);
  return `${key} of ${about}: ${why}; tried ${tries} times, again at ${utc(retry_at)}`;
}
