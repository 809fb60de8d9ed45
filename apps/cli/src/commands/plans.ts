import { isTooSlow, PendingPlans, type PlanResolved, type PendingPlan } from '@tillflow/temporal';
import type { Resolution } from '@tillflow/workflows';
import { cannotBeRead } from '../checkouts.js';
import { command, EXIT, type Report, UnreachableError, UsageError } from '../command.js';
import { resolutionOf } from '../operator.js';
import { cliSettings } from '../settings.js';
import { ago, columns } from '../text.js';
import { READ_WITHIN_MS, withTemporal } from '../temporal.js';

/** A lookup takes up to 45 s while the provider is down. */
const WITHIN_MS = 60_000;

const PLAN = /^[A-Za-z0-9_-]{1,64}$/;

export const plans = command({
  name: 'plans',
  synopsis: '[--resolve <id> (--look | --adopt <plan id> | --abandon) --reason <text>] [--dry-run]',
  summary: 'Lists recurring plans whose creation is not confirmed yet, and resolves those that wait for a person.',
  details: [
    '  --resolve <id>      resolve this plan, which waits for a person',
    '  --look              look up the plans again, and take the only one that is left (end the others first)',
    '  --adopt <plan id>   this plan (schd_…) is the requested one',
    '  --abandon           none of the plans is the requested one. The key becomes free, and the same request creates a new plan',
    '  --reason <text>     why; it is kept with the request',
    '  --dry-run           show what would be requested',
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
    const { resolve: id, look, adopt, abandon, reason, 'dry-run': dryRun = false } = values;
    if (id === undefined && (look ?? adopt ?? abandon ?? reason) !== undefined)
      throw new UsageError('A decision and --reason need --resolve');
    const resolution = id === undefined ? null : resolutionOf(values, 'plans --resolve', PLAN, 'of a plan (schd_…)');
    const settings = cliSettings(environment);
    return withTemporal(settings, async ({ temporal }) => {
      const underWay = new PendingPlans(temporal, {
        taskQueue: settings.TEMPORAL_TASK_QUEUE,
        readWithinMs: READ_WITHIN_MS,
      });
      if (id === undefined || resolution === null) {
        const unreadable: string[] = [];
        return listed(await underWay.list((workflow) => unreadable.push(workflow)), unreadable);
      }
      if (dryRun) {
        const plan = (await underWay.list(() => undefined)).find((one) => one.id === id);
        return plan?.undecided == null ? notWaiting(id) : dryRunOf(id, resolution);
      }
      try {
        return resolved(id, resolution, await underWay.resolve(id, resolution, WITHIN_MS));
      } catch (error) {
        if (!isTooSlow(error)) throw error;
        throw new UnreachableError(
          'No worker answered in time. The decision may still be carried out: list the plans to see.',
        );
      }
    });
  },
});

function listed(all: readonly PendingPlan[], unreadable: readonly string[]): Report {
  const now = Date.now();
  const rows = all.map(({ id, asked_at, by, undecided }) => [
    id,
    `${ago(asked_at, now)} ago by ${by}`,
    ...(undecided === null
      ? ['in progress']
      : [`${undecided.message}${undecided.candidates.length === 0 ? '' : `: ${undecided.candidates.join(', ')}`}`]),
  ]);
  return {
    exit: EXIT.ok,
    json: { data: all, unreadable },
    lines: [
      ...(rows.length === 0 ? ['No plan is in progress.'] : columns([['ID', 'REQUESTED', 'STATE'], ...rows])),
      ...unreadable.map(cannotBeRead),
    ],
  };
}

function dryRunOf(id: string, resolution: Resolution): Report {
  return { exit: EXIT.ok, json: { dry_run: true, id, resolution }, lines: [`would: ${actionOf(resolution)} ${id}`] };
}

function resolved(id: string, resolution: Resolution, result: PlanResolved): Report {
  switch (result.kind) {
    case 'answered': {
      const isDecided = result.answer !== 'undecided';
      return {
        exit: isDecided ? EXIT.ok : EXIT.finding,
        json: { outcome: result.answer, id, resolution },
        lines: [
          isDecided ? `done: ${actionOf(resolution)} ${id}` : `${id} is still unresolved: list the plans to see why`,
        ],
      };
    }
    case 'refused':
      return {
        exit: EXIT.finding,
        json: { outcome: 'refused', id, message: result.reason },
        lines: [`refused: ${result.reason}`],
      };
    case 'closed':
      return { exit: EXIT.finding, json: { outcome: 'closed', id }, lines: [`No plan in progress has the id ${id}`] };
  }
}

function notWaiting(id: string): Report {
  return {
    exit: EXIT.finding,
    json: { dry_run: true, outcome: 'closed', id },
    lines: [`No plan that waits for a decision has the id ${id}`],
  };
}

function actionOf(resolution: Resolution): string {
  switch (resolution.action) {
    case 'look':
      return 'look up';
    case 'abandon':
      return 'abandon';
    case 'adopt':
      return `adopt ${resolution.id} as`;
  }
}
