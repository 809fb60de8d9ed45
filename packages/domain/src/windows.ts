import { instant, type Instant } from './instant.js';

/**
 * How the void cut-off of a payment is found: the zone whose calendar gives the "transaction date".
 * UTC unless a merchant configures another. Source: assumption (the reference names the time, not the date's zone).
 */
export type VoidRule = {
  /** Minutes east of UTC, -720 to 840. Bangkok: 420. */
  readonly dateOffsetMinutes: number;
};

export const UTC_DATES: VoidRule = { dateOffsetMinutes: 0 };

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** 16:15:00.000 UTC. Source: API reference, "Limits". */
const CUT_OFF_IN_DAY = (16 * 60 + 15) * MINUTE;

/** @throws {RangeError} when no such zone exists. */
export function voidRule(dateOffsetMinutes: number): VoidRule {
  if (!Number.isInteger(dateOffsetMinutes) || dateOffsetMinutes < -720 || dateOffsetMinutes > 840) {
    throw new RangeError(`Not a zone offset in minutes: ${dateOffsetMinutes}`);
  }
  return { dateOffsetMinutes };
}

/**
 * The instant from which a payment of `paidAt` can no longer be voided: 16:15:00.000 UTC of its transaction date.
 * Null when the payment was made at or after that instant, so that it never could be voided. A forecast: the freshly
 * retrieved charge's `can_perform_void` decides. Source: API reference, "Limits".
 */
export function voidableUntil(paidAt: Instant, rule: VoidRule = UTC_DATES): Instant | null {
  const offset = rule.dateOffsetMinutes * MINUTE;
  const transactionDate = Math.floor((paidAt + offset) / DAY) * DAY;
  const cutOff = instant(transactionDate + CUT_OFF_IN_DAY);
  return paidAt < cutOff ? cutOff : null;
}

/** The first void cut-off after this instant: 16:15:00.000 UTC, today or tomorrow. */
export function nextCutOff(after: Instant): Instant {
  const today = Math.floor(after / DAY) * DAY + CUT_OFF_IN_DAY;
  return instant(after < today ? today : today + DAY);
}

/** Open while `now` is before the cut-off; the cut-off itself is too late. */
export function isVoidable(paidAt: Instant, now: Instant, rule: VoidRule = UTC_DATES): boolean {
  const until = voidableUntil(paidAt, rule);
  return until !== null && now < until;
}

/**
 * The last instant, inclusive, at which a payment can be refunded: the same UTC time one calendar year later,
 * 29 February becoming 28 February. Source: API reference, "Limits" (one year); the inclusive end is an assumption.
 */
export function refundableUntil(paidAt: Instant): Instant {
  const paid = new Date(paidAt);
  const sameDay = new Date(paidAt);
  sameDay.setUTCFullYear(paid.getUTCFullYear() + 1);
  const rolledOver = sameDay.getUTCMonth() !== paid.getUTCMonth();
  return instant(rolledOver ? sameDay.getTime() - DAY : sameDay.getTime());
}

export function isRefundable(paidAt: Instant, now: Instant): boolean {
  return now <= refundableUntil(paidAt);
}
