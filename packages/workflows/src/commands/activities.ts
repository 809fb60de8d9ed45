import type { SendWindow } from '../shared/policy.js';
import type { Outcome } from '../shared/outcome.js';
import type { Change, CreatePlan, Done, Rejection } from './command.js';

export type CreatePlanCall = SendWindow & Pick<CreatePlan, 'sealed'>;

export type ChangeCall = SendWindow & {
  readonly change: Change;
  /** An earlier try may have had its effect: what is gone then was removed by it. */
  readonly inDoubt: boolean;
};

export type FindPlansCall = Pick<CreatePlan, 'sealed'> & {
  /** ISO 8601 UTC: the plan was made after this instant, if it was. */
  readonly since: string;
  /** Plans that were there before. */
  readonly except: readonly string[];
};

/** A plan that may be the one that was asked for. */
export type FoundPlan = Done & {
  /** It carries our key. One without a key is only as it was asked for: another may have asked for the same. */
  readonly isOurs: boolean;
  /** Nothing in it contradicts what was asked for, and it carries no other key. */
  readonly fits: boolean;
  /** It moves no money any more. Workers of an earlier release do not say. */
  readonly hasEnded?: boolean;
  /** It could carry our key, and does not: somebody else's for all that is known. Earlier workers do not say. */
  readonly isForeign?: boolean;
};

export type RetrievePlanCall = Pick<CreatePlan, 'sealed'> & { readonly plan: string };

/** The provider made a plan, under this id, that is not as it was asked for. */
export type MadeOtherwise = { readonly kind: 'otherwise'; readonly id: string; readonly message: string };

export type CommandOutcome = Exclude<Outcome<Done>, { kind: 'rejected' }> | Rejection;

/** What commands ask of the worker. The first two are tried once and answer with an outcome; the others may be tried again. */
export type CommandActivities = {
  createPlan(call: CreatePlanCall): Promise<CommandOutcome | MadeOtherwise>;
  changeAtProvider(call: ChangeCall): Promise<CommandOutcome>;
  /**
   * The plans, the oldest first, that carry our key in their metadata, or that carry no key and are as it was asked
   * for: a transfer can carry none.
   */
  findPlans(call: FindPlansCall): Promise<readonly FoundPlan[]>;
  /** One plan, compared with what was asked for. */
  retrievePlan(call: RetrievePlanCall): Promise<FoundPlan>;
};
