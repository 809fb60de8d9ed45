import type { Currency } from '@tillflow/domain';
import type { RefundFacts } from '../../activities.js';
import type { RefundEntry } from './refunds.js';

/** What a refund that the provider lists is compared with. */
export type Expected = {
  readonly entries: readonly Readonly<RefundEntry>[];
  readonly inProgress: { readonly key: string; readonly wasUnknown: boolean } | null;
  /** The provider's id of the refund that an operator says is the one in progress. */
  readonly adopting: string | null;
};

/** The refund of Tillflow's that the provider lists: by its key, or, where an operator named its id, by its amount. */
export function entryOf(expected: Expected, chargeId: string, facts: RefundFacts): Readonly<RefundEntry> | undefined {
  const { entries, inProgress, adopting } = expected;
  const find = (key: string | null): Readonly<RefundEntry> | undefined =>
    entries.find((entry) => entry.key === key && entry.chargeId === chargeId);
  const byKey = facts.key === null ? undefined : find(facts.key);
  if (byKey !== undefined) return byKey;
  const adopted = inProgress !== null && facts.refundId === adopting ? find(inProgress.key) : undefined;
  return adopted?.amount === facts.amount ? adopted : undefined;
}

/**
 * Whether a listed refund without a key may be the refund in progress: the amount is the same, and only an
 * operator can tell.
 */
export function mayBeInProgress(expected: Expected, chargeId: string, facts: RefundFacts): boolean {
  const { entries, inProgress, adopting } = expected;
  const { refundId, key, amount } = facts;
  if (inProgress === null || !inProgress.wasUnknown || key !== null || refundId === adopting) return false;
  const entry = entries.find((one) => one.key === inProgress.key);
  return (
    entry?.status === 'pending' &&
    entry.chargeId === chargeId &&
    entry.amount === amount &&
    !entries.some(({ id }) => id === refundId)
  );
}

/**
 * @param awaited the refund that was requested and that the provider now lists; undefined: one that Tillflow does not
 * await
 * @returns what differs from what is expected, for people; null when nothing does
 */
export function mismatchOf(
  awaited: Readonly<RefundEntry> | undefined,
  facts: RefundFacts,
  currency: Currency,
): string | null {
  if (facts.otherCurrency !== undefined) return `is in ${facts.otherCurrency}, not ${currency}`;
  if (awaited === undefined || facts.amount === awaited.amount) return null;
  return `has the amount ${facts.amount}, not ${awaited.amount}`;
}
