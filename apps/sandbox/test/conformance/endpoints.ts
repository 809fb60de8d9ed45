import { listOf, searchOf, type Kind } from './kinds.js';
import type { Form } from './provider.js';
import {
  ACCOUNT,
  ACCOUNT_VERSIONS,
  CARD,
  CHARGE,
  CUSTOMER,
  DISPUTE,
  DOCUMENT,
  EVENT,
  OCCURRENCE,
  RECEIPT,
  REFUND,
  SCHEDULE,
  SCHEDULE_OF_CHARGES,
  SCHEDULE_OF_TRANSFERS,
  SOURCE,
  TRANSACTION,
} from './resources.js';
import { idIn, NEW_CHARGE, NEW_SOURCE, type SampleName, type Samples } from './samples.js';

export type InputType =
  | 'string'
  | 'integer'
  | 'boolean'
  | 'date'
  | 'date-time'
  | 'uri'
  | 'object'
  | 'array'
  | 'addresses';

export type Input = {
  readonly name: string;
  readonly type: InputType;
  readonly required?: boolean;
  /** Form fields with a valid value of the input; null when a row of another file checks it. */
  readonly example: Form | null;
};

/** The source of a path parameter: a sample, or a new record for this request. */
type IdSource = SampleName | ((samples: Samples) => Promise<string>);

export type Endpoint = {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** The heading of the API reference, or the assumption, that defines it. */
  readonly source: string;
  /** Also accepts the public key. */
  readonly publicKey?: true;
  readonly ids?: readonly IdSource[];
  /** The body of a successful request. */
  readonly form?: (samples: Samples) => Promise<Form>;
  readonly inputs?: readonly Input[];
  readonly answers: Kind;
  /** Accepts the shared list parameters and answers the list envelope. */
  readonly list?: true;
  /** Accepts the shared search parameters. */
  readonly search?: { readonly scope: string; readonly filters: readonly Input[] };
};

const same = (form: Form) => async (): Promise<Form> => form;
const text = (name: string, example = 'text'): Input => ({ name, type: 'string', example: { [name]: example } });
const needed = (input: Input): Input => ({ ...input, required: true });
const fresh =
  (state: 'pending' | 'successful') =>
  async (samples: Samples): Promise<string> =>
    idIn(await samples.newCharge(state));

const AMOUNT: Input = { name: 'amount', type: 'integer', example: { amount: 150_000 } };
const CURRENCY = text('currency', 'THB');
const METADATA: Input = { name: 'metadata', type: 'object', example: { 'metadata[order]': '7' } };

const SOURCE_INPUTS: readonly Input[] = [
  needed(AMOUNT),
  needed(CURRENCY),
  needed(text('type', 'wallet_mpm')),
  {
    name: 'zero_interest_installments',
    type: 'boolean',
    example: { zero_interest_installments: false },
  },
  ...['barcode', 'bank', 'name', 'mobile_number', 'platform_type', 'store_id', 'store_name'].map((name) => text(name)),
  text('email', 'till@example.com'),
  text('ip', '203.0.113.7'),
  ...['terminal_id', 'promotion_code', 'supplier_id'].map((name) => text(name)),
  { name: 'installment_term', type: 'integer', example: { installment_term: 3 } },
  { name: 'billing', type: 'object', example: { 'billing[city]': 'Bangkok' } },
  { name: 'shipping', type: 'object', example: { 'shipping[city]': 'Bangkok' } },
  { name: 'qr_settings', type: 'object', example: { 'qr_settings[image_type]': 'png' } },
  { name: 'items', type: 'array', example: { 'items[][name]': 'Tea' } },
];

const CHARGE_INPUTS: readonly Input[] = [
  needed(AMOUNT),
  needed(CURRENCY),
  { name: 'source', type: 'string', required: true, example: { 'source[type]': 'wallet_mpm' } },
  text('description'),
  METADATA,
  { name: 'expires_at', type: 'date-time', example: { expires_at: '2999-01-01T00:00:00Z' } },
  { name: 'return_uri', type: 'uri', example: { return_uri: 'https://shop.example.com/done' } },
  {
    name: 'webhook_endpoints',
    type: 'addresses',
    example: { 'webhook_endpoints[]': 'https://shop.example.com/hook' },
  },
];

const ACCOUNT_INPUTS: readonly Input[] = [
  { name: 'chain_enabled', type: 'boolean', example: { chain_enabled: false } },
  { name: 'zero_interest_installments', type: 'boolean', example: { zero_interest_installments: false } },
  { name: 'chain_return_uri', type: 'uri', example: { chain_return_uri: '' } },
  // The webhook rows check it: another address would lose their events.
  { name: 'webhook_uri', type: 'uri', example: null },
  { name: 'metadata_export_keys', type: 'object', example: { 'metadata_export_keys[charge][]': 'order' } },
];

const CREATED: Input = {
  name: 'filters[created]',
  type: 'date-time',
  example: { 'filters[created]': '2026-03-10T00:00:00Z' },
};

const SCHEDULE_FILTERS: readonly Input[] = [
  { name: 'filters[status]', type: 'string', example: { 'filters[status]': 'active' } },
  { name: 'filters[active]', type: 'boolean', example: { 'filters[active]': true } },
  { name: 'filters[amount]', type: 'integer', example: { 'filters[amount]': 150_000 } },
  CREATED,
  { name: 'filters[card_last_digits]', type: 'string', example: { 'filters[card_last_digits]': '4242' } },
];

const CARD_INPUTS: readonly Input[] = [
  text('name', 'Somchai Prasert'),
  { name: 'expiration_month', type: 'integer', example: { expiration_month: 11 } },
  { name: 'expiration_year', type: 'integer', example: { expiration_year: 2099 } },
  text('postal_code', '10330'),
  text('city', 'Bangkok'),
];

const SCHEDULE_INPUTS: readonly Input[] = [
  { name: 'every', type: 'integer', required: true, example: { every: 300 } },
  { name: 'period', type: 'string', required: true, example: { period: 'day' } },
  { name: 'end_date', type: 'date', required: true, example: { end_date: '2099-12-31' } },
  { name: 'start_date', type: 'date', example: { start_date: '2099-01-01' } },
  { name: 'on', type: 'object', example: { every: 52, period: 'week', 'on[weekdays][]': 'monday' } },
  { name: 'charge', type: 'object', example: { 'charge[description]': 'Rent' } },
];

const list = (path: string, source: string, element: Kind, ids: readonly IdSource[] = []): Endpoint => ({
  method: 'GET',
  path,
  source,
  ids,
  answers: listOf(element),
  list: true,
});

/** Every operation. Source: API reference, "Endpoints"; assumptions, "Operations the reference implies". */
export const ENDPOINTS: readonly Endpoint[] = [
  list('/receipts', 'Receipts', RECEIPT),
  { method: 'GET', path: '/receipts/{id}', source: 'Receipts', ids: ['receipt'], answers: RECEIPT },
  {
    method: 'GET',
    path: '/receipts/receipts/search',
    source: 'Receipts',
    answers: searchOf(RECEIPT),
    search: { scope: 'receipt', filters: [CREATED] },
  },

  list('/charges/schedules', 'Schedules', SCHEDULE_OF_CHARGES),
  {
    method: 'GET',
    path: '/charges/schedules/search',
    source: 'Schedules',
    answers: searchOf(SCHEDULE_OF_CHARGES),
    search: { scope: 'charge_schedule', filters: SCHEDULE_FILTERS },
  },
  list('/schedules', 'Schedules', SCHEDULE),
  { method: 'GET', path: '/schedules/{id}', source: 'Schedules', ids: ['charge schedule'], answers: SCHEDULE },
  {
    method: 'DELETE',
    path: '/schedules/{id}',
    source: 'Schedules',
    ids: [async (samples) => idIn(await samples.newSchedule())],
    answers: SCHEDULE,
  },
  list('/schedules/{id}/occurrences', 'Schedules', OCCURRENCE, ['run charge schedule']),
  {
    method: 'POST',
    path: '/schedules',
    source: 'Schedules',
    form: async (samples) => await samples.scheduleForm(),
    inputs: SCHEDULE_INPUTS,
    answers: SCHEDULE,
  },
  list('/transfers/schedules', 'Schedules', SCHEDULE_OF_TRANSFERS),

  {
    method: 'PATCH',
    path: '/account',
    source: 'Account',
    form: same({}),
    inputs: ACCOUNT_INPUTS,
    answers: ACCOUNT,
  },
  { method: 'PATCH', path: '/account/api_version', source: 'Account', answers: ACCOUNT },
  { method: 'GET', path: '/account/api_versions', source: 'Account', answers: ACCOUNT_VERSIONS },
  { method: 'GET', path: '/account', source: 'assumption', answers: ACCOUNT },

  list('/events', 'Events', EVENT),
  { method: 'GET', path: '/events/{id}', source: 'Events', ids: ['event'], answers: EVENT },

  list('/transactions', 'Transactions', TRANSACTION),
  { method: 'GET', path: '/transactions/{id}', source: 'Transactions', ids: ['credit'], answers: TRANSACTION },

  list('/disputes/{id}/documents', 'Dispute documents', DOCUMENT, ['open dispute']),
  {
    method: 'GET',
    path: '/disputes/{id}/documents/{document_id}',
    source: 'Dispute documents',
    ids: ['open dispute', 'document'],
    answers: DOCUMENT,
  },
  {
    method: 'DELETE',
    path: '/disputes/{id}/documents/{document_id}',
    source: 'Dispute documents',
    ids: ['open dispute', async (samples) => idIn(await samples.newDocument())],
    answers: DOCUMENT,
  },
  {
    method: 'POST',
    path: '/disputes/{id}/documents',
    source: 'Dispute documents',
    ids: ['open dispute'],
    form: async (samples) => samples.documentForm(),
    inputs: [text('kind', 'receipt')],
    answers: DOCUMENT,
  },
  { method: 'GET', path: '/disputes/{id}', source: 'assumption', ids: ['open dispute'], answers: DISPUTE },

  list('/customers/{id}/cards', 'Customer cards', CARD, ['customer']),
  {
    method: 'GET',
    path: '/customers/{id}/cards/{card_id}',
    source: 'Customer cards',
    ids: ['customer', 'card'],
    answers: CARD,
  },
  {
    method: 'PATCH',
    path: '/customers/{id}/cards/{card_id}',
    source: 'Customer cards',
    ids: ['customer', 'card'],
    form: same({}),
    inputs: CARD_INPUTS,
    answers: CARD,
  },
  {
    method: 'DELETE',
    path: '/customers/{id}/cards/{card_id}',
    source: 'Customer cards',
    ids: ['customer', async (samples) => idIn(await samples.spareCard())],
    answers: CARD,
  },
  { method: 'GET', path: '/customers/{id}', source: 'assumption', ids: ['customer'], answers: CUSTOMER },

  {
    method: 'GET',
    path: '/sources/{id}',
    source: 'Sources',
    ids: ['plain source'],
    publicKey: true,
    answers: SOURCE,
  },
  {
    method: 'POST',
    path: '/sources',
    source: 'Sources',
    publicKey: true,
    form: same(NEW_SOURCE),
    inputs: SOURCE_INPUTS,
    answers: SOURCE,
  },

  {
    method: 'POST',
    path: '/charges',
    source: 'Charges (QR method)',
    form: same(NEW_CHARGE),
    inputs: CHARGE_INPUTS,
    answers: CHARGE,
  },
  {
    method: 'POST',
    path: '/charges/{id}/expire',
    source: 'Charges (QR method)',
    ids: [fresh('pending')],
    answers: CHARGE,
  },
  { method: 'GET', path: '/charges/{id}', source: 'assumption', ids: ['pending charge'], answers: CHARGE },
  list('/charges', 'assumption', CHARGE),
  list('/charges/{id}/events', 'assumption', EVENT, ['refunded charge']),
  {
    method: 'POST',
    path: '/charges/{id}/mark_as_paid',
    source: 'assumption',
    ids: [fresh('pending')],
    answers: CHARGE,
  },
  {
    method: 'POST',
    path: '/charges/{id}/mark_as_failed',
    source: 'assumption',
    ids: [fresh('pending')],
    answers: CHARGE,
  },
  {
    method: 'POST',
    path: '/charges/{id}/refunds',
    source: 'assumption',
    ids: [fresh('successful')],
    form: same({ amount: 2_000 }),
    inputs: [
      needed({ ...AMOUNT, example: { amount: 1_000 } }),
      METADATA,
      { name: 'void', type: 'boolean', example: { void: false } },
    ],
    answers: REFUND,
  },
  list('/charges/{id}/refunds', 'assumption', REFUND, ['refunded charge']),
];

/** Invalid values of each type. Other rows check the reference's "Limits". */
export const WRONG: Readonly<Record<InputType, (name: string) => readonly Form[]>> = {
  string: (name) => [{ [`${name}[inner]`]: 'x' }, { [`${name}[]`]: 'x' }],
  integer: (name) => [{ [name]: 'many' }, { [name]: '1.5' }, { [name]: '1e3' }, { [`${name}[]`]: '1' }],
  boolean: (name) => [{ [name]: 'maybe' }, { [name]: '1' }],
  date: (name) => [{ [name]: 'tomorrow' }, { [name]: '2099-02-30' }],
  'date-time': (name) => [{ [name]: 'tomorrow' }, { [name]: '2099-13-01T00:00:00Z' }],
  uri: (name) => [{ [name]: 'not a uri' }],
  object: (name) => [{ [name]: 'x' }, { [`${name}[]`]: 'x' }],
  array: (name) => [{ [name]: 'x' }, { [`${name}[inner]`]: 'x' }],
  addresses: (name) => [{ [name]: 'x' }, { [`${name}[]`]: 'not a uri' }],
};
