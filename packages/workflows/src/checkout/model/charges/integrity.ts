import type { ChargeFacts } from '../../activities.js';
import type { CheckoutIntent } from '../../types.js';
import type { Attempts } from '../attempts.js';
import type { Charge } from './polling.js';

/** By its metadata; without Tillflow's metadata, by a source of the checkout. */
export function belongsToCheckout({ checkoutId, sourceId }: ChargeFacts, id: string, attempts: Attempts): boolean {
  if (checkoutId !== null) return checkoutId === id;
  return sourceId !== null && attempts.usesSource(sourceId);
}

/**
 * Compares a charge with what the checkout requested. A charge that differs is not believed, whatever its status.
 * @param asked the id that was retrieved; null for a search, or the answer to a creation.
 * @param known the charge as it was seen before.
 * @returns what does not match, for people; null when everything does.
 */
export function mismatchOf(
  facts: ChargeFacts,
  asked: string | null,
  known: Readonly<Charge> | undefined,
  intent: CheckoutIntent,
  attempts: Attempts,
): string | null {
  const { chargeId, attempt: number, sourceId } = facts;
  if (asked !== null && asked !== chargeId)
    return `Tillflow retrieved charge ${asked}, and the provider answered with ${chargeId}`;
  if (!belongsToCheckout(facts, intent.id, attempts)) {
    return `charge ${chargeId} belongs to ${facts.checkoutId ?? 'no checkout'}`;
  }
  if (facts.isOtherMode) return `charge ${chargeId} is not in the mode (test or live) of the secret key`;
  if (facts.amount !== intent.amount) return `charge ${chargeId} has the amount ${facts.amount}, not ${intent.amount}`;
  if (facts.currency !== intent.currency) return `charge ${chargeId} is in ${facts.currency}, not ${intent.currency}`;
  if (number !== null && !attempts.all.some((one) => String(one.number) === number)) {
    return `charge ${chargeId} belongs to attempt ${number}, which does not exist`;
  }
  if (known !== undefined && number !== null && number !== String(known.attempt)) {
    return `charge ${chargeId} belongs to attempt ${number}, not ${known.attempt}`;
  }
  const attempt = known === undefined ? attempts.attemptOf(facts) : attempts.find(known.attempt);
  const isShown = attempt.chargeId === null || attempt.chargeId === chargeId;
  if (isShown && attempt.sourceId !== null && sourceId !== null && sourceId !== attempt.sourceId) {
    return `charge ${chargeId} uses source ${sourceId}, not ${attempt.sourceId}`;
  }
  return null;
}
