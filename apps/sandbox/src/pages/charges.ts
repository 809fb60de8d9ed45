import { formatMoney } from '@tillflow/domain';
import { ApiError } from '../http/api-error.js';
import { choiceOf, required, textOf } from '../http/params.js';
import { decodeForm, type FormMap } from '../http/form.js';
import { FAILURE_CODES, type ChargeRecord } from '../records/records.js';
import { chargeParts, readMajorUnits } from './charge.js';
import { dashboardPage, timeOf, type Problem } from './layout.js';
import { markup, type Markup } from './markup.js';
import { carryOut, type PageContext } from './page-context.js';
import { addressOf, newestOf, offsetOf, pager } from './paging.js';
import { badge, choice, entered, field, hidden, postForm, short, table, type Column } from './parts.js';
import type { PageAnswer } from './answer.js';

const FILTERS = ['pending', 'successful', 'failed', 'expired', 'refunded', 'voided'] as const;
type Filter = (typeof FILTERS)[number];

type ListQuery = { readonly status: Filter | null; readonly search: string; readonly offset: number };

const DONE: Readonly<Record<string, string>> = {
  successful: 'The charge is marked successful.',
  failed: 'The charge is marked failed.',
  refunded: 'The refund is made.',
  voided: 'The charge is voided.',
};

/** The list of charges, the page of each charge, and the actions of a merchant. */
export function chargeRoutes(context: PageContext): void {
  const { assumptions, clock, get, livemode, post, provider } = context;

  get('/dashboard', ({ query }) => listPage(context, listQuery(query), entered(query, 'done')));
  get('/dashboard/charges', ({ query }) => ({ kind: 'redirect', location: listAddress(listQuery(query)) }));
  get('/dashboard/charges/{id}', ({ id, query }) => chargePage(context, id, { done: entered(query, 'done') }));

  post('/dashboard/charges/{id}', ({ id, form }) => {
    const status = required(choiceOf(form, 'status', ['successful', 'failed'] as const), 'status');
    const failureCode = choiceOf(form, 'failure_code', FAILURE_CODES) ?? assumptions.defaultFailureCode;
    // The address of the list, if the button was there. Parsed and rebuilt, so that it cannot lead to another site.
    const list = textOf(form, 'list');
    const from = list === null ? null : listQuery(decodeForm(list));
    return carryOut(
      () => {
        // Source: API reference, "In test mode, authorization is simulated from the merchant dashboard".
        if (livemode) throw new ApiError('bad_request', 'A live charge cannot be marked.');
        clock.tick();
        provider.payments.settle(id, status === 'failed' ? { status, failureCode } : { status });
      },
      {
        location: from === null ? `${addressOfCharge(id)}?done=${status}` : listAddress(from, status),
        refused: (problem) => chargePage(context, id, { problem }),
      },
    );
  });

  post('/dashboard/charges/{id}/refunds', ({ id, form }) => {
    const isVoid = choiceOf(form, 'void', ['true']) !== null;
    return carryOut(
      () => {
        const charge = provider.payments.charge(id);
        const amount = isVoid ? null : readMajorUnits(required(textOf(form, 'amount'), 'amount'), 'amount');
        provider.refunds.create(charge.id, { amount, void: isVoid, metadata: {} });
      },
      {
        location: `${addressOfCharge(id)}?done=${isVoid ? 'voided' : 'refunded'}`,
        refused: (problem) => chargePage(context, id, { problem, form }),
      },
    );
  });
}

function chargePage(
  context: PageContext,
  id: string,
  { done = '', problem, form = {} }: { done?: string; problem?: Problem; form?: FormMap },
): PageAnswer {
  const charge = context.provider.payments.charge(id);
  const page = {
    title: `Charge of ${formatMoney(charge)}`,
    aside: stateOf(charge),
    body: chargeParts(context, charge, form),
    outcome: DONE[done],
    problem,
  };
  return dashboardPage(page, context.clock);
}

function listPage(context: PageContext, query: ListQuery, done: string): PageAnswer {
  const { status, search, offset } = query;
  const { rows, total } = newestOf(context.provider.records.charges.rows, offset, matcherOf(query));
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
    ? markup`<p class="quiet">${status === null && search === '' ? 'No charges yet. POST /charges creates one.' : 'No charge matches.'}</p>`
    : table(
        'Charges, newest first',
        columns,
        rows.map((charge) => rowOf(context, charge, query)),
      )
}
${pager('/dashboard', fieldsOf(query), { offset, shown: rows.length, total, noun: 'charge' })}</section>`;
  return dashboardPage({ title: 'Charges', body, outcome: DONE[done] }, context.clock);
}

function rowOf({ livemode }: PageContext, charge: ChargeRecord, query: ListQuery) {
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

function matcherOf({ status, search }: ListQuery): (charge: ChargeRecord) => boolean {
  const wanted = search.toLowerCase();
  const has = (text: string | null): boolean => text?.toLowerCase().includes(wanted) === true;
  const isMatch = ({ id, description, metadata }: ChargeRecord): boolean =>
    has(id) || has(description) || Object.values(metadata).some((value) => typeof value === 'string' && has(value));
  return (charge) => (status === null || isIn(charge, status)) && (search === '' || isMatch(charge));
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
