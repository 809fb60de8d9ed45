import { z } from 'zod';
import * as examples from '../openapi/examples.js';
import { ASKER, text, time } from './fields.js';

/** A body may be left out: all of its fields may be. */
export const createRefund = z
  .strictObject({
    amount: z
      .int()
      .positive()
      .optional()
      .meta({ description: 'Smallest currency unit; all that is left when left out', example: 50_000 }),
    reason: text(200).optional().meta({ description: 'Kept with the refund, for people' }),
  })
  .default({})
  .meta({ id: 'CreateRefund', example: examples.refundRequest });
export type CreateRefund = z.output<typeof createRefund>;

export const refundReply = z
  .object({
    id: z.string().nullable().meta({ description: `The provider's id; null until it is known` }),
    key: z.string().meta({ description: 'The Idempotency-Key; of money given back without one, a name of ours' }),
    charge_id: z.string().nullable(),
    amount: z.int().positive(),
    currency: z.string(),
    kind: z.enum(['void', 'refund']).meta({ description: 'While it is pending: what it is expected to be' }),
    status: z
      .enum(['pending', 'succeeded', 'rejected'])
      .meta({ description: 'pending: not known yet; rejected: the provider refused it, and no money was given back' }),
    reason: z.string().nullable(),
    failure_code: z.string().nullable(),
    failure_message: z.string().nullable(),
    requested_by: z
      .string()
      .nullable()
      .meta({ description: `Who asked for it: ${ASKER}; null where that is not known` }),
    created_at: time,
  })
  .meta({ id: 'Refund' });
export type RefundReply = z.output<typeof refundReply>;

export const refundsReply = z
  .object({ data: z.array(refundReply), next_cursor: z.string().nullable() })
  .meta({ id: 'Refunds' });
export type RefundsReply = z.output<typeof refundsReply>;
