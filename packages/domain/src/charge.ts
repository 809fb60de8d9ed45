/** The states a QR charge is known to have. Source: API reference, "States and transitions". */
export const CHARGE_STATUSES = ['pending', 'expired', 'failed', 'successful'] as const;
export type ChargeStatus = (typeof CHARGE_STATUSES)[number];

/**
 * News only ever moves a charge to a higher rank, so late, repeated and reordered news change nothing.
 * Money outranks the absence of money: a charge once seen successful stays so, and one seen expired or failed
 * that is later seen successful was paid.
 */
const RANK: Readonly<Record<ChargeStatus, number>> = { pending: 0, expired: 1, failed: 1, successful: 2 };

/** Null for a status that this version does not know: it is reported to a person, never guessed at. */
export function chargeStatus(text: string): ChargeStatus | null {
  return (CHARGE_STATUSES as readonly string[]).includes(text) ? (text as ChargeStatus) : null;
}

export function isFinalCharge(status: ChargeStatus): boolean {
  return status !== 'pending';
}

/** The status after `seen` was seen on a charge known as `known`. */
export function applyChargeStatus(known: ChargeStatus, seen: ChargeStatus): ChargeStatus {
  return RANK[seen] > RANK[known] ? seen : known;
}
