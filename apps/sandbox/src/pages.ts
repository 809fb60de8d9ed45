import { formatInstant, formatMoney, instant } from '@tillflow/domain';
import { renderSVG } from 'uqr';
import { ApiError } from './api-error.js';
import type { Assumptions } from './assumptions.js';
import type { Clock } from './clock.js';
import type { FormMap } from './form.js';
import { choiceOf, integerOf, required, textOf } from './params.js';
import type { Provider } from './provider.js';
import type { ChargeRecord } from './records.js';
import type { Renderer } from './render.js';
import { Router } from './router.js';

/** What a browser gets: a page, an image, or the way to another page. */
export type PageAnswer =
  | { readonly kind: 'html' | 'svg'; readonly status: number; readonly body: string }
  | { readonly kind: 'redirect'; readonly location: string };

export type PageRoute = (call: { readonly id: string; readonly form: FormMap; readonly query: FormMap }) => PageAnswer;

export type PagesOptions = {
  readonly provider: Provider;
  readonly render: Renderer;
  readonly clock: Clock;
  readonly assumptions: Assumptions;
};

const ROWS_PER_PAGE = 50;

/** The QR image, the customer's wallet and the merchant's dashboard: open without a key, as their addresses are shown to people. */
export function pageRoutes({ provider, render, clock, assumptions }: PagesOptions): Router<PageRoute> {
  const chargeOf = (token: string): ChargeRecord => {
    const id = provider.books.tokens.get(token);
    if (id === undefined) throw new ApiError('not_found', 'This code belongs to no payment.');
    return provider.charge(id);
  };
  const decide = (id: string, decision: 'paid' | 'refused') =>
    provider.settle(
      id,
      decision === 'paid'
        ? { status: 'successful' }
        : { status: 'failed', failureCode: assumptions.defaultFailureCode },
    );

  const router = new Router<PageRoute>();
  router.add('GET', '/', () => ({ kind: 'redirect', location: '/dashboard' }));

  router.add('GET', '/qr/{file}', ({ id }) => {
    const charge = chargeOf(id.endsWith('.svg') ? id.slice(0, -4) : '');
    return { kind: 'svg', status: 200, body: renderSVG(render.walletUrl(charge), { ecc: 'M', border: 4 }) };
  });

  router.add('GET', '/wallet/{token}', ({ id }) => html('Wallet', walletOf(chargeOf(id))));
  router.add('POST', '/wallet/{token}', ({ id, form }) => {
    const decision = required(choiceOf(form, 'decision', ['confirm', 'refuse']), 'decision');
    const charge = chargeOf(id);
    if (charge.status !== 'pending') return html('Wallet', walletOf(charge), 409);
    decide(charge.id, decision === 'confirm' ? 'paid' : 'refused');
    return { kind: 'redirect', location: `/wallet/${id}` };
  });

  router.add('GET', '/dashboard', ({ query }) => {
    const offset = Math.max(0, integerOf(query, 'offset') ?? 0);
    const { rows, total } = provider.books.charges.page({
      from: instant(0),
      to: clock.now(),
      offset,
      limit: ROWS_PER_PAGE,
      order: 'reverse_chronological',
    });
    return html('Dashboard', dashboardOf(rows, offset, total));
  });
  router.add('POST', '/dashboard/charges/{id}', ({ id, form }) => {
    const status = required(choiceOf(form, 'status', ['successful', 'failed']), 'status');
    const offset = textOf(form, 'offset') ?? '0';
    decide(id, status === 'successful' ? 'paid' : 'refused');
    return { kind: 'redirect', location: `/dashboard?offset=${encodeURIComponent(offset)}` };
  });
  return router;
}

/** The page of a refusal. */
export function errorPage(error: ApiError): PageAnswer {
  return html('Not possible', `<h1>Not possible</h1><p role="alert">${escape(error.message)}</p>`, error.status);
}

function walletOf(charge: ChargeRecord): string {
  const asked = `<h1>Pay ${escape(formatMoney(charge))}</h1>${charge.description === null ? '' : `<p>${escape(charge.description)}</p>`}`;
  if (charge.status !== 'pending') return `${asked}<p role="status">This payment is ${escape(charge.status)}.</p>`;
  return `${asked}<div class="row">${button('', 'decision', 'confirm', 'Confirm payment')}${button('', 'decision', 'refuse', 'Refuse')}</div>`;
}

function dashboardOf(charges: readonly ChargeRecord[], offset: number, total: number): string {
  const rows = charges.map((charge) => {
    const action = `/dashboard/charges/${encodeURIComponent(charge.id)}`;
    const back = `<input type="hidden" name="offset" value="${offset}">`;
    const marks = `${button(action, 'status', 'successful', 'Mark successful', back)}${button(action, 'status', 'failed', 'Mark failed', back)}`;
    const state = charge.voided ? 'voided' : charge.refundedAmount > 0 ? 'refunded' : charge.status;
    const cells = [charge.id, formatInstant(charge.createdAt), formatMoney(charge), charge.description ?? '', state];
    const texts = cells.map((text) => `<td>${escape(text)}</td>`).join('');
    return `<tr>${texts}<td><div class="row">${charge.status === 'pending' ? marks : ''}</div></td></tr>`;
  });
  const newer = offset > 0 ? `<a href="/dashboard?offset=${Math.max(0, offset - ROWS_PER_PAGE)}">Newer</a> ` : '';
  const older =
    offset + charges.length < total ? `<a href="/dashboard?offset=${offset + ROWS_PER_PAGE}">Older</a>` : '';
  const head = ['Charge', 'Created', 'Amount', 'Description', 'Status', 'Actions'].map(
    (name) => `<th scope="col">${name}</th>`,
  );
  return `<h1>Charges</h1><p>${total} in test mode. ${newer}${older}</p>
<table><thead><tr>${head.join('')}</tr></thead><tbody>${rows.join('\n')}</tbody></table>`;
}

function button(action: string, name: string, value: string, label: string, hidden = ''): string {
  const to = action === '' ? '' : ` action="${escape(action)}"`;
  return `<form method="post"${to}>${hidden}<button name="${name}" value="${value}">${label}</button></form>`;
}

function html(title: string, main: string, status = 200): PageAnswer {
  const body = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)} – sandbox</title>
<style>
body { font: 1rem/1.5 system-ui, sans-serif; margin: 1.5rem auto; max-width: 70rem; padding: 0 1rem; color: #1a1a1a; background: #fff; }
.row { display: flex; gap: .75rem; flex-wrap: wrap; }
button { font: inherit; min-height: 2.75rem; padding: .25rem 1rem; cursor: pointer; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .4rem .75rem .4rem 0; border-bottom: 1px solid #ccc; overflow-wrap: anywhere; }
</style></head><body><main>${main}</main></body></html>`;
  return { kind: 'html', status, body };
}

function escape(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  };
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? '');
}
