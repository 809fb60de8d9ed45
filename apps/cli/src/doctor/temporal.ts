import {
  pausedSchedules,
  SetupConflictError,
  setUpNamespace,
  setUpSchedules,
  type SetupStep,
  type Temporal,
} from '@tillflow/temporal';
import { searchAttributes } from '@tillflow/workflows';
import type { Check, Finding } from './finding.js';

const DRY = { dryRun: true } as const;

/** Whether the namespace has what `setup` gives it. */
export async function checkTemporal(temporal: Temporal, taskQueue: string): Promise<Check> {
  const { serverVersion } = await temporal.connection.workflowService.getSystemInfo({});
  const attributes = Object.values(searchAttributes);
  const findings = [
    ...(await missing('search_attribute_missing', LOST, () => setUpNamespace(temporal, attributes, DRY))),
    ...(await missing('schedule_missing', IDLE, () => setUpSchedules(temporal, taskQueue, DRY))),
    ...(await pausedSchedules(temporal, taskQueue)).map(paused),
  ];
  return {
    area: 'temporal',
    findings,
    seen: `server ${serverVersion}, namespace ${temporal.client.options.namespace}`,
  };
}

const LOST =
  'Without an attribute checkouts cannot be started or found; without the retention they are forgotten too early.';
const IDLE = 'What should run by itself does not, or not as this version defines it.';

/** `setup` leaves it alone: somebody meant it. */
function paused({ scheduleId, note }: { readonly scheduleId: string; readonly note: string }): Finding {
  return {
    code: 'schedule_paused',
    what: `the schedule ${scheduleId} is paused${note === '' ? '' : `: ${note}`}`,
    means: IDLE,
    remedy: `temporal schedule toggle --schedule-id ${scheduleId} --unpause --reason <text>, once that is over.`,
  };
}

/** What `setup` would do is what is missing. */
async function missing(code: string, means: string, look: () => Promise<SetupStep[]>): Promise<Finding[]> {
  const remedy = 'pnpm tillflow setup';
  try {
    return (await look()).map(({ what }) => ({ code, what: `setup has yet to ${what}`, means, remedy }));
  } catch (error) {
    if (!(error instanceof SetupConflictError)) throw error;
    return [
      {
        code: 'search_attribute_conflict',
        what: error.message,
        means,
        remedy: 'Use another namespace, or remove the attribute there if nothing else uses it, and run setup.',
      },
    ];
  }
}
