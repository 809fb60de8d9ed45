import { formatMoney } from '@tillflow/domain';
import type { Checkouts, RequestResult, StoredCheckout } from '@tillflow/temporal';
import { toRefund, type Refund, type RefundDecision, type StoredRefund } from '@tillflow/workflows';
import { cannotBeRead, findCheckout } from '../checkouts.js';
import { command, EXIT, type Report, UnreachableError, UsageError } from '../command.js';
import { checkReason, requester } from '../operator.js';
import { cliSettings } from '../settings.js';
import { withTemporal } from '../temporal.js';
import { columns, utc } from '../text.js';
import { readCheckouts } from './list.js';

/** An approved refund is made before the answer. */
const WITHIN_MS = 30_000;
const MOST = 10_000;

export const approvals = command({
  name: 'approvals',
  synopsis: '[(--approve | --reject) <id|reference> --key <name> [--reason <text>] [--dry-run]]',
  summary: 'Lists refunds that wait for a second person, and approves or rejects one.',
  details: [
    '  --approve <checkout>  let a refund of this checkout go ahead',
    '  --reject <checkout>   end a refund of this checkout: no money moves',
    '  --key <name>          the key of the refund, as the list shows it',
    '  --reason <text>       why; it is kept in the timeline',
    '  --dry-run             show what would be decided',
    '',
    'A refund waits when the refunds of one checkout by one key add up to more than the refund_limit of that key in',
    'KEYS_FILE. After 24 hours it is rejected. Exit code 1: an approved refund was not made, or its outcome is not known yet.',
  ],
  takes: 0,
  options: {
    approve: { type: 'string' },
    reject: { type: 'string' },
    key: { type: 'string' },
    reason: { type: 'string' },
    'dry-run': { type: 'boolean' },
  },
  async run({ values: { approve, reject, key, reason, 'dry-run': dryRun = false }, environment }) {
    if (approve !== undefined && reject !== undefined) throw new UsageError('Give --approve or --reject, not both');
    const name = approve ?? reject;
    if (name === undefined && (key ?? reason) !== undefined) throw new UsageError('--key needs --approve or --reject');
    if (name !== undefined && key === undefined) throw new UsageError('--key must name the refund');
    if (reason !== undefined) checkReason(reason);
    return withTemporal(cliSettings(environment), async ({ checkouts }) => {
      if (name === undefined || key === undefined) return listed(checkouts);
      const found = await findCheckout(checkouts, name);
      const { intent } = found;
      const decision = approve === undefined ? 'reject' : 'approve';
      if (dryRun) return dryRunOf(found, key, decision);
      const request: RefundDecision = { key, decision, reason: reason ?? null, ...requester() };
      return reportOf(await checkouts.decideRefund(intent, request, WITHIN_MS), decision, intent.reference);
    });
  },
});

type Waiting = Refund & { readonly checkout: string; readonly reference: string };

async function listed(checkouts: Checkouts): Promise<Report> {
  // A checkout whose refund waits has an attention, though perhaps a more serious one.
  const found = await readCheckouts(checkouts, { attention: true }, MOST);
  const waiting = found.checkouts.flatMap(waitingOf);
  const rows = waiting.map(({ reference, key, amount, currency, requested_by: by, approval_until: until, reason }) => [
    reference,
    key,
    formatMoney({ amount, currency }),
    by ?? 'unknown',
    until === null ? '' : utc(until),
    reason ?? '',
  ]);
  return {
    exit: EXIT.ok,
    json: { data: waiting, more: found.more, unreadable: found.unreadable },
    lines: [
      ...(rows.length === 0
        ? ['No refund waits for approval.']
        : columns([['REFERENCE', 'KEY', 'AMOUNT', 'REQUESTED BY', 'UNTIL', 'REASON'], ...rows])),
      ...(found.more ? [`… and more: only the first ${MOST} checkouts that need attention were read`] : []),
      ...found.unreadable.map(cannotBeRead),
    ],
  };
}

/** A closed checkout may have a refund that no one decided about: nothing waits there. */
function waitingOf({ intent, refunds, closed }: StoredCheckout): readonly Waiting[] {
  if (closed) return [];
  return refunds
    .filter(({ status }) => status === 'needs_approval')
    .map((refund) => Object.assign({ checkout: intent.id, reference: intent.reference }, toRefund(refund)));
}

function dryRunOf(found: StoredCheckout, key: string, decision: RefundDecision['decision']): Report {
  const { reference } = found.intent;
  const refund = waitingOf(found).find((one) => one.key === key);
  if (refund === undefined)
    return {
      exit: EXIT.finding,
      json: { dry_run: true, outcome: 'closed' },
      lines: [`No refund of ${reference} with this key waits for approval.`],
    };
  return {
    exit: EXIT.ok,
    json: { dry_run: true, decision, refund },
    lines: [`would: ${decision} the refund of ${formatMoney(refund)} of ${reference}`],
  };
}

function reportOf(asked: RequestResult<StoredRefund>, decision: RefundDecision['decision'], reference: string): Report {
  switch (asked.kind) {
    case 'answered': {
      const { status, amount, currency, failure_code: code } = asked.answer;
      const why = code === null ? '' : ` (${code})`;
      return {
        exit: status === (decision === 'approve' ? 'succeeded' : 'rejected') ? EXIT.ok : EXIT.finding,
        json: { outcome: status, refund: toRefund(asked.answer) },
        lines: [`The refund of ${formatMoney({ amount, currency })} of ${reference} is ${status}${why}.`],
      };
    }
    case 'refused':
      return {
        exit: EXIT.finding,
        json: { outcome: 'refused', code: asked.code, message: asked.reason },
        lines: [`refused (${asked.code}): ${asked.reason}`],
      };
    case 'closed':
      return { exit: EXIT.finding, json: { outcome: 'closed' }, lines: [`${reference} has closed: no refund waits.`] };
    case 'undecided':
      throw new UnreachableError(
        `No worker answered in time. An approved refund may be under way: \`pnpm tillflow show ${reference}\` shows it. The same command again is safe.`,
      );
  }
}
