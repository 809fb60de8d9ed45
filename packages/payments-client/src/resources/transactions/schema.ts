import { z } from 'zod';
import type { RecordFields } from '../resource.js';

/** Prefix `trxn_`. */
export type TransactionId = string;

/**
 * A movement of the balance. The client checks the fields in the `transaction` schema below; the rest is passed on as
 * it came. Source: API reference, "Transaction".
 */
export interface Transaction extends RecordFields {
  object: 'transaction';
  id: TransactionId;
  /** Smallest currency unit, never negative: see `direction`. */
  amount: number;
  /** Three letters, ISO 4217. */
  currency: string;
  /** `credit` adds to the balance, `debit` subtracts from it. */
  direction: 'credit' | 'debit' | (string & {});
  /** The cause: `charge.capture` is a payment, `refund.create` a refund (assumption). An open list. */
  key?: string | null | undefined;
  /** Id of the charge or refund that caused it (assumption). */
  origin?: string | null | undefined;
  /** When it can be paid out. ISO 8601, UTC. */
  transferable_at?: string | null | undefined;
}

export const transaction: z.ZodType<Transaction> = z.object({
  object: z.literal('transaction'),
  id: z.string(),
  amount: z.int(),
  currency: z.string(),
  direction: z.string(),
  key: z.string().nullish(),
  origin: z.string().nullish(),
  transferable_at: z.string().nullish(),
  livemode: z.boolean().nullish(),
});
