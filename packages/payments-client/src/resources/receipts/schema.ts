import { z } from 'zod';
import type { RecordFields } from '../resource.js';
import { type Transaction, transaction } from '../transactions/schema.js';

/** Prefix `rcpt_`. */
export type ReceiptId = string;

/**
 * A statement of fees and taxes. Its amounts are in the smallest unit of `currency`. The client checks the fields in
 * the `receipt` schema below; the rest is passed on as it came. Source: API reference, "Receipt".
 */
export interface Receipt extends RecordFields {
  object: 'receipt';
  id: ReceiptId;
  /** The number printed on it. */
  number?: string | null | undefined;
  /** ISO 8601 date without time. */
  issued_on?: string | null | undefined;
  /** True when it cancels what another receipt charged. */
  credit_note?: boolean | null | undefined;
  /** Three letters, ISO 4217. */
  currency?: string | null | undefined;
  charge_fee?: number | null | undefined;
  transaction_fee?: number | null | undefined;
  transfer_fee?: number | null | undefined;
  voided_fee?: number | null | undefined;
  /** Before taxes. */
  subtotal?: number | null | undefined;
  /** Value-added tax. */
  vat?: number | null | undefined;
  /** Withholding tax. */
  wht?: number | null | undefined;
  total?: number | null | undefined;
  company_name?: string | null | undefined;
  company_address?: string | null | undefined;
  company_tax_id?: string | null | undefined;
  customer_name?: string | null | undefined;
  customer_address?: string | null | undefined;
  customer_email?: string | null | undefined;
  customer_tax_id?: string | null | undefined;
  /** The name on the customer's bank statement. */
  customer_statement_name?: string | null | undefined;
  /** Null when nothing was adjusted (assumption). */
  adjustment_transaction?: Transaction | null | undefined;
}

const amount = z.int().nullish();

export const receipt: z.ZodType<Receipt> = z.object({
  object: z.literal('receipt'),
  id: z.string(),
  credit_note: z.boolean().nullish(),
  currency: z.string().nullish(),
  charge_fee: amount,
  transaction_fee: amount,
  transfer_fee: amount,
  voided_fee: amount,
  subtotal: amount,
  vat: amount,
  wht: amount,
  total: amount,
  adjustment_transaction: transaction.nullish(),
});
