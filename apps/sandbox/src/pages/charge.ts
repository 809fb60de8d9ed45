import {
  formatMoney,
  isRefundable,
  isVoidable,
  refundableUntil,
  voidableUntil,
  type Instant,
  type Money,
} from '@tillflow/domain';
import { ApiError } from '../http/api-error.js';
import type { FormMap } from '../http/form.js';
import { FAILURE_CODES, FAILURE_MESSAGES, type ChargeRecord } from '../records/records.js';
import { deliverySummary } from './deliveries.js';
import { timeOf } from './layout.js';
import { markup, type Content, type Markup } from './markup.js';
import type { PageContext } from './page-context.js';
import { choice, entered, facts, field, hidden, jsonOf, postForm, short, table, type Column } from './parts.js';

/** One charge: its fields, its timeline and its actions. @param form a refused refund, to show its values again. */
export function chargeParts(context: PageContext, charge: ChargeRecord, form: FormMap): Markup {
  const json = context.render.charge(charge, context.clock.now());
  return markup`<div class="two" id="charge" data-live>
<div class="stack">
<section class="card" aria-labelledby="facts"><h2 id="facts">Details</h2>${factsOf(charge)}</section>
${charge.refunds.length > 0 && refundsOf(charge)}
</div>
<div class="stack">
${charge.status === 'pending' && !context.livemode && markSection(context, charge)}
${charge.paidAt !== null && refundSection(context, charge, charge.paidAt, form)}
${charge.token !== '' && qrSection(charge)}
<section class="card" aria-labelledby="timeline"><h2 id="timeline">Timeline</h2>${timelineOf(context, charge)}</section>
</div></div>
<section class="card" aria-label="JSON">${jsonOf('JSON, as the API returns it', json)}</section>`;
}

function factsOf(charge: ChargeRecord): Markup {
  const money = (amount: number): string => formatMoney({ amount, currency: charge.currency });
  const time = (at: Instant | null): Content => at !== null && timeOf(at);
  const { failureCode, source } = charge;
  return facts([
    ['Charge', markup`<span class="id">${charge.id}</span>`],
    ['Amount', money(charge.amount)],
    ['Status', charge.confirming ? `${charge.status}: the customer is confirming` : charge.status],
    ['Failure', failureCode !== null && markup`<code>${failureCode}</code> ${FAILURE_MESSAGES[failureCode]}`],
    ['Refunded', charge.refundedAmount > 0 && `${money(charge.refundedAmount)}${charge.voided ? ', voided' : ''}`],
    ['Fee', `${money(charge.fee)}, plus ${money(charge.feeVat)} VAT`],
    ['Net', money(charge.amount - charge.fee - charge.feeVat)],
    ['Description', charge.description],
    ...Object.entries(charge.metadata).map(
      ([name, value]) => [`metadata ${name}`, typeof value === 'string' ? value : JSON.stringify(value)] as const,
    ),
    ['Created', time(charge.createdAt)],
    ['Expires', charge.status === 'pending' && time(charge.expiresAt)],
    ['Paid', time(charge.paidAt)],
    ['Expired', time(charge.expiredAt)],
    ['Source', source !== null && markup`<span class="id">${source.id}</span>`],
    ['Source details', source?.details != null && JSON.stringify(source.details)],
    ['Transaction', charge.transactionId !== null && markup`<span class="id">${charge.transactionId}</span>`],
    ['Extra webhook addresses', charge.webhookEndpoints.join(', ')],
    ['Return URI', charge.returnUri],
  ]);
}

function markSection({ assumptions }: PageContext, charge: ChargeRecord): Markup {
  const reasons = FAILURE_CODES.map((code) => [code, `${code}: ${FAILURE_MESSAGES[code]}`] as const);
  const reason = { id: 'failure_code', name: 'failure_code', label: 'Reason', chosen: assumptions.defaultFailureCode };
  return markup`<section class="card" aria-labelledby="actions"><h2 id="actions">Actions</h2><div class="stack">
${postForm(addressOf(charge), markup`<button class="primary" name="status" value="successful">Mark successful</button>`)}
${postForm(
  addressOf(charge),
  markup`<div class="stack">${choice(reason, reasons)}<div><button class="danger" name="status" value="failed">Mark failed</button></div></div>`,
)}</div></section>`;
}

function refundSection(context: PageContext, charge: ChargeRecord, paidAt: Instant, form: FormMap): Markup {
  const now = context.clock.now();
  const rest: Money = { amount: charge.amount - charge.refundedAmount, currency: charge.currency };
  const voidUntil = voidableUntil(paidAt, context.assumptions.voidRule);
  const canVoid = charge.refundedAmount === 0 && isVoidable(paidAt, now, context.assumptions.voidRule);
  const canRefund = rest.amount > 0 && isRefundable(paidAt, now);
  const voidText =
    charge.refundedAmount > 0
      ? 'No void is possible: the charge is already refunded in part or in full.'
      : voidUntil === null
        ? 'No void is possible: the payment came after the day’s void cut-off.'
        : windowOf('Void', canVoid, voidUntil);
  const action = `${addressOf(charge)}/refunds`;
  const amount = {
    id: 'amount',
    name: 'amount',
    label: `Amount in ${charge.currency}`,
    value: entered(form, 'amount', majorUnits(rest.amount)),
    hint: `At most ${formatMoney(rest)}.`,
    required: true,
    more: markup` inputmode="decimal"`,
  };
  return markup`<section class="card" aria-labelledby="refund"><h2 id="refund">Refund</h2><div class="stack">
<p>${rest.amount === 0 ? 'The full amount is refunded.' : windowOf('Refund', canRefund, refundableUntil(paidAt))}</p>
${canRefund && postForm(action, markup`<div class="stack">${field(amount)}<div><button>Refund</button></div></div>`)}
<p>${voidText}</p>
${canVoid && postForm(action, markup`${hidden('void', 'true')}<button class="danger">Void ${formatMoney(rest)}</button>`)}
</div></section>`;
}

function windowOf(name: string, isOpen: boolean, until: Instant): Markup {
  return isOpen
    ? markup`${name} is possible until ${timeOf(until)}.`
    : markup`${name} is no longer possible: the window closed at ${timeOf(until)}.`;
}

function qrSection({ token }: ChargeRecord): Markup {
  return markup`<section class="card" aria-labelledby="qr"><h2 id="qr">QR code</h2>
<p><img class="qr" src="/qr/${token}.svg" width="176" height="176" alt="QR code of the wallet page"></p>
<p><a href="/wallet/${token}">Open the customer’s wallet page</a></p></section>`;
}

function refundsOf(charge: ChargeRecord): Markup {
  const columns: readonly Column[] = ['Refund', 'Created', { label: 'Amount', kind: 'number' }, short('Kind')];
  const rows = charge.refunds.map((refund) => [
    markup`<span class="id">${refund.id}</span>`,
    timeOf(refund.createdAt),
    formatMoney(refund),
    refund.voided ? 'void' : refund.amount === charge.amount ? 'full' : 'partial',
  ]);
  return markup`<section class="card" aria-labelledby="refunds"><h2 id="refunds">Refunds</h2>${table('Refunds', columns, rows)}</section>`;
}

/** The events with the state of their webhooks, then what will happen by time. */
function timelineOf({ provider, assumptions, clock }: PageContext, charge: ChargeRecord): Markup {
  const { eventsOfCharge, deliveriesOfEvent } = provider.records;
  const past = (eventsOfCharge.get(charge.id) ?? []).map(
    ({ id, key, createdAt }) => markup`<li>${timeOf(createdAt)}
${key} ${deliverySummary(deliveriesOfEvent.get(id) ?? [], assumptions.webhookRetriesMs)}</li>`,
  );
  const ahead = (text: string, at: Instant | null): Content =>
    at !== null && at >= clock.now() && markup`<li class="ahead">${timeOf(at)} ${text}</li>`;
  const { paidAt } = charge;
  return markup`<ol class="timeline">${past}
${charge.status === 'pending' && ahead('expires if it is not paid', charge.expiresAt)}
${paidAt !== null && charge.refundedAmount === 0 && ahead('void window closes', voidableUntil(paidAt, assumptions.voidRule))}
${paidAt !== null && charge.refundedAmount < charge.amount && ahead('refund window closes', refundableUntil(paidAt))}</ol>`;
}

function addressOf({ id }: ChargeRecord): string {
  return `/dashboard/charges/${encodeURIComponent(id)}`;
}

/** Digits after the point: two in every currency of the method. Source: ISO 4217. */
const MAJOR_UNITS = /^(\d{1,13})(?:\.(\d{1,2}))?$/;

/** A person's entry such as `1,500.50` in the smallest currency unit. @throws {ApiError} `bad_request`. */
export function readMajorUnits(text: string, name: string): number {
  const [, whole, fraction = ''] = MAJOR_UNITS.exec(text.trim().replaceAll(',', '')) ?? [];
  if (whole === undefined) throw new ApiError('bad_request', `${name} must be an amount such as 12.50.`);
  return Number(whole) * 100 + Number(fraction.padEnd(2, '0'));
}

/** An amount of the smallest currency unit as a person enters it: `1500.50`. */
export function majorUnits(amount: number): string {
  const digits = String(amount).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
