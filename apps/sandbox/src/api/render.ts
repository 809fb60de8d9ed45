import { formatInstant, type Instant } from '@tillflow/domain';
import type { DeliveryRecord, EventRecord, EventSubject } from '../records/events.js';
import type {
  AccountRecord,
  ChargeRecord,
  CardRecord,
  CustomerRecord,
  DisputeRecord,
  DocumentRecord,
  OccurrenceRecord,
  ReceiptRecord,
  RefundRecord,
  ScheduleRecord,
  SourceRecord,
  TransactionRecord,
  TransferRecord,
} from '../records/records.js';
import type { Records } from '../records/store.js';
import type { Rendering } from './list-json.js';
import { chargeJson, refundJson, sourceJson, walletUrl } from './render-payments.js';
import {
  cardJson,
  customerJson,
  disputeJson,
  documentJson,
  occurrenceJson,
  receiptJson,
  scheduleJson,
  transactionJson,
  transferJson,
} from './render-records.js';

export type SourceJson = ReturnType<Renderer['source']>;
export type ChargeJson = ReturnType<Renderer['charge']>;
export type RefundJson = ReturnType<Renderer['refund']>;
export type EventJson = ReturnType<Renderer['event']>;
export type TransactionJson = ReturnType<Renderer['transaction']>;
export type AccountJson = ReturnType<Renderer['account']>;

/**
 * The wire form of records: every documented field with its type. Source: API reference, "Resources and their fields".
 * Fields that depend on time, such as the flags of the refund windows, are those of the instant `at`.
 */
export class Renderer {
  readonly #rendering: Rendering;

  constructor(rendering: Rendering) {
    this.#rendering = rendering;
  }

  source(source: SourceRecord, charge: ChargeRecord | null) {
    return sourceJson(source, charge, this.#rendering);
  }

  charge(charge: ChargeRecord, at: Instant) {
    return chargeJson(charge, this.#rendering, at);
  }

  refund(refund: RefundRecord) {
    return refundJson(refund, this.#rendering);
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
    const beginning = { rows: rows.slice(0, this.#rendering.assumptions.embeddedLimit), total: rows.length };
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
    const { assumptions, livemode } = this.#rendering;
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
    return walletUrl(charge, this.#rendering);
  }

  #sentEvent(event: EventRecord, account: AccountRecord) {
    return {
      object: 'event',
      id: event.id,
      livemode: this.#rendering.livemode,
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
