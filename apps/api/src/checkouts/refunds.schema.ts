import { z } from 'zod';
import { checkoutPath } from './checkouts.schema.js';
import { ASKER, currency, keyText, nextCursor, providerId, text, time } from '../shared/fields.schema.js';

export const createRefund = z
  .strictObject({
    amount: z
      .int()
      .positive()
      .optional()
      .meta({ description: 'In the smallest currency unit. Default: everything that is left' }),
    reason: text(200).optional().meta({ description: 'Stored with the refund, for people' }),
  })
  // The body may be left out.
  .default({})
  .meta({ id: 'CreateRefund', examples: [{ amount: 50_000, reason: 'One coffee was cold' }] });
export type CreateRefund = z.output<typeof createRefund>;

export const refundPath = checkoutPath.extend({
  key: keyText.meta({ description: 'The Idempotency-Key of the refund', examples: ['return-17'] }),
});
export type RefundPath = z.output<typeof refundPath>;

export const decideRefund = z
  .strictObject({ reason: text(200).optional().meta({ description: 'Stored in the timeline, for people' }) })
  // The body may be left out.
  .default({})
  .meta({ id: 'DecideRefund', examples: [{ reason: 'The manager has seen the receipt' }] });
export type DecideRefund = z.output<typeof decideRefund>;

export const refundReply = z
  .object({
    id: providerId.nullable().meta({ description: "The provider's id. Null until it is known" }),
    key: keyText.meta({ description: 'The Idempotency-Key. A refund without one has a name that Tillflow gives' }),
    charge_id: providerId.nullable(),
    amount: z.int().positive().meta({ description: 'In the smallest currency unit' }),
    currency,
    kind: z.enum(['void', 'refund']).meta({ description: 'While the refund is pending: the expected kind' }),
    status: z.enum(['pending', 'needs_approval', 'succeeded', 'rejected']).meta({
      description:
        '`pending`: the outcome is not known yet. `needs_approval`: a second person must approve it. `rejected`: no money moved, because the provider, Tillflow or the second person refused it, or no one approved it in time. With the `failure_code` `abandoned`, an operator gave it up before its outcome was known, and it may show later that it was made',
    }),
    reason: z.string().nullable(),
    failure_code: z.string().nullable(),
    failure_message: z.string().nullable(),
    requested_by: z
      .string()
      .nullable()
      .meta({ description: `Who asked for it: ${ASKER}. Null when it is not known` }),
    approved_by: z
      .string()
      .nullable()
      .meta({ description: 'The second person who approved it: the name of a key, or `cli:<user>`' }),
    approval_until: time
      .nullable()
      .meta({ description: 'With `needs_approval`: the refund is rejected at this time. Null: it waits for no one' }),
    created_at: time,
  })
  .meta({
    id: 'Refund',
    examples: [
      {
        id: 'rfnd_test_5xk0h3u6a0s1c8w2m4z',
        key: 'return-17',
        charge_id: 'chrg_test_ym45mfiva1bdny558nb',
        amount: 50_000,
        currency: 'THB',
        kind: 'refund',
        status: 'succeeded',
        reason: 'One coffee was cold',
        failure_code: null,
        failure_message: null,
        requested_by: 'till-7',
        approved_by: null,
        approval_until: null,
        created_at: '2026-11-21T06:02:11.480Z',
      },
    ],
  });
export type RefundReply = z.output<typeof refundReply>;

export const refundsReply = z
  .object({ data: z.array(refundReply), next_cursor: nextCursor })
  .meta({ id: 'RefundPage' });
export type RefundsReply = z.output<typeof refundsReply>;
