import type { BusinessDayRule } from '@tillflow/domain';
import {
  pausedSchedules,
  Pauses,
  SetupConflictError,
  setUpNamespace,
  setUpSchedules,
  type Pause,
  type SetupStep,
  type Temporal,
} from '@tillflow/temporal';
import { searchAttributes } from '@tillflow/workflows';
import { READ_WITHIN_MS } from '../temporal.js';
import { utc } from '../text.js';
import type { Check, Finding } from './finding.js';

const DRY = { dryRun: true } as const;

/** Checks if the namespace has everything that `tillflow setup` creates. */
export async function checkTemporal(
  temporal: Temporal,
  taskQueue: string,
  businessDays: BusinessDayRule,
): Promise<Check> {
  const { serverVersion } = await temporal.connection.workflowService.getSystemInfo({});
  const attributes = Object.values(searchAttributes);
  const pause = await new Pauses(temporal, { taskQueue, withinMs: READ_WITHIN_MS }).read();
  const findings = [
    ...(await missing('search_attribute_missing', CANNOT_BE_FOUND, () => setUpNamespace(temporal, attributes, DRY))),
    ...(await missing('schedule_missing', DOES_NOT_RUN, () =>
      setUpSchedules(temporal, taskQueue, { ...DRY, businessDays }),
    )),
    ...(await pausedSchedules(temporal, taskQueue)).map(paused),
    ...(pause === null ? [] : [notAccepting(pause)]),
  ];
  return {
    area: 'temporal',
    findings,
    seen: `server ${serverVersion}, namespace ${temporal.client.options.namespace}`,
  };
}

const CANNOT_BE_FOUND =
  'Without a search attribute, checkouts cannot be started or found. Without the retention, Temporal deletes them too early.';
const DOES_NOT_RUN = 'Scheduled work does not run, or does not run as this version defines it.';

/** `setup` does not unpause it: a person paused it on purpose. */
function paused({ scheduleId, note }: { readonly scheduleId: string; readonly note: string }): Finding {
  return {
    code: 'schedule_paused',
    what: `the schedule ${scheduleId} is paused${note === '' ? '' : `: ${note}`}`,
    means: DOES_NOT_RUN,
    remedy: `When the reason is over, run \`temporal schedule toggle --schedule-id ${scheduleId} --unpause --reason <text>\`.`,
  };
}

function notAccepting({ since, by, reason }: Pause): Finding {
  return {
    code: 'payments_paused',
    what: `new checkouts are refused since ${utc(since)}, by ${by}: ${reason}`,
    means: 'Tills get 503 not_accepting for new checkouts and new attempts. Everything else continues.',
    remedy: 'When the reason is over, run `pnpm tillflow resume`.',
  };
}

/** Reports each step that `setup` would take. */
async function missing(code: string, means: string, plan: () => Promise<SetupStep[]>): Promise<Finding[]> {
  const remedy = 'Run `pnpm tillflow setup`.';
  try {
    return (await plan()).map(({ what }) => ({ code, what: `not set up: ${what}`, means, remedy }));
  } catch (error) {
    if (!(error instanceof SetupConflictError)) throw error;
    return [
      {
        code: 'search_attribute_conflict',
        what: error.message,
        means,
        remedy:
          'Use another namespace, or remove the attribute if nothing else uses it. Then run `pnpm tillflow setup`.',
      },
    ];
  }
}
