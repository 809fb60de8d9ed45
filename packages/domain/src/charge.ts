/** The states a QR charge is known to have. Source: API reference, "States and transitions". */
export const CHARGE_STATUSES = ['pending', 'expired', 'failed', 'successful'] as const;
export type ChargeStatus = (typeof CHARGE_STATUSES)[number];

/**
 * A charge only moves to a higher rank, so a late, repeated or reordered status changes nothing. Money outranks the
 * absence of money: a successful charge stays successful, and an expired or failed charge that is seen successful later
 * was paid.
 */
const RANK: Readonly<Record<ChargeStatus, number>> = { pending: 0, expired: 1, failed: 1, successful: 2 };

/** Null for an unknown status: a person has to decide what it means. */
export function chargeStatus(text: string): ChargeStatus | null {
  return (CHARGE_STATUSES as readonly string[]).includes(text) ? (text as ChargeStatus) : null;
}

export function isFinalCharge(status: ChargeStatus): boolean {
  return status !== 'pending';
}

/** The status of a charge with status `known` after a retrieve shows `seen`. */
export function applyChargeStatus(known: ChargeStatus, seen: ChargeStatus): ChargeStatus {
  return RANK[seen] > RANK[known] ? seen : known;
}
