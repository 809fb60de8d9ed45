import { defineUpdate } from '@temporalio/workflow';
import type { Resolution } from '../shared/resolution.js';
import type { Outcome } from '../shared/outcome.js';
import type { CallPolicy } from '../shared/policy.js';

/** The workflow type. */
export const COMMAND_WORKFLOW = 'command';

/** Creates a recurring plan: the only command that would take effect twice if it was repeated. */
export type CreatePlan = {
  readonly kind: 'create_plan';
  /** The provider's parameters, encrypted with `Seal`: a description or metadata may be personal. */
  readonly sealed: string;
  /** A hash of a plan that cannot have a key, such as a plan of transfers. Equal plans are created one at a time. */
  readonly turn?: string;
};

/** A command that takes effect once even if it is repeated. */
export type Change =
  | { readonly kind: 'stop_plan'; readonly plan: string }
  | { readonly kind: 'update_card'; readonly customer: string; readonly card: string; readonly sealed: string }
  | { readonly kind: 'remove_card'; readonly customer: string; readonly card: string }
  | { readonly kind: 'update_account'; readonly sealed: string }
  | { readonly kind: 'upgrade_api_version' }
  | { readonly kind: 'delete_document'; readonly dispute: string; readonly document: string };

/** A change at the provider, other than of checkouts, that a person with an `ops` key requests. */
export type Command = CreatePlan | Change;

export type CommandInput = {
  readonly command: Command;
  /** The requester waits for the outcome until then (ms since the epoch). Afterwards they have the answer "pending". */
  readonly answerBy: number;
  /** What differs from `DEFAULT_CALL_POLICY`; only the times of calls and lookups are used. */
  readonly policy?: Partial<CallPolicy>;
};

/** Who requested what, and when. In the memo from the start. Contains names of fields, never their values. */
export type CommandAudit = {
  readonly kind: Command['kind'];
  /** Ids of the changed records, such as `cust_1/card_1`; empty for the account and for a new record. */
  readonly target: string;
  /** Names of the given fields. */
  readonly fields: readonly string[];
  /** The name of the API key. */
  readonly by: string;
  /** ISO 8601 UTC. */
  readonly asked_at: string;
  /** `X-Request-Id` of the request, as in the logs. */
  readonly request_id: string;
  /** SHA-256 of the request, in hex: distinguishes a repetition from another request. */
  readonly fingerprint: string;
};

/** A decision that a person has to make, and since when (ISO 8601 UTC). */
export type PendingDecision = Undecided & { readonly since: string };

export type CommandMemo = {
  readonly audit: CommandAudit;
  readonly undecided?: PendingDecision | null;
  /** The operators' decisions, the latest last. */
  readonly decisions?: readonly (Resolution & { readonly at: string })[];
};

/** The result of a command that took effect. */
export type Done = {
  /** Id of the record; null for the account. */
  readonly id: string | null;
  /** The provider's reply, encrypted with `Seal`. */
  readonly reply: string;
};

/** A command without effect: the reason, and the provider's HTTP status, null when nothing was sent. */
export type Rejection = Extract<Outcome<never>, { kind: 'rejected' }> & { readonly status: number | null };

/** Tillflow could not find out the outcome and must not repeat the command: a person has to decide. */
export type Undecided = {
  readonly kind: 'undecided';
  readonly code: 'unresolved' | 'ambiguous' | 'mismatch';
  readonly message: string;
  /** Ids of records at the provider that may be the requested one. */
  readonly candidates: readonly string[];
};

/**
 * The workflow's result. The workflow fails when the outcome of a change stays unknown, and when a plan is rejected:
 * only a failed workflow frees the idempotency key.
 */
export type CommandResult = Extract<Outcome<Done>, { kind: 'done' }> | Undecided | Rejection;

/** The `type` of the workflow's `ApplicationFailure`; for a rejection, `details` contains one {@link Rejection}. */
export type CommandFailure = 'command_rejected' | 'command_unanswered';

/** The result of an operator's decision about a plan; `undecided`: another decision is needed. */
export type PlanDecision = 'adopted' | 'abandoned' | 'undecided';

/**
 * An operator's decision about a plan, stored in the memo with its reason: `look` takes the plan that the provider
 * shows now, `adopt` names the plan, `abandon` frees the key, so that the same request creates a plan.
 * @throws ApplicationFailure `invalid_resolution`
 */
export const resolvePlan = defineUpdate<PlanDecision, [Resolution]>('resolve');
