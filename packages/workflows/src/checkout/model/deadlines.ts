import { instant, plus } from '@tillflow/domain';
import { attentionDeadlines } from './lasting-attention.js';
import { windowsOf, type Known } from './projection.js';
import type { Due } from './schedule.js';

/** The last instant of the refund window is still in it. */
const AFTER_THE_LAST_MS = 1;

/** Times at which the shown state changes, or the checkout closes, without any step. */
export function deadlinesOf(known: Omit<Known, 'intent'>): Due[] {
  const { state, policy } = known;
  const attention = attentionDeadlines(state, policy);
  const { voidable, refundable } = windowsOf(known);
  if (refundable === null) {
    if (state.endedAt === null) return attention;
    const at = plus(instant(state.endedAt), policy.unpaidGraceMs);
    return [...attention, { at, why: 'Tillflow still notices a late payment' }];
  }
  return [
    ...attention,
    ...(voidable === null ? [] : [{ at: voidable, why: 'a void is possible' }]),
    { at: plus(refundable, AFTER_THE_LAST_MS), why: 'a refund is possible' },
  ];
}
