import type { Currency, Instant } from '@tillflow/domain';
import type { FormMap } from './form.js';
import { Table } from './table.js';

/** Reasons of a failed charge with their texts. Source: API reference, "Errors". */
export const FAILURE_MESSAGES = {
  payment_expired: 'Payment expired.',
  payment_rejected: 'Payment rejected by the issuer.',
  insufficient_fund: 'Insufficient funds in the account, or the payment method reached its limit.',
  failed_processing: 'General payment processing failure.',
} as const;

export type FailureCode = keyof typeof FAILURE_MESSAGES;
export const FAILURE_CODES = Object.keys(FAILURE_MESSAGES) as readonly FailureCode[];

export function isFailureCode(text: string): text is FailureCode {
  return Object.hasOwn(FAILURE_MESSAGES, text);
}

/** Fields of a source that are only echoed. Source: API reference, "POST /sources body". */
export type SourceDetails = Readonly<Record<string, unknown>>;

/** A payment method instance. `chargeId` is set when its one charge is made. */
export type SourceRecord = {
  readonly id: string;
  readonly createdAt: Instant;
  readonly amount: number;
  readonly currency: Currency;
  readonly details: SourceDetails | null;
  readonly chargeId: string | null;
};

/** Source: API reference, "States and transitions". */
type ChargeStatus = 'pending' | 'successful' | 'failed' | 'expired';

/** A charge as it was at one time. Amounts in the smallest currency unit. */
export type ChargeRecord = {
  readonly id: string;
  readonly createdAt: Instant;
  readonly amount: number;
  readonly currency: Currency;
  readonly fee: number;
  readonly feeVat: number;
  readonly source: SourceRecord;
  /** Names the pages of its QR code: whoever has it may pay. */
  readonly token: string;
  readonly documentId: string;
  readonly description: string | null;
  readonly metadata: FormMap;
  readonly returnUri: string | null;
  readonly webhookEndpoints: readonly string[];
  readonly expiresAt: Instant;
  readonly status: ChargeStatus;
  readonly paidAt: Instant | null;
  readonly expiredAt: Instant | null;
  readonly failureCode: FailureCode | null;
  readonly transactionId: string | null;
  readonly refunds: readonly RefundRecord[];
  readonly refundedAmount: number;
  readonly voided: boolean;
};

export type RefundRecord = {
  readonly id: string;
  readonly createdAt: Instant;
  readonly chargeId: string;
  readonly amount: number;
  readonly currency: Currency;
  readonly transactionId: string;
  readonly voided: boolean;
  readonly metadata: FormMap;
};

/** A balance movement. */
export type TransactionRecord = {
  readonly id: string;
  readonly createdAt: Instant;
  readonly amount: number;
  readonly currency: Currency;
  readonly direction: 'credit' | 'debit';
  readonly key: string;
  readonly origin: string;
  readonly transferableAt: Instant;
};

/** What an event tells about: the record as it was at that moment. */
export type EventSubject =
  | { readonly object: 'charge'; readonly record: ChargeRecord }
  | { readonly object: 'refund'; readonly record: RefundRecord };

export type EventRecord = {
  readonly id: string;
  readonly createdAt: Instant;
  /** The kind of event. Source: assumption, "Event kinds". */
  readonly key: string;
  readonly chargeId: string;
  readonly subject: EventSubject;
};

/** One try to deliver an event to one address. */
export type DeliveryRecord = {
  readonly id: string;
  readonly createdAt: Instant;
  readonly eventId: string;
  readonly key: string;
  readonly uri: string;
  /** 1 for the first try. */
  readonly attempt: number;
  /** HTTP status of the receiver; null when it gave none. */
  readonly status: number | null;
  readonly error: string | null;
  /** What the sandbox did to it on purpose. */
  readonly dropped: boolean;
  readonly duplicate: boolean;
  readonly reordered: boolean;
  readonly corrupted: boolean;
};

export type AccountRecord = {
  readonly id: string;
  readonly team: string;
  readonly user: string;
  readonly createdAt: Instant;
  readonly apiVersion: string;
  readonly chainEnabled: boolean;
  readonly zeroInterestInstallments: boolean;
  readonly chainReturnUri: string | null;
  readonly webhookUri: string | null;
  readonly metadataExportKeys: FormMap;
};

/** Everything the provider knows. Forgetting is a new one. */
export class Books {
  readonly sources = new Table<SourceRecord>();
  readonly charges = new Table<ChargeRecord>();
  readonly refunds = new Table<RefundRecord>();
  readonly events = new Table<EventRecord>();
  readonly deliveries = new Table<DeliveryRecord>();
  readonly transactions = new Table<TransactionRecord>();
  /** Charge ids by the token in their QR code. */
  readonly tokens = new Map<string, string>();
  /** Events of each charge and deliveries of each event, in order of creation. */
  readonly eventsOfCharge = new Map<string, readonly EventRecord[]>();
  readonly deliveriesOfEvent = new Map<string, readonly DeliveryRecord[]>();

  constructor(public account: AccountRecord) {}

  addEvent(event: EventRecord): void {
    this.events.put(event);
    append(this.eventsOfCharge, event.chargeId, event);
  }

  addDelivery(delivery: DeliveryRecord): void {
    this.deliveries.put(delivery);
    append(this.deliveriesOfEvent, delivery.eventId, delivery);
  }
}

/** The lists are many and short: one of the exact size takes a tenth of the room that a growing one reserves. */
function append<T>(lists: Map<string, readonly T[]>, key: string, value: T): void {
  lists.set(key, [...(lists.get(key) ?? []), value]);
}
