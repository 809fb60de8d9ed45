import type { Currency, Instant } from '@tillflow/domain';
import type { Day, Rule } from './calendar.js';
import type { FormMap } from '../http/form.js';

/** Failure codes of a charge with their texts. Source: API reference, "Errors". */
export const FAILURE_MESSAGES = {
  payment_expired: 'Payment expired.',
  payment_rejected: 'Payment rejected by the issuer.',
  insufficient_fund: 'Insufficient funds in the account, or the payment method reached its limit.',
  failed_processing: 'General payment processing failure.',
} as const;

export type FailureCode = keyof typeof FAILURE_MESSAGES;
export const FAILURE_CODES = Object.keys(FAILURE_MESSAGES) as readonly FailureCode[];

/** Fields that a source only echoes. Source: API reference, "POST /sources body". */
export type SourceDetails = Readonly<Record<string, unknown>>;

/** An instance of the payment method. `chargeId` is the one charge that uses it. */
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
  /** Null when a schedule charged a card. */
  readonly source: SourceRecord | null;
  readonly recurring: Recurring | null;
  /** Part of the addresses of its QR code and wallet page. Empty without a source, as is `documentId`. */
  readonly token: string;
  readonly documentId: string;
  readonly description: string | null;
  readonly metadata: FormMap;
  readonly returnUri: string | null;
  readonly webhookEndpoints: readonly string[];
  readonly expiresAt: Instant;
  readonly status: ChargeStatus;
  /** The customer reviews the payment: it is still pending, but the merchant cannot expire it. */
  readonly confirming: boolean;
  readonly paidAt: Instant | null;
  readonly expiredAt: Instant | null;
  readonly failureCode: FailureCode | null;
  readonly transactionId: string | null;
  readonly refunds: readonly RefundRecord[];
  readonly refundedAmount: number;
  readonly voided: boolean;
  readonly disputeId: string | null;
};

/** A charge of a schedule has this instead of a source. */
type Recurring = { readonly card: CardRecord; readonly customerId: string; readonly scheduleId: string };

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

/** A stored card, without its full number. Source: API reference, "Card". */
export type CardRecord = {
  readonly id: string;
  readonly createdAt: Instant;
  readonly customerId: string;
  readonly deleted: boolean;
  readonly street1: string | null;
  readonly street2: string | null;
  readonly city: string | null;
  readonly state: string | null;
  readonly phoneNumber: string | null;
  readonly postalCode: string | null;
  readonly country: string;
  readonly financing: string;
  readonly bank: string;
  readonly brand: string;
  readonly fingerprint: string;
  readonly firstDigits: string | null;
  readonly lastDigits: string;
  readonly name: string;
  /** 1 to 12. */
  readonly expirationMonth: number;
  readonly expirationYear: number;
  readonly securityCodeCheck: boolean;
  readonly tokenizationMethod: string | null;
  /** The failure code of each charge of this card; null for success. */
  readonly failureCode: FailureCode | null;
};

export type CustomerRecord = {
  readonly id: string;
  readonly createdAt: Instant;
  readonly email: string | null;
  readonly description: string | null;
  readonly metadata: FormMap;
  readonly defaultCardId: string | null;
  /** Without deleted cards. */
  readonly cards: readonly CardRecord[];
};

/** Source: assumption, "Disputes". */
export const DISPUTE_STATUSES = ['open', 'pending', 'won', 'lost'] as const;
export type DisputeStatus = (typeof DISPUTE_STATUSES)[number];

export type DisputeRecord = {
  readonly id: string;
  readonly createdAt: Instant;
  readonly chargeId: string;
  readonly amount: number;
  readonly currency: Currency;
  readonly status: DisputeStatus;
  readonly reasonCode: string;
  readonly reasonMessage: string;
  readonly message: string | null;
  readonly metadata: FormMap;
  /** Without deleted documents. */
  readonly documents: readonly DocumentRecord[];
  readonly closedAt: Instant | null;
};

/** The merchant's evidence in a dispute. */
export type DocumentRecord = {
  readonly id: string;
  readonly createdAt: Instant;
  readonly disputeId: string;
  readonly filename: string;
  readonly kind: string;
  readonly contentType: string;
  readonly content: Uint8Array;
  /** Part of its download address. Anyone who has the address may read it. */
  readonly token: string;
  readonly deleted: boolean;
};

/** Source: assumption, "Schedules and occurrences". */
export const SCHEDULE_STATUSES = ['running', 'active', 'expiring', 'expired', 'deleted', 'suspended'] as const;
type ScheduleStatus = (typeof SCHEDULE_STATUSES)[number];

export type ScheduledCharge = {
  readonly kind: 'charge';
  readonly id: string;
  readonly amount: number;
  readonly currency: Currency;
  readonly customerId: string;
  /** Null for the customer's default card on the day of the charge. */
  readonly cardId: string | null;
  readonly description: string | null;
  readonly metadata: FormMap;
};

export type ScheduledTransfer = {
  readonly kind: 'transfer';
  readonly id: string;
  readonly currency: Currency;
  readonly recipient: string;
  /** A fixed amount, or a share of the transferable balance in percent. */
  readonly size: { readonly amount: number } | { readonly percentage: number };
};

export type ScheduleRecord = {
  readonly id: string;
  readonly createdAt: Instant;
  readonly rule: Rule;
  readonly work: ScheduledCharge | ScheduledTransfer;
  readonly status: ScheduleStatus;
  readonly endedAt: Instant | null;
  /** The next occurrence, and the failed ones that will be retried. */
  readonly next: OccurrenceRecord | null;
  readonly retrying: readonly OccurrenceRecord[];
};

export type OccurrenceRecord = {
  readonly id: string;
  readonly createdAt: Instant;
  readonly scheduleId: string;
  readonly scheduledOn: Day;
  readonly retryOn: Day | null;
  readonly processedAt: Instant | null;
  readonly status: 'scheduled' | 'successful' | 'failed' | 'skipped';
  readonly message: string | null;
  /** The id of its charge or transfer. */
  readonly result: string | null;
  /** The number of failed tries. */
  readonly failures: number;
};

/** A transfer to the merchant's bank account. */
export type TransferRecord = {
  readonly id: string;
  readonly createdAt: Instant;
  readonly amount: number;
  readonly currency: Currency;
  readonly fee: number;
  readonly recipient: string;
  readonly scheduleId: string;
  readonly transactionId: string;
  readonly sentAt: Instant | null;
  readonly paidAt: Instant | null;
};

/** Fees and taxes of a month in one currency. Amounts in the smallest unit. */
export type ReceiptRecord = {
  readonly id: string;
  readonly createdAt: Instant;
  readonly number: string;
  readonly issuedOn: Day;
  readonly currency: Currency;
  readonly chargeFee: number;
  readonly transactionFee: number;
  readonly transferFee: number;
  readonly voidedFee: number;
  readonly vat: number;
  readonly wht: number;
  readonly creditNote: boolean;
  readonly customerName: string;
  readonly customerEmail: string;
  readonly adjustment: TransactionRecord | null;
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
