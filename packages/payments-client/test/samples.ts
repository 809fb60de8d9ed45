import type { List } from '../src/pagination/list.js';
import type { Search } from '../src/pagination/search.js';
import type { AccountUpdateParams } from '../src/resources/account/account.js';
import type { AccountVersions } from '../src/resources/account/schema.js';
import type { ChargeCreateParams, RefundCreateParams } from '../src/resources/charges/charges.js';
import type { Charge, PlatformFee, Refund, TransactionFees } from '../src/resources/charges/schema.js';
import type { CardUpdateParams } from '../src/resources/customers/customers.js';
import type { Card, Customer } from '../src/resources/customers/schema.js';
import type { Dispute } from '../src/resources/disputes/schema.js';
import type { Document } from '../src/resources/documents/schema.js';
import type { DocumentCreateParams } from '../src/resources/documents/upload.js';
import type { Event, WebhookDelivery } from '../src/resources/events/schema.js';
import type { ReceiptFilters, ReceiptSearchParams } from '../src/resources/receipts/receipts.js';
import type { Receipt } from '../src/resources/receipts/schema.js';
import type { ChargeScheduleFilters, ChargeScheduleSearchParams } from '../src/resources/schedules/charge-schedules.js';
import type {
  ScheduleCreateParams,
  ScheduledChargeParams,
  ScheduledTransferParams,
} from '../src/resources/schedules/schedules.js';
import type {
  Occurrence,
  Schedule,
  ScheduledCharge,
  ScheduledTransfer,
  ScheduleOn,
} from '../src/resources/schedules/schema.js';
import type {
  Address,
  ProviderReferences,
  QrSettings,
  ScannableCode,
  Source,
  SourceReferences,
} from '../src/resources/sources/schema.js';
import type { SourceCreateParams } from '../src/resources/sources/sources.js';
import type { Transaction } from '../src/resources/transactions/schema.js';

/**
 * Replies in the reference's shape, with every field of its tables filled. `Required` makes the compiler name a field
 * that a type has and its sample lacks, and `satisfies` one that a sample has and its type lacks.
 * `test/client-fields.spec.ts` holds them against the sandbox's own transcription of the reference.
 */

const created_at = '2025-06-09T03:00:00Z';
const shared = { livemode: false, created_at } as const;

/** The list envelope. Source: API reference, "List envelope". */
export function listOf<T>(...data: T[]) {
  return {
    object: 'list',
    data,
    limit: 20,
    offset: 0,
    total: data.length,
    location: '/somewhere',
    order: 'chronological',
    from: '1970-01-01T00:00:00Z',
    to: '2025-06-10T00:00:00Z',
  } satisfies Required<List<T>>;
}

/** Source: assumption "Search result". */
export function searchOf<T>(...data: T[]) {
  return {
    object: 'search',
    scope: 'somewhere',
    query: '',
    filters: {},
    order: 'chronological',
    page: 1,
    per_page: 30,
    total: data.length,
    total_pages: 1,
    location: '/somewhere/search',
    data,
  } satisfies Required<Search<T>>;
}

export const TRANSACTION = {
  ...shared,
  object: 'transaction',
  id: 'trxn_test_1',
  currency: 'THB',
  amount: 147_352,
  location: '/transactions/trxn_test_1',
  direction: 'credit',
  key: 'charge.capture',
  origin: 'chrg_test_1',
  transferable_at: '2025-06-16T03:00:00Z',
} as const satisfies Required<Transaction>;

export const RECEIPT = {
  ...shared,
  object: 'receipt',
  id: 'rcpt_test_1',
  location: '/receipts/rcpt_test_1',
  credit_note: false,
  charge_fee: 2_475,
  transaction_fee: 0,
  subtotal: 2_475,
  transfer_fee: 0,
  voided_fee: 0,
  vat: 173,
  wht: 74,
  total: 2_574,
  company_address: '1 Example Road, Bangkok 10110',
  company_name: 'Example Payments Co., Ltd.',
  company_tax_id: '0000000000001',
  currency: 'THB',
  customer_address: '2 Example Road, Bangkok 10110',
  customer_email: 'merchant@example.com',
  customer_name: 'Example Tea Co., Ltd.',
  customer_statement_name: 'EXAMPLE TEA',
  customer_tax_id: '0000000000002',
  number: 'TH-2025-06-1',
  issued_on: '2025-06-30',
  adjustment_transaction: TRANSACTION,
} as const satisfies Required<Receipt>;

export const ACCOUNT_VERSIONS = {
  ...shared,
  object: 'account',
  id: 'account_test_1',
  team: 'acct_1',
  location: '/account',
  country: 'TH',
  currency: 'THB',
  email: 'merchant@example.com',
  supported_currencies: ['THB', 'SGD', 'MYR'],
  api_version: '2025-06-09',
  auto_activate_recipients: false,
  chain_enabled: false,
  zero_interest_installments: false,
  chain_return_uri: 'https://shop.example.com/chained',
  webhook_uri: 'https://shop.example.com/hook',
  metadata_export_keys: { charge: ['order'] },
  chaining_allowed: false,
  last_updated_api_version: '2025-06-09',
  transfer_config: {},
  versions: ['2025-05-27', '2025-06-09'],
} satisfies Required<AccountVersions>;

const { versions: _, ...account } = ACCOUNT_VERSIONS;
export const ACCOUNT = account;

export const DOCUMENT = {
  ...shared,
  object: 'document',
  id: 'docu_test_1',
  deleted: false,
  filename: 'receipt.png',
  location: '/disputes/dspt_test_1/documents/docu_test_1',
  kind: 'receipt',
  download_uri: 'https://provider.example.com/download/1/receipt.png',
} as const satisfies Required<Document>;

export const CARD = {
  ...shared,
  object: 'card',
  id: 'card_test_1',
  location: '/customers/cust_test_1/cards/card_test_1',
  deleted: false,
  street1: '1 Rama I Road',
  street2: 'Pathum Wan',
  city: 'Bangkok',
  state: 'Bangkok',
  phone_number: '+66800000000',
  postal_code: '10330',
  country: 'th',
  financing: 'credit',
  bank: 'Example Bank',
  brand: 'Visa',
  fingerprint: 'XjOdjaoHRvUGRfmZacMPcJtm0U3SEIIfkA7534dQeVw=',
  first_digits: '424242',
  last_digits: '4242',
  name: 'Somchai Prasert',
  expiration_month: 12,
  expiration_year: 2099,
  security_code_check: true,
  tokenization_method: 'wallet',
} as const satisfies Required<Card>;

const ADDRESS = {
  city: 'Bangkok',
  country: 'TH',
  postal_code: '10330',
  state: 'Bangkok',
  street1: '1 Rama I Road',
  street2: 'Pathum Wan',
} satisfies Required<Address>;

const REFERENCES = {
  expires_at: '2025-06-10T03:00:00Z',
  device_id: 'till-7',
  customer_amount: 4_150,
  customer_currency: 'USD',
  customer_exchange_rate: 36.14,
  service_tax_id: '0000000000003',
  reference_number_1: '1',
  reference_number_2: '2',
  barcode: '8850000000012',
  payment_code: '123',
  va_code: '456',
} satisfies Required<SourceReferences>;

/** As the QR method creates it: only the method's own fields, and no QR code yet. */
export const NEW_SOURCE = {
  ...shared,
  object: 'source',
  id: 'src_test_1',
  location: '/sources/src_test_1',
  amount: 150_000,
  barcode: null,
  bank: null,
  currency: 'THB',
  email: null,
  flow: 'offline',
  installment_term: null,
  ip: null,
  absorption_type: null,
  name: null,
  mobile_number: null,
  phone_number: null,
  platform_type: null,
  scannable_code: null,
  qr_settings: null,
  billing: null,
  shipping: null,
  items: [],
  references: null,
  provider_references: null,
  store_id: null,
  store_name: null,
  terminal_id: null,
  type: 'wallet_mpm',
  zero_interest_installments: null,
  charge_status: 'unknown',
  receipt_amount: null,
  discounts: [],
  promotion_code: null,
  supplier_id: null,
} satisfies Required<Source>;

/** In use by a pending charge, every field filled. */
export const SOURCE = {
  ...NEW_SOURCE,
  barcode: '8850000000012',
  bank: 'wallet',
  email: 'till@example.com',
  installment_term: 3,
  ip: '203.0.113.7',
  absorption_type: 'merchant',
  name: 'Till 7',
  mobile_number: '+66800000000',
  phone_number: '+66800000001',
  platform_type: 'WEB',
  scannable_code: {
    object: 'barcode',
    type: 'qr',
    image: { ...DOCUMENT, filename: 'qrcode.svg', kind: 'qr' },
    raw_data: 'https://provider.example.com/wallet/1',
  } satisfies Required<ScannableCode>,
  qr_settings: { image_type: 'svg' } satisfies Required<QrSettings>,
  billing: ADDRESS,
  shipping: ADDRESS,
  items: [{ name: 'Tea' }],
  references: REFERENCES,
  provider_references: {
    reference_number_1: '1',
    reference_number_2: '2',
    buyer_name: 'Somchai Prasert',
  } satisfies Required<ProviderReferences>,
  store_id: 'store-1',
  store_name: 'Central',
  terminal_id: 'till-7',
  zero_interest_installments: false,
  charge_status: 'pending',
  receipt_amount: 150_000,
  discounts: [{ name: 'Monday' }],
  promotion_code: 'TEA',
  supplier_id: 'supplier-1',
} satisfies Required<Source>;

export const REFUND = {
  ...shared,
  object: 'refund',
  id: 'rfnd_test_1',
  location: '/charges/chrg_test_1/refunds/rfnd_test_1',
  amount: 5_000,
  currency: 'THB',
  charge: 'chrg_test_1',
  transaction: 'trxn_test_2',
  voided: false,
  metadata: { reason: 'returned' },
  status: 'closed',
} satisfies Required<Refund>;

/** As the QR method creates it: pending, without the fields that apply later. */
export const NEW_CHARGE = {
  ...shared,
  object: 'charge',
  id: 'chrg_test_1',
  location: '/charges/chrg_test_1',
  amount: 150_000,
  acquirer_reference_number: null,
  net: 147_352,
  fee: 2_475,
  fee_vat: 173,
  interest: 0,
  interest_vat: 0,
  funding_amount: 150_000,
  refunded_amount: 0,
  transaction_fees: { fee_flat: '0.0', fee_rate: '1.65', vat_rate: '7.0' } satisfies Required<TransactionFees>,
  platform_fee: { fixed: null, amount: null, percentage: null },
  currency: 'THB',
  funding_currency: 'THB',
  ip: null,
  refunds: listOf(),
  link: null,
  description: null,
  card: null,
  schedule: null,
  linked_account: null,
  customer: null,
  dispute: null,
  transaction: null,
  metadata: {},
  source: SOURCE,
  failure_code: null,
  failure_message: null,
  status: 'pending',
  authorize_uri: null,
  return_uri: null,
  paid_at: null,
  authorized_at: null,
  expires_at: '2025-06-10T03:00:00Z',
  expired_at: null,
  reversed_at: null,
  zero_interest_installments: false,
  branch: null,
  terminal: null,
  device: null,
  authorized: false,
  capturable: false,
  capture: true,
  disputable: false,
  refundable: false,
  partially_refundable: false,
  reversed: false,
  reversible: false,
  voided: false,
  paid: false,
  expired: false,
  can_perform_void: false,
  approval_code: null,
} satisfies Required<Charge>;

/** Every field filled, which no real charge has. */
export const CHARGE = {
  ...NEW_CHARGE,
  acquirer_reference_number: '12345',
  refunded_amount: 5_000,
  platform_fee: { fixed: 100, amount: 250, percentage: 0.1 } satisfies Required<PlatformFee>,
  ip: '203.0.113.7',
  refunds: listOf(REFUND),
  link: 'link_test_1',
  description: 'Order 7',
  card: CARD,
  schedule: 'schd_test_1',
  linked_account: 'account_test_2',
  customer: 'cust_test_1',
  dispute: 'dspt_test_1',
  transaction: 'trxn_test_1',
  metadata: { order: '7' },
  failure_code: 'payment_rejected',
  failure_message: 'Payment rejected by the issuer.',
  status: 'failed',
  authorize_uri: 'https://provider.example.com/authorize',
  return_uri: 'https://shop.example.com/done',
  paid_at: '2025-06-09T03:01:00Z',
  authorized_at: '2025-06-09T03:01:00Z',
  expired_at: '2025-06-10T03:00:00Z',
  reversed_at: '2025-06-10T03:00:00Z',
  branch: 'branch-1',
  terminal: 'till-7',
  device: 'device-1',
  approval_code: '000001',
} satisfies Required<Charge>;

export const EVENT = {
  ...shared,
  object: 'event',
  id: 'evnt_test_1',
  location: '/events/evnt_test_1',
  webhook_deliveries: [
    {
      object: 'webhook_delivery',
      id: 'whdl_test_1',
      uri: 'https://shop.example.com/hook',
      status: 500,
      key: 'charge.complete',
      error: 'Internal Server Error',
      payload: {},
    } satisfies Required<WebhookDelivery>,
  ],
  data: NEW_CHARGE,
  key: 'charge.complete',
  team_uid: 'acct_1',
  user_uid: 'user_1',
  actor_uid: 'user_1',
} satisfies Required<Event>;

export const OCCURRENCE = {
  ...shared,
  object: 'occurrence',
  id: 'occu_test_1',
  location: '/schedules/schd_test_1/occurrences/occu_test_1',
  schedule: 'schd_test_1',
  scheduled_on: '2025-06-16',
  retry_on: '2025-06-17',
  processed_at: '2025-06-16T03:00:00Z',
  status: 'failed',
  message: 'Insufficient funds.',
  result: 'chrg_test_1',
} satisfies Required<Occurrence>;

const SCHEDULED_CHARGE = {
  object: 'charge_schedule',
  id: 'rchg_test_1',
  amount: 150_000,
  currency: 'THB',
  card: 'card_test_1',
  customer: 'cust_test_1',
  default_card: false,
  description: 'Rent',
  metadata: { flat: '7' },
} satisfies Required<ScheduledCharge>;

const SCHEDULED_TRANSFER = {
  object: 'transfer_schedule',
  id: 'rtrf_test_1',
  recipient: 'recp_test_1',
  amount: null,
  percentage_of_balance: 75.5,
  currency: 'THB',
} satisfies Required<ScheduledTransfer>;

export const CHARGE_SCHEDULE = {
  ...shared,
  object: 'schedule',
  id: 'schd_test_1',
  deleted: false,
  location: '/schedules/schd_test_1',
  every: 1,
  period: 'month',
  on: { days_of_month: [1, 15] },
  in_words: 'Every 1 month on the 1st and 15th',
  start_on: '2025-06-09',
  end_on: '2026-06-09',
  status: 'active',
  active: true,
  charge: SCHEDULED_CHARGE,
  transfer: null,
  occurrences: listOf(OCCURRENCE),
  next_occurrences_on: ['2025-06-15', '2025-07-01'],
  ended_at: null,
} satisfies Required<Schedule>;

export const TRANSFER_SCHEDULE = {
  ...CHARGE_SCHEDULE,
  id: 'schd_test_2',
  location: '/schedules/schd_test_2',
  on: { weekdays: ['monday'], days_of_month: null, weekday_of_month: null } satisfies Required<ScheduleOn>,
  period: 'week',
  charge: null,
  transfer: SCHEDULED_TRANSFER,
  ended_at: '2026-06-09T00:00:00Z',
} satisfies Required<Schedule>;

export const DISPUTE = {
  ...shared,
  object: 'dispute',
  id: 'dspt_test_1',
  location: '/disputes/dspt_test_1',
  status: 'open',
  amount: 150_000,
  currency: 'THB',
  charge: 'chrg_test_1',
  reason_code: 'goods_or_services_not_provided',
  reason_message: 'Services not provided or Merchandise not received',
  message: 'It was delivered.',
  metadata: {},
  transactions: [],
  documents: listOf(DOCUMENT),
  closed_at: '2025-07-09T03:00:00Z',
} satisfies Required<Dispute>;

export const CUSTOMER = {
  ...shared,
  object: 'customer',
  id: 'cust_test_1',
  location: '/customers/cust_test_1',
  deleted: false,
  default_card: 'card_test_1',
  cards: listOf(CARD),
  email: 'customer@example.com',
  description: 'Flat 7',
  metadata: {},
} satisfies Required<Customer>;

/** The smallest valid picture. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const money = { amount: 150_000, currency: 'THB' };

const SOURCE_PARAMS = {
  ...money,
  type: 'wallet_mpm',
  barcode: '8850000000012',
  email: 'till@example.com',
  bank: 'wallet',
  ip: '203.0.113.7',
  name: 'Till 7',
  mobile_number: '+66800000000',
  platform_type: 'WEB',
  store_id: 'store-1',
  store_name: 'Central',
  terminal_id: 'till-7',
  promotion_code: 'TEA',
  supplier_id: 'supplier-1',
  installment_term: 3,
  zero_interest_installments: false,
  billing: ADDRESS,
  shipping: ADDRESS,
  qr_settings: { image_type: 'svg' },
  items: [{ name: 'Tea' }],
} satisfies Required<SourceCreateParams>;

const SEARCH_PARAMS = { scope: 'somewhere', query: 'tea', order: 'chronological', page: 1 };

/** Every parameter of every endpoint that has parameters, except lists. */
export const PARAMS: Readonly<Record<string, object>> = {
  'POST /sources': SOURCE_PARAMS,
  'POST /charges': {
    ...money,
    source: 'src_test_1',
    description: 'Order 7',
    metadata: { order: '7' },
    expires_at: '2025-06-10T03:00:00Z',
    return_uri: 'https://shop.example.com/done',
    webhook_endpoints: ['https://shop.example.com/hook'],
  } satisfies Required<ChargeCreateParams>,
  'POST /charges/{id}/refunds': {
    amount: 5_000,
    metadata: { reason: 'returned' },
    void: false,
  } satisfies Required<RefundCreateParams>,
  'POST /schedules': {
    every: 1,
    period: 'month',
    on: { days_of_month: [1] },
    start_date: '2025-06-09',
    end_date: '2026-06-09',
    charge: {
      ...money,
      customer: 'cust_test_1',
      card: 'card_test_1',
      description: 'Rent',
      metadata: {},
    } satisfies Required<ScheduledChargeParams>,
    transfer: {
      ...money,
      recipient: 'recp_test_1',
      percentage_of_balance: 75,
    } satisfies Required<ScheduledTransferParams>,
  } satisfies Required<ScheduleCreateParams>,
  'PATCH /account': {
    chain_enabled: false,
    zero_interest_installments: false,
    chain_return_uri: 'https://shop.example.com/chained',
    webhook_uri: 'https://shop.example.com/hook',
    metadata_export_keys: {},
  } satisfies Required<AccountUpdateParams>,
  'POST /disputes/{id}/documents': {
    file: PNG,
    filename: 'receipt.png',
    kind: 'receipt',
  } satisfies Required<DocumentCreateParams>,
  'PATCH /customers/{id}/cards/{card_id}': {
    name: 'Somchai Prasert',
    expiration_month: 12,
    expiration_year: 2099,
    postal_code: '10330',
    city: 'Bangkok',
  } satisfies Required<CardUpdateParams>,
  'GET /receipts/receipts/search': {
    ...SEARCH_PARAMS,
    filters: { created: '2025-06-09' } satisfies Required<ReceiptFilters>,
  } satisfies Required<ReceiptSearchParams>,
  'GET /charges/schedules/search': {
    ...SEARCH_PARAMS,
    filters: {
      status: 'active',
      active: true,
      amount: 150_000,
      created: '2025-06-09',
      card_last_digits: '4242',
    } satisfies Required<ChargeScheduleFilters>,
  } satisfies Required<ChargeScheduleSearchParams>,
};
