import { ApiError } from '../http/api-error.js';
import type { Assumptions } from '../assumptions.js';
import type { CardChange } from '../provider/customers.js';
import type { FormMap } from '../http/form.js';
import {
  booleanOf,
  currencyOf,
  instantOf,
  integerOf,
  isHttpUri,
  listOf,
  mapOf,
  required,
  textOf,
  uriOf,
} from '../http/params.js';
import type { NewCharge, NewSource } from '../provider/payments.js';
import type { NewRefund } from '../provider/refunds.js';
import type { AccountRecord, SourceDetails } from '../records/records.js';

/** Checks the forms of the API. Source: API reference, "Endpoints"; assumptions where it is silent. */

export function readSource(form: FormMap): NewSource {
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

/** Fields that the source only echoes. Null when there are none. */
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

export function readCharge(form: FormMap, assumptions: Assumptions): NewCharge {
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

/** A source's id, or `source[type]`. A new source has the charge's amount and currency unless it names its own. */
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

export function readRefund(form: FormMap): NewRefund {
  return {
    amount: integerOf(form, 'amount'),
    void: booleanOf(form, 'void') ?? false,
    metadata: mapOf(form, 'metadata') ?? {},
  };
}

/** A field that is left out keeps its value. The empty string clears an address or the keys. */
export function readAccount(form: FormMap): Partial<AccountRecord> {
  const chainEnabled = booleanOf(form, 'chain_enabled');
  const zeroInterestInstallments = booleanOf(form, 'zero_interest_installments');
  const metadataExportKeys = mapOf(form, 'metadata_export_keys');
  const webhookUri = uriOf(form, 'webhook_uri');
  const chainReturnUri = uriOf(form, 'chain_return_uri');
  return {
    ...(chainEnabled !== null && { chainEnabled }),
    ...(zeroInterestInstallments !== null && { zeroInterestInstallments }),
    ...(form['metadata_export_keys'] !== undefined && { metadataExportKeys: metadataExportKeys ?? {} }),
    ...(form['webhook_uri'] !== undefined && { webhookUri }),
    ...(form['chain_return_uri'] !== undefined && { chainReturnUri }),
  };
}

/**
 * A field that is left out or empty keeps its value. Source: API reference, "Customer cards"; the bounds are
 * assumptions.
 */
export function readCard(form: FormMap): CardChange {
  const name = textOf(form, 'name');
  const expirationMonth = integerOf(form, 'expiration_month');
  const expirationYear = integerOf(form, 'expiration_year');
  const postalCode = textOf(form, 'postal_code');
  const city = textOf(form, 'city');
  if (expirationMonth !== null && (expirationMonth < 1 || expirationMonth > 12)) {
    throw new ApiError('bad_request', 'expiration_month must be from 1 to 12.');
  }
  if (expirationYear !== null && (expirationYear < 2000 || expirationYear > 9999)) {
    throw new ApiError('bad_request', 'expiration_year must be a year of four digits.');
  }
  return {
    ...(name !== null && { name }),
    ...(expirationMonth !== null && { expirationMonth }),
    ...(expirationYear !== null && { expirationYear }),
    ...(form['postal_code'] !== undefined && { postalCode }),
    ...(form['city'] !== undefined && { city }),
  };
}
