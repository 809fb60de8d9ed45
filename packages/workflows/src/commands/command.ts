import type { CallPolicy } from '../shared/policy.js';
import type { Resolution } from '../checkout/messages.js';
import type { Outcome } from '../shared/outcome.js';

/** The workflow's type, as `start` names it. */
export const COMMAND_WORKFLOW = 'command';

/** A recurring plan that is to be made: the only command whose repetition would do it twice. */
export type CreatePlan = {
  readonly kind: 'create_plan';
  /** The provider's parameters, closed with `Seal`: a description or metadata may be personal. */
  readonly sealed: string;
  /**
   * Of a plan that can carry no key, such as one of transfers: a hash of what it is. Those that are alike are made one
   * after the other.
   */
  readonly turn?: string;
};

/** What may be asked of the provider again without doing it twice. */
export type Change =
  | { readonly kind: 'stop_plan'; readonly plan: string }
  | { readonly kind: 'update_card'; readonly customer: string; readonly card: string; readonly sealed: string }
  | { readonly kind: 'remove_card'; readonly customer: string; readonly card: string }
  | { readonly kind: 'update_account'; readonly sealed: string }
  | { readonly kind: 'upgrade_api_version' }
  | { readonly kind: 'delete_document'; readonly dispute: string; readonly document: string };

/** What a person with an `ops` key has changed at the provider, beyond checkouts. */
export type Command = CreatePlan | Change;

export type CommandInput = {
  readonly command: Command;
  /** Until then whoever asked waits for the outcome (ms since the epoch); after it the command was promised. */
  readonly answerBy: number;
  /**
   * Whoever asked takes a refusal as a result: the workflow completes with it instead of failing. Absent in what an
   * earlier release asked for, and for a plan that is made: there only a failure frees the key.
   */
  readonly takesRefusals?: boolean;
  /** What differs from `DEFAULT_CALL_POLICY`; of it the times of calls and looks. */
  readonly policy?: Partial<CallPolicy>;
};

/** Who asked for what, and when: kept in the memo from the start. Never a value, only names of fields. */
export type CommandAudit = {
  readonly kind: Command['kind'];
  /** Ids of the records that are changed, as `cust_1/card_1`; empty for the account and for what is new. */
  readonly target: string;
  /** Names of the fields that were given. */
  readonly fields: readonly string[];
  /** The name of the API key. */
  readonly by: string;
  /** ISO 8601 UTC. */
  readonly asked_at: string;
  /** `X-Request-Id` of the request, as in the logs. */
  readonly request_id: string;
  /** SHA-256 of what was asked, in hex: tells a repetition from another request. */
  readonly fingerprint: string;
};

/** What waits for a person, since when (ISO 8601 UTC). */
export type OpenQuestion = Undecided & { readonly since: string };

export type CommandMemo = {
  readonly audit: CommandAudit;
  readonly undecided?: OpenQuestion | null;
  /** What people decided about it, the latest last. */
  readonly decisions?: readonly (Resolution & { readonly at: string })[];
};

/** What became of a command that had its effect. */
export type Done = {
  /** Id of the record, or null where the account has none of interest. */
  readonly id: string | null;
  /** The provider's reply, closed with `Seal`. */
  readonly reply: string;
};

/** A command without effect: why, and the provider's HTTP status, null when nothing was sent. */
export type Rejection = Extract<Outcome<never>, { kind: 'rejected' }> & { readonly status: number | null };

/** What nobody may repeat and nobody could find out: a person has to look. */
export type Undecided = {
  readonly kind: 'undecided';
  readonly code: 'unresolved' | 'ambiguous' | 'mismatch';
  readonly message: string;
  /** Records at the provider that may be it. */
  readonly candidates: readonly string[];
};

/**
 * The workflow's result. A change that stayed unanswered fails it; a rejection does where the input does not say
 * `takesRefusals`.
 */
export type CommandResult = Extract<Outcome<Done>, { kind: 'done' }> | Undecided | Rejection;

/** The `type` of the workflow's `ApplicationFailure`; for a rejection `details` has one {@link Rejection}. */
export type CommandFailure = 'command_rejected' | 'command_unanswered';
