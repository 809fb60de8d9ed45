import { formatInstant, isRefundable, isVoidable, type Instant } from '@tillflow/domain';
import { walletPayment } from '../records/wallet-payment.js';
import { FAILURE_MESSAGES, type ChargeRecord, type RefundRecord, type SourceRecord } from '../records/records.js';
import { embeddedJson, embeddedRows, type Rendering } from './list-json.js';
import { cardJson } from './render-records.js';

export function sourceJson(
  source: SourceRecord,
  charge: ChargeRecord | null,
  rendering: Rendering,
  wallet = walletPaymentOf(charge),
) {
  const { references = null, provider_references = null, receipt_amount = null } = wallet;
  return {
    object: 'source',
    id: source.id,
    livemode: rendering.livemode,
    location: `/sources/${source.id}`,
    amount: source.amount,
    barcode: null,
    bank: null,
    created_at: formatInstant(source.createdAt),
    currency: source.currency,
    email: null,
    flow: 'offline',
    installment_term: null,
    ip: null,
    absorption_type: null,
    name: null,
    mobile_number: null,
    phone_number: null,
    platform_type: null,
    scannable_code: charge === null ? null : scannableCodeJson(charge, rendering),
    qr_settings: null,
    billing: null,
    shipping: null,
    items: [],
    references,
    provider_references,
    store_id: null,
    store_name: null,
    terminal_id: null,
    type: 'wallet_mpm',
    zero_interest_installments: null,
    charge_status: charge === null ? 'unknown' : charge.status,
    receipt_amount,
    discounts: [],
    promotion_code: null,
    supplier_id: null,
    ...source.details,
  };
}

export function chargeJson(charge: ChargeRecord, rendering: Rendering, at: Instant) {
  const { assumptions, livemode } = rendering;
  const { recurring } = charge;
  const wallet = walletPaymentOf(charge);
  const { acquirer_reference_number = null, approval_code = null } = wallet;
  const paid = charge.paidAt !== null;
  const rest = charge.amount - charge.refundedAmount;
  const refundable = charge.paidAt !== null && rest > 0 && isRefundable(charge.paidAt, at);
  const voidable =
    charge.paidAt !== null && charge.refundedAmount === 0 && isVoidable(charge.paidAt, at, assumptions.voidRule);
  return {
    object: 'charge',
    id: charge.id,
    location: `/charges/${charge.id}`,
    amount: charge.amount,
    acquirer_reference_number,
    net: charge.amount - charge.fee - charge.feeVat,
    fee: charge.fee,
    fee_vat: charge.feeVat,
    interest: 0,
    interest_vat: 0,
    funding_amount: charge.amount,
    refunded_amount: charge.refundedAmount,
    transaction_fees: {
      fee_flat: '0.0',
      fee_rate: percent(assumptions.feeBasisPoints),
      vat_rate: percent(assumptions.vatBasisPoints),
    },
    platform_fee: { fixed: null, amount: null, percentage: null },
    currency: charge.currency,
    funding_currency: charge.currency,
    ip: null,
    refunds: refundsJson(charge, rendering, at),
    link: null,
    description: charge.description,
    metadata: charge.metadata,
    card: recurring === null ? null : cardJson(recurring.card, rendering),
    source: charge.source === null ? null : sourceJson(charge.source, charge, rendering, wallet),
    schedule: recurring?.scheduleId ?? null,
    linked_account: null,
    customer: recurring?.customerId ?? null,
    dispute: charge.disputeId,
    transaction: charge.transactionId,
    failure_code: charge.failureCode,
    failure_message: charge.failureCode === null ? null : FAILURE_MESSAGES[charge.failureCode],
    status: charge.status,
    authorize_uri: null,
    return_uri: charge.returnUri,
    created_at: formatInstant(charge.createdAt),
    paid_at: orNull(charge.paidAt),
    authorized_at: orNull(charge.paidAt),
    expires_at: formatInstant(charge.expiresAt),
    expired_at: orNull(charge.expiredAt),
    reversed_at: null,
    zero_interest_installments: false,
    branch: null,
    terminal: null,
    device: null,
    authorized: paid,
    capturable: false,
    capture: true,
    disputable: false,
    livemode,
    refundable,
    partially_refundable: refundable,
    reversed: false,
    reversible: false,
    voided: charge.voided,
    paid,
    expired: charge.status === 'expired',
    can_perform_void: voidable,
    approval_code,
  };
}

export function refundJson(refund: RefundRecord, { livemode }: Rendering) {
  return {
    object: 'refund',
    id: refund.id,
    location: `/charges/${refund.chargeId}/refunds/${refund.id}`,
    livemode,
    amount: refund.amount,
    currency: refund.currency,
    charge: refund.chargeId,
    transaction: refund.transactionId,
    voided: refund.voided,
    metadata: refund.metadata,
    status: 'closed',
    created_at: formatInstant(refund.createdAt),
  };
}

/** Nothing until a wallet has paid. */
function walletPaymentOf(charge: ChargeRecord | null): Partial<ReturnType<typeof walletPayment>> {
  return charge === null || charge.paidAt === null || charge.source === null ? {} : walletPayment(charge);
}

/** The address in the QR code. */
export function walletUrl({ token }: ChargeRecord, { publicUrl }: Rendering): string {
  return `${publicUrl()}/wallet/${token}`;
}

function refundsJson(charge: ChargeRecord, rendering: Rendering, at: Instant) {
  const page = embeddedRows(charge.refunds, rendering, at);
  return embeddedJson(page, `/charges/${charge.id}/refunds`, rendering, at, (refund) => refundJson(refund, rendering));
}

function scannableCodeJson(charge: ChargeRecord, rendering: Rendering) {
  return {
    object: 'barcode',
    type: 'qr',
    image: {
      object: 'document',
      livemode: rendering.livemode,
      id: charge.documentId,
      deleted: false,
      filename: 'qrcode.svg',
      location: `/charges/${charge.id}/documents/${charge.documentId}`,
      kind: 'qr',
      download_uri: `${rendering.publicUrl()}/qr/${charge.token}.svg`,
      created_at: formatInstant(charge.createdAt),
    },
    raw_data: walletUrl(charge, rendering),
  };
}

function orNull(at: Instant | null): string | null {
  return at === null ? null : formatInstant(at);
}

/** Converts hundredths of a percent to a decimal percentage. */
function percent(basisPoints: number): string {
  const text = String(basisPoints / 100);
  return text.includes('.') ? text : `${text}.0`;
}
