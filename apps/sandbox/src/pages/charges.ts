import { formatMoney } from '@tillflow/domain';
import { ApiError } from '../http/api-error.js';
import { choiceOf, required, textOf } from '../http/params.js';
import { decodeForm, type FormMap } from '../http/form.js';
import { FAILURE_CODES, type ChargeRecord } from '../records/records.js';
import { chargeParts } from './charge.js';
import { carryOut, type Desk } from './desk.js';
import { timeOf, type Problem } from './layout.js';
import { readMajorUnits } from './major-units.js';
import { markup, type Markup } from './markup.js';
import { addressOf, newestOf, offsetOf, pager } from './paging.js';
import { badge, choice, entered, field, hidden, postForm, short, table, type Column } from './parts.js';
import type { PageAnswer } from './answer.js';

const FILTERS = ['pending', 'successful', 'failed', 'expired', 'refunded', 'voided'] as const;
type Filter = (typeof FILTERS)[number];

/** Which charges a list shows. */
type ListQuery = { readonly status: Filter | null; readonly search: string; readonly offset: number };

const DONE: Readonly<Record<string, string>> = {
  successful: 'The charge was marked successful.',
  failed: 'The charge was marked failed.',
  refunded: 'The refund was made.',
  voided: 'The charge was voided.',
};

/** The list of charges, each charge, and what a merchant does with one. */
export function chargeRoutes(desk: Desk): void {
  const { get, post, provider, sandbox } = desk;

  get('/dashboard', ({ query }) => listPage(desk, listQuery(query), entered(query, 'done')));
  get('/dashboard/charges', ({ query }) => ({ kind: 'redirect', location: listAddress(listQuery(query)) }));
  get('/dashboard/charges/{id}', ({ id, query }) => chargePage(desk, id, { done: entered(query, 'done') }));

  post('/dashboard/charges/{id}', ({ id, form }) => {
    const status = required(choiceOf(form, 'status', ['successful', 'failed'] as const), 'status');
    const failure_code = choiceOf(form, 'failure_code', FAILURE_CODES) ?? undefined;
    // The list's own address, when the button stood there: read and written anew, so that it leads nowhere else.
    const list = textOf(form, 'list');
    const from = list === null ? null : listQuery(decodeForm(list));
    return carryOut(
      () => {
        // Source: API reference, "In test mode, authorization is simulated from the merchant dashboard".
        if (desk.livemode) throw new ApiError('bad_request', 'A live charge cannot be marked.');
        sandbox.mark(id, status === 'failed' ? { status, failure_code } : { status });
      },
      {
        location: from === null ? `${addressOfCharge(id)}?done=${status}` : listAddress(from, status),
        refused: (problem) => chargePage(desk, id, { problem }),
      },
    );
  });

  post('/dashboard/charges/{id}/refunds', ({ id, form }) => {
    const isVoid = choiceOf(form, 'void', ['true']) !== null;
    return carryOut(
      () => {
        const charge = provider.charge(id);
        const amount = isVoid ? null : readMajorUnits(required(textOf(form, 'amount'), 'amount'), 'amount');
        provider.refund(charge.id, { amount, void: isVoid, metadata: {} });
      },
      {
        location: `${addressOfCharge(id)}?done=${isVoid ? 'voided' : 'refunded'}`,
        refused: (problem) => chargePage(desk, id, { problem, form }),
      },
    );
  });
}

function chargePage(
  desk: Desk,
  id: string,
  { done = '', problem, form = {} }: { done?: string; problem?: Problem; form?: FormMap },
): PageAnswer {
  const charge = desk.provider.charge(id);
  return desk.page({
    title: `Charge of ${formatMoney(charge)}`,
    section: 'charges',
    aside: stateOf(charge),
    body: chargeParts(desk, charge, form),
    outcome: DONE[done],
    problem,
  });
}

function listPage(desk: Desk, query: ListQuery, done: string): PageAnswer {
  const { status, search, offset } = query;
  const { rows, total } = newestOf(desk.provider.books.charges.rows, offset, fitterOf(query));
  const columns: readonly Column[] = [
    'Charge',
    'Created',
    { label: 'Amount', kind: 'number' },
    'Description',
    short('Status'),
    'Actions',
  ];
  const body = markup`<form class="card fields" action="/dashboard" role="search">
<div class="wide">${field({ id: 'search', name: 'q', label: 'Charge, description or metadata', type: 'search', value: search })}</div>
${choice({ id: 'status', name: 'status', label: 'Status', chosen: status ?? '' }, [
  ['', 'all'],
  ...FILTERS.map((each) => [each, each] as const),
])}<button>Show</button></form>
<section class="card stack" id="charges" data-live aria-label="Charges">
${
  rows.length === 0
    ? markup`<p class="quiet">${total === 0 && fitterOf(query) === null ? 'No charges yet. POST /charges makes one.' : 'No charges here.'}</p>`
    : table(
        'Charges, the newest first',
        columns,
        rows.map((charge) => rowOf(desk, charge, query)),
      )
}
${pager('/dashboard', fieldsOf(query), { offset, shown: rows.length, total, noun: 'charge' })}</section>`;
  return desk.page({ title: 'Charges', section: 'charges', body, outcome: DONE[done] });
}

function rowOf({ livemode }: Desk, charge: ChargeRecord, query: ListQuery) {
  const address = addressOfCharge(charge.id);
  const mark = (status: string, label: string): Markup =>
    postForm(
      address,
      markup`${hidden('list', addressOf('', fieldsOf(query), query.offset).slice(1))}<button class="small" name="status" value="${status}">${label}<span class="unseen"> ${charge.id}</span></button>`,
    );
  return [
    markup`<a class="id" href="${address}">${charge.id}</a>`,
    timeOf(charge.createdAt),
    formatMoney(charge),
    charge.description,
    stateOf(charge),
    charge.status === 'pending' &&
      !livemode &&
      markup`<div class="row">${mark('successful', 'Mark successful')}${mark('failed', 'Mark failed')}</div>`,
  ];
}

function stateOf(charge: ChargeRecord): Markup {
  if (charge.voided) return badge('voided');
  if (charge.refundedAmount === charge.amount) return badge('refunded');
  if (charge.refundedAmount > 0) return badge('refunded', 'partly refunded');
  return charge.status === 'pending' && charge.confirming ? badge('pending', 'confirming') : badge(charge.status);
}

function listQuery(query: FormMap): ListQuery {
  return {
    status: choiceOf(query, 'status', FILTERS),
    search: textOf(query, 'q')?.trim() ?? '',
    offset: offsetOf(query),
  };
}

function fieldsOf({ status, search }: ListQuery): Record<string, string> {
  return { status: status ?? '', q: search };
}

function listAddress(query: ListQuery, done = ''): string {
  return addressOf('/dashboard', { ...fieldsOf(query), done }, query.offset);
}

function addressOfCharge(id: string): string {
  return `/dashboard/charges/${encodeURIComponent(id)}`;
}

/** Null when every charge fits. */
function fitterOf({ status, search }: ListQuery): ((charge: ChargeRecord) => boolean) | null {
  if (status === null && search === '') return null;
  const wanted = search.toLowerCase();
  const has = (text: string | null): boolean => text?.toLowerCase().includes(wanted) === true;
  const isFound = ({ id, description, metadata }: ChargeRecord): boolean =>
    has(id) || has(description) || Object.values(metadata).some((value) => typeof value === 'string' && has(value));
  return (charge) => (status === null || isIn(charge, status)) && (search === '' || isFound(charge));
}

function isIn({ status, voided, refundedAmount }: ChargeRecord, filter: Filter): boolean {
  switch (filter) {
    case 'voided':
      return voided;
    case 'refunded':
      return !voided && refundedAmount > 0;
    default:
      return status === filter;
  }
}
