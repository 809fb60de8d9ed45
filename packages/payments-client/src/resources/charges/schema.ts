import { z } from 'zod';
import type { List } from '../../pagination/list.js';
import type { RecordFields } from '../resource.js';
import { type Source, source } from '../sources/schema.js';

/** Prefix `chrg_`. */
export type ChargeId = string;

/** Any other value is passed on as it came. */
export type ChargeStatus = 'pending' | 'successful' | 'failed' | 'expired' | (string & {});

/** Why a charge failed. Source: API reference, "Errors". An open list. */
export type ChargeFailureCode =
  | 'payment_expired'
  | 'payment_rejected'
  | 'insufficient_fund'
  | 'failed_processing'
  | (string & {});

/** Decimal numbers as strings, in percent or in the smallest currency unit. Source: API reference, "Charge". */
export interface TransactionFees {
  fee_flat?: string | null | undefined;
  fee_rate?: string | null | undefined;
  vat_rate?: string | null | undefined;
}

/** Source: API reference, "Charge"; the units are an assumption. */
export interface PlatformFee {
  /** Smallest currency unit. */
  fixed?: number | null | undefined;
  /** Smallest currency unit. */
  amount?: number | null | undefined;
  /** Percent. */
  percentage?: number | null | undefined;
}

/**
 * A payment, or an attempt at one. The client checks the fields in the `charge` schema below; the rest is typed as the
 * reference documents it and passed on as it came. Amounts are in the smallest unit of `currency`; times are ISO 8601
 * in UTC and null until they apply. Source: API reference, "Charge".
 */
export interface Charge extends RecordFields {
  object: 'charge';
  id: ChargeId;
  status: ChargeStatus;
  amount: number;
  /** Three letters, ISO 4217. */
  currency: string;
  paid?: boolean | null | undefined;
  /** The amount refunded or voided so far. */
  refunded_amount?: number | null | undefined;
  voided?: boolean | null | undefined;
  reversed?: boolean | null | undefined;
  expired?: boolean | null | undefined;
  /** Whether a void is still possible. */
  can_perform_void?: boolean | null | undefined;
  refundable?: boolean | null | undefined;
  /** The source it was created with, its QR code included. */
  source?: Source | null | undefined;
  /** Set when `status` is `failed`. */
  failure_code?: ChargeFailureCode | null | undefined;
  failure_message?: string | null | undefined;
  metadata?: Record<string, unknown> | null | undefined;
  paid_at?: string | null | undefined;
  /** When the QR code stops being payable. */
  expires_at?: string | null | undefined;
  expired_at?: string | null | undefined;
  authorized_at?: string | null | undefined;
  reversed_at?: string | null | undefined;
  /** The first 20 refunds (assumption); `listRefunds` has all. */
  refunds?: List<Refund> | null | undefined;
  /** Amount less fees. */
  net?: number | null | undefined;
  fee?: number | null | undefined;
  fee_vat?: number | null | undefined;
  interest?: number | null | undefined;
  interest_vat?: number | null | undefined;
  /** In the smallest unit of `funding_currency`. */
  funding_amount?: number | null | undefined;
  funding_currency?: string | null | undefined;
  transaction_fees?: TransactionFees | null | undefined;
  platform_fee?: PlatformFee | null | undefined;
  acquirer_reference_number?: string | null | undefined;
  approval_code?: string | null | undefined;
  ip?: string | null | undefined;
  description?: string | null | undefined;
  authorize_uri?: string | null | undefined;
  return_uri?: string | null | undefined;
  authorized?: boolean | null | undefined;
  capture?: boolean | null | undefined;
  capturable?: boolean | null | undefined;
  disputable?: boolean | null | undefined;
  partially_refundable?: boolean | null | undefined;
  reversible?: boolean | null | undefined;
  zero_interest_installments?: boolean | null | undefined;
  /** An id, a record, or null; so are the following. */
  transaction?: unknown;
  link?: unknown;
  card?: unknown;
  schedule?: unknown;
  linked_account?: unknown;
  customer?: unknown;
  dispute?: unknown;
  branch?: unknown;
  terminal?: unknown;
  device?: unknown;
}

export const charge: z.ZodType<Charge> = z.object({
  object: z.literal('charge'),
  id: z.string(),
  status: z.string(),
  amount: z.int(),
  currency: z.string(),
  livemode: z.boolean().nullish(),
  paid: z.boolean().nullish(),
  refunded_amount: z.int().nullish(),
  voided: z.boolean().nullish(),
  reversed: z.boolean().nullish(),
  expired: z.boolean().nullish(),
  can_perform_void: z.boolean().nullish(),
  paid_at: z.string().nullish(),
  expires_at: z.string().nullish(),
  source: source.nullish(),
});

/** Prefix `rfnd_`. */
export type RefundId = string;

/** A refund, or a void of a payment. Source: assumption "Refund or void"; the reference shows no refund. */
export interface Refund extends RecordFields {
  object: 'refund';
  id: RefundId;
  /** `closed` once done. An open list. */
  status: 'closed' | (string & {});
  /** Smallest currency unit. */
  amount: number;
  /** Three letters, ISO 4217. */
  currency: string;
  /** Id of the charge. */
  charge?: string | null | undefined;
  /** True when the payment was voided rather than refunded. */
  voided?: boolean | null | undefined;
  metadata?: Record<string, unknown> | null | undefined;
  /** Id of the balance movement; null when there is none. */
  transaction?: unknown;
}

export const refund: z.ZodType<Refund> = z.object({
  object: z.literal('refund'),
  id: z.string(),
  status: z.string(),
  amount: z.int(),
  currency: z.string(),
  charge: z.string().nullish(),
  voided: z.boolean().nullish(),
  livemode: z.boolean().nullish(),
});
