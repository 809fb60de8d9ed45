import { formatMoney } from '@tillflow/domain';
import { renderSVG } from 'uqr';
import { ApiError } from '../http/api-error.js';
import { choiceOf, required } from '../http/params.js';
import { FAILURE_CODES, FAILURE_MESSAGES, type ChargeRecord, type FailureCode } from '../records/records.js';
import { timeOf, walletPage } from './layout.js';
import { markup, type Content, type Markup } from './markup.js';
import type { PageContext } from './page-context.js';
import { choice, facts, postForm } from './parts.js';
import type { PageAnswer } from './answer.js';

const REASONS: Readonly<Record<FailureCode, string>> = {
  payment_rejected: 'Refused by me or my bank',
  insufficient_fund: 'Not enough money, or over my limit',
  payment_expired: 'I took too long',
  failed_processing: 'Something went wrong',
};

/** The QR code, and the wallet page that it opens on the customer's phone. Anyone who has the token may pay. */
export function walletRoutes({ get, getFromAnywhere, post, provider, render, assumptions }: PageContext): void {
  const chargeOf = (token: string): ChargeRecord => {
    const id = provider.records.tokens.get(token);
    if (id === undefined) throw new ApiError('not_found', 'No payment has this code.');
    return provider.payments.charge(id);
  };
  const page = (charge: ChargeRecord, refusal: Refusal | null = null): PageAnswer =>
    walletPage(
      charge.status === 'pending' ? `Pay ${formatMoney(charge)}` : RESULTS[charge.status].title,
      markup`<div class="phone" id="payment" data-live aria-live="polite">${refusal?.message != null && markup`<p class="note bad" role="alert">${refusal.message}</p>`}
${charge.status === 'pending' ? askOf(charge, assumptions.defaultFailureCode) : resultOf(charge, charge.status)}</div>`,
      refusal?.status ?? 200,
    );

  getFromAnywhere('/qr/{file}', ({ id }) => {
    const charge = chargeOf(id.endsWith('.svg') ? id.slice(0, -4) : '');
    return { kind: 'svg', status: 200, body: renderSVG(render.walletUrl(charge), { ecc: 'M', border: 4 }) };
  });

  get('/wallet/{token}', ({ id }) => page(chargeOf(id)));
  post('/wallet/{token}', ({ id, form }) => {
    const decision = required(choiceOf(form, 'decision', ['review', 'back', 'confirm', 'refuse']), 'decision');
    const failureCode = choiceOf(form, 'reason', FAILURE_CODES) ?? assumptions.defaultFailureCode;
    const charge = chargeOf(id);
    if (charge.status !== 'pending') return page(charge, lateOf(charge.status, decision));
    if (decision === 'review' || decision === 'back') provider.payments.review(charge.id, decision === 'review');
    else if (decision === 'confirm') provider.payments.settle(charge.id, { status: 'successful' });
    else provider.payments.settle(charge.id, { status: 'failed', failureCode });
    // Relative, so that it also works behind a proxy that adds a path.
    return { kind: 'redirect', location: `./${encodeURIComponent(id)}` };
  });
}

type Status = ChargeRecord['status'];
type Refusal = { readonly status: number; readonly message: string | null };

const RESULTS: Readonly<
  Record<Exclude<Status, 'pending'>, { title: string; sign: string; kind: string; text: string }>
> = {
  successful: { title: 'Paid', sign: '✓', kind: 'good', text: 'The shop knows that you paid.' },
  failed: { title: 'Payment failed', sign: '✕', kind: 'bad', text: 'You did not pay anything.' },
  expired: {
    title: 'This code has expired',
    sign: '–',
    kind: 'none',
    text: 'You did not pay anything. Ask the shop for a new code.',
  },
};

/** The charge was no longer pending. A second press of the same button shows the result without a message. */
function lateOf(status: Exclude<Status, 'pending'>, decision: string): Refusal {
  const isRepeated =
    (decision === 'confirm' && status === 'successful') || (decision === 'refuse' && status === 'failed');
  const why = {
    successful: 'This payment is already made.',
    failed: 'This payment has already failed.',
    expired: 'This code has already expired.',
  }[status];
  return { status: 409, message: isRepeated ? null : `${why} Nothing changed.` };
}

function askOf(charge: ChargeRecord, usualReason: FailureCode): Markup {
  const reasons = FAILURE_CODES.map((code) => [code, REASONS[code]] as const);
  return markup`<span class="mark" aria-hidden="true">${merchantOf(charge).slice(0, 1)}</span>
<h1>Pay ${merchantOf(charge)}</h1>
<p class="amount">${formatMoney(charge)}</p>
${facts([...purposeOf(charge), ['Valid until', timeOf(charge.expiresAt)]])}
${charge.confirming && markup`<p class="note news" role="status">You are reviewing the payment. The shop cannot cancel it now.</p>`}
${postForm(null, markup`<button class="primary" name="decision" value="confirm">Confirm payment</button>`)}
${
  charge.confirming
    ? postForm(null, markup`<button name="decision" value="back">Go back</button>`)
    : postForm(
        null,
        markup`<button name="decision" value="review" aria-describedby="review-hint">Review first</button>
<p class="hint" id="review-hint">While you review, the shop cannot cancel the payment.</p>`,
      )
}
${postForm(
  null,
  markup`<div class="refuse">${choice({ id: 'reason', name: 'reason', label: 'Reason for refusing', chosen: usualReason }, reasons)}
<button class="danger" name="decision" value="refuse">Refuse</button></div>`,
)}`;
}

function resultOf(charge: ChargeRecord, status: Exclude<Status, 'pending'>): Markup {
  const { title, sign, kind, text } = RESULTS[status];
  const { failureCode, refundedAmount, currency } = charge;
  return markup`<span class="mark ${kind}" aria-hidden="true">${sign}</span>
<h1 tabindex="-1" autofocus>${title}</h1>
<p class="amount">${formatMoney(charge)}</p>
<p>${failureCode !== null && `${FAILURE_MESSAGES[failureCode]} `}${text}</p>
${facts([
  ['To', merchantOf(charge)],
  ...purposeOf(charge),
  ['Paid', charge.paidAt !== null && timeOf(charge.paidAt)],
  ['Expired', charge.expiredAt !== null && timeOf(charge.expiredAt)],
  ['Refunded', refundedAmount > 0 && formatMoney({ amount: refundedAmount, currency })],
])}`;
}

function purposeOf(charge: ChargeRecord): (readonly [string, Content])[] {
  return [
    ['For', charge.description],
    ['Payment number', markup`<span class="id">${charge.id}</span>`],
  ];
}

/** The source's `store_name`. Source: API reference, "POST /sources body". */
function merchantOf({ source }: ChargeRecord): string {
  const name = source?.details?.['store_name'];
  return typeof name === 'string' && name !== '' ? name : 'Sandbox Shop';
}
