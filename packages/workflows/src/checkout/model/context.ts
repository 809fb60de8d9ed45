import type { Instant } from '@tillflow/domain';
import type { CheckoutIntent } from '../types.js';
import type { Timeline } from './timeline.js';
import type { CheckoutPolicy } from '../../shared/policy.js';
import type { ModelState } from './state.js';
import type { Step } from './step.js';

/** What the parts of a book share. */
export type ModelContext = {
  readonly intent: CheckoutIntent;
  readonly policy: CheckoutPolicy;
  readonly state: ModelState;
  readonly timeline: Timeline;
};

/** Something that is due at a time; without a step it is only worth waking up for. */
export type Due = { readonly at: Instant; readonly step?: Step; readonly why: string };
