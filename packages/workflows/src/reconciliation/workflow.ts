import {
  beginningOf,
  comparable,
  formatMoney,
  healsByLooking,
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

/** A dead worker is known after this long; the next one goes on from the last heartbeat. */
const HEARTBEAT_TIMEOUT = '10 seconds';
/** A provider that is down for no longer costs time only. */
const TRY_FOR = '24 hours';
/** What was found of payments is not held up for longer by receipts, and by checkouts that are to look. */
const TRY_RECEIPTS_FOR = '2 hours';
const TRY_TO_HEAL_FOR = '1 hour';
/** So many breaks are healed by one call. */
const HEALED_AT_ONCE = 100;

const OPTIONS = {
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
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
 * Compares our payments of a window with the provider's charges, refunds, balance and receipts, lets checkouts mend what
 * they can by looking, and answers with what differs. Without input: the day before, as the Schedule starts it.
 */
export async function reconcile(given?: ReconcileInput): Promise<ReconcileResult> {
  const input = given ?? (await daily());
  const { account } = input;
  const policy = { ...DEFAULT_RECONCILE_POLICY, ...input.policy };
  const now = clock();
  const rules = { now, youngMs: policy.youngMs };
  const window = comparable(input, plus(now, -policy.youngMs));
  const findings = new Findings(input, window, policy);
  tell(findings, `compare payments from ${timeOf(window.from)}`);

  for (let place: Place | null = window.from < window.to ? beginningOf(window) : null; place !== null;) {
    const { room } = findings;
    const { chargesPerCall } = policy;
    const page = await worker.compareBooks.executeWithOptions(
      { summary: `Compare payments from ${timeOf(place.at)} to ${timeOf(window.to)}` },
      [{ account, window, place, rules, room, chargesPerCall }],
    );
    findings.add(page);
    place = page.next;
    tell(findings, place === null ? 'compare receipts' : `compare payments from ${timeOf(place.at)}`);
  }
  // A receipt is compared as soon as it is there.
  await compareReceipts(findings, { account, window: { from: window.from, to: instant(input.to) }, rules });
  await dropReported(findings);
  if (!input.dry_run) await heal(findings, { account, rules });
  tell(findings, 'nothing: it is done');
  return findings.result();
}

async function daily(): Promise<ReconcileInput> {
  upsertMemo({ daily: true } satisfies Pick<ReconcileMemo, 'daily'>);
  const before = endOfDay(dueAt());
  const summary = 'Recall until when earlier days were compared';
  return dailyInput(before, await worker.lastDaily.executeWithOptions({ summary }, [{ before }]));
}

/** Payments count without receipts: where these cannot be read, it is said, and what was found is told and healed. */
async function compareReceipts(findings: Findings, call: ReceiptsCall): Promise<void> {
  const { from, to } = call.window;
  const summary = `Compare receipts issued from ${timeOf(from)} to ${timeOf(to)}`;
  try {
    findings.addBreaks(await receiptsWorker.compareReceipts.executeWithOptions({ summary }, [call]));
  } catch (error) {
    if (!isFailedCall(error)) throw error;
    const { cause } = error;
    const code = cause instanceof ApplicationFailure ? (cause.type ?? 'failed') : 'no_answer';
    findings.missed({ what: 'receipts', code, detail: cause?.message ?? error.message });
  }
}

/** A refund that was made outside and taken over since is told once: by the first run that sees it. */
async function dropReported(findings: Findings): Promise<void> {
  const taken = findings.breaks.filter(({ type, healed }) => type === 'refund_made_outside' && healed);
  if (taken.length === 0) return;
  const refundIds = taken.flatMap(({ refund_id }) => refund_id ?? []);
  const reported = new Set(
    await worker.recallReported.executeWithOptions({ summary: 'Recall what earlier runs have reported' }, [
      { refundIds },
    ]),
  );
  findings.drop(new Set(taken.filter(({ refund_id }) => reported.has(refund_id ?? ''))));
}

async function heal(
  findings: Findings,
  { account, rules }: { readonly account: string; readonly rules: { readonly now: Instant; readonly youngMs: number } },
): Promise<void> {
  const { runId } = workflowInfo();
  const curable = findings.breaks.filter(healsByLooking);
  const gone = new Set<Break>();
  for (let first = 0; first < curable.length; first += HEALED_AT_ONCE) {
    const breaks = curable.slice(first, first + HEALED_AT_ONCE);
    const summary = `Let ${breaks.length} checkouts look at what they missed`;
    let healed: readonly boolean[] = [];
    try {
      healed = await healer.healBreaks.executeWithOptions({ summary }, [{ runId, account, rules, breaks }]);
    } catch (error) {
      // They may have looked all the same; it was not seen.
      if (!isFailedCall(error)) throw error;
      break;
    }
    for (const [index, one] of breaks.entries()) if (healed[index] === true) gone.add(one);
  }
  findings.markHealed(gone);
}

/** A call that was given up; not one that ended with the run. */
function isFailedCall(error: unknown): error is ActivityFailure {
  return error instanceof ActivityFailure && !isCancellation(error);
}

/** The memo that the API reads, and what a person sees in the Temporal UI. */
function tell(findings: Findings, next: string): void {
  const summary = findings.summary();
  upsertMemo({ reconciliation: summary } satisfies ReconcileMemo);
  const { from, to, dry_run, breaks, healed, totals } = summary;
  const lines = [
    `Payments from ${from} to ${to}${dry_run ? ', **dry run**' : ''}`,
    ...totals.map((one) => {
      const paid = (amount: number): string =>
        isCurrency(one.currency) ? formatMoney({ amount, currency: one.currency }) : `${one.currency} ${amount}`;
      return `${one.checkouts} checkouts over ${paid(one.paid_here)}, ${one.charges} charges over ${paid(one.paid_there)}`;
    }),
    `**${breaks} breaks**, ${healed} of them healed`,
    `Next: ${next}`,
  ];
  setCurrentDetails(lines.map((line) => `- ${line}`).join('\n'));
}

function timeOf(at: Instant): string {
  return new Date(at).toISOString();
}
