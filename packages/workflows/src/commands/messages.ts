import { defineUpdate } from '@temporalio/workflow';
import type { Resolution } from '../checkout/messages.js';

/** What an operator's decision about a plan came to; `undecided`: they have to look again, or decide otherwise. */
export type PlanDecision = 'adopted' | 'abandoned' | 'undecided';

/**
 * An operator's decision about a plan that the machine cannot decide about, noted with its reason in the memo: `look`
 * takes what is left at the provider, `adopt` names the plan, `abandon` frees the key: the same request makes a plan.
 * @throws ApplicationFailure `invalid_resolution`.
 */
export const resolvePlan = defineUpdate<PlanDecision, [Resolution]>('resolve');
