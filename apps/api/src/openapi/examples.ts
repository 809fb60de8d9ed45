import { toCsv } from '@tillflow/domain';
import type { RefundReply, RefundsReply } from '../checkouts/refunds.schema.js';
import type {
  ReconciliationReply,
  ReconciliationsReply,
  ReconciliationStarted,
} from '../reconciliations/reconciliations.schema.js';
import type {
  CheckoutReply,
  CheckoutsReply,
  CustomerCheckoutReply,
  TimelineReply,
} from '../checkouts/checkouts.schema.js';

// One sale, told through every request and reply. Each is checked against its schema by test/openapi.spec.ts.

const ID = 'chk_default_till-7-000142';
const API = 'https://pay.example';
const PROVIDER = 'https://provider.example';

export const creation = {
  reference: 'till-7-000142',
  amount: 150_000,
  currency: 'THB',
  description: 'Two coffees',
  metadata: { order: '142' },
  terminal: 'till-7',
};

export const awaiting: CheckoutReply = {
  id: ID,
  reference: 'till-7-000142',
  status: 'awaiting_payment',
  amount: 150_000,
  currency: 'THB',
  description: 'Two coffees',
  metadata: { order: '142' },
  attempts: [
    {
      number: 1,
      source_id: 'src_test_ri530ptpmphvl9vorbi',
      charge_id: 'chrg_test_ym45mfiva1bdny558nb',
      status: 'pending',
      failure_code: null,
      failure_message: null,
      created_at: '2026-11-21T05:30:18.021Z',
      expires_at: '2026-11-21T05:45:18.021Z',
    },
  ],
  qr: {
    image_url: `${API}/v1/checkouts/${ID}/qr?expires=1795326319&sig=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8`,
    download_uri: `${PROVIDER}/qr/54ysb6vvosm3svj5ds6htpae.svg`,
    raw_data: `${PROVIDER}/wallet/54ysb6vvosm3svj5ds6htpae`,
    expires_at: '2026-11-21T05:45:18.021Z',
  },
  paid_at: null,
  refunded_amount: 0,
  voidable_until: null,
  refundable_until: null,
  attention: null,
  created_at: '2026-11-21T05:30:18.021Z',
  updated_at: '2026-11-21T05:30:18.264Z',
  version: 2,
  events_url: `${API}/v1/checkouts/${ID}/events?expires=1795326319&sig=ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8`,
  location: `/v1/checkouts/${ID}`,
};

const [first] = awaiting.attempts;

export const creating: CheckoutReply = {
  ...awaiting,
  status: 'creating',
  attempts: [],
  qr: null,
  updated_at: awaiting.created_at,
  version: 1,
};

export const withdrawn: CheckoutReply = { ...awaiting, qr: null };

export const cancelled: CheckoutReply = {
  ...awaiting,
  status: 'cancelled',
  attempts: first === undefined ? [] : [{ ...first, status: 'expired' }],
  qr: null,
  updated_at: '2026-11-21T05:33:00.120Z',
};

export const secondAttempt: CheckoutReply = {
  ...awaiting,
  attempts:
    first === undefined
      ? []
      : [
          { ...first, status: 'failed', failure_code: 'insufficient_fund', failure_message: 'insufficient funds' },
          {
            ...first,
            number: 2,
            source_id: 'src_test_2f0v3n5bq6vbhwl1kzj',
            charge_id: 'chrg_test_9wqmz1ro4h1yxk7t2dp',
            created_at: '2026-11-21T05:32:40.500Z',
            expires_at: '2026-11-21T05:47:40.500Z',
          },
        ],
  updated_at: '2026-11-21T05:32:40.910Z',
};

export const paid: CheckoutReply = {
  ...awaiting,
  status: 'paid',
  attempts: first === undefined ? [] : [{ ...first, status: 'successful' }],
  qr: null,
  paid_at: '2026-11-21T05:31:02.000Z',
  voidable_until: '2026-11-21T16:15:00.000Z',
  refundable_until: '2027-11-21T05:31:02.000Z',
  updated_at: '2026-11-21T05:31:02.694Z',
  version: 3,
};

export const checkouts: CheckoutsReply = { data: [paid], next_cursor: null };

export const timeline: TimelineReply = {
  data: [
    { at: '2026-11-21T05:30:18.021Z', what: 'opened', by: 'till-7' },
    { at: '2026-11-21T05:30:18.203Z', what: 'source_created', detail: 'src_test_ri530ptpmphvl9vorbi' },
    { at: '2026-11-21T05:30:18.264Z', what: 'charge_created', detail: 'chrg_test_ym45mfiva1bdny558nb' },
    { at: '2026-11-21T05:31:02.659Z', what: 'webhook', detail: 'charge.complete evnt_test_d0x0p8jxvyxkd7z96ol' },
    { at: '2026-11-21T05:31:02.694Z', what: 'paid', detail: 'chrg_test_ym45mfiva1bdny558nb' },
  ],
  next_cursor: null,
};

export const newAttempt = { after: 1 };

export const refundRequest = { amount: 50_000, reason: 'One coffee was cold' };

export const refund: RefundReply = {
  id: 'rfnd_test_5xk0h3u6a0s1c8w2m4z',
  key: 'return-17',
  charge_id: 'chrg_test_ym45mfiva1bdny558nb',
  amount: 50_000,
  currency: 'THB',
  kind: 'refund',
  status: 'succeeded',
  reason: 'One coffee was cold',
  failure_code: null,
  failure_message: null,
  requested_by: 'till-7',
  created_at: '2026-11-21T06:02:11.480Z',
};

export const pendingRefund: RefundReply = { ...refund, id: null, status: 'pending' };

export const refunds: RefundsReply = { data: [refund], next_cursor: null };

const paidToCustomer: CustomerCheckoutReply = {
  id: paid.id,
  status: paid.status,
  amount: paid.amount,
  currency: paid.currency,
  qr: paid.qr,
  expires_at: '2026-11-21T05:45:18.021Z',
  paid_at: paid.paid_at,
  version: paid.version,
  created_at: paid.created_at,
  updated_at: paid.updated_at,
};

const eventOf = (checkout: CheckoutReply | CustomerCheckoutReply): string =>
  `id: ${checkout.version}\nevent: checkout\ndata: ${JSON.stringify(checkout)}\n\n`;

export const events = { key: { value: eventOf(paid) }, link: { value: eventOf(paidToCustomer) } };

export const event = {
  object: 'event',
  id: 'evnt_test_d0x0p8jxvyxkd7z96ol',
  key: 'charge.complete',
  data: { object: 'charge', id: 'chrg_test_ym45mfiva1bdny558nb', metadata: { checkout: ID, attempt: '1' } },
};

export const codecAddress = {
  url: `${API}/codec/1795282218.AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8`,
  expires_at: '2026-11-21T17:30:18.000Z',
};

export const reconciliationRequest = { from: '2026-11-20T00:00:00Z', to: '2026-11-21T00:00:00Z', dry_run: false };

const RECONCILIATION = 'rec_1795132800000-1795219200000_01993f5e-8a52-7f4e-9c58-2f1d7f3a9a10';

export const reconciliationStarted: ReconciliationStarted = {
  id: RECONCILIATION,
  status: 'running',
  location: `/v1/reconciliations/${RECONCILIATION}`,
};

export const reconciliation: ReconciliationReply = {
  id: RECONCILIATION,
  status: 'completed',
  from: '2026-11-20T00:00:00.000Z',
  to: '2026-11-21T00:00:00.000Z',
  compared_until: '2026-11-21T00:00:00.000Z',
  dry_run: false,
  totals: [
    {
      currency: 'THB',
      checkouts: 2,
      paid_here: 300_000,
      refunded_here: 50_000,
      charges: 3,
      paid_there: 450_000,
      refunded_there: 50_000,
      fees: 7_944,
      credited: 442_056,
      foreign: 1,
      foreign_amount: 20_000,
      breaks: 1,
    },
  ],
  breaks: [
    {
      type: 'status',
      checkout_id: ID,
      charge_id: 'chrg_test_ym45mfiva1bdny558nb',
      refund_id: null,
      transaction_id: 'trxn_test_8d0s6m2xk4vq9p1h7ze',
      receipt_id: null,
      expected: { status: 'awaiting_payment', amount: 150_000, currency: 'THB' },
      actual: { status: 'successful', amount: 150_000, currency: 'THB' },
      age_seconds: 61_200,
      suggested_action: `pnpm tillflow resolve ${ID} --look --reason reconciliation`,
      healed: true,
    },
  ],
  foreign: [
    {
      charge_id: 'chrg_test_3n7c5b9d2f4g6h8j0kl',
      amount: 20_000,
      currency: 'THB',
      paid_at: '2026-11-20T09:12:44.000Z',
    },
  ],
  omitted: { breaks: 0, foreign: 0 },
  not_compared: [],
  failure: null,
  created_at: '2026-11-21T00:30:00.004Z',
  location: `/v1/reconciliations/${RECONCILIATION}`,
};

export const reconciliationCsv = toCsv(reconciliation);

export const reconciliations: ReconciliationsReply = {
  data: [
    {
      id: RECONCILIATION,
      status: 'completed',
      from: reconciliation.from,
      to: reconciliation.to,
      compared_until: reconciliation.compared_until,
      dry_run: false,
      totals: reconciliation.totals,
      created_at: reconciliation.created_at,
      location: reconciliation.location,
      breaks_count: 1,
      healed_count: 1,
    },
  ],
  next_cursor: null,
};

export const metrics =
  '# TYPE tillflow_attention_checkouts gauge\ntillflow_attention_checkouts{code="outcome_unknown"} 0\n';
