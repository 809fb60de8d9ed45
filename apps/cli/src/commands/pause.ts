import { Pauses, type Pause } from '@tillflow/temporal';
import { command, EXIT, UsageError } from '../command.js';
import { checkReason, operator } from '../operator.js';
import { cliSettings } from '../settings.js';
import { utc } from '../text.js';
import { READ_WITHIN_MS, withTemporal } from '../temporal.js';

export const pause = command({
  name: 'pause',
  synopsis: '--reason <text> [--dry-run]',
  summary: 'Refuses new checkouts and new attempts, until `tillflow resume`. Everything else continues.',
  details: [
    '  --reason <text>   why, for the tills: every caller that is refused reads it',
    '  --dry-run         show what would be done',
    '',
    'Takes effect in every API process within 10 s, and needs no worker. Open checkouts can still be paid. Reads,',
    'cancels, refunds and voids continue. A repeated request for a checkout that exists gets that checkout.',
    'A pause that is already there stays as it is, with its reason.',
  ],
  takes: 0,
  options: { reason: { type: 'string' }, 'dry-run': { type: 'boolean' } },
  async run({ values: { reason = '', 'dry-run': dryRun = false }, environment }) {
    if (reason.trim() === '') throw new UsageError('pause needs a --reason');
    checkReason(reason);
    const settings = cliSettings(environment);
    return withTemporal(settings, async ({ temporal }) => {
      const pauses = new Pauses(temporal, { taskQueue: settings.TEMPORAL_TASK_QUEUE, withinMs: READ_WITHIN_MS });
      const wanted: Pause = { reason, by: operator(), since: new Date().toISOString() };
      const { pause: present, isNew } = dryRun ? await planned(pauses, wanted) : await pauses.begin(wanted);
      return {
        exit: EXIT.ok,
        json: { dry_run: dryRun, paused: present, changed: isNew && !dryRun },
        lines: isNew ? described(dryRun) : [`already paused ${inFull(present)}`, 'nothing was changed'],
      };
    });
  },
});

export const resume = command({
  name: 'resume',
  synopsis: '[--dry-run]',
  summary: 'Ends a pause: new checkouts and new attempts are accepted again.',
  details: [
    '  --dry-run   show what would be done',
    '',
    'Takes effect in every API process within 10 s, and needs no worker.',
  ],
  takes: 0,
  options: { 'dry-run': { type: 'boolean' } },
  async run({ values: { 'dry-run': dryRun = false }, environment }) {
    const settings = cliSettings(environment);
    return withTemporal(settings, async ({ temporal }) => {
      const pauses = new Pauses(temporal, { taskQueue: settings.TEMPORAL_TASK_QUEUE, withinMs: READ_WITHIN_MS });
      const ended = dryRun ? await pauses.read() : await pauses.end(operator());
      const said = `${dryRun ? 'would: resume' : 'resumed'}, paused ${ended === null ? '' : inFull(ended)}`;
      return {
        exit: EXIT.ok,
        json: { dry_run: dryRun, ended, changed: ended !== null && !dryRun },
        lines: ended === null ? ['not paused, nothing was changed'] : [said],
      };
    });
  },
});

async function planned(pauses: Pauses, wanted: Pause): Promise<{ readonly pause: Pause; readonly isNew: boolean }> {
  const present = await pauses.read();
  return { pause: present ?? wanted, isNew: present === null };
}

function described(dryRun: boolean): string[] {
  if (dryRun) return ['would: refuse new checkouts and new attempts'];
  return ['paused: every API process refuses new checkouts and new attempts within 10 s'];
}

function inFull({ since, by, reason }: Pause): string {
  return `since ${utc(since)} by ${by}: ${reason}`;
}
