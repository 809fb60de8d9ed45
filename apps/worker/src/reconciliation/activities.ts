import { activityInfo, Context, heartbeat } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import {
  comparePayment,
  idsOf,
  instant,
  parseCheckoutId,
  reconcile,
  type Break,
  type Lookups,
  type Rules,
} from '@tillflow/domain';
import {
  AuthenticationError,
  InvalidRequestError,
  PaymentsError,
  PermissionError,
  type PaymentsClient,
} from '@tillflow/payments-client';
import {
  Acknowledgements,
  businessDayRule,
  Checkouts,
  UnreadablePayloadError,
  type Temporal,
} from '@tillflow/temporal';
import { RECONCILIATION, type ReconciliationActivities } from '@tillflow/workflows';
import { toReadFailure } from '../activities/failures.js';
import { withHeartbeat } from '../activities/provider-call.js';
import type { WorkerSettings } from '../settings.js';
import { dailyWindow } from './daily-window.js';
import { describeBreaks } from './describe-breaks.js';
import { lastDaily, reportedBefore } from './past-runs.js';
import { Progress } from './progress.js';
import { ProviderRecords } from './provider-records.js';
import { compareReceipts } from './receipts.js';
import { TillflowRecords } from './tillflow-records.js';

/**
 * A checkout heals within this time after its hint, and is read after growing pauses that begin with this one. In ms.
 */
const HEALED_WITHIN_MS = 20_000;
const FIRST_PAUSE_MS = 500;
/** A page of checkouts takes longer to read than one checkout. */
const READ_WITHIN_MS = 15_000;
const DAY_MS = 86_400_000;

type RunRules = Pick<Rules, 'now' | 'youngMs'>;

/**
 * The activities of a reconciliation. They only read, except for hints to checkouts.
 * @param livemode whether the client's key is a live one
 */
export function reconciliationActivities(
  client: PaymentsClient,
  temporal: Temporal,
  settings: Pick<
    WorkerSettings,
    'TEMPORAL_TASK_QUEUE' | 'RECONCILE_SETTLEMENT_DAYS' | 'BUSINESS_TIMEZONE' | 'BUSINESS_DAY_START'
  >,
  livemode: boolean,
): ReconciliationActivities {
  const { TEMPORAL_TASK_QUEUE: taskQueue, RECONCILE_SETTLEMENT_DAYS: days } = settings;
  const businessDays = businessDayRule(settings);
  const checkouts = new Checkouts(temporal, { readWithinMs: READ_WITHIN_MS });
  const acknowledgements = new Acknowledgements(temporal, { taskQueue, readWithinMs: READ_WITHIN_MS });
  const tillflow = new TillflowRecords(checkouts, taskQueue);
  const providerOf = (account: string) =>
    new ProviderRecords(client, account, livemode, Context.current().cancellationSignal);
  const complete = (rules: RunRules): Rules => ({ ...rules, settleWithinMs: days === 0 ? null : days * DAY_MS });
  return {
    compareRecords: (call) => {
      const progress = Progress.of(call, activityInfo().heartbeatDetails);
      return withProgress(progress, async () => {
        const { window, account, rules } = call;
        const { place } = progress;
        const provider = providerOf(account);
        const records = {
          checkouts: tillflow.paid(place.at, window.to),
          charges: provider.charges(place.listFrom, window.to),
          movements: provider.movements(place.at, window.to),
        };
        const comparison = { window, place, rules: complete(rules), businessDays };
        for await (const slice of reconcile(records, lookupsIn(tillflow, provider), comparison)) {
          const breaks = await describeBreaks(slice.breaks, { provider, acknowledgements, now: rules.now });
          progress.add({ ...slice, breaks });
          if (progress.isEnough) break;
        }
        return progress.result();
      });
    },

    compareReceipts: ({ window, rules }) =>
      withProgress(null, async () => {
        const { cancellationSignal: signal } = Context.current();
        return acknowledgements.mark(await compareReceipts(client, window, complete(rules), { signal }));
      }),

    healBreaks: ({ breaks, account, runId, rules }) =>
      withProgress(null, async () => {
        const open = new Set<Break>();
        for (const one of breaks) if (await hint(checkouts, one, runId)) open.add(one);
        const lookups = lookupsIn(tillflow, providerOf(account));
        const healed = new Set<Break>();
        const end = Date.now() + HEALED_WITHIN_MS;
        // The pause doubles, so that breaks that do not heal cost the provider few requests.
        for (let pause = FIRST_PAUSE_MS; open.size > 0; pause *= 2) {
          await Context.current().sleep(Math.min(pause, Math.max(end - Date.now(), 1)));
          for (const one of open) {
            if (!(await isGone(one, lookups, complete(rules)))) continue;
            healed.add(one);
            open.delete(one);
          }
          if (Date.now() >= end) break;
        }
        return breaks.map((one) => healed.has(one));
      }),

    dailyWindow: ({ due, youngMs }) =>
      withProgress(null, () =>
        dailyWindow(instant(due - youngMs), businessDays, (before) => lastDaily(temporal.client, taskQueue, before)),
      ),
    lastDaily: ({ before }) => withProgress(null, () => lastDaily(temporal.client, taskQueue, before)),
    recallReported: ({ refundIds }) => withProgress(null, () => reportedBefore(temporal.client, taskQueue, refundIds)),
  };
}

function lookupsIn(tillflow: TillflowRecords, provider: ProviderRecords): Lookups {
  return {
    checkout: (id) => tillflow.get(id),
    charge: (id) => provider.charge(id),
    movement: (id) => provider.movement(id),
    refunded: (movement) => provider.refunded(movement),
  };
}

/** Asks a checkout to retrieve its charge. @returns false when the checkout is closed */
async function hint(checkouts: Checkouts, { checkout_id, charge_id }: Break, runId: string): Promise<boolean> {
  const key = parseCheckoutId(checkout_id ?? '');
  if (key === null) return false;
  return checkouts.hint(key, { eventId: runId, eventKey: RECONCILIATION, chargeId: charge_id });
}

/** Whether freshly read records do not show the break any more. */
async function isGone(one: Break, lookups: Lookups, rules: Rules): Promise<boolean> {
  const charge = await lookups.charge(one.charge_id ?? '');
  const checkout = await lookups.checkout(one.checkout_id ?? '');
  if (charge === null || checkout === null) return false;
  const movement = charge.transactionId === null ? null : await lookups.movement(charge.transactionId);
  const left = comparePayment(charge, checkout, movement, rules);
  return !left.some((other) => idsOf(other) === idsOf(one) && !other.healed);
}

/**
 * Heartbeats the progress while `work` runs, and after a failure. A retry that would fail in the same way is not made.
 */
async function withProgress<T>(progress: Progress | null, work: () => Promise<T>): Promise<T> {
  const snapshot = (): unknown => progress?.snapshot();
  try {
    return await withHeartbeat(work, snapshot);
  } catch (error) {
    heartbeat(snapshot());
    throw toFailure(error);
  }
}

function toFailure(error: unknown): unknown {
  const { cancellationSignal: signal } = Context.current();
  // The worker stops, and another worker continues.
  if (signal.aborted) return signal.reason;
  if (error instanceof UnreadablePayloadError) {
    return ApplicationFailure.nonRetryable('PAYLOAD_KEYS lacks the key of a checkout', 'checkout_unreadable');
  }
  if (!(error instanceof PaymentsError) || isPermanent(error)) return toReadFailure(error);
  return ApplicationFailure.retryable(error.message, error.code);
}

/** The provider would refuse a retry too: a person has to correct the settings. */
function isPermanent(error: PaymentsError): boolean {
  return (
    error instanceof AuthenticationError || error instanceof PermissionError || error instanceof InvalidRequestError
  );
}
