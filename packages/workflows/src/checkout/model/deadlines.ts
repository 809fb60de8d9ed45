import { instant, nextCutOff, plus, type Instant } from '@tillflow/domain';
import { attentionDeadlines } from './lasting-attention.js';
import { windowsOf, type Known } from './projection.js';
import type { Due } from './schedule.js';

const DAY_MS = 86_400_000;
/** The last instant of the refund window is still in it. */
const AFTER_THE_LAST_MS = 1;

/**
 * Times at which the shown state changes, or the run ends, without any step. The end of a window is not among them:
 * every reader compares a window with the present time. If it were, all payments of a day would wake up together.
 * @param isAftercare the run has continued as aftercare, perhaps before its time
 */
export function deadlinesOf(known: Known, isAftercare: boolean): Due[] {
  const { state, policy, intent } = known;
  const attention = attentionDeadlines(state, policy);
  const { refundable } = windowsOf(known);
  const aftercareAt = aftercareAtOf(known);
  if (refundable === null || aftercareAt === null) {
    if (state.endedAt === null) return attention;
    const at = plus(instant(state.endedAt), policy.unpaidGraceMs);
    return [...attention, { at, why: 'Tillflow still notices a late payment' }];
  }
  return [
    ...attention,
    ...(isAftercare ? [] : [{ at: aftercareAt, why: 'then continue as aftercare' }]),
    { at: plus(refundable, AFTER_THE_LAST_MS + drawn(intent.id, DAY_MS)), why: 'a refund is possible' },
  ];
}

/**
 * When a paid checkout continues as aftercare: at its own time in the hours after the next void cut-off. Null while
 * unpaid.
 */
export function aftercareAtOf(known: Known): Instant | null {
  const { paidAt, voidable } = windowsOf(known);
  if (paidAt === null) return null;
  return plus(voidable ?? nextCutOff(paidAt), drawn(known.intent.id, known.policy.aftercareSpreadMs));
}

const HASHES = 2 ** 32;

/**
 * A whole number from 0 to `below`, always the same for this id: FNV-1a, and the last step of MurmurHash3 to spread
 * similar ids.
 */
function drawn(id: string, below: number): number {
  let hash = 0x81_1c_9d_c5;
  for (const character of id) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01_00_01_93);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2_b2_ae_35);
  return Math.floor((((hash ^ (hash >>> 16)) >>> 0) / HASHES) * below);
}
