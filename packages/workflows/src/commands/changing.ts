import { sleep } from '@temporalio/workflow';
import { lookupDelay, sendWindow, type CallPolicy } from '../shared/policy.js';
import { clock } from '../shared/clock.js';
import type { CommandOutcome } from './activities.js';
import * as calls from './calls.js';
import type { Change } from './command.js';

/** While nobody knows what became of it, a change is asked for again at least this often. */
const SLOWEST_REPEAT_MS = 60_000;
/** After so many tries without an answer it is given up: who asked may ask again. */
export const MAX_TRIES = 15;

/** The pause after try number `tries` (from 1), in ms. */
export function pauseAfter(tries: number, policy: CallPolicy): number {
  return Math.min(lookupDelay(policy, tries - 1), SLOWEST_REPEAT_MS);
}

/**
 * Makes a change that may be made again: by setting, not by adding. Repeated only while its outcome is unknown; what
 * provably had no effect is told at once, so that nothing waits to happen behind the back of who asked.
 */
export async function makeChange(change: Change, policy: CallPolicy): Promise<CommandOutcome> {
  let inDoubt = false;
  for (let tries = 1; ; tries += 1) {
    const { inFlightUntil: _, ...window } = sendWindow(policy, clock());
    const outcome = await calls.change({ change, inDoubt, ...window });
    if (outcome.kind === 'done' || (outcome.kind === 'rejected' && !inDoubt)) return outcome;
    // It refuses this try: an earlier one may have had its effect.
    if (outcome.kind === 'rejected' && !outcome.retryable) return inDoubtAfter(outcome);
    inDoubt = true;
    if (tries >= MAX_TRIES) return inDoubtAfter(outcome);
    await sleep(pauseAfter(tries, policy), { summary: 'Until it is asked for again' });
  }
}

function inDoubtAfter({ code, message }: Exclude<CommandOutcome, { kind: 'done' }>): CommandOutcome {
  return { kind: 'unknown', code, message };
}
