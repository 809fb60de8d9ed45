import type { CheckoutPolicy } from '../policy.js';
import type { CheckoutIntent } from '../types.js';
import type { Attempts } from './attempts.js';
import type { Attentions } from './attention.js';
import type { Timeline } from './timeline.js';

/** What every part of the model uses. Each part owns one slice of the state, and only that part writes it. */
export type ModelContext = {
  readonly intent: CheckoutIntent;
  readonly policy: CheckoutPolicy;
  readonly timeline: Timeline;
  readonly attentions: Attentions;
  readonly attempts: Attempts;
};
