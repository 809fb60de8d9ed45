import { sleep } from '@temporalio/workflow';
import { clock } from '../shared/clock.js';
import { lookupDelay, sendWindow, type CallPolicy } from '../shared/policy.js';
import type { CommandOutcome } from './activities.js';
import type { Change } from './messages.js';
import * as calls from './provider-calls.js';

const LONGEST_PAUSE_MS = 60_000;
/** After this many tries without an answer the command ends; the requester may repeat it. */
export const MAX_TRIES = 15;

/** The pause after try number `tries` (from 1), in milliseconds. */
export function pauseAfter(tries: number, policy: CallPolicy): number {
  return Math.min(lookupDelay(policy, tries - 1), LONGEST_PAUSE_MS);
}

/**
 * Makes a change that may be repeated, because it sets a value instead of adding one. Repeats the change only while its
 * outcome is unknown. A rejection of the first try ends it at once, so that nothing happens after the requester has the
 * rejection.
 */
export async function makeChange(change: Change, policy: CallPolicy): Promise<CommandOutcome> {
  for (let tries = 1; ; tries += 1) {
    const isRepeat = tries > 1;
    const { inFlightUntil: _, ...window } = sendWindow(policy, clock());
    const outcome = await calls.change({ change, isRepeat, ...window });
    if (outcome.kind === 'done' || (outcome.kind === 'rejected' && !isRepeat)) return outcome;
    // The provider rejects this try, but an earlier one may have taken effect.
    const isFinal = outcome.kind === 'rejected' && !outcome.retryable;
    if (isFinal || tries >= MAX_TRIES) return { kind: 'unknown', code: outcome.code, message: outcome.message };
    await sleep(pauseAfter(tries, policy), { summary: 'Until the change is repeated' });
  }
}
