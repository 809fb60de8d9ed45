import { z } from 'zod';
import { check } from '../http/api-error.js';

/**
 * The effect of each action: whether the provider does the work, and what the caller gets. `delay_ms` passes before
 * that end, and for `delay` before the work.
 */
export const FAULT_EFFECTS = {
  status: { works: false, ends: 'status' },
  delay: { works: true, ends: 'answer' },
  reset_before: { works: false, ends: 'reset' },
  hang: { works: false, ends: 'hang' },
  commit_then_reset: { works: true, ends: 'reset' },
  commit_then_hang: { works: true, ends: 'hang' },
  commit_then_status: { works: true, ends: 'status' },
  commit_then_delay: { works: true, ends: 'answer' },
  garbage_body: { works: true, ends: 'garbage' },
  truncated_body: { works: true, ends: 'truncated' },
  replace_records: { works: true, ends: 'replaced' },
} as const;

export type FaultAction = keyof typeof FAULT_EFFECTS;
export type FaultEffect = (typeof FAULT_EFFECTS)[FaultAction];

const ACTIONS = Object.keys(FAULT_EFFECTS) as [FaultAction, ...FaultAction[]];

/** One fault. */
export const faultSchema = z.strictObject({
  action: z.enum(ACTIONS),
  /** Default: any method. */
  method: z
    .string()
    .regex(/^[A-Za-z]+$/, 'must be a method such as POST')
    .optional(),
  /** A template (`/charges` is not `/charges/{id}`), one path, or a glob with `*`. Default: any API route. */
  path: z.string().regex(/^[/*]/, 'must begin with / or *').optional(),
  /** HTTP status of `status` and `commit_then_status`. Default: 500. */
  status: z.int().min(200).max(599).optional(),
  /** `code` in that answer's error body. */
  code: z.string().min(1).optional(),
  /** Replaces the error body, or the garbage. */
  body: z.string().optional(),
  /** For `replace_records`: any JSON, by the id of the record that it replaces. */
  records: z.record(z.string(), z.unknown()).optional(),
  /** `Retry-After` header of that answer, in seconds. */
  retry_after: z.int().min(0).optional(),
  /** Wall time. Default: 1000 for `delay` and `commit_then_delay`, otherwise 0. */
  delay_ms: z.int().min(0).max(600_000).optional(),
  /** The most requests that it hits. Default: no limit. */
  times: z.int().min(1).optional(),
  /** 0 to 1; the seed decides each draw. */
  probability: z.number().min(0).max(1).optional(),
  /** How many matching requests pass first. */
  after: z.int().min(0).optional(),
});

export type Fault = z.input<typeof faultSchema>;

const rate = z.number().min(0).max(1).default(0);

/** Faults of webhooks. Rates are parts of all deliveries, 0 to 1. */
export const webhookRates = {
  /** Sent twice. */
  duplicate: rate,
  /** Never sent. */
  drop: rate,
  /** Wait before each first try, ms on the sandbox's clock. */
  delay_ms: z.int().min(0).max(86_400_000).default(0),
  /** Held back until after the next delivery. */
  reorder: rate,
  /** Sent with a wrong signature. */
  corrupt_signature: rate,
};
const ratesSchema = z.strictObject(webhookRates);
export type WebhookRates = z.output<typeof ratesSchema>;
export const NO_WEBHOOK_FAULTS: WebhookRates = ratesSchema.parse({});

export const rateLimitSchema = z.strictObject({
  /** Requests in one burst. */
  burst: z.int().min(1).max(1_000_000),
  /** On the sandbox's clock. */
  per_second: z.number().positive().max(1_000_000),
  /** Whether a refusal carries `Retry-After`. */
  retry_after: z.boolean().default(true),
});

const planSchema = z
  .strictObject({
    /** For people. */
    name: z.string().optional(),
    faults: z.array(faultSchema).optional(),
    /** The rates of `POST /__sandbox/webhooks`. */
    webhooks: ratesSchema.optional(),
    /** Null removes the limit. */
    rate_limit: rateLimitSchema.nullable().optional(),
  })
  .refine(
    ({ faults, webhooks, rate_limit }) => faults !== undefined || webhooks !== undefined || rate_limit !== undefined,
    'needs an action, or faults, webhooks or rate_limit',
  );

/**
 * All faults of a run as one JSON document: one fault, a list of faults, or a plan. Settings that it does not name stay
 * as they are.
 */
export type FaultPlan = Fault | readonly Fault[] | z.input<typeof planSchema>;

/** @throws {ApiError} `bad_request` that lists every mistake. */
export function checkFaultPlan(plan: unknown): z.output<typeof planSchema> {
  if (Array.isArray(plan)) return { faults: check(z.array(faultSchema), plan) };
  const isFault = typeof plan === 'object' && plan !== null && 'action' in plan;
  return isFault ? { faults: [check(faultSchema, plan)] } : check(planSchema, plan);
}

/** A checked plan. */
export type CheckedFaultPlan = z.output<typeof planSchema>;
