import {
  formatInstant,
  formatMoney,
  instant,
  leftToRefund,
  OWN_KEY_PREFIX,
  refuseRefund,
  type Currency,
} from '@tillflow/domain';
import type { Asked, StoredCheckout } from '@tillflow/temporal';
import {
  isSameRefund,
  refundablePayment,
  toRefund,
  type Refusal,
  type RefundRequest,
  type StoredRefund,
} from '@tillflow/workflows';
import { readAmount, type WrittenAmount } from '../amount.js';
import { findCheckout } from '../checkouts.js';
import { command, type Report } from '../command.js';
import { EXIT, UsageError } from '../exit.js';
import { operator } from '../operator.js';
import { checkReason } from '../reason.js';
import { cliSettings } from '../settings.js';
import { utc } from '../text.js';
import { withTemporal } from '../with-temporal.js';

/** As long as a call of the provider's, and the look before it. */
const WITHIN_MS = 30_000;
/** What the workflow says of a refund that `resolve --abandon` has given up. */
const ABANDONED = 'abandoned';
const KEY = /^[\x21-\x7e]{1,128}$/;

export const refund = command({
  name: 'refund',
  synopsis: '<id|reference> --key <name> [--amount <amount>] [--reason <text>] [--dry-run]',
  summary: 'Gives money back, by a void where that is possible, else by a refund.',
  details: [
    '  --key <name>        names the refund: the same key again is the same refund, never a second one',
    '  --amount <amount>   in major units with all decimals, 500.00, or with the currency, "THB 500.00"; left out, it is',
    '                      all that is left',
    '  --reason <text>     kept with the refund, for people',
    '  --dry-run           say what would be given back',
    '',
    '1: refused, or its outcome is not known yet: then repeat the same command, the key makes it safe. Repeated after it',
    'was made it gives nothing more, and says so; one that was refused keeps its key.',
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
        if (values['dry-run'] === true) return wouldRefund(before, request);
        const asked = await checkouts.refund(before.intent, request, WITHIN_MS);
        return told(asked, request, before);
      });
    } catch (error) {
      // Where the checkout could not be read, the amount is still the first thing to correct; nothing was asked for.
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
};

function requestOf(values: { readonly key?: string; readonly amount?: string; readonly reason?: string }): Written {
  const { key = '', amount, reason = null } = values;
  if (!KEY.test(key) || key.startsWith(OWN_KEY_PREFIX)) {
    throw new UsageError(`--key must be 1 to 128 visible ASCII characters, and not begin with ${OWN_KEY_PREFIX}`);
  }
  if (reason !== null) checkReason(reason);
  return { key, amount: amount === undefined ? null : readAmount('--amount', amount), reason, by: operator() };
}

function wouldRefund(stored: StoredCheckout, request: RefundRequest): Report {
  const { key, amount, reason } = request;
  const { currency, id } = stored.intent;
  const known = refundOf(stored, key);
  const left = leftToRefund(refundablePayment(stored));
  const wanted = known?.amount ?? amount ?? left;
  const obstacle = obstacleTo(stored, request);
  const what =
    obstacle !== null
      ? `would be refused: cannot give back ${money(amount ?? wanted, currency)} of ${id}: ${obstacle}`
      : known === undefined
        ? `would give back ${money(wanted, currency)} of ${id}`
        : `nothing to do: the key ${key} is a refund of ${money(known.amount, currency)} already (${known.status})`;
  return {
    exit: obstacle === null ? EXIT.ok : EXIT.finding,
    json: { dry_run: true, key, amount: wanted, currency, reason, left, possible: obstacle === null },
    lines: [what, `left to be given back: ${money(left, currency)}`],
  };
}

/** Why the refund would be refused, as far as the checkout is published; null where nothing speaks against it. */
function obstacleTo(stored: StoredCheckout, { key, amount }: RefundRequest): string | null {
  const { state, closed, intent } = stored;
  const known = refundOf(stored, key);
  if (known !== undefined && !isSameRefund(known, amount)) {
    return `the key ${key} is a refund of ${money(known.amount, known.currency)}`;
  }
  if (known !== undefined)
    return known.status === 'rejected' ? `the key ${key} is of a refund that was not made` : null;
  if (closed) return 'the checkout has closed';
  const refusal = refuseRefund(refundablePayment(stored), amount, instant(Date.now()));
  switch (refusal?.code) {
    case undefined:
      return null;
    case 'not_paid':
      return `it is ${state.status}`;
    case 'refund_window_closed':
      return `it could be refunded until ${formatInstant(refusal.until)}`;
    case 'refund_exceeds_paid':
      return `${money(refusal.left, intent.currency)} are left`;
  }
}

function refundOf({ refunds }: StoredCheckout, key: string): StoredRefund | undefined {
  return refunds.find((entry) => entry.key === key);
}

function told(asked: Asked<StoredRefund>, { key, amount }: RefundRequest, before: StoredCheckout): Report {
  const known = refundOf(before, key);
  switch (asked.kind) {
    case 'answered':
      return answered(asked.answer, known);
    case 'refused':
      return refused(asked.code, asked.reason);
    case 'closed':
    case 'undecided':
      // Nothing was sent for a key that was written down already.
      if (known !== undefined && isSameRefund(known, amount)) return answered(known, known);
      if (known !== undefined) {
        const what = `The key ${key} is a refund of ${money(known.amount, known.currency)}`;
        return refused('idempotency_conflict', what);
      }
      if (asked.kind === 'undecided') return pending({ outcome: 'pending', key }, key);
      return {
        exit: EXIT.finding,
        json: { outcome: 'refused', code: 'checkout_closed', message: 'The checkout has closed' },
        lines: [`${before.intent.id} has closed: nothing was asked for. pnpm tillflow show ${before.intent.id}`],
      };
  }
}

function refused(code: Refusal, message: string): Report {
  return {
    exit: EXIT.finding,
    json: { outcome: 'refused', code, message },
    lines: [`refused (${code}): ${message}. No money was given back now.`],
  };
}

/** @param before what was written down under this key before it was asked for. */
function answered(entry: StoredRefund, before: StoredRefund | undefined): Report {
  const { status, kind, amount, currency, id, key, created_at: at } = entry;
  const isRepeated = before !== undefined && before.status === status;
  const json = { outcome: status, repeated: isRepeated, refund: toRefund(entry) };
  switch (status) {
    case 'succeeded': {
      const what = `${money(amount, currency)} by a ${kind}, ${id ?? 'id not known'}, key ${key}`;
      return {
        exit: EXIT.ok,
        json,
        lines: isRepeated
          ? [`given back already: ${what}, asked for at ${utc(at)}. Nothing more was given back now.`]
          : [`given back: ${what}`],
      };
    }
    case 'rejected':
      return {
        exit: EXIT.finding,
        json,
        lines: [...notMade(entry), 'The key is spent: to try again, take another --key.'],
      };
    case 'pending':
      return pending(json, key);
  }
}

function notMade({ failure_code: code, failure_message: message, amount, currency }: StoredRefund): string[] {
  if (code === ABANDONED) {
    return [
      `an operator has stopped waiting for this refund of ${money(amount, currency)}: whether it was made is not known.`,
      "See the provider's dashboard before anything is given back under another key.",
    ];
  }
  const why = (message ?? '').replace(/\.$/, '');
  return [`refused (${code ?? 'no code'}): ${why}. No money was given back.`];
}

function pending(json: unknown, key: string): Report {
  return {
    exit: EXIT.finding,
    json,
    lines: [
      `asked for; its outcome is not known yet. Repeat with --key ${key} to learn it: it is made once.`,
      'If it stays so: pnpm tillflow doctor. Once the provider answers again, resolve --look hurries it.',
    ],
  };
}

function money(amount: number, currency: Currency): string {
  return formatMoney({ amount, currency });
}
