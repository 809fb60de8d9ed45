import { z } from 'zod';

/** Prefix `rfnd_`. */
export type RefundId = string;

/** Money given back, or a payment voided. Source: assumption "Refund or void"; the reference shows no refund. */
export interface Refund {
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
  livemode?: boolean | null | undefined;
  location?: string | null | undefined;
  /** Id of the balance movement; null when there is none. */
  transaction?: unknown;
  /** ISO 8601, UTC. */
  created_at?: string | null | undefined;
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
