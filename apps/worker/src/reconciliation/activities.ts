import { activityInfo, Context, heartbeat } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import {
  examinePayment,
  idsOf,
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
import { Checkouts, UnreadablePayloadError, type Temporal } from '@tillflow/temporal';
import { RECONCILIATION, type ReconciliationActivities } from '@tillflow/workflows';
import { Ours } from './tillflow-records.js';
import { compareReceipts } from './receipts.js';
import { lastDaily, PastRuns, reportedBefore } from './past-runs.js';
import { Progress } from './progress.js';
import { Theirs } from './provider-records.js';
import type { WorkerSettings } from '../settings.js';
import { toReadFailure } from '../activities/failures.js';

/** How long a checkout has to look after it was asked to, and the first pause before it is read, in milliseconds. */
const HEALED_WITHIN_MS = 20_000;
const READ_AGAIN_MS = 500;
/** A page of checkouts takes longer than one. */
const READ_WITHIN_MS = 15_000;
const DAY_MS = 86_400_000;

/**
 * The activities of a reconciliation. They change nothing but to ask checkouts for a look.
 * @param livemode whether the client's key is a live one
 */
export function reconciliationActivities(
  client: PaymentsClient,
  temporal: Temporal,
  settings: Pick<WorkerSettings, 'TEMPORAL_TASK_QUEUE' | 'RECONCILE_SETTLEMENT_DAYS'>,
  livemode: boolean,
): ReconciliationActivities {
  const { TEMPORAL_TASK_QUEUE: taskQueue, RECONCILE_SETTLEMENT_DAYS: days } = settings;
  const checkouts = new Checkouts(temporal, { readWithinMs: READ_WITHIN_MS });
  const pastRuns = new PastRuns(temporal, taskQueue);
  const ours = new Ours(checkouts, taskQueue);
  const settleWithinMs = days === 0 ? null : days * DAY_MS;
  const theirsOf = (account: string) => new Theirs(client, account, livemode, Context.current().cancellationSignal);
  const lookupsOf = (account: string): Lookups => {
    const theirs = theirsOf(account);
    return {
      checkout: (id) => ours.get(id),
      charge: (id) => theirs.charge(id),
      movement: (id) => theirs.movement(id),
      refunded: (movement) => theirs.refunded(movement),
    };
  };
  return {
    compareBooks: (call) =>
      beating(Progress.of(call, activityInfo().heartbeatDetails), async (progress) => {
        const { window, account } = call;
        const { place } = progress;
        const theirs = theirsOf(account);
        const sides = {
          ours: ours.paid(place.at, window.to),
          theirs: theirs.charges(place.listFrom, window.to),
          movements: theirs.movements(place.at, window.to),
        };
        const comparison = { window, place, rules: { ...call.rules, settleWithinMs } };
        for await (const stretch of reconcile(sides, lookupsOf(account), comparison)) {
          progress.add(stretch);
          if (progress.isEnough) break;
        }
        return progress.result();
      }),

    compareReceipts: ({ window, rules }) =>
      beating({ snapshot: () => undefined }, () =>
        compareReceipts(client, window, { ...rules, settleWithinMs }, { signal: Context.current().cancellationSignal }),
      ),

    healBreaks: ({ breaks, account, runId, rules }) =>
      beating({ snapshot: () => undefined }, async () => {
        const open = new Set<Break>();
        for (const one of breaks) if (await hint(checkouts, one, runId)) open.add(one);
        const lookups = lookupsOf(account);
        const healed = new Set<Break>();
        const end = Date.now() + HEALED_WITHIN_MS;
        // Twice as long each time: those that do not heal would cost the provider a request each, many times a second.
        for (let pause = READ_AGAIN_MS; open.size > 0; pause *= 2) {
          await Context.current().sleep(Math.min(pause, Math.max(end - Date.now(), 1)));
          for (const one of open) {
            if (!(await isGone(one, lookups, { ...rules, settleWithinMs }))) continue;
            healed.add(one);
            open.delete(one);
          }
          if (Date.now() >= end) break;
        }
        return breaks.map((one) => healed.has(one));
      }),

    lastDaily: ({ before }) => beating({ snapshot: () => undefined }, () => lastDaily(pastRuns, before)),

    recallReported: ({ refundIds }) =>
      beating({ snapshot: () => undefined }, () => reportedBefore(pastRuns, refundIds)),
  };
}

/** @returns whether the checkout is open: it looks by itself then, and believes nothing else of the hint. */
async function hint(checkouts: Checkouts, { checkout_id, charge_id }: Break, runId: string): Promise<boolean> {
  const key = parseCheckoutId(checkout_id ?? '');
  if (key === null) return false;
  return checkouts.hint(key, { eventId: runId, eventKey: RECONCILIATION, chargeId: charge_id });
}

/** Seen to be gone, in both books as they are now. */
async function isGone(one: Break, lookups: Lookups, rules: Rules): Promise<boolean> {
  const charge = await lookups.charge(one.charge_id ?? '');
  const checkout = await lookups.checkout(one.checkout_id ?? '');
  if (charge === null || checkout === null) return false;
  const movement = charge.transactionId === null ? null : await lookups.movement(charge.transactionId);
  const left = examinePayment(charge, checkout, movement, rules);
  return !left.some((other) => idsOf(other) === idsOf(one) && !other.healed);
}

/** Beats, with what is known so far, until the work is done; a failure is tried again unless it would be the same. */
async function beating<P extends { snapshot(): unknown }, T>(
  progress: P,
  work: (progress: P) => Promise<T>,
): Promise<T> {
  const { heartbeatTimeoutMs } = activityInfo();
  const timer = setInterval(() => heartbeat(progress.snapshot()), (heartbeatTimeoutMs ?? 10_000) / 4);
  try {
    return await work(progress);
  } catch (error) {
    heartbeat(progress.snapshot());
    throw toFailure(error);
  } finally {
    clearInterval(timer);
  }
}

function toFailure(error: unknown): unknown {
  const { cancellationSignal: signal } = Context.current();
  // A worker that stops: another goes on.
  if (signal.aborted) return signal.reason;
  if (error instanceof UnreadablePayloadError) {
    return ApplicationFailure.nonRetryable('A key of its payloads is missing', 'checkout_unreadable');
  }
  if (!(error instanceof PaymentsError) || isForGood(error)) return toReadFailure(error);
  return ApplicationFailure.retryable(error.message, error.code);
}

/** The provider will say the same again: a person has to set it right. */
function isForGood(error: PaymentsError): boolean {
  return (
    error instanceof AuthenticationError || error instanceof PermissionError || error instanceof InvalidRequestError
  );
}
