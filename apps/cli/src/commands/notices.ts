import { dismissNotice, type TailNotice } from '@tillflow/workflows';
import { command } from '../command.js';
import { tailOf } from '../event-tail.js';
import { EXIT, UsageError } from '../exit.js';
import { cliSettings } from '../settings.js';
import { ago, columns } from '../text.js';
import { withTemporal } from '../with-temporal.js';

export const notices = command({
  name: 'notices',
  synopsis: '[--dismiss <id> --reason <text>] [--dry-run]',
  summary: 'What happened at the provider and no checkout shows: plans, transfers, disputes.',
  details: [
    '  --dismiss <id>    take one off the list: somebody has seen to it',
    '  --reason <text>   what was done; it is logged',
    '  --dry-run         say what would be dismissed',
  ],
  takes: 0,
  options: { dismiss: { type: 'string' }, reason: { type: 'string' }, 'dry-run': { type: 'boolean' } },
  async run({ values: { dismiss: id, reason = '', 'dry-run': dryRun = false }, environment }) {
    if (id !== undefined && reason.trim() === '') throw new UsageError('--dismiss wants a --reason');
    const settings = cliSettings(environment);
    return withTemporal(settings, async ({ temporal }) => {
      const { run, memo } = await tailOf(temporal, settings);
      const { notices: all = [], unplaced = [] } = memo;
      if (id === undefined)
        return { exit: EXIT.ok, json: { notices: all, unplaced }, lines: describe(all, unplaced.length) };
      const found = all.find((notice) => notice.id === id);
      if (found === undefined) {
        return { exit: EXIT.finding, json: { dismissed: null }, lines: [`No notice has the id ${id}`] };
      }
      if (!dryRun) await temporal.client.workflow.getHandle(run.workflowId).signal(dismissNotice, { id, reason });
      return {
        exit: EXIT.ok,
        json: { dismissed: found, dry_run: dryRun },
        lines: [`${dryRun ? 'would dismiss' : 'dismissed'}: ${id}: ${found.detail}`],
      };
    });
  },
});

function describe(all: readonly TailNotice[], unplaced: number): string[] {
  const now = Date.now();
  const rows = all.map(({ id, since, detail }) => [id, `${ago(since, now)} ago`, detail]);
  return [
    ...(rows.length === 0 ? ['No notices.'] : columns([['ID', 'WHEN', 'WHAT'], ...rows])),
    ...(unplaced === 0 ? [] : [`${unplaced} events could not be delivered yet; they are tried again by themselves.`]),
  ];
}
