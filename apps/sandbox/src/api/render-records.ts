import { formatInstant, type Instant } from '@tillflow/domain';
import { daysAfter, dayOf, formatDay, inWords, upcoming, type Rule } from '../records/calendar.js';
import { embeddedJson, embeddedRows, type Rendering } from './list-json.js';
import { subtotalOf } from '../provider/receipts.js';
import type {
  CardRecord,
  CustomerRecord,
  DisputeRecord,
  DocumentRecord,
  OccurrenceRecord,
  ReceiptRecord,
  ScheduledCharge,
  ScheduledTransfer,
  ScheduleRecord,
  TransactionRecord,
  TransferRecord,
} from '../records/records.js';
import type { Page } from '../records/table.js';

export type CardJson = ReturnType<typeof cardJson>;
export type CustomerJson = ReturnType<typeof customerJson>;
export type DisputeJson = ReturnType<typeof disputeJson>;
export type DocumentJson = ReturnType<typeof documentJson>;
export type ScheduleJson = ReturnType<typeof scheduleJson>;
export type OccurrenceJson = ReturnType<typeof occurrenceJson>;
export type TransferJson = ReturnType<typeof transferJson>;
export type ReceiptJson = ReturnType<typeof receiptJson>;

/** Source: API reference, "Card". */
export function cardJson(card: CardRecord, { livemode }: Rendering) {
  return {
    object: 'card',
    id: card.id,
    livemode,
    location: `/customers/${card.customerId}/cards/${card.id}`,
    deleted: card.deleted,
    street1: card.street1,
    street2: card.street2,
    city: card.city,
    state: card.state,
    phone_number: card.phoneNumber,
    postal_code: card.postalCode,
    country: card.country,
    financing: card.financing,
    bank: card.bank,
    brand: card.brand,
    fingerprint: card.fingerprint,
    first_digits: card.firstDigits,
    last_digits: card.lastDigits,
    name: card.name,
    expiration_month: card.expirationMonth,
    expiration_year: card.expirationYear,
    security_code_check: card.securityCodeCheck,
    tokenization_method: card.tokenizationMethod,
    created_at: formatInstant(card.createdAt),
  };
}

/** Source: assumption, "Customers". */
export function customerJson(customer: CustomerRecord, rendering: Rendering, at: Instant) {
  const cards = embeddedRows(customer.cards, rendering, at);
  return {
    object: 'customer',
    id: customer.id,
    livemode: rendering.livemode,
    location: `/customers/${customer.id}`,
    deleted: false,
    default_card: customer.defaultCardId,
    email: customer.email,
    description: customer.description,
    metadata: customer.metadata,
    cards: embeddedJson(cards, `/customers/${customer.id}/cards`, rendering, at, (card) => cardJson(card, rendering)),
    created_at: formatInstant(customer.createdAt),
  };
}

/** Source: assumption, "Disputes". */
export function disputeJson(dispute: DisputeRecord, rendering: Rendering, at: Instant) {
  const documents = embeddedRows(dispute.documents, rendering, at);
  return {
    object: 'dispute',
    id: dispute.id,
    livemode: rendering.livemode,
    location: `/disputes/${dispute.id}`,
    amount: dispute.amount,
    currency: dispute.currency,
    charge: dispute.chargeId,
    status: dispute.status,
    reason_code: dispute.reasonCode,
    reason_message: dispute.reasonMessage,
    message: dispute.message,
    metadata: dispute.metadata,
    transactions: [],
    documents: embeddedJson(documents, `/disputes/${dispute.id}/documents`, rendering, at, (document) =>
      documentJson(document, rendering),
    ),
    closed_at: dispute.closedAt === null ? null : formatInstant(dispute.closedAt),
    created_at: formatInstant(dispute.createdAt),
  };
}

/** Source: API reference, "Document". */
export function documentJson(document: DocumentRecord, { livemode, publicUrl }: Rendering) {
  return {
    object: 'document',
    livemode,
    id: document.id,
    deleted: document.deleted,
    filename: document.filename,
    location: `/disputes/${document.disputeId}/documents/${document.id}`,
    kind: document.kind,
    download_uri: `${publicUrl()}/download/${document.token}/${encodeURIComponent(document.filename)}`,
    created_at: formatInstant(document.createdAt),
  };
}

/**
 * Source: assumption, "Schedules and occurrences".
 * @param occurrences its first occurrences.
 */
export function scheduleJson(
  schedule: ScheduleRecord,
  occurrences: Page<OccurrenceRecord>,
  rendering: Rendering,
  at: Instant,
) {
  const { id, rule, work, status, next, endedAt } = schedule;
  const location = `/schedules/${id}/occurrences`;
  const from = next?.scheduledOn ?? daysAfter(dayOf(at), 1);
  const ahead = endedAt === null ? upcoming(rule, from, rendering.assumptions.shownOccurrences) : [];
  return {
    object: 'schedule',
    id,
    livemode: rendering.livemode,
    location: `/schedules/${id}`,
    deleted: status === 'deleted',
    every: rule.every,
    period: rule.period,
    on: onJson(rule),
    in_words: inWords(rule),
    start_on: formatDay(rule.startOn),
    end_on: formatDay(rule.endOn),
    status,
    active: endedAt === null,
    charge: work.kind === 'charge' ? scheduledChargeJson(work) : null,
    transfer: work.kind === 'transfer' ? scheduledTransferJson(work) : null,
    occurrences: embeddedJson(occurrences, location, rendering, at, (occurrence) =>
      occurrenceJson(occurrence, rendering),
    ),
    next_occurrences_on: ahead.map(formatDay),
    ended_at: endedAt === null ? null : formatInstant(endedAt),
    created_at: formatInstant(schedule.createdAt),
  };
}

function onJson(rule: Rule): {
  readonly weekdays?: readonly string[];
  readonly days_of_month?: readonly number[];
  readonly weekday_of_month?: string;
} {
  switch (rule.period) {
    case 'day':
      return {};
    case 'week':
      return { weekdays: rule.weekdays };
    case 'month':
      return 'ordinal' in rule
        ? { weekday_of_month: `${rule.ordinal}_${rule.weekday}` }
        : { days_of_month: rule.daysOfMonth };
  }
}

function scheduledChargeJson(work: ScheduledCharge) {
  return {
    object: 'charge_schedule',
    id: work.id,
    amount: work.amount,
    currency: work.currency,
    card: work.cardId,
    customer: work.customerId,
    default_card: work.cardId === null,
    description: work.description,
    metadata: work.metadata,
  };
}

function scheduledTransferJson(work: ScheduledTransfer) {
  return {
    object: 'transfer_schedule',
    id: work.id,
    recipient: work.recipient,
    amount: 'amount' in work.size ? work.size.amount : null,
    percentage_of_balance: 'percentage' in work.size ? work.size.percentage : null,
    currency: work.currency,
  };
}

export function occurrenceJson(occurrence: OccurrenceRecord, { livemode }: Rendering) {
  const { id, scheduleId, retryOn, processedAt } = occurrence;
  return {
    object: 'occurrence',
    id,
    livemode,
    location: `/schedules/${scheduleId}/occurrences/${id}`,
    schedule: scheduleId,
    scheduled_on: formatDay(occurrence.scheduledOn),
    retry_on: retryOn === null ? null : formatDay(retryOn),
    processed_at: processedAt === null ? null : formatInstant(processedAt),
    status: occurrence.status,
    message: occurrence.message,
    result: occurrence.result,
    created_at: formatInstant(occurrence.createdAt),
  };
}

/** Source: assumption (the reference shows none of its fields). */
export function transferJson(transfer: TransferRecord, { livemode }: Rendering) {
  const { sentAt, paidAt } = transfer;
  return {
    object: 'transfer',
    id: transfer.id,
    livemode,
    location: `/transfers/${transfer.id}`,
    amount: transfer.amount,
    currency: transfer.currency,
    fee: transfer.fee,
    recipient: transfer.recipient,
    schedule: transfer.scheduleId,
    transaction: transfer.transactionId,
    sent: sentAt !== null,
    paid: paidAt !== null,
    sent_at: sentAt === null ? null : formatInstant(sentAt),
    paid_at: paidAt === null ? null : formatInstant(paidAt),
    created_at: formatInstant(transfer.createdAt),
  };
}

export function transactionJson(transaction: TransactionRecord, { livemode }: Rendering) {
  return {
    object: 'transaction',
    id: transaction.id,
    livemode,
    currency: transaction.currency,
    amount: transaction.amount,
    location: `/transactions/${transaction.id}`,
    direction: transaction.direction,
    key: transaction.key,
    origin: transaction.origin,
    transferable_at: formatInstant(transaction.transferableAt),
    created_at: formatInstant(transaction.createdAt),
  };
}

/**
 * Source: API reference, "Receipt". `total` is the amount that the provider took: fees and VAT, less the withheld tax.
 */
export function receiptJson(receipt: ReceiptRecord, rendering: Rendering) {
  const subtotal = subtotalOf(receipt);
  return {
    object: 'receipt',
    id: receipt.id,
    livemode: rendering.livemode,
    location: `/receipts/${receipt.id}`,
    number: receipt.number,
    credit_note: receipt.creditNote,
    currency: receipt.currency,
    charge_fee: receipt.chargeFee,
    transaction_fee: receipt.transactionFee,
    transfer_fee: receipt.transferFee,
    voided_fee: receipt.voidedFee,
    subtotal,
    vat: receipt.vat,
    wht: receipt.wht,
    total: subtotal + receipt.vat - receipt.wht,
    company_address: '1 Example Road, Bangkok 10110',
    company_name: 'Example Payments Co., Ltd.',
    company_tax_id: '0000000000001',
    customer_address: '2 Example Road, Bangkok 10110',
    customer_email: receipt.customerEmail,
    customer_name: receipt.customerName,
    customer_statement_name: receipt.customerName.toUpperCase(),
    customer_tax_id: '0000000000002',
    issued_on: formatDay(receipt.issuedOn),
    adjustment_transaction: receipt.adjustment === null ? null : transactionJson(receipt.adjustment, rendering),
    created_at: formatInstant(receipt.createdAt),
  };
}
