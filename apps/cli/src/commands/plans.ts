import { isTooSlow, PlansUnderWay, type PlanResolved, type PlanUnderWay } from '@tillflow/temporal';
import type { Resolution } from '@tillflow/workflows';
import { command, type Report } from '../command.js';
import { EXIT, UnreachableError } from '../exit.js';
import { resolutionOf } from '../resolution.js';
import { cliSettings } from '../settings.js';
import { ago, columns } from '../text.js';
import { READ_WITHIN_MS, withTemporal } from '../with-temporal.js';

/** A look at a provider that is down takes up to 45 s. */
const WITHIN_MS = 60_000;

const PLAN = /^[A-Za-z0-9_-]{1,64}$/;

export const plans = command({
  name: 'plans',
  synopsis: '[--resolve <id> (--look | --adopt <plan id> | --abandon) --reason <text>] [--dry-run]',
  summary: 'Recurring plans that were asked for and are not known to be made yet, and what a person decides of them.',
  details: [
    '  --resolve <id>      decide about this one, of those that wait for a person',
    '  --look              take the plan that is left at the provider, once the others are ended there',
    '  --adopt <plan id>   this plan (schd_…) is the one that was asked for',
    '  --abandon           none is: its key is free, and the same request makes a new plan',
    '  --reason <text>     why; it is kept with the request',
    '  --dry-run           say what would be asked',
  ],
  takes: 0,
  options: {
    resolve: { type: 'string' },
    look: { type: 'boolean' },
    adopt: { type: 'string' },
    abandon: { type: 'boolean' },
    reason: { type: 'string' },
    'dry-run': { type: 'boolean' },
  },
  async run({ values, environment }) {
    const { resolve: id, 'dry-run': dryRun = false } = values;
    const resolution = id === undefined ? null : resolutionOf(values, 'plans --resolve', PLAN, 'of a plan (schd_…)');
    const settings = cliSettings(environment);
    return withTemporal(settings, async ({ temporal }) => {
      const underWay = new PlansUnderWay(temporal, {
        taskQueue: settings.TEMPORAL_TASK_QUEUE,
        readWithinMs: READ_WITHIN_MS,
      });
      if (id === undefined || resolution === null) {
        const unreadable: string[] = [];
        return listed(await underWay.list((workflow) => unreadable.push(workflow)), unreadable);
      }
      if (dryRun) return wouldAsk(id, resolution);
      try {
        return told(id, resolution, await underWay.resolve(id, resolution, WITHIN_MS));
      } catch (error) {
        if (!isTooSlow(error)) throw error;
        throw new UnreachableError(
          'No worker answered in time. The decision may still be carried out; list the plans.',
        );
      }
    });
  },
});

function listed(all: readonly PlanUnderWay[], unreadable: readonly string[]): Report {
  const now = Date.now();
  const rows = all.map(({ id, asked_at, by, undecided }) => [
    id,
    `${ago(asked_at, now)} ago by ${by}`,
    ...(undecided === null
      ? ['under way']
      : [`${undecided.message}${undecided.candidates.length === 0 ? '' : `: ${undecided.candidates.join(', ')}`}`]),
  ]);
  return {
    exit: EXIT.ok,
    json: { data: all, unreadable },
    lines: [
      ...(rows.length === 0 ? ['No plan is under way.'] : columns([['ID', 'ASKED FOR', 'STATE'], ...rows])),
      ...unreadable.map((workflow) => `${workflow} cannot be read: a key of PAYLOAD_KEYS is missing`),
    ],
  };
}

function wouldAsk(id: string, resolution: Resolution): Report {
  return { exit: EXIT.ok, json: { dry_run: true, id, resolution }, lines: [`would: ${words(resolution)} ${id}`] };
}

function told(id: string, resolution: Resolution, resolved: PlanResolved): Report {
  switch (resolved.kind) {
    case 'answered': {
      const isDecided = resolved.answer !== 'undecided';
      return {
        exit: isDecided ? EXIT.ok : EXIT.finding,
        json: { outcome: resolved.answer, id, resolution },
        lines: [isDecided ? `done: ${words(resolution)} ${id}` : `${id} is still undecided: list the plans to see why`],
      };
    }
    case 'refused':
      return {
        exit: EXIT.finding,
        json: { outcome: 'refused', id, message: resolved.reason },
        lines: [`refused: ${resolved.reason}`],
      };
    case 'closed':
      return { exit: EXIT.finding, json: { outcome: 'closed', id }, lines: [`No plan under way has the id ${id}`] };
  }
}

function words(resolution: Resolution): string {
  switch (resolution.action) {
    case 'look':
      return 'look again for';
    case 'abandon':
      return 'abandon';
    case 'adopt':
      return `adopt ${resolution.id} as`;
  }
}
