import { instant, type Instant } from '@tillflow/domain';
import { ApiError } from '../http/api-error.js';
import type { Assumptions } from '../assumptions.js';
import { fileFromText } from '../provider/document-type.js';
import { listJson } from './list-json.js';
import type { FormMap } from '../http/form.js';
import { readAccount, readCard, readCharge, readRefund, readSource } from './inputs.js';
import type { UploadedFile } from '../http/multipart.js';
import { choiceOf, instantOf, integerOf, required, textOf } from '../http/params.js';
import type { Provider } from '../provider/provider.js';
import type { Renderer } from './render.js';
import { Router } from '../http/router.js';
import { readSchedule } from './schedule-input.js';
import { receiptSearch, scheduleSearch, searchJson } from './search.js';
import { FAILURE_CODES } from '../records/records.js';
import { pageOf, type Page, type PageQuery } from '../records/table.js';

/** One decoded API request. */
type ApiCall = {
  /** The first two path parameters; empty when the template has fewer. */
  readonly id: string;
  readonly innerId: string;
  readonly form: FormMap;
  /** The field `file` of a multipart form. */
  readonly file: UploadedFile | null;
  readonly query: FormMap;
  readonly path: string;
  readonly at: Instant;
};

export type ApiRoute = {
  /** Returns the body of the 200. It is synchronous, and throws {@link ApiError} before it changes anything. */
  readonly handle: (call: ApiCall) => unknown;
  /** Whether the public key is enough. Source: assumption, "Keys". */
  readonly publicKey: boolean;
  /** Whether the route accepts a file, and a multipart form. */
  readonly takesFile: boolean;
};

export type ApiRoutesOptions = {
  readonly provider: Provider;
  readonly render: Renderer;
  readonly assumptions: Assumptions;
  readonly livemode: boolean;
};

type Access = Partial<Pick<ApiRoute, 'publicKey' | 'takesFile'>>;

/** The tools for the parts of the route table. */
type Routing = ApiRoutesOptions & {
  readonly route: (method: string, template: string, handle: ApiRoute['handle'], access?: Access) => void;
  /** Adds a `GET` route that answers with the list envelope. */
  readonly list: <T>(
    template: string,
    page: (query: PageQuery, call: ApiCall) => Page<T>,
    row: (record: T, call: ApiCall) => unknown,
  ) => void;
};

/** Every operation of the API: it reads the request, calls the provider, and renders the result. */
export function apiRoutes(options: ApiRoutesOptions): Router<ApiRoute> {
  const router = new Router<ApiRoute>();
  const routing: Routing = {
    ...options,
    route: (method, template, handle, access = {}) => {
      router.add(method, template, { handle, publicKey: false, takesFile: false, ...access });
    },
    list: (template, page, row) =>
      routing.route('GET', template, (call) => {
        const query = pageQuery(call, options.assumptions);
        return listJson(page(query, call), query, call.path, (record) => row(record, call));
      }),
  };
  addPayments(routing);
  addAccountAndRecords(routing);
  addReceiptsAndSchedules(routing);
  addDisputesAndCustomers(routing);
  return router;
}

function addPayments({ provider, render, assumptions, livemode, route, list }: Routing): void {
  const chargeJson = (id: string, at: Instant) => render.charge(provider.payments.charge(id), at);

  route('POST', '/sources', ({ form }) => render.source(provider.payments.createSource(readSource(form)), null), {
    publicKey: true,
  });
  route(
    'GET',
    '/sources/{id}',
    ({ id }) => {
      const source = provider.payments.source(id);
      return render.source(source, provider.payments.chargeOf(source));
    },
    { publicKey: true },
  );

  route('POST', '/charges', ({ form, at }) =>
    render.charge(provider.payments.createCharge(readCharge(form, assumptions)), at),
  );
  list(
    '/charges',
    (query) => provider.records.charges.page(query),
    (charge, { at }) => render.charge(charge, at),
  );
  route('GET', '/charges/{id}', ({ id, at }) => chargeJson(id, at));
  route('POST', '/charges/{id}/expire', ({ id, at }) => render.charge(provider.payments.expire(id), at));
  route('POST', '/charges/{id}/mark_as_paid', ({ id, at }) => {
    refuseMarkingLive(livemode);
    return render.charge(provider.payments.settle(id, { status: 'successful' }), at);
  });
  route('POST', '/charges/{id}/mark_as_failed', ({ id, form, at }) => {
    refuseMarkingLive(livemode);
    const failureCode = choiceOf(form, 'failure_code', FAILURE_CODES) ?? assumptions.defaultFailureCode;
    return render.charge(provider.payments.settle(id, { status: 'failed', failureCode }), at);
  });
  list(
    '/charges/{id}/events',
    (query, { id }) => pageOf(provider.records.eventsOfCharge.get(provider.payments.charge(id).id) ?? [], query),
    (event) => render.event(event, provider.records),
  );

  route('POST', '/charges/{id}/refunds', ({ id, form }) =>
    render.refund(provider.refunds.create(id, readRefund(form))),
  );
  list(
    '/charges/{id}/refunds',
    (query, { id }) => pageOf(provider.payments.charge(id).refunds, query),
    (refund) => render.refund(refund),
  );
  route('GET', '/charges/{id}/refunds/{refund_id}', ({ id, innerId }) =>
    render.refund(provider.refunds.refund(id, innerId)),
  );
}

function addAccountAndRecords({ provider, render, assumptions, route, list }: Routing): void {
  list(
    '/events',
    (query) => provider.records.events.page(query),
    (event) => render.event(event, provider.records),
  );
  route('GET', '/events/{id}', ({ id }) => render.event(provider.event(id), provider.records));

  list(
    '/transactions',
    (query) => provider.records.transactions.page(query),
    (transaction) => render.transaction(transaction),
  );
  route('GET', '/transactions/{id}', ({ id }) => render.transaction(provider.transaction(id)));

  const accountJson = () => render.account(provider.records.account);
  route('GET', '/account', accountJson);
  route('PATCH', '/account', ({ form }) => render.account(provider.updateAccount(readAccount(form))));
  route('PATCH', '/account/api_version', () =>
    render.account(provider.updateAccount({ apiVersion: assumptions.versions.at(-1) ?? assumptions.accountVersion })),
  );
  route('GET', '/account/api_versions', () => ({ ...accountJson(), versions: assumptions.versions }));
}

function addReceiptsAndSchedules({ provider, render, assumptions, route, list }: Routing): void {
  const { receipts, schedules } = provider;
  list(
    '/receipts',
    (query) => provider.records.receipts.page(query),
    (receipt) => render.receipt(receipt),
  );
  route('GET', '/receipts/receipts/search', ({ query, path }) =>
    searchJson(receiptSearch(provider.records.receipts.rows), query, path, assumptions.searchPageSize, (receipt) =>
      render.receipt(receipt),
    ),
  );
  route('GET', '/receipts/{id}', ({ id }) => render.receipt(receipts.receipt(id)));

  const scheduleJson = (id: string, at: Instant) => render.schedule(schedules.schedule(id), provider.records, at);
  for (const [path, table] of [
    ['/schedules', 'schedules'],
    ['/charges/schedules', 'chargeSchedules'],
    ['/transfers/schedules', 'transferSchedules'],
  ] as const) {
    list(
      path,
      (query) => provider.records[table].page(query),
      (schedule, { at }) => render.schedule(schedule, provider.records, at),
    );
  }
  route('GET', '/transfers/{id}', ({ id }) => render.transfer(schedules.transfer(id)));
  route('GET', '/charges/schedules/search', ({ query, path, at }) =>
    searchJson(scheduleSearch(provider.records), query, path, assumptions.searchPageSize, (schedule) =>
      render.schedule(schedule, provider.records, at),
    ),
  );
  route('POST', '/schedules', ({ form, at }) =>
    scheduleJson(schedules.create(readSchedule(form, at, assumptions)).id, at),
  );
  route('GET', '/schedules/{id}', ({ id, at }) => scheduleJson(id, at));
  route('DELETE', '/schedules/{id}', ({ id, at }) => scheduleJson(schedules.remove(id).id, at));
  list(
    '/schedules/{id}/occurrences',
    (query, { id }) => schedules.occurrences(id).page(query),
    (occurrence) => render.occurrence(occurrence),
  );
  route('GET', '/schedules/{id}/occurrences/{occurrence_id}', ({ id, innerId }) =>
    render.occurrence(schedules.occurrence(id, innerId)),
  );
}

function addDisputesAndCustomers({ provider, render, route, list }: Routing): void {
  const { disputes, customers } = provider;
  route('GET', '/disputes/{id}', ({ id, at }) => render.dispute(disputes.dispute(id), at));
  list(
    '/disputes/{id}/documents',
    (query, { id }) => pageOf(disputes.dispute(id).documents, query),
    (document) => render.document(document),
  );
  route(
    'POST',
    '/disputes/{id}/documents',
    ({ id, form, file }) => {
      disputes.dispute(id);
      const sent = file ?? fileFromText(required(textOf(form, 'file'), 'file'));
      return render.document(disputes.attach(id, sent, textOf(form, 'kind')));
    },
    { takesFile: true },
  );
  route('GET', '/disputes/{id}/documents/{document_id}', ({ id, innerId }) =>
    render.document(disputes.document(id, innerId)),
  );
  route('DELETE', '/disputes/{id}/documents/{document_id}', ({ id, innerId }) =>
    render.document(disputes.remove(id, innerId)),
  );

  route('GET', '/customers/{id}', ({ id, at }) => render.customer(customers.customer(id), at));
  list(
    '/customers/{id}/cards',
    (query, { id }) => pageOf(customers.customer(id).cards, query),
    (card) => render.card(card),
  );
  route('GET', '/customers/{id}/cards/{card_id}', ({ id, innerId }) => render.card(customers.card(id, innerId)));
  route('PATCH', '/customers/{id}/cards/{card_id}', ({ id, innerId, form }) =>
    render.card(customers.updateCard(id, innerId, readCard(form))),
  );
  route('DELETE', '/customers/{id}/cards/{card_id}', ({ id, innerId }) =>
    render.card(customers.removeCard(id, innerId)),
  );
}

/** Source: API reference, "Shared list parameters"; the largest `limit` and the orders are assumptions. */
function pageQuery({ query, at }: ApiCall, assumptions: Assumptions): PageQuery {
  const offset = integerOf(query, 'offset') ?? 0;
  const limit = integerOf(query, 'limit') ?? assumptions.defaultLimit;
  if (offset < 0) throw new ApiError('bad_request', 'offset must not be negative.');
  if (limit < 1) throw new ApiError('bad_request', 'limit must be at least 1.');
  return {
    from: instantOf(query, 'from') ?? instant(0),
    to: instantOf(query, 'to') ?? at,
    offset,
    limit: Math.min(limit, assumptions.maximumLimit),
    order: choiceOf(query, 'order', ['chronological', 'reverse_chronological']) ?? 'chronological',
  };
}

/** Source: assumption, "Test mode marking". */
function refuseMarkingLive(livemode: boolean): void {
  if (livemode) throw new ApiError('invalid_charge', 'Only a charge in test mode can be marked.');
}
