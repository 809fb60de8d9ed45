import { formatInstant, instant, isRefundable, isVoidable, type Instant } from '@tillflow/domain';
import type { Assumptions } from '../assumptions.js';
import {
  FAILURE_MESSAGES,
  type AccountRecord,
  type ChargeRecord,
  type DeliveryRecord,
  type CardRecord,
  type CustomerRecord,
  type DisputeRecord,
  type DocumentRecord,
  type EventRecord,
  type EventSubject,
  type OccurrenceRecord,
  type ReceiptRecord,
  type RefundRecord,
  type ScheduleRecord,
  type SourceRecord,
  type TransactionRecord,
  type TransferRecord,
} from '../records/records.js';
import type { Records } from '../records/store.js';
import {
  cardJson,
  customerJson,
  disputeJson,
  documentJson,
  embeddedJson,
  occurrenceJson,
  receiptJson,
  scheduleJson,
  transactionJson,
  transferJson,
  type Rendering,
} from './render-records.js';
import { pageOf } from '../records/table.js';

export type RenderOptions = {
  readonly assumptions: Assumptions;
  readonly livemode: boolean;
  /** Absolute address of this sandbox, without a slash at the end. */
  readonly publicUrl: () => string;
};

export type SourceJson = ReturnType<Renderer['source']>;
export type ChargeJson = ReturnType<Renderer['charge']>;
export type RefundJson = ReturnType<Renderer['refund']>;
export type EventJson = ReturnType<Renderer['event']>;
export type TransactionJson = ReturnType<Renderer['transaction']>;
export type AccountJson = ReturnType<Renderer['account']>;

const EPOCH = instant(0);

/**
 * The wire form of records: every documented field with its type. Source: API reference, "Resources and their fields".
 * Fields that depend on time, such as the flags of the refund windows, are those of the instant `at`.
 */
export class Renderer {
  readonly #rendering: Rendering;

  constructor(private readonly options: RenderOptions) {
    const { livemode, publicUrl, assumptions } = options;
    const { embeddedLimit, shownOccurrences } = assumptions;
    this.#rendering = { livemode, publicUrl, embeddedLimit, shownOccurrences };
  }

  source(source: SourceRecord, charge: ChargeRecord | null) {
    return {
      object: 'source',
      id: source.id,
      livemode: this.options.livemode,
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
      scannable_code: charge === null ? null : this.#scannableCode(charge),
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
      charge_status: charge === null ? 'unknown' : charge.status,
      receipt_amount: null,
      discounts: [],
      promotion_code: null,
      supplier_id: null,
      ...source.details,
    };
  }

  charge(charge: ChargeRecord, at: Instant) {
    const { assumptions, livemode } = this.options;
    const { recurring } = charge;
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
      acquirer_reference_number: null,
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
      refunds: this.#refunds(charge, at),
      link: null,
      description: charge.description,
      metadata: charge.metadata,
      card: recurring === null ? null : cardJson(recurring.card, this.#rendering),
      source: charge.source === null ? null : this.source(charge.source, charge),
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
      approval_code: null,
    };
  }

  refund(refund: RefundRecord) {
    return {
      object: 'refund',
      id: refund.id,
      location: `/charges/${refund.chargeId}/refunds/${refund.id}`,
      livemode: this.options.livemode,
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

  transaction(transaction: TransactionRecord) {
    return transactionJson(transaction, this.#rendering);
  }

  card(card: CardRecord) {
    return cardJson(card, this.#rendering);
  }

  customer(customer: CustomerRecord, at: Instant) {
    return customerJson(customer, this.#rendering, at);
  }

  dispute(dispute: DisputeRecord, at: Instant) {
    return disputeJson(dispute, this.#rendering, at);
  }

  document(document: DocumentRecord) {
    return documentJson(document, this.#rendering);
  }

  schedule(schedule: ScheduleRecord, { occurrencesOf }: Records, at: Instant) {
    const rows = occurrencesOf.get(schedule.id)?.rows ?? [];
    const beginning = { rows: rows.slice(0, this.#rendering.embeddedLimit), total: rows.length };
    return scheduleJson(schedule, beginning, this.#rendering, at);
  }

  occurrence(occurrence: OccurrenceRecord) {
    return occurrenceJson(occurrence, this.#rendering);
  }

  transfer(transfer: TransferRecord) {
    return transferJson(transfer, this.#rendering);
  }

  receipt(receipt: ReceiptRecord) {
    return receiptJson(receipt, this.#rendering);
  }

  /** The event with its record as it was then. Each delivery contains the event as it was sent. */
  event(event: EventRecord, { account, deliveriesOfEvent }: Pick<Records, 'account' | 'deliveriesOfEvent'>) {
    const sent = this.#sentEvent(event, account);
    const deliveries = deliveriesOfEvent.get(event.id) ?? [];
    return { ...sent, webhook_deliveries: deliveries.map((delivery) => this.#delivery(delivery, sent)) };
  }

  /** The body of a webhook: the same bytes at every try. */
  webhookBody(event: EventRecord, account: AccountRecord): string {
    return JSON.stringify(this.#sentEvent(event, account));
  }

  account(account: AccountRecord) {
    const { assumptions, livemode } = this.options;
    return {
      object: 'account',
      id: account.id,
      team: account.team,
      livemode,
      location: '/account',
      country: assumptions.accountCountry,
      currency: assumptions.accountCurrency,
      email: 'merchant@example.com',
      created_at: formatInstant(account.createdAt),
      supported_currencies: assumptions.supportedCurrencies,
      api_version: account.apiVersion,
      auto_activate_recipients: false,
      chain_enabled: account.chainEnabled,
      zero_interest_installments: account.zeroInterestInstallments,
      chain_return_uri: account.chainReturnUri,
      webhook_uri: account.webhookUri,
      metadata_export_keys: account.metadataExportKeys,
      chaining_allowed: false,
      last_updated_api_version: account.apiVersion,
      transfer_config: {},
    };
  }

  /** The address in the QR code. */
  walletUrl(charge: ChargeRecord): string {
    return `${this.options.publicUrl()}/wallet/${charge.token}`;
  }

  #refunds(charge: ChargeRecord, at: Instant) {
    const { embeddedLimit } = this.#rendering;
    const query = { from: EPOCH, to: at, offset: 0, limit: embeddedLimit, order: 'chronological' } as const;
    const page = pageOf(charge.refunds, query);
    return embeddedJson(page, embeddedLimit, `/charges/${charge.id}/refunds`, at, (refund) => this.refund(refund));
  }

  #scannableCode(charge: ChargeRecord) {
    return {
      object: 'barcode',
      type: 'qr',
      image: {
        object: 'document',
        livemode: this.options.livemode,
        id: charge.documentId,
        deleted: false,
        filename: 'qrcode.svg',
        location: `/charges/${charge.id}/documents/${charge.documentId}`,
        kind: 'qr',
        download_uri: `${this.options.publicUrl()}/qr/${charge.token}.svg`,
        created_at: formatInstant(charge.createdAt),
      },
      raw_data: this.walletUrl(charge),
    };
  }

  #sentEvent(event: EventRecord, account: AccountRecord) {
    return {
      object: 'event',
      id: event.id,
      livemode: this.options.livemode,
      location: `/events/${event.id}`,
      webhook_deliveries: [] as unknown[],
      data: this.#subject(event.subject, event.createdAt),
      key: event.key,
      created_at: formatInstant(event.createdAt),
      team_uid: account.team,
      user_uid: account.user,
      actor_uid: account.user,
    };
  }

  #subject(subject: EventSubject, at: Instant) {
    switch (subject.object) {
      case 'charge':
        return this.charge(subject.record, at);
      case 'refund':
        return this.refund(subject.record);
      case 'card':
        return this.card(subject.record);
      case 'customer':
        return this.customer(subject.record, at);
      case 'dispute':
        return this.dispute(subject.record, at);
      case 'transfer':
        return this.transfer(subject.record);
      case 'schedule':
        return scheduleJson(subject.record, subject.occurrences, this.#rendering, at);
    }
  }

  #delivery(delivery: DeliveryRecord, payload: unknown) {
    const { id, uri, status, key, error } = delivery;
    return { object: 'webhook_delivery', id, uri, status, key, error, payload };
  }
}

function orNull(at: Instant | null): string | null {
  return at === null ? null : formatInstant(at);
}

/** Converts hundredths of a percent to a decimal percentage. */
function percent(basisPoints: number): string {
  const text = String(basisPoints / 100);
  return text.includes('.') ? text : `${text}.0`;
}
