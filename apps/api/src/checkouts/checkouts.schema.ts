import { CHECKOUT_STATUSES, isReference } from '@tillflow/domain';
import { z } from 'zod';
import * as examples from '../openapi/examples.js';
import { ASKER, metadataFields, readableTime, text, time } from './fields.js';

/** Names in a charge's metadata that route its webhooks; a caller may not set them. */
const OUR_METADATA = ['checkout', 'attempt', 'refund_key'] as const;

const reference = z
  .string()
  .refine(isReference, '1 to 64 of A-Z a-z 0-9 . _ -')
  .meta({ description: 'Unique per account: the same reference is the same checkout', example: 'till-7-000142' });

export const createCheckout = z
  .strictObject({
    reference,
    amount: z.int().positive().meta({ description: 'Smallest currency unit', example: 150_000 }),
    currency: z.string().length(3).meta({ description: 'THB, SGD or MYR', example: 'THB' }),
    description: text(255).optional(),
    metadata: metadataFields(OUR_METADATA).optional(),
    expires_in: z.int().min(5).max(86_400).default(900).meta({ description: 'Seconds the customer has to pay' }),
    terminal: text(64).min(1).optional(),
    source: z
      .string()
      .regex(/^src_[0-9A-Za-z_]{1,64}$/)
      .optional()
      .meta({ description: 'A source that a client made with the public key' }),
  })
  .meta({ id: 'CreateCheckout', example: examples.creation });
export type CreateCheckout = z.output<typeof createCheckout>;

export const checkoutPath = z.object({ id: z.string().max(128) });
export type CheckoutPath = z.output<typeof checkoutPath>;

export const listCheckouts = z.strictObject({
  status: z.enum(CHECKOUT_STATUSES).optional(),
  reference: reference.optional(),
  from: readableTime.optional(),
  to: readableTime.optional(),
  limit: z
    .string()
    .regex(/^\d{1,4}$/)
    .transform(Number)
    .pipe(z.int().min(1).max(100))
    .default(20),
  cursor: z.string().max(4_096).optional(),
});
export type ListCheckouts = z.output<typeof listCheckouts>;

const attempt = z
  .object({
    number: z.int().positive(),
    source_id: z.string().nullable(),
    charge_id: z.string().nullable(),
    status: z.enum(['pending', 'successful', 'failed', 'expired']),
    failure_code: z.string().nullable(),
    failure_message: z.string().nullable(),
    created_at: time,
    expires_at: time,
  })
  .meta({ id: 'Attempt' });

const qr = z
  .object({
    image_url: z
      .url()
      .meta({ description: 'The QR as an image; opens without a key until one day after the time to pay' }),
    download_uri: z.url().meta({ description: 'The same at the provider' }),
    raw_data: z.string().nullable(),
    expires_at: time,
  })
  .meta({ id: 'Qr' });

const version = z.int().nonnegative().meta({ description: 'Grows with each change: the id of an event in its stream' });

const attention = z.object({ code: z.string(), since: time, detail: z.string() }).meta({ id: 'Attention' });

export const checkoutReply = z
  .object({
    id: z.string(),
    reference: z.string(),
    status: z.enum(CHECKOUT_STATUSES),
    amount: z.int().positive(),
    currency: z.string(),
    description: z.string().nullable(),
    metadata: z.record(z.string(), z.string()),
    attempts: z.array(attempt),
    qr: qr.nullable(),
    paid_at: time.nullable(),
    refunded_amount: z.int().nonnegative(),
    voidable_until: time.nullable(),
    refundable_until: time.nullable(),
    attention: attention.nullable(),
    created_at: time,
    updated_at: time,
    version,
    events_url: z.url().nullable().meta({
      description:
        'Its changes as a stream of what the customer may see; opens without a key until one day after the time to pay. Null after that, and once the checkout has closed',
    }),
    location: z.string().meta({ description: 'Where to read this checkout again' }),
  })
  .meta({ id: 'Checkout' });
export type CheckoutReply = z.output<typeof checkoutReply>;

export const customerCheckoutReply = z
  .object({
    id: z.string(),
    status: z.enum(CHECKOUT_STATUSES),
    amount: z.int().positive(),
    currency: z.string(),
    qr: qr.nullable(),
    expires_at: time.meta({ description: 'When the time to pay ends or ended' }),
    paid_at: time.nullable(),
    version,
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'CustomerCheckout', description: 'What a signed link shows of a checkout' });
export type CustomerCheckoutReply = z.output<typeof customerCheckoutReply>;

export const checkoutsReply = z
  .object({ data: z.array(checkoutReply), next_cursor: z.string().nullable() })
  .meta({ id: 'Checkouts' });
export type CheckoutsReply = z.output<typeof checkoutsReply>;

export const timelineReply = z
  .object({
    data: z.array(
      z.object({
        at: time,
        what: z.string(),
        detail: z.string().optional(),
        by: z
          .string()
          .optional()
          .meta({ description: `Who asked for it: ${ASKER}. Left out where it follows from something else` }),
      }),
    ),
    next_cursor: z.string().nullable(),
  })
  .meta({ id: 'Timeline' });
export type TimelineReply = z.output<typeof timelineReply>;
