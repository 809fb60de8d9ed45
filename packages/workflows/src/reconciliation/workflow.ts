import {
  beginningOf,
  comparable,
  accountOf,
  formatMoney,
  healsByRetrieve,
  instant,
  isCurrency,
  plus,
  type Break,
  type Instant,
  type Place,
} from '@tillflow/domain';
import {
  ActivityFailure,
  ApplicationFailure,
  isCancellation,
  patched,
  proxyActivities,
  setCurrentDetails,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import { clock } from '../shared/clock.js';
import type { ReceiptsCall, ReconciliationActivities } from './activities.js';
import { dailyInput, dueAt, endOfDay } from './daily.js';
import { Findings } from './findings.js';
import { DEFAULT_RECONCILE_POLICY, type ReconcileInput, type ReconcileMemo, type ReconcileResult } from './messages.js';

/** A run survives an outage of the provider of this length. */
const TRY_FOR = '24 hours';
/** Receipts, and checkouts that retrieve their charges, delay the result of payments at most this long. */
const TRY_RECEIPTS_FOR = '2 hours';
const TRY_TO_HEAL_FOR = '1 hour';
/** One call heals at most this many breaks. */
const BREAKS_PER_CALL = 100;

const OPTIONS = {
  // The next worker continues from the last heartbeat.
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
} as const;

const worker = proxyActivities<Omit<ReconciliationActivities, 'compareReceipts' | 'healBreaks'>>({
  ...OPTIONS,
  startToCloseTimeout: '2 hours',
  scheduleToCloseTimeout: TRY_FOR,
});

const receiptsWorker = proxyActivities<Pick<ReconciliationActivities, 'compareReceipts'>>({
  ...OPTIONS,
  startToCloseTimeout: TRY_RECEIPTS_FOR,
  scheduleToCloseTimeout: TRY_RECEIPTS_FOR,
});

const healer = proxyActivities<Pick<ReconciliationActivities, 'healBreaks'>>({
  ...OPTIONS,
  startToCloseTimeout: TRY_TO_HEAL_FOR,
  scheduleToCloseTimeout: TRY_TO_HEAL_FOR,
});

/**
 * Compares Tillflow's payments of a window with the provider's charges, refunds, balance and receipts. Hints checkouts
 * to retrieve what they missed, and returns the differences. Without input, as the Schedule starts it, it compares the
 * business day before.
 */
export async function reconcile(given?: ReconcileInput): Promise<ReconcileResult> {
  const input = given ?? (await daily());
  const { account } = input;
  const policy = { ...DEFAULT_RECONCILE_POLICY, ...input.policy };
  const now = clock();
  const rules = { now, youngMs: policy.youngMs };
  const window = comparable(input, plus(now, -policy.youngMs));
  const findings = new Findings(input, window, policy, now);
  publish(findings, `compare payments from ${timeOf(window.from)}`);

  for (let place: Place | null = window.from < window.to ? beginningOf(window) : null; place !== null;) {
    const { room } = findings;
    const { chargesPerCall } = policy;
    const page = await worker.compareRecords.executeWithOptions(
      { summary: `Compare payments from ${timeOf(place.at)} to ${timeOf(window.to)}` },
      [{ account, window, place, rules, room, chargesPerCall }],
    );
    findings.add(page);
    place = page.next;
    publish(findings, place === null ? 'compare receipts' : `compare payments from ${timeOf(place.at)}`);
  }
  // Receipts have no minimum age.
  await compareReceipts(findings, { window: { from: window.from, to: instant(input.to) }, rules });
  await dropReported(findings);
  if (!input.dry_run) await heal(findings, { account, rules });
  publish(findings, 'nothing: the run is complete');
  return findings.result();
}

async function daily(): Promise<ReconcileInput> {
  upsertMemo({ daily: true } satisfies Pick<ReconcileMemo, 'daily'>);
  if (patched('business-days')) {
    const summary = 'Find the business days since the last daily run';
    const { youngMs } = DEFAULT_RECONCILE_POLICY;
    const window = await worker.dailyWindow.executeWithOptions({ summary }, [{ due: dueAt(), youngMs }]);
    return { account: accountOf(workflowInfo().taskQueue), ...window, dry_run: false };
  }
  const before = endOfDay(dueAt());
  const summary = 'Find the last daily run';
  return dailyInput(before, await worker.lastDaily.executeWithOptions({ summary }, [{ before }]));
}

/** When receipts cannot be read, the result says so, and contains the breaks of payments. */
async function compareReceipts(findings: Findings, call: ReceiptsCall): Promise<void> {
  const { from, to } = call.window;
  const summary = `Compare receipts issued from ${timeOf(from)} to ${timeOf(to)}`;
  try {
    findings.addBreaks(await receiptsWorker.compareReceipts.executeWithOptions({ summary }, [call]));
  } catch (error) {
    if (!isFailedCall(error)) throw error;
    const { cause } = error;
    const code = cause instanceof ApplicationFailure ? (cause.type ?? 'failed') : 'no_answer';
    findings.addNotCompared({ what: 'receipts', code, detail: cause?.message ?? error.message });
  }
}

/** A refund that was made outside and that its checkout has adopted is reported once, by the first run that sees it. */
async function dropReported(findings: Findings): Promise<void> {
  const adopted = findings.breaks.filter(({ type, healed }) => type === 'refund_made_outside' && healed);
  if (adopted.length === 0) return;
  const refundIds = adopted.flatMap(({ refund_id }) => refund_id ?? []);
  const reported = new Set(
    await worker.recallReported.executeWithOptions({ summary: 'Find refunds that earlier runs have reported' }, [
      { refundIds },
    ]),
  );
  findings.drop(new Set(adopted.filter(({ refund_id }) => reported.has(refund_id ?? ''))));
}

async function heal(
  findings: Findings,
  { account, rules }: { readonly account: string; readonly rules: { readonly now: Instant; readonly youngMs: number } },
): Promise<void> {
  const { runId } = workflowInfo();
  const healable = findings.breaks.filter(healsByRetrieve);
  const gone = new Set<Break>();
  for (let first = 0; first < healable.length; first += BREAKS_PER_CALL) {
    const breaks = healable.slice(first, first + BREAKS_PER_CALL);
    const summary = `Hint ${breaks.length} checkouts to retrieve their charges`;
    let healed: readonly boolean[] = [];
    try {
      healed = await healer.healBreaks.executeWithOptions({ summary }, [{ runId, account, rules, breaks }]);
    } catch (error) {
      // The checkouts may have healed, but this run did not see that.
      if (!isFailedCall(error)) throw error;
      break;
    }
    for (const [index, one] of breaks.entries()) if (healed[index] === true) gone.add(one);
  }
  findings.markHealed(gone);
}

/** The activity failed. Not so when the run was cancelled. */
function isFailedCall(error: unknown): error is ActivityFailure {
  return error instanceof ActivityFailure && !isCancellation(error);
}

/** Writes the memo for the API, and the details in the Temporal UI. */
function publish(findings: Findings, next: string): void {
  const summary = findings.summary();
  upsertMemo({ reconciliation: summary } satisfies ReconcileMemo);
  const { from, to, dry_run, breaks, healed, acknowledged = 0, totals } = summary;
  const lines = [
    `Payments from ${from} to ${to}${dry_run ? ', **dry run**' : ''}`,
    ...totals.map((one) => {
      const paid = (amount: number): string =>
        isCurrency(one.currency) ? formatMoney({ amount, currency: one.currency }) : `${one.currency} ${amount}`;
      return `${one.checkouts} checkouts: ${paid(one.paid_here)}; ${one.charges} charges: ${paid(one.paid_there)}`;
    }),
    `**${breaks} breaks**, ${healed} of them healed, ${acknowledged} acknowledged`,
    `Next: ${next}`,
  ];
  setCurrentDetails(lines.map((line) => `- ${line}`).join('\n'));
}

function timeOf(at: Instant): string {
  return new Date(at).toISOString();
}
