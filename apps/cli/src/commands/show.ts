import { checkoutWorkflowId, formatMoney, minorUnitDecimals, type Currency } from '@tillflow/domain';
import type { StoredCheckout } from '@tillflow/temporal';
import { toCheckout, toRefund } from '@tillflow/workflows';
import { adviceOn } from '../attention-guide.js';
import { checkoutJson, findByAnyName } from '../checkouts.js';
import { command, EXIT } from '../command.js';
import { cliSettings } from '../settings.js';
import { ago, columns, utc } from '../text.js';
import { withTemporal } from '../temporal.js';

export const show = command({
  name: 'show',
  synopsis: '<id|reference>',
  summary: 'Shows one checkout: state, attempts, refunds, timeline, and what to do when it needs a person.',
  details: [
    "Also finds a payment by any reference on the customer's slip.",
    'Needs no worker: it reads the last state that the workflow stored.',
  ],
  takes: 1,
  options: {},
  async run({ positionals: [text = ''], environment }) {
    const stored = await withTemporal(cliSettings(environment), ({ checkouts }) => findByAnyName(checkouts, text));
    const { refunds, timeline } = stored;
    return {
      exit: EXIT.ok,
      json: { ...checkoutJson(stored), refunds: refunds.map(toRefund), timeline },
      lines: describe(stored),
    };
  },
});

function describe(stored: StoredCheckout): string[] {
  return [
    ...columns(head(stored).map(([name, value]) => [name, value])),
    ...section('Attempts', attempts(stored)),
    ...section('Refunds', refunds(stored)),
    ...section(
      'Timeline',
      stored.timeline.map(({ at, what, detail, by }) => [utc(at), what, phrase(detail, byWhom(by))]),
    ),
  ];
}

function head(stored: StoredCheckout): (readonly [string, string])[] {
  const { intent, state, closed } = stored;
  const { currency } = intent;
  const { attention } = state;
  const optional: (readonly [string, string | null])[] = [
    ['description', intent.description],
    ['store', phrase(intent.store?.id, intent.store?.name)],
    ['terminal', intent.terminal],
    ['paid', state.paid_at === null ? null : utc(state.paid_at)],
    ...paymentLines(stored),
    ['refunded', state.refunded_amount === 0 ? null : money(state.refunded_amount, currency)],
    ['void until', state.voidable_until === null ? null : utc(state.voidable_until)],
    ['refund until', state.refundable_until === null ? null : utc(state.refundable_until)],
    ['QR until', state.qr === null ? null : utc(state.qr.expires_at)],
    ...(attention === null
      ? []
      : ([
          ['attention', `${attention.code} for ${ago(attention.since, Date.now())}: ${attention.detail}`],
          ['  means', adviceOn(attention.code).means],
          ['  to do', adviceOn(attention.code).remedy],
        ] as const)),
  ];
  return [
    ['checkout', intent.id],
    ['reference', intent.reference],
    ['status', `${state.status}${closed ? ', closed' : ''}`],
    ['amount', formatMoney(intent)],
    ...optional.flatMap(([name, value]) => (value === null || value === '' ? [] : ([[name, value]] as const))),
    ['created', utc(intent.created_at)],
    ['updated', utc(state.updated_at)],
    ['workflow', checkoutWorkflowId(intent)],
  ];
}

function paymentLines({ intent, state, timeline }: StoredCheckout): (readonly [string, string | null])[] {
  const { payment } = toCheckout(intent, state, timeline);
  if (payment === null) return [];
  const { fee, fee_vat: vat, net, transferable_at: payout, references } = payment;
  const { customer_amount: amount, customer_currency: paidIn, customer_exchange_rate: rate } = payment;
  const inOurs = (value: number | null): string | null => (value === null ? null : money(value, intent.currency));
  return [
    [
      'customer paid',
      amount === null || paidIn === null
        ? null
        : phrase(inAnyCurrency(amount, paidIn), rate === null ? null : `rate ${rate}`),
    ],
    ['fee', phrase(inOurs(fee), vat === null ? null : `VAT ${inOurs(vat)}`)],
    ['net', inOurs(net)],
    ['paid out from', payout === null ? null : utc(payout)],
    ['slip', phrase(...Object.values(references))],
  ];
}

function attempts({ state }: StoredCheckout): string[][] {
  return state.attempts.map(({ number, status, charge_id: charge, failure_code: code, failure_message: message }) => [
    String(number),
    status,
    charge ?? 'no charge yet',
    code === null ? '' : `${code}: ${message ?? ''}`,
  ]);
}

function refunds({ refunds: all }: StoredCheckout): string[][] {
  return all.map(
    ({
      kind,
      status,
      amount,
      currency,
      id,
      key,
      reason,
      failure_code: code,
      requested_by: by,
      approved_by: approver,
    }) => [
      kind,
      status,
      money(amount, currency),
      id ?? 'no id yet',
      `key ${key}`,
      phrase(byWhom(by), approver === undefined ? undefined : `approved by ${approver}`, reason, code),
    ],
  );
}

function byWhom(by: string | undefined): string | undefined {
  return by === undefined ? undefined : `by ${by}`;
}

function phrase(...parts: readonly (string | null | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== null && part !== '').join(', ');
}

function money(amount: number, currency: Currency): string {
  return formatMoney({ amount, currency });
}

/** @param currency ISO 4217, also one that Tillflow does not sell in */
function inAnyCurrency(amount: number, currency: string): string {
  const decimals = minorUnitDecimals(currency);
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return `${currency} ${new Intl.NumberFormat('en', digits).format(amount / 10 ** decimals)}`;
}

function section(title: string, rows: readonly (readonly string[])[]): string[] {
  return rows.length === 0 ? [] : ['', title, ...columns(rows).map((row) => `  ${row}`)];
}
