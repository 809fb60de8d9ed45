import { z } from 'zod';
import { type List, listOf } from '../../pagination/list.js';
import { type Document, document } from '../documents/schema.js';
import type { RecordFields } from '../resource.js';

/** Prefix `dspt_` (assumption). */
export type DisputeId = string;

/** Any other value is passed on as it came. */
export type DisputeStatus = 'open' | 'pending' | 'won' | 'lost' | (string & {});

/** A payment that the customer contests. Source: assumption "Disputes"; the reference shows none of its fields. */
export interface Dispute extends RecordFields {
  object: 'dispute';
  id: DisputeId;
  /** Documents change only while it is `open`. */
  status: DisputeStatus;
  /** The contested amount, in the smallest unit of `currency`. */
  amount?: number | null | undefined;
  /** Three letters, ISO 4217. */
  currency?: string | null | undefined;
  /** Id of the charge. */
  charge?: string | null | undefined;
  reason_code?: string | null | undefined;
  reason_message?: string | null | undefined;
  /** The merchant's answer. */
  message?: string | null | undefined;
  metadata?: Record<string, unknown> | null | undefined;
  transactions?: unknown[] | null | undefined;
  /** The first 20; `listDocuments` has all. */
  documents?: List<Document> | null | undefined;
  /** ISO 8601, UTC; null until it is won or lost. */
  closed_at?: string | null | undefined;
}

export const dispute: z.ZodType<Dispute> = z.object({
  object: z.literal('dispute'),
  id: z.string(),
  status: z.string(),
  amount: z.int().nullish(),
  currency: z.string().nullish(),
  charge: z.string().nullish(),
  documents: listOf(document).nullish(),
});
