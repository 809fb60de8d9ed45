import {
  describeRefusal,
  formatMoney,
  instant,
  OWN_KEY_PREFIX,
  refuseRepetition,
  type Currency,
} from '@tillflow/domain';
import type { RequestResult, StoredCheckout } from '@tillflow/temporal';
import { ABANDONED, toRefund, type Refusal, type RefundRequest, type StoredRefund } from '@tillflow/workflows';
import { readAmount, type WrittenAmount } from '../amount.js';
import { findCheckout } from '../checkouts.js';
import { command, EXIT, type Report, UsageError } from '../command.js';
import { checkReason, requester } from '../operator.js';
import { cliSettings } from '../settings.js';
import { utc } from '../text.js';
import { withTemporal } from '../temporal.js';
import { refundDryRun } from './refund-dry-run.js';

/** Longer than one call to the provider and the retrieve before it. */
const WITHIN_MS = 30_000;
const KEY = /^[\x21-\x7e]{1,128}$/;

export const refund = command({
  name: 'refund',
  synopsis: '<id|reference> --key <name> [--amount <amount>] [--reason <text>] [--dry-run]',
  summary: 'Returns money to the customer: by a void where possible, else by a refund.',
  details: [
    '  --key <name>        identifies the refund: the same key again means the same refund, never a second one',
    '  --amount <amount>   in major units with all decimals, 500.00, or with the currency, "THB 500.00". Default: all',
    '                      that is left to refund',
    '  --reason <text>     why; it is kept with the refund',
    '  --dry-run           show what would be refunded',
    '',
    'Exit code 1: the refund was refused, or its outcome is not known yet. In the second case repeat the same command:',
    'the key makes it safe. Repeating it after the refund was made refunds nothing more. A refused refund keeps its key.',
  ],
  takes: 1,
  options: {
    key: { type: 'string' },
    amount: { type: 'string' },
    reason: { type: 'string' },
    'dry-run': { type: 'boolean' },
  },
  async run({ values, positionals: [text = ''], environment }) {
    const { amount: written, ...named } = requestOf(values);
    const settings = cliSettings(environment);
    try {
      return await withTemporal(settings, async ({ checkouts }) => {
        const before = await findCheckout(checkouts, text);
        const amount = written?.smallestUnitsIn(before.intent.currency) ?? null;
        const request: RefundRequest = { ...named, amount };
        if (values['dry-run'] === true) return refundDryRun(before, request, instant(Date.now()));
        const asked = await checkouts.refund(before.intent, request, WITHIN_MS);
        return reportOf(asked, request, before);
      });
    } catch (error) {
      // Even when the checkout could not be read, a wrong amount is reported first. Nothing was requested.
      if (!(error instanceof UsageError)) written?.refuseWholeNumber();
      throw error;
    }
  },
});

type Written = {
  readonly key: string;
  readonly amount: WrittenAmount | null;
  readonly reason: string | null;
  readonly by: string;
  readonly origin: string;
};

function requestOf(values: { readonly key?: string; readonly amount?: string; readonly reason?: string }): Written {
  const { key = '', amount, reason = null } = values;
  if (!KEY.test(key) || key.startsWith(OWN_KEY_PREFIX)) {
    throw new UsageError(`--key must be 1 to 128 visible ASCII characters, and not begin with ${OWN_KEY_PREFIX}`);
  }
  if (reason !== null) checkReason(reason);
  return { key, amount: amount === undefined ? null : readAmount('--amount', amount), reason, ...requester() };
}

function reportOf(asked: RequestResult<StoredRefund>, { key, amount }: RefundRequest, before: StoredCheckout): Report {
  const known = before.refunds.find((entry) => entry.key === key);
  switch (asked.kind) {
    case 'answered':
      return answered(asked.answer, known);
    case 'refused':
      return refused(asked.code, asked.reason);
    case 'closed':
    case 'undecided':
      // For a key that the checkout already had, the request did not call the provider.
      if (known !== undefined) {
        const refusal = refuseRepetition(known, amount);
        if (refusal === null) return answered(known, known);
        return refused(refusal.code, describeRefusal(refusal, known.currency));
      }
      if (asked.kind === 'undecided') return pending({ outcome: 'pending', key }, key);
      return {
        exit: EXIT.finding,
        json: { outcome: 'refused', code: 'checkout_closed', message: 'The checkout has closed' },
        lines: [
          `${before.intent.id} has closed: no refund was requested. Run \`pnpm tillflow show ${before.intent.id}\`.`,
        ],
      };
  }
}

function refused(code: Refusal, message: string): Report {
  return {
    exit: EXIT.finding,
    json: { outcome: 'refused', code, message },
    lines: [`refused (${code}): ${message}. No money was refunded.`],
  };
}

/** @param before the stored refund with this key before this request. */
function answered(entry: StoredRefund, before: StoredRefund | undefined): Report {
  const { status, kind, amount, currency, id, key, created_at: at } = entry;
  const isRepeated = before !== undefined && before.status === status;
  const json = { outcome: status, repeated: isRepeated, refund: toRefund(entry) };
  switch (status) {
    case 'succeeded': {
      const what = `${money(amount, currency)} by a ${kind}, ${id ?? 'unknown id'}, key ${key}`;
      return {
        exit: EXIT.ok,
        json,
        lines: isRepeated
          ? [`already refunded: ${what}, requested at ${utc(at)}. Nothing more was refunded now.`]
          : [`refunded: ${what}`],
      };
    }
    case 'rejected':
      return {
        exit: EXIT.finding,
        json,
        lines: notMade(entry),
      };
    case 'pending':
      return pending(json, key);
    case 'needs_approval':
      return {
        exit: EXIT.finding,
        json,
        lines: [`${money(amount, currency)} needs the approval of another person: \`pnpm tillflow approvals\`.`],
      };
  }
}

function notMade({ failure_code: code, failure_message: message, amount, currency }: StoredRefund): string[] {
  if (code === ABANDONED) {
    return [
      `An operator stopped waiting for this refund of ${money(amount, currency)}. Whether it was made is not known.`,
      "Check the provider's dashboard before you refund with another key.",
    ];
  }
  const why = (message ?? '').replace(/\.$/, '');
  return [
    `refused (${code ?? 'no code'}): ${why}. No money was refunded.`,
    'To try again, use another --key. This key stays with the refund that was not made.',
  ];
}

function pending(json: unknown, key: string): Report {
  return {
    exit: EXIT.finding,
    json,
    lines: [
      `requested, but the outcome is not known yet. Repeat the command with --key ${key} to see it: the refund is made only once.`,
      'If this does not change, run `pnpm tillflow doctor`. When the provider answers again, resolve --look gets the outcome sooner.',
    ],
  };
}

function money(amount: number, currency: Currency): string {
  return formatMoney({ amount, currency });
}
