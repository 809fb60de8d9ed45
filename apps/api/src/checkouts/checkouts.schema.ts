import { CHECKOUT_STATUSES, isReference, parseInstant } from '@tillflow/domain';
import { z } from 'zod';
import * as examples from '../openapi/examples.js';
import { text, time } from './fields.js';

/** Names in a charge's metadata that route its webhooks; a caller may not set them. */
const OUR_METADATA = new Set(['checkout', 'attempt', 'refund_key']);
const MAX_METADATA = 20;
/** Brackets would nest in the provider's forms. */
const METADATA_NAME = /^[A-Za-z0-9._-]{1,64}$/;

/** A time that every part of the system can read. */
const readableTime = time.refine(isReadable, 'is not a time from the years 1 to 9999');

const reference = z
  .string()
  .refine(isReference, '1 to 64 of A-Z a-z 0-9 . _ -')
  .meta({ description: 'Unique per account: the same reference is the same checkout', example: 'till-7-000142' });

const metadata = z
  .record(z.string().regex(METADATA_NAME, '1 to 64 of A-Z a-z 0-9 . _ -'), text(200))
  .refine((entries) => Object.keys(entries).length <= MAX_METADATA, `at most ${MAX_METADATA} values`)
  .refine((entries) => !Object.keys(entries).some((name) => OUR_METADATA.has(name)), {
    error: 'the names checkout, attempt and refund_key are ours',
  });

export const createCheckout = z
  .strictObject({
    reference,
    amount: z.int().positive().meta({ description: 'Smallest currency unit', example: 150_000 }),
    currency: z.string().length(3).meta({ description: 'THB, SGD or MYR', example: 'THB' }),
    description: text(255).optional(),
    metadata: metadata.optional(),
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
    image_url: z.url().meta({ description: 'The QR as an image; opens without a key until the checkout closes' }),
    download_uri: z.url().meta({ description: 'The same at the provider' }),
    raw_data: z.string().nullable(),
    expires_at: time,
  })
  .meta({ id: 'Qr' });

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
    events_url: z
      .url()
      .nullable()
      .meta({ description: 'Its changes as a stream; opens without a key. Null once the checkout closed' }),
    location: z.string().meta({ description: 'Where to read this checkout again' }),
  })
  .meta({ id: 'Checkout' });
export type CheckoutReply = z.output<typeof checkoutReply>;

export const checkoutsReply = z
  .object({ data: z.array(checkoutReply), next_cursor: z.string().nullable() })
  .meta({ id: 'Checkouts' });
export type CheckoutsReply = z.output<typeof checkoutsReply>;

export const timelineReply = z
  .object({
    data: z.array(z.object({ at: time, what: z.string(), detail: z.string().optional() })),
    next_cursor: z.string().nullable(),
  })
  .meta({ id: 'Timeline' });
export type TimelineReply = z.output<typeof timelineReply>;

function isReadable(value: string): boolean {
  try {
    parseInstant(value);
    return true;
  } catch {
    return false;
  }
}
