import { instant, type Instant } from '@tillflow/domain';
import { ApiError } from './api-error.js';
import type { Assumptions } from './assumptions.js';
import type { FormMap } from './form.js';
import {
  booleanOf,
  choiceOf,
  currencyOf,
  instantOf,
  integerOf,
  isHttpUri,
  listOf,
  mapOf,
  required,
  textOf,
  uriOf,
} from './params.js';
import type { NewCharge, NewRefund, NewSource, Provider } from './provider.js';
import { isFailureCode, type FailureCode, type SourceDetails } from './records.js';
import type { Renderer } from './render.js';
import { Router } from './router.js';
import { pageOf, type Page, type PageQuery } from './table.js';

/** One call of the API, decoded. */
type ApiCall = {
  /** The first two path parameters; empty when the template has fewer. */
  readonly id: string;
  readonly innerId: string;
  readonly form: FormMap;
  readonly query: FormMap;
  readonly path: string;
  readonly at: Instant;
};

export type ApiRoute = {
  /** Answers the body of the 200. Runs to its end without a pause; throws {@link ApiError} before it changes anything. */
  readonly handle: (call: ApiCall) => unknown;
  /** Whether the public key will do. Source: assumption, "Keys". */
  readonly publicKey: boolean;
};

export type ApiRoutesOptions = {
  readonly provider: Provider;
  readonly render: Renderer;
  readonly assumptions: Assumptions;
  readonly livemode: boolean;
};

/** Every operation of the API: what it reads from the call, what the provider does, how it is shown. */
export function apiRoutes({ provider, render, assumptions, livemode }: ApiRoutesOptions): Router<ApiRoute> {
  const router = new Router<ApiRoute>();
  const route = (method: string, template: string, handle: ApiRoute['handle'], publicKey = false): void => {
    router.add(method, template, { handle, publicKey });
  };
  const chargeJson = (id: string, at: Instant) => render.charge(provider.charge(id), at);
  const listJson = <T, J>(call: ApiCall, page: (query: PageQuery) => Page<T>, row: (record: T) => J) => {
    const query = pageQuery(call, assumptions);
    return render.list(page(query), query, call.path, row);
  };

  route('POST', '/sources', ({ form }) => render.source(provider.createSource(readSource(form)), null), true);
  route(
    'GET',
    '/sources/{id}',
    ({ id }) => {
      const source = provider.source(id);
      return render.source(source, provider.chargeOf(source));
    },
    true,
  );

  route('POST', '/charges', ({ form, at }) => render.charge(provider.createCharge(readCharge(form, assumptions)), at));
  route('GET', '/charges', (call) =>
    listJson(
      call,
      (query) => provider.books.charges.page(query),
      (charge) => render.charge(charge, call.at),
    ),
  );
  route('GET', '/charges/{id}', ({ id, at }) => chargeJson(id, at));
  route('POST', '/charges/{id}/expire', ({ id, at }) => render.charge(provider.expire(id), at));
  route('POST', '/charges/{id}/mark_as_paid', ({ id, at }) => {
    refuseMarkingLive(livemode);
    return render.charge(provider.settle(id, { status: 'successful' }), at);
  });
  route('POST', '/charges/{id}/mark_as_failed', ({ id, form, at }) => {
    refuseMarkingLive(livemode);
    const failureCode = readFailureCode(form) ?? assumptions.defaultFailureCode;
    return render.charge(provider.settle(id, { status: 'failed', failureCode }), at);
  });
  route('GET', '/charges/{id}/events', (call) => {
    provider.charge(call.id);
    return listJson(
      call,
      (query) => pageOf(provider.books.eventsOfCharge.get(call.id) ?? [], query),
      (event) => render.event(event, provider.books),
    );
  });

  route('POST', '/charges/{id}/refunds', ({ id, form }) => render.refund(provider.refund(id, readRefund(form))));
  route('GET', '/charges/{id}/refunds', (call) =>
    listJson(
      call,
      (query) => pageOf(provider.charge(call.id).refunds, query),
      (refund) => render.refund(refund),
    ),
  );
  route('GET', '/charges/{id}/refunds/{refund_id}', ({ id, innerId }) => {
    const refund = provider.charge(id).refunds.find((each) => each.id === innerId);
    if (refund === undefined) throw new ApiError('not_found', `No refund ${innerId} was found.`);
    return render.refund(refund);
  });

  route('GET', '/events', (call) =>
    listJson(
      call,
      (query) => provider.books.events.page(query),
      (event) => render.event(event, provider.books),
    ),
  );
  route('GET', '/events/{id}', ({ id }) => render.event(provider.event(id), provider.books));

  route('GET', '/transactions', (call) =>
    listJson(
      call,
      (query) => provider.books.transactions.page(query),
      (transaction) => render.transaction(transaction),
    ),
  );
  route('GET', '/transactions/{id}', ({ id }) => render.transaction(provider.transaction(id)));

  const accountJson = () => render.account(provider.books.account);
  route('GET', '/account', accountJson);
  route('PATCH', '/account', ({ form }) => render.account(provider.updateAccount(readAccount(form))));
  route('PATCH', '/account/api_version', () =>
    render.account(provider.updateAccount({ apiVersion: assumptions.versions.at(-1) ?? assumptions.accountVersion })),
  );
  route('GET', '/account/api_versions', () => ({ ...accountJson(), versions: assumptions.versions }));
  return router;
}

/** Source: API reference, "Shared list parameters"; the greatest `limit` and the orders are assumptions. */
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

function readSource(form: FormMap): NewSource {
  checkType(form);
  return {
    amount: required(integerOf(form, 'amount'), 'amount'),
    currency: required(currencyOf(form, 'currency'), 'currency'),
    details: readDetails(form),
  };
}

function checkType(form: FormMap): void {
  const type = required(textOf(form, 'type'), 'type');
  if (type !== 'wallet_mpm') throw new ApiError('bad_request', 'type must be wallet_mpm.');
}

const DETAIL_TEXTS = [
  'barcode',
  'bank',
  'email',
  'ip',
  'mobile_number',
  'name',
  'phone_number',
  'platform_type',
  'promotion_code',
  'store_id',
  'store_name',
  'supplier_id',
  'terminal_id',
];

const DETAIL_READERS: readonly (readonly [name: string, read: (form: FormMap, name: string) => unknown])[] = [
  ...DETAIL_TEXTS.map((name) => [name, textOf] as const),
  ['installment_term', integerOf],
  ['zero_interest_installments', booleanOf],
  ['billing', addressOf],
  ['shipping', addressOf],
  ['qr_settings', mapOf],
  ['items', listOf],
];

/** What the merchant sent along and the source only echoes. Null when there is nothing. */
function readDetails(form: FormMap): SourceDetails | null {
  const given = DETAIL_READERS.map(([name, read]) => [name, read(form, name)] as const).filter(
    ([, value]) => value !== null,
  );
  return given.length === 0 ? null : Object.fromEntries(given);
}

function addressOf(form: FormMap, name: string): FormMap | null {
  const address = mapOf(form, name);
  for (const part of Object.keys(address ?? {})) textOf(address ?? {}, part);
  return address;
}

function readCharge(form: FormMap, assumptions: Assumptions): NewCharge {
  const amount = required(integerOf(form, 'amount'), 'amount');
  const currency = required(currencyOf(form, 'currency'), 'currency');
  const endpoints = listOf(form, 'webhook_endpoints') ?? [];
  const most = assumptions.maximumWebhookEndpoints;
  if (endpoints.length > most || !endpoints.every(isAddress)) {
    throw new ApiError('bad_request', `webhook_endpoints must be at most ${most} http or https addresses.`);
  }
  return {
    amount,
    currency,
    source: readChargeSource(form, { amount, currency }),
    description: textOf(form, 'description'),
    metadata: mapOf(form, 'metadata') ?? {},
    returnUri: uriOf(form, 'return_uri'),
    webhookEndpoints: endpoints,
    expiresAt: instantOf(form, 'expires_at'),
  };
}

function isAddress(value: unknown): value is string {
  return typeof value === 'string' && isHttpUri(value);
}

/** A source's id, or `source[type]`: then the source takes the charge's amount and currency unless it names its own. */
function readChargeSource(form: FormMap, charge: Pick<NewCharge, 'amount' | 'currency'>): string | NewSource {
  const { source } = form;
  if (source === undefined || source === '') throw new ApiError('bad_request', 'source is required.');
  if (typeof source === 'string') return source;
  const inline = mapOf(form, 'source') ?? {};
  checkType(inline);
  return {
    amount: integerOf(inline, 'amount') ?? charge.amount,
    currency: currencyOf(inline, 'currency') ?? charge.currency,
    details: readDetails(inline),
  };
}

function readRefund(form: FormMap): NewRefund {
  return {
    amount: integerOf(form, 'amount'),
    void: booleanOf(form, 'void') ?? false,
    metadata: mapOf(form, 'metadata') ?? {},
  };
}

function readFailureCode(form: FormMap): FailureCode | null {
  const code = textOf(form, 'failure_code');
  if (code !== null && !isFailureCode(code)) throw new ApiError('bad_request', 'failure_code is not a known one.');
  return code;
}

/** A field that is left out stays; the empty string clears an address. */
function readAccount(form: FormMap): Parameters<Provider['updateAccount']>[0] {
  const chainEnabled = booleanOf(form, 'chain_enabled');
  const zeroInterestInstallments = booleanOf(form, 'zero_interest_installments');
  const metadataExportKeys = mapOf(form, 'metadata_export_keys');
  const webhookUri = uriOf(form, 'webhook_uri');
  const chainReturnUri = uriOf(form, 'chain_return_uri');
  return {
    ...(chainEnabled !== null && { chainEnabled }),
    ...(zeroInterestInstallments !== null && { zeroInterestInstallments }),
    ...(metadataExportKeys !== null && { metadataExportKeys }),
    ...(form['webhook_uri'] !== undefined && { webhookUri }),
    ...(form['chain_return_uri'] !== undefined && { chainReturnUri }),
  };
}

/** Source: assumption, "Test mode marking". */
function refuseMarkingLive(livemode: boolean): void {
  if (livemode) throw new ApiError('invalid_charge', 'Only a charge in test mode can be marked.');
}
