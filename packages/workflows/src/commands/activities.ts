import type { SendWindow } from '../shared/policy.js';
import type { Outcome } from '../shared/outcome.js';
import type { Change, CreatePlan, Done, Rejection } from './messages.js';

export type CreatePlanCall = SendWindow & Pick<CreatePlan, 'sealed'>;

export type ChangeCall = SendWindow & {
  readonly change: Change;
  /** The outcome of an earlier try is unknown: that try may have removed the record. */
  readonly isRepeat: boolean;
};

export type FindPlansCall = Pick<CreatePlan, 'sealed'> & {
  /** ISO 8601 UTC: the plan was created after this instant, if at all. */
  readonly since: string;
  /** Ids of plans that existed before. */
  readonly except: readonly string[];
};

/** A plan that may be the requested one. */
export type FoundPlan = Done & {
  /** The plan has the command's key. Another command may have requested an equal plan without a key. */
  readonly hasKey: boolean;
  /** The plan contradicts nothing that was requested, and has no other key. */
  readonly matches: boolean;
  /** The plan moves no more money. */
  readonly hasEnded: boolean;
  /** The plan has metadata without the command's key: another system may have created it. */
  readonly lacksKey: boolean;
};

export type RetrievePlanCall = Pick<CreatePlan, 'sealed'> & { readonly plan: string };

/** The provider created a plan with this id that differs from the requested one. */
export type CreatedOtherwise = { readonly kind: 'otherwise'; readonly id: string; readonly message: string };

export type CommandOutcome = Exclude<Outcome<Done>, { kind: 'rejected' }> | Rejection;

/**
 * The worker's activities for commands. The first two are tried once and return an outcome; the others may be retried.
 */
export type CommandActivities = {
  createPlan(call: CreatePlanCall): Promise<CommandOutcome | CreatedOtherwise>;
  changeAtProvider(call: ChangeCall): Promise<CommandOutcome>;
  /**
   * The plans, the oldest first, that have the command's key in their metadata, or that have no key and match the
   * request: a plan of transfers cannot have a key.
   */
  findPlans(call: FindPlansCall): Promise<readonly FoundPlan[]>;
  /** One plan, compared with the request. */
  retrievePlan(call: RetrievePlanCall): Promise<FoundPlan>;
};
