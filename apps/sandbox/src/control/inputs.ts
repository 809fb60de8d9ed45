import { z } from 'zod';
import { DISPUTE_STATUSES, FAILURE_CODES } from '../records/records.js';
import { webhookRates } from '../faults/plan.js';
import { isHttpUri } from '../http/params.js';

/** The bodies of the control routes. */

/** Base64; several, separated by commas, while one is rotated. */
export const secretSchema = z
  .string()
  .regex(/^[A-Za-z0-9+/_-]{2,}={0,2}(,[A-Za-z0-9+/_-]{2,}={0,2})*$/, 'must be base64, several separated by commas');

const singleSecretSchema = z.string().regex(/^[A-Za-z0-9+/_-]{2,}={0,2}$/, 'must be base64');

const seed = z.union([z.string().min(1), z.number()]).transform(String);
export const resetSchema = z.strictObject({ seed: seed.optional() });

export const markSchema = z.discriminatedUnion('status', [
  z.strictObject({ status: z.literal('successful'), force: z.boolean().optional() }),
  z.strictObject({
    status: z.literal('failed'),
    failure_code: z.enum(FAILURE_CODES).optional(),
    force: z.boolean().optional(),
  }),
  /** The customer reviews the payment: the API shows it as pending, and it cannot be expired. */
  z.strictObject({ status: z.literal('confirming') }),
  /** The customer ends the review. */
  z.strictObject({ status: z.literal('pending') }),
]);

/** How a charge is marked. `force` also changes an expired or failed charge. */
export type Mark = z.input<typeof markSchema>;

export const clockSchema = z
  .strictObject({
    /** Seconds. */
    advance: z.number().min(0, 'must not be negative: the clock does not go backwards').optional(),
    /** ISO 8601 with a zone. */
    now: z.string().optional(),
    frozen: z.boolean().optional(),
  })
  .refine(
    ({ advance, now, frozen }) =>
      (advance ?? now ?? frozen) !== undefined && (advance === undefined || now === undefined),
    'needs advance (seconds) or now (ISO 8601), or frozen',
  );

export const disputeSchema = z.strictObject({ status: z.enum(DISPUTE_STATUSES) });
export const cardSchema = z.strictObject({ failure_code: z.enum(FAILURE_CODES).nullable() });

export const rotationSchema = z.strictObject({
  /** Base64. The caller chooses it, because no answer contains a secret. */
  secret: singleSecretSchema,
  /** Seconds on the sandbox's clock in which both secrets sign; without it, both sign until the rotation is ended. */
  overlap: z.number().min(0).max(31_536_000).optional(),
});

export const webhookSchema = z.strictObject({
  /** The address for events; without it, the current address stays. */
  url: z.string().refine(isHttpUri, 'must be an http or https address').optional(),
  /** Without it, the current secret stays. */
  secret: secretSchema.optional(),
  ...webhookRates,
});

/** Webhook settings. A rate that is left out is 0. */
export type WebhookConfiguration = z.input<typeof webhookSchema>;
