import { z } from 'zod';
import { check } from '../http/check.js';
import type { Random } from '../random.js';
import { ratesSchema } from '../provider/webhooks.js';

/**
 * What a fault does to the request it strikes: whether the provider does the work, and what the caller then gets.
 * `delay_ms` passes before the end that is not an answer, and for `delay` before the work.
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

const ACTIONS = Object.keys(FAULT_EFFECTS) as [FaultAction, ...FaultAction[]];

/** A fault as it is asked for. */
export const faultSchema = z.strictObject({
  action: z.enum(ACTIONS),
  /** Any method when left out. */
  method: z
    .string()
    .regex(/^[A-Za-z]+$/, 'must be a method such as POST')
    .optional(),
  /** A template (`/charges` is not `/charges/{id}`), one path, or a glob with `*`; any API route when left out. */
  path: z.string().regex(/^[/*]/, 'must begin with / or *').optional(),
  /** Answered by `status` (default 500) and `commit_then_status`. */
  status: z.int().min(200).max(599).optional(),
  /** `code` of that answer's error body. */
  code: z.string().min(1).optional(),
  /** Sent in place of the error body, or as the garbage. */
  body: z.string().optional(),
  /** What `replace_records` shows, by the id of the record whose place it takes: any JSON. */
  records: z.record(z.string(), z.unknown()).optional(),
  /** `Retry-After` header of that answer, in seconds. */
  retry_after: z.int().min(0).optional(),
  /** Wall time; 1000 for `delay` and `commit_then_delay` when left out, else 0. */
  delay_ms: z.int().min(0).max(600_000).optional(),
  /** Strikes at most so often; without end when left out. */
  times: z.int().min(1).optional(),
  /** 0 to 1, drawn from the seed. */
  probability: z.number().min(0).max(1).optional(),
  /** Lets the first matches pass. */
  after: z.int().min(0).optional(),
});

export type Fault = z.input<typeof faultSchema>;

export const rateLimitSchema = z.strictObject({
  /** Requests at once. */
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
    /** Rates as of `POST /__sandbox/webhooks`, without address and secret. */
    webhooks: ratesSchema.optional(),
    /** Null lifts the limit. */
    rate_limit: rateLimitSchema.nullable().optional(),
  })
  .refine(
    ({ faults, webhooks, rate_limit }) => faults !== undefined || webhooks !== undefined || rate_limit !== undefined,
    'needs an action, or faults, webhooks or rate_limit',
  );

/**
 * What goes wrong in a run, as one JSON document: one fault, a list of faults, or a plan of all of it. What it does not
 * name stays as it is.
 */
export type FaultPlan = Fault | readonly Fault[] | z.input<typeof planSchema>;

/** @throws {ApiError} `bad_request` that names every mistake. */
export function checkFaultPlan(plan: unknown): z.output<typeof planSchema> {
  if (Array.isArray(plan)) return { faults: check(z.array(faultSchema), plan) };
  const isFault = typeof plan === 'object' && plan !== null && 'action' in plan;
  return isFault ? { faults: [check(faultSchema, plan)] } : check(planSchema, plan);
}

/** A fault that is set, with its counts. */
export type FaultState = Fault & { readonly id: number; readonly matched: number; readonly struck: number };

type Rule = { readonly id: number; readonly fault: Fault; readonly random: Random; matched: number; struck: number };

/** The request as a fault sees it; `route` is the template, null when no route has the path. */
export type Target = { readonly method: string; readonly route: string | null; readonly path: string };

/** The faults that are set; the first that strikes wins. */
export class Faults {
  #rules: Rule[] = [];
  #count = 0;

  add(faults: readonly Fault[], random: Random): void {
    for (const fault of faults) {
      this.#count += 1;
      const id = this.#count;
      this.#rules.push({ id, fault, random: random.stream(`fault/${id}`), matched: 0, struck: 0 });
    }
  }

  clear(): void {
    this.#rules = [];
  }

  /** Also begins to count from one again, so that choices repeat. */
  reset(): void {
    this.clear();
    this.#count = 0;
  }

  list(): FaultState[] {
    return this.#rules.map(({ id, fault, matched, struck }) => ({ ...fault, id, matched, struck }));
  }

  /** The fault that strikes the request, with its id, or null. */
  strike(target: Target): (Fault & { readonly id: number }) | null {
    for (const rule of this.#rules) {
      const { fault } = rule;
      if (rule.struck >= (fault.times ?? Infinity) || !matches(fault, target)) continue;
      rule.matched += 1;
      if (rule.matched <= (fault.after ?? 0)) continue;
      if (fault.probability !== undefined && !rule.random.chance(fault.probability)) continue;
      rule.struck += 1;
      return { ...fault, id: rule.id };
    }
    return null;
  }
}

function matches(fault: Fault, target: Target): boolean {
  if (fault.method !== undefined && fault.method.toUpperCase() !== target.method) return false;
  const { path } = fault;
  if (path === undefined || path === target.path) return true;
  if (path.includes('*')) return glob(path).test(target.path);
  return target.route !== null && anonymous(path) === anonymous(target.route);
}

/** The name of a template's parameter does not matter. */
function anonymous(template: string): string {
  return template.replaceAll(/\{[^/}]*\}|:[^/]+/g, '{}');
}

function glob(pattern: string): RegExp {
  const escaped = pattern
    .replaceAll(/\{[^/}]*\}/g, '\0')
    .replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll('\0', '[^/]+');
  return new RegExp(`^${escaped.replaceAll('*', '.*')}$`);
}
