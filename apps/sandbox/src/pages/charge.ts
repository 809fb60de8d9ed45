import {
  formatMoney,
  isRefundable,
  isVoidable,
  refundableUntil,
  voidableUntil,
  type Instant,
  type Money,
} from '@tillflow/domain';
import type { FormMap } from '../http/form.js';
import { FAILURE_CODES, FAILURE_MESSAGES, type ChargeRecord } from '../records/records.js';
import { summaryOf, waysOf } from './deliveries.js';
import type { Desk } from './desk.js';
import { timeOf } from './layout.js';
import { majorUnits } from './major-units.js';
import { markup, type Content, type Markup } from './markup.js';
import { choice, entered, facts, field, hidden, jsonOf, postForm, short, table, type Column } from './parts.js';

/** One charge: what it is, what happened to it and will, and what may be done with it. @param form a refused refund. */
export function chargeParts(desk: Desk, charge: ChargeRecord, form: FormMap): Markup {
  const json = desk.render.charge(charge, desk.clock.now());
  return markup`<div class="two" id="charge" data-live>
<div class="stack">
<section class="card" aria-labelledby="facts"><h2 id="facts">Facts</h2>${factsOf(charge)}</section>
${charge.refunds.length > 0 && refundsOf(charge)}
</div>
<div class="stack">
${charge.status === 'pending' && !desk.livemode && markSection(desk, charge)}
${charge.paidAt !== null && refundSection(desk, charge, charge.paidAt, form)}
${charge.token !== '' && qrSection(charge)}
<section class="card" aria-labelledby="timeline"><h2 id="timeline">Timeline</h2>${timelineOf(desk, charge)}</section>
</div></div>
<section class="card" aria-label="JSON">${jsonOf('As the API shows it', json)}</section>`;
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
    ['Fee', `${money(charge.fee)}, and ${money(charge.feeVat)} VAT on it`],
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
    ['Webhooks also to', charge.webhookEndpoints.join(', ')],
    ['Return address', charge.returnUri],
  ]);
}

function markSection({ assumptions }: Desk, charge: ChargeRecord): Markup {
  const reasons = FAILURE_CODES.map((code) => [code, `${code}: ${FAILURE_MESSAGES[code]}`] as const);
  const reason = { id: 'failure_code', name: 'failure_code', label: 'Reason', chosen: assumptions.defaultFailureCode };
  return markup`<section class="card" aria-labelledby="actions"><h2 id="actions">Actions</h2><div class="stack">
${postForm(addressOf(charge), markup`<button class="primary" name="status" value="successful">Mark successful</button>`)}
${postForm(
  addressOf(charge),
  markup`<div class="stack">${choice(reason, reasons)}<div><button class="danger" name="status" value="failed">Mark failed</button></div></div>`,
)}</div></section>`;
}

function refundSection(desk: Desk, charge: ChargeRecord, paidAt: Instant, form: FormMap): Markup {
  const now = desk.clock.now();
  const rest: Money = { amount: charge.amount - charge.refundedAmount, currency: charge.currency };
  const voidUntil = voidableUntil(paidAt, desk.assumptions.voidRule);
  const canVoid = charge.refundedAmount === 0 && isVoidable(paidAt, now, desk.assumptions.voidRule);
  const canRefund = rest.amount > 0 && isRefundable(paidAt, now);
  const voidText =
    charge.refundedAmount > 0
      ? 'No void: something was refunded already.'
      : voidUntil === null
        ? 'No void: the payment came after the hour until which one is possible.'
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
<p>${rest.amount === 0 ? 'Nothing is left to refund.' : windowOf('Refund', canRefund, refundableUntil(paidAt))}</p>
${canRefund && postForm(action, markup`<div class="stack">${field(amount)}<div><button>Refund</button></div></div>`)}
<p>${voidText}</p>
${canVoid && postForm(action, markup`${hidden('void', 'true')}<button class="danger">Void ${formatMoney(rest)}</button>`)}
</div></section>`;
}

/** Until when it may be done, or since when no longer. */
function windowOf(name: string, isOpen: boolean, until: Instant): Markup {
  return isOpen
    ? markup`${name} possible until ${timeOf(until)}.`
    : markup`${name} no longer possible: the window closed at ${timeOf(until)}.`;
}

function qrSection({ token }: ChargeRecord): Markup {
  return markup`<section class="card" aria-labelledby="qr"><h2 id="qr">QR code</h2>
<p><img class="qr" src="/qr/${token}.svg" width="176" height="176" alt="QR code of the wallet page"></p>
<p><a href="/wallet/${token}">Open the customer’s wallet</a></p></section>`;
}

function refundsOf(charge: ChargeRecord): Markup {
  const columns: readonly Column[] = ['Refund', 'Made', { label: 'Amount', kind: 'number' }, short('Kind')];
  const rows = charge.refunds.map((refund) => [
    markup`<span class="id">${refund.id}</span>`,
    timeOf(refund.createdAt),
    formatMoney(refund),
    refund.voided ? 'void' : refund.amount === charge.amount ? 'full' : 'partial',
  ]);
  return markup`<section class="card" aria-labelledby="refunds"><h2 id="refunds">Refunds</h2>${table('Refunds', columns, rows)}</section>`;
}

/** Its events with what became of their webhooks, and what is ahead of it. */
function timelineOf({ provider, assumptions, clock }: Desk, charge: ChargeRecord): Markup {
  const { eventsOfCharge, deliveriesOfEvent } = provider.books;
  const past = (eventsOfCharge.get(charge.id) ?? []).map(
    ({ id, key, createdAt }) => markup`<li>${timeOf(createdAt)}
<a href="/dashboard/events/${id}">${key}</a> ${summaryOf(waysOf(deliveriesOfEvent.get(id) ?? [], assumptions))}</li>`,
  );
  const ahead = (text: string, at: Instant | null): Content =>
    at !== null && at >= clock.now() && markup`<li class="ahead">${timeOf(at)} ${text}</li>`;
  const { paidAt } = charge;
  return markup`<ol class="timeline">${past}
${charge.status === 'pending' && ahead('expires when nobody pays', charge.expiresAt)}
${paidAt !== null && charge.refundedAmount === 0 && ahead('void window closes', voidableUntil(paidAt, assumptions.voidRule))}
${paidAt !== null && charge.refundedAmount < charge.amount && ahead('refund window closes', refundableUntil(paidAt))}</ol>`;
}

function addressOf({ id }: ChargeRecord): string {
  return `/dashboard/charges/${encodeURIComponent(id)}`;
}
