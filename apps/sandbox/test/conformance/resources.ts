import {
  always,
  anyArray,
  anyObject,
  anything,
  arrayOf,
  boolean,
  currency,
  date,
  dateTime,
  decimal,
  filledText,
  idOf,
  integer,
  listOf,
  matching,
  nullOrLeftOut,
  number,
  object,
  oneOf,
  orNull,
  path,
  resource,
  text,
  unfilled,
  uri,
  type Kind,
} from './kinds.js';
import type { SampleName } from './samples.js';

/**
 * Every resource with every field. Source: API reference, "Resources and their fields"; the assumptions for refunds,
 * schedules, occurrences, disputes, customers and deliveries.
 *
 * `orNull` marks an input that was not sent, a time that does not apply yet, or a missing relation: some sample must
 * have a value. `unfilled` marks a field that is always null or missing here. Any other field is never null.
 */

export const TRANSACTION = resource('a transaction', {
  object: always('transaction'),
  id: idOf('trxn'),
  livemode: boolean,
  currency,
  amount: integer,
  location: path,
  direction: oneOf('credit', 'debit'),
  key: filledText,
  origin: filledText,
  transferable_at: dateTime,
  created_at: dateTime,
});

export const RECEIPT = resource('a receipt', {
  object: always('receipt'),
  id: idOf('rcpt'),
  livemode: boolean,
  location: path,
  credit_note: boolean,
  charge_fee: integer,
  transaction_fee: integer,
  subtotal: integer,
  transfer_fee: integer,
  voided_fee: integer,
  vat: integer,
  wht: integer,
  total: integer,
  company_address: text,
  company_name: text,
  company_tax_id: text,
  currency,
  customer_address: text,
  customer_email: text,
  customer_name: text,
  customer_statement_name: text,
  customer_tax_id: text,
  number: filledText,
  created_at: dateTime,
  issued_on: date,
  // Null in a month without an adjustment.
  adjustment_transaction: orNull(TRANSACTION),
});

export const ACCOUNT = resource('an account', {
  object: always('account'),
  id: matching(/^account_(?:test_)?[0-9a-z]+$/),
  team: matching(/^acct_(?:test_)?[0-9a-z]+$/),
  livemode: boolean,
  location: path,
  country: filledText,
  currency,
  email: filledText,
  created_at: dateTime,
  supported_currencies: arrayOf(currency),
  api_version: matching(/^\d{4}-\d{2}-\d{2}$/),
  auto_activate_recipients: boolean,
  chain_enabled: boolean,
  zero_interest_installments: boolean,
  chain_return_uri: orNull(uri),
  webhook_uri: orNull(uri),
  metadata_export_keys: anyObject,
  chaining_allowed: boolean,
  last_updated_api_version: matching(/^\d{4}-\d{2}-\d{2}$/),
  transfer_config: anyObject,
});

/** Source: assumption, "GET /account/api_versions". */
export const ACCOUNT_VERSIONS = resource('an account', {
  ...ACCOUNT.fields,
  versions: arrayOf(matching(/^\d{4}-\d{2}-\d{2}$/)),
});

/** Source: assumption, "webhook_deliveries[]". */
const DELIVERY = object({
  object: always('webhook_delivery'),
  id: filledText,
  uri,
  status: orNull(integer),
  key: filledText,
  error: unfilled(text),
  payload: anyObject,
});

export const EVENT = resource('an event', {
  object: always('event'),
  id: idOf('evnt'),
  livemode: boolean,
  location: path,
  webhook_deliveries: arrayOf(DELIVERY),
  data: anyObject,
  key: filledText,
  created_at: dateTime,
  team_uid: filledText,
  user_uid: filledText,
  actor_uid: filledText,
});

export const DOCUMENT = resource('a document', {
  object: always('document'),
  livemode: boolean,
  id: idOf('docu'),
  deleted: boolean,
  filename: filledText,
  location: path,
  kind: filledText,
  download_uri: uri,
  created_at: dateTime,
});

export const CARD = resource('a card', {
  object: always('card'),
  id: idOf('card'),
  livemode: boolean,
  location: path,
  deleted: boolean,
  street1: orNull(text),
  street2: orNull(text),
  city: orNull(text),
  state: orNull(text),
  phone_number: orNull(text),
  postal_code: orNull(text),
  country: matching(/^[a-z]{0,2}$/),
  financing: text,
  bank: text,
  brand: text,
  fingerprint: text,
  first_digits: orNull(matching(/^[0-9]{6}$/)),
  last_digits: matching(/^[0-9]{4}$/),
  name: text,
  expiration_month: integer,
  expiration_year: integer,
  security_code_check: boolean,
  tokenization_method: orNull(text),
  created_at: dateTime,
});

const ADDRESS = object({
  city: text,
  country: text,
  postal_code: text,
  state: text,
  street1: text,
  street2: text,
});

const SCANNABLE_CODE = object({
  object: always('barcode'),
  type: always('qr'),
  image: object({ ...DOCUMENT.fields, kind: always('qr') }),
  raw_data: filledText,
});

const REFERENCES = object({
  expires_at: unfilled(dateTime),
  device_id: unfilled(text),
  customer_amount: integer,
  customer_currency: text,
  customer_exchange_rate: number,
  service_tax_id: unfilled(text),
  reference_number_1: unfilled(text),
  reference_number_2: unfilled(text),
  barcode: unfilled(text),
  payment_code: unfilled(text),
  va_code: unfilled(text),
});

export const SOURCE = resource('a source', {
  object: always('source'),
  id: idOf('src'),
  livemode: boolean,
  location: path,
  amount: integer,
  barcode: orNull(text),
  bank: orNull(text),
  created_at: dateTime,
  currency: oneOf('THB', 'SGD', 'MYR'),
  email: orNull(text),
  flow: always('offline'),
  installment_term: orNull(integer),
  ip: orNull(text),
  absorption_type: unfilled(oneOf('merchant', 'customer')),
  name: orNull(text),
  mobile_number: orNull(text),
  phone_number: unfilled(text),
  platform_type: orNull(text),
  scannable_code: orNull(SCANNABLE_CODE),
  qr_settings: orNull(object({ image_type: text })),
  billing: orNull(ADDRESS),
  shipping: orNull(ADDRESS),
  items: anyArray,
  // Null until a wallet has paid; so are the references and the receipt's amount of the charge.
  references: orNull(REFERENCES),
  provider_references: orNull(object({ reference_number_1: text, reference_number_2: text, buyer_name: text })),
  store_id: orNull(text),
  store_name: orNull(text),
  terminal_id: orNull(text),
  type: always('wallet_mpm'),
  zero_interest_installments: orNull(boolean),
  charge_status: oneOf('failed', 'expired', 'pending', 'reversed', 'successful', 'unknown'),
  receipt_amount: orNull(integer),
  discounts: anyArray,
  promotion_code: orNull(text),
  supplier_id: orNull(text),
});

/** Source: assumption, "Refund or void". */
export const REFUND = resource('a refund', {
  object: always('refund'),
  id: idOf('rfnd'),
  location: path,
  livemode: boolean,
  amount: integer,
  currency,
  charge: idOf('chrg'),
  transaction: idOf('trxn'),
  voided: boolean,
  metadata: anyObject,
  status: always('closed'),
  created_at: dateTime,
});

export const CHARGE = resource('a charge', {
  object: always('charge'),
  id: idOf('chrg'),
  location: path,
  amount: integer,
  acquirer_reference_number: orNull(text),
  net: integer,
  fee: integer,
  fee_vat: integer,
  interest: integer,
  interest_vat: integer,
  funding_amount: integer,
  refunded_amount: integer,
  transaction_fees: object({ fee_flat: decimal, fee_rate: decimal, vat_rate: decimal }),
  platform_fee: object({ fixed: unfilled(integer), amount: unfilled(integer), percentage: unfilled(number) }),
  currency,
  funding_currency: currency,
  ip: unfilled(text),
  refunds: listOf(REFUND),
  link: unfilled(text),
  description: orNull(text),
  card: orNull(CARD),
  schedule: orNull(idOf('schd')),
  linked_account: unfilled(text),
  customer: orNull(idOf('cust')),
  dispute: orNull(anything),
  transaction: orNull(idOf('trxn')),
  metadata: anyObject,
  // Null when a schedule charged a card.
  source: orNull(SOURCE),
  failure_code: orNull(filledText),
  failure_message: orNull(filledText),
  status: oneOf('pending', 'successful', 'failed', 'expired'),
  authorize_uri: unfilled(uri),
  return_uri: orNull(uri),
  created_at: dateTime,
  paid_at: orNull(dateTime),
  authorized_at: orNull(dateTime),
  expires_at: dateTime,
  expired_at: orNull(dateTime),
  reversed_at: unfilled(dateTime),
  zero_interest_installments: boolean,
  branch: unfilled(text),
  terminal: unfilled(text),
  device: unfilled(text),
  authorized: boolean,
  capturable: boolean,
  capture: boolean,
  disputable: boolean,
  livemode: boolean,
  refundable: boolean,
  partially_refundable: boolean,
  reversed: boolean,
  reversible: boolean,
  voided: boolean,
  paid: boolean,
  expired: boolean,
  can_perform_void: boolean,
  approval_code: orNull(text),
});

/** Source: assumption, "Schedules and occurrences", for this and the next two. */
export const OCCURRENCE = resource('an occurrence', {
  object: always('occurrence'),
  id: idOf('occu'),
  livemode: boolean,
  location: path,
  schedule: idOf('schd'),
  scheduled_on: date,
  retry_on: unfilled(date),
  processed_at: orNull(dateTime),
  status: oneOf('scheduled', 'successful', 'failed', 'skipped'),
  message: unfilled(text),
  result: orNull(filledText),
  created_at: dateTime,
});

const CHARGE_SCHEDULE = object({
  object: always('charge_schedule'),
  id: idOf('rchg'),
  amount: integer,
  currency,
  card: orNull(text),
  customer: filledText,
  default_card: boolean,
  description: orNull(text),
  metadata: anyObject,
});

const TRANSFER_SCHEDULE = object({
  object: always('transfer_schedule'),
  id: idOf('rtrf'),
  recipient: filledText,
  amount: orNull(integer),
  percentage_of_balance: orNull(number),
  currency,
});

const SCHEDULE_FIELDS = {
  object: always('schedule'),
  id: idOf('schd'),
  deleted: boolean,
  livemode: boolean,
  location: path,
  every: integer,
  period: oneOf('day', 'week', 'month'),
  on: anyObject,
  in_words: filledText,
  start_on: date,
  end_on: date,
  status: oneOf('running', 'active', 'expiring', 'expired', 'deleted', 'suspended'),
  active: boolean,
  occurrences: listOf(OCCURRENCE),
  next_occurrences_on: arrayOf(date),
  ended_at: orNull(dateTime),
  created_at: dateTime,
};

/** A charge or a transfer schedule. */
export const SCHEDULE = resource('a schedule', SCHEDULE_FIELDS);
export const SCHEDULE_OF_CHARGES = resource('a schedule of charges', {
  ...SCHEDULE_FIELDS,
  charge: CHARGE_SCHEDULE,
  transfer: nullOrLeftOut,
});
export const SCHEDULE_OF_TRANSFERS = resource('a schedule of transfers', {
  ...SCHEDULE_FIELDS,
  charge: nullOrLeftOut,
  transfer: TRANSFER_SCHEDULE,
});

/** Source: assumption, "Disputes". */
export const DISPUTE = resource('a dispute', {
  object: always('dispute'),
  id: idOf('dspt'),
  livemode: boolean,
  location: path,
  status: oneOf('open', 'pending', 'won', 'lost'),
});

/** Source: assumption, "Customers". */
export const CUSTOMER = resource('a customer', {
  object: always('customer'),
  id: idOf('cust'),
  livemode: boolean,
  location: path,
  default_card: orNull(filledText),
  cards: listOf(CARD),
});

export type Resource = {
  readonly name: string;
  readonly kind: Kind;
  /** Records that together have a value for every field. */
  readonly samples: readonly SampleName[];
  /** Whether the table names all fields. It cannot when neither the reference nor an assumption does. */
  readonly complete: boolean;
};

export const RESOURCES: readonly Resource[] = [
  {
    name: 'source',
    kind: SOURCE,
    samples: ['plain source', 'full source', 'used source', 'paid source'],
    complete: true,
  },
  {
    name: 'charge',
    kind: CHARGE,
    samples: [
      'pending charge',
      'full charge',
      'successful charge',
      'failed charge',
      'expired charge',
      'refunded charge',
      'voided charge',
      'scheduled charge',
      'disputed charge',
    ],
    complete: true,
  },
  { name: 'refund', kind: REFUND, samples: ['refund', 'void'], complete: true },
  { name: 'transaction', kind: TRANSACTION, samples: ['credit', 'debit'], complete: true },
  { name: 'event', kind: EVENT, samples: ['event', 'delivered event'], complete: true },
  { name: 'account', kind: ACCOUNT, samples: ['account', 'full account'], complete: true },
  { name: 'account versions', kind: ACCOUNT_VERSIONS, samples: ['account versions'], complete: true },
  { name: 'receipt', kind: RECEIPT, samples: ['receipt', 'adjusted receipt'], complete: true },
  {
    name: 'charge schedule',
    kind: SCHEDULE_OF_CHARGES,
    samples: ['charge schedule', 'full charge schedule', 'run charge schedule', 'deleted schedule'],
    complete: true,
  },
  {
    name: 'transfer schedule',
    kind: SCHEDULE_OF_TRANSFERS,
    samples: ['transfer schedule', 'percentage schedule', 'deleted transfer schedule'],
    complete: true,
  },
  { name: 'occurrence', kind: OCCURRENCE, samples: ['occurrence'], complete: true },
  { name: 'dispute', kind: DISPUTE, samples: ['open dispute'], complete: false },
  { name: 'document', kind: DOCUMENT, samples: ['document', 'deleted document'], complete: true },
  { name: 'customer', kind: CUSTOMER, samples: ['customer'], complete: false },
  { name: 'card', kind: CARD, samples: ['card', 'deleted card'], complete: true },
];
