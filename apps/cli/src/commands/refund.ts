import { formatMoney, isPaid, type Currency } from '@tillflow/domain';
import type { Asked, StoredCheckout } from '@tillflow/temporal';
import type { Refund, RefundRequest } from '@tillflow/workflows';
import { findCheckout } from '../checkouts.js';
import { command, type Report } from '../command.js';
import { EXIT, UsageError } from '../exit.js';
import { cliSettings } from '../settings.js';
import { withTemporal } from '../with-temporal.js';

/** As long as a call of the provider's, and the look before it. */
const WITHIN_MS = 30_000;
const KEY = /^[\x21-\x7e]{1,128}$/;
const SMALLEST_UNITS = /^[1-9]\d{0,12}$/;
const MAJOR_UNITS = /^\d{1,11}\.\d{2}$/;

export const refund = command({
  name: 'refund',
  synopsis: '<id|reference> --key <name> [--amount <amount>] [--reason <text>] [--dry-run]',
  summary: 'Gives money back, by a void where that is possible, else by a refund.',
  details: [
    '  --key <name>        names the refund: the same key again is the same refund, never a second one',
    '  --amount <amount>   500.00 in major units, or 50000 in the smallest unit; all that is left when left out',
    '  --reason <text>     kept with the refund, for people',
    '  --dry-run           say what would be given back',
    '',
    '1: refused, or its outcome is not known yet: then repeat the same command, the key makes it safe.',
  ],
  takes: 1,
  options: {
    key: { type: 'string' },
    amount: { type: 'string' },
    reason: { type: 'string' },
    'dry-run': { type: 'boolean' },
  },
  async run({ values, positionals: [text = ''], environment }) {
    const request = requestOf(values);
    return withTemporal(cliSettings(environment), async ({ checkouts }) => {
      const before = await findCheckout(checkouts, text);
      if (values['dry-run'] === true) return wouldRefund(before, request);
      const asked = await checkouts.refund(before.intent, request, WITHIN_MS);
      return told(asked, request, before);
    });
  },
});

function requestOf(values: { readonly key?: string; readonly amount?: string; readonly reason?: string }) {
  const { key = '', amount, reason = null } = values;
  if (!KEY.test(key) || key.startsWith('auto:')) {
    throw new UsageError('--key must be 1 to 128 visible ASCII characters, and not begin with auto:');
  }
  return { key, amount: amount === undefined ? null : smallestUnits(amount), reason } satisfies RefundRequest;
}

/** Every currency of the product has two digits after the point. */
function smallestUnits(text: string): number {
  const amount = MAJOR_UNITS.test(text) ? Number(text.replace('.', '')) : SMALLEST_UNITS.test(text) ? Number(text) : 0;
  if (amount > 0) return amount;
  throw new UsageError('--amount must be 500.00 (major units, two digits after the point) or 50000 (smallest unit)');
}

/** What is left to be given back, as far as is written down, in the smallest unit. */
function leftOf({ intent, state, refunds }: StoredCheckout): number {
  if (!isPaid(state.status)) return 0;
  const underWay = refunds.filter(({ status }) => status === 'pending').reduce((sum, { amount }) => sum + amount, 0);
  return Math.max(0, intent.amount - state.refunded_amount - underWay);
}

function wouldRefund(stored: StoredCheckout, { key, amount, reason }: RefundRequest): Report {
  const { currency, id } = stored.intent;
  const known = stored.refunds.find((entry) => entry.key === key);
  const left = leftOf(stored);
  const wanted = known?.amount ?? amount ?? left;
  const isPossible = known !== undefined || (wanted > 0 && wanted <= left);
  const what =
    known === undefined
      ? `${isPossible ? 'would give back' : 'would be refused: cannot give back'} ${money(wanted, currency)} of ${id}`
      : `nothing to do: the key ${key} is a refund of ${money(known.amount, currency)} already (${known.status})`;
  return {
    exit: isPossible ? EXIT.ok : EXIT.finding,
    json: { dry_run: true, key, amount: wanted, currency, reason, left, possible: isPossible },
    lines: [what, `left to be given back: ${money(left, currency)}`],
  };
}

function told(asked: Asked<Refund>, { key }: RefundRequest, { intent }: StoredCheckout): Report {
  switch (asked.kind) {
    case 'answered':
      return answered(asked.answer);
    case 'refused':
      return {
        exit: EXIT.finding,
        json: { outcome: 'refused', code: asked.code, message: asked.reason },
        lines: [`refused (${asked.code}): ${asked.reason}. No money was given back.`],
      };
    case 'closed':
      return {
        exit: EXIT.finding,
        json: { outcome: 'refused', code: 'checkout_closed', message: 'The checkout has closed' },
        lines: [`${intent.id} has closed: nothing was asked for. pnpm tillflow show ${intent.id}`],
      };
    case 'undecided':
      return pending({ outcome: 'pending', key }, key);
  }
}

function answered(entry: Refund): Report {
  const { status, kind, amount, currency, id, key, failure_code: code, failure_message: message } = entry;
  const json = { outcome: status, refund: entry };
  switch (status) {
    case 'succeeded':
      return {
        exit: EXIT.ok,
        json,
        lines: [`given back: ${money(amount, currency)} by a ${kind}, ${id ?? 'id not known'}, key ${key}`],
      };
    case 'rejected':
      return {
        exit: EXIT.finding,
        json,
        lines: [`the provider refused it (${code ?? 'no code'}): ${message ?? ''}. No money was given back.`],
      };
    case 'pending':
      return pending(json, key);
  }
}

function pending(json: unknown, key: string): Report {
  return {
    exit: EXIT.finding,
    json,
    lines: [`asked for; its outcome is not known yet. Repeat with --key ${key} to learn it: it is made once.`],
  };
}

function money(amount: number, currency: Currency): string {
  return formatMoney({ amount, currency });
}
