import type { AccountReply, AccountVersionsReply } from '../account/account.schema.js';
import type { PendingChange, Removed } from '../commands/pending.js';
import type { CardReply, CustomerReply } from '../customers/customers.schema.js';
import type { DisputeReply, DocumentReply, EvidenceReply } from '../disputes/disputes.schema.js';
import type { PendingPlan, PlanReply } from '../plans/plans.schema.js';
import type { ProviderEventReply, ReceiptReply, TransactionReply } from '../records/records.schema.js';
import type { MarkedCharge } from '../test-mode/test-mode.schema.js';

// A membership that is charged each month, and what else the provider keeps. Each is checked by test/openapi.spec.ts.

const PROVIDER = 'https://provider.example';
const CUSTOMER = 'cust_test_3m1kq0v7d2';
const CARD = 'card_test_8f0z5x2c1b';
const DISPUTE = 'dspt_test_1w4e7r0t3y';
const CHARGE = 'chrg_test_ym45mfiva1bdny558nb';

/** One page, which is also the last. */
function pageWith<T>(record: T): { data: T[]; next_cursor: null; total: number } {
  return { data: [record], next_cursor: null, total: 1 };
}

export const planRequest = {
  every: 1,
  period: 'month',
  on: { days_of_month: [1] },
  start_date: '2026-12-01',
  end_date: '2027-11-30',
  charge: { customer: CUSTOMER, amount: 50_000, currency: 'THB', description: 'Membership' },
};

const occurrence = {
  object: 'occurrence',
  id: 'occu_test_6y9u2i5o8p',
  schedule: 'schd_test_4g7h0j3k6l',
  scheduled_on: '2026-12-01',
  retry_on: null,
  processed_at: '2026-12-01T00:00:00.000Z',
  status: 'successful',
  message: null,
  result: 'chrg_test_2q5w8e1r4t',
  created_at: '2026-11-21T05:30:18.000Z',
};

export const plan: PlanReply = {
  object: 'schedule',
  id: 'schd_test_4g7h0j3k6l',
  status: 'active',
  active: true,
  every: 1,
  period: 'month',
  on: { days_of_month: [1] },
  start_on: '2026-12-01',
  end_on: '2027-11-30',
  charge: { object: 'charge_schedule', customer: CUSTOMER, card: null, amount: 50_000, currency: 'THB' },
  next_occurrences_on: ['2027-01-01', '2027-02-01'],
  occurrences: { object: 'list', data: [occurrence] },
  created_at: '2026-11-21T05:30:18.000Z',
};

export const stoppedPlan: PlanReply = { ...plan, status: 'deleted', active: false, next_occurrences_on: [] };
export const plans = pageWith(plan);
export const occurrences = pageWith(occurrence);

export const pendingPlan: PendingPlan = {
  object: 'schedule',
  id: null,
  status: 'pending',
  detail: 'Its outcome is not known yet',
  every: 1,
  period: 'month',
  end_on: '2027-11-30',
};

export const pendingStop: PendingPlan = {
  object: 'schedule',
  id: 'schd_test_4g7h0j3k6l',
  status: 'pending',
  detail: 'Its outcome is not known yet',
};

export const pendingChange: PendingChange = { status: 'pending', detail: 'Its outcome is not known yet' };

export const cardChange = { expiration_month: 12, expiration_year: 2029 };

export const card: CardReply = {
  object: 'card',
  id: CARD,
  name: 'Somchai Prasert',
  brand: 'Visa',
  last_digits: '4242',
  expiration_month: 12,
  expiration_year: 2029,
  city: 'Bangkok',
  postal_code: '10320',
  deleted: false,
};

export const cards = pageWith(card);
export const removedCard: Removed = { id: CARD, deleted: true };

export const customer: CustomerReply = {
  object: 'customer',
  id: CUSTOMER,
  default_card: CARD,
  cards: { object: 'list', data: [card] },
};

export const accountChange = { webhook_uri: 'https://pay.example/webhooks/provider' };

export const account: AccountReply = {
  object: 'account',
  id: 'account_test_9i6u3y0t7r',
  api_version: '2025-06-09',
  webhook_uri: 'https://pay.example/webhooks/provider',
  supported_currencies: ['THB', 'SGD', 'MYR'],
};

export const accountVersions: AccountVersionsReply = { ...account, versions: ['2025-05-27', '2025-06-09'] };

export const receipt: ReceiptReply = {
  object: 'receipt',
  id: 'rcpt_test_0p7o4i1u8y',
  number: '2026-11-0001',
  issued_on: '2026-11-30',
  currency: 'THB',
  charge_fee: 2_475,
  transaction_fee: 0,
  transfer_fee: 0,
  voided_fee: 0,
  vat: 173,
  wht: 0,
  total: 2_648,
};

export const receipts = pageWith(receipt);

export const transaction: TransactionReply = {
  object: 'transaction',
  id: 'trxn_test_5t2r9e6w3q',
  amount: 147_352,
  currency: 'THB',
  direction: 'credit',
  key: 'charge.capture',
  origin: CHARGE,
  transferable_at: '2026-11-28T05:31:02.000Z',
};

export const transactions = pageWith(transaction);

export const providerEvent: ProviderEventReply = {
  object: 'event',
  id: 'evnt_test_d0x0p8jxvyxkd7z96ol',
  key: 'charge.complete',
  data: { object: 'charge', id: CHARGE },
  created_at: '2026-11-21T05:31:02.000Z',
};

export const providerEvents = pageWith(providerEvent);

export const dispute: DisputeReply = {
  object: 'dispute',
  id: DISPUTE,
  status: 'open',
  amount: 150_000,
  currency: 'THB',
  charge: CHARGE,
  reason_code: 'goods_or_services_not_provided',
  closed_at: null,
};

export const evidenceRequest = { file: ['the bytes of receipt.pdf'], kind: 'receipt' };

export const document: DocumentReply = {
  object: 'document',
  id: 'docu_test_7z4x1c8v5b',
  filename: 'receipt.pdf',
  kind: 'receipt',
  download_uri: `${PROVIDER}/documents/receipt.pdf`,
  created_at: '2026-11-21T06:02:11.480Z',
};

export const documents = pageWith(document);
export const removedDocument: Removed = { id: document.id, deleted: true };

const storedFile = { filename: 'receipt.pdf', status: 'stored' as const, document, code: null, detail: null };

export const evidence: EvidenceReply = { data: [storedFile] };
export const knownEvidence: EvidenceReply = { data: [{ ...storedFile, status: 'already_stored' }] };

export const someEvidence: EvidenceReply = {
  data: [
    storedFile,
    {
      filename: 'delivery.png',
      status: 'unknown',
      document: null,
      code: 'timeout',
      detail: 'The provider did not answer in time',
    },
  ],
};

export const markedCharge: MarkedCharge = { id: CHARGE, status: 'successful', checkout: 'chk_default_till-7-000142' };
