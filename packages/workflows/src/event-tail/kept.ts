import type { TailNotice, UnplacedEvent } from './memo.js';

/** The memo stays small. What is dropped is found by reconciliation, or shown by the provider. */
export const MAX_UNPLACED = 50;
export const MAX_NOTICES = 50;

/** One of each id, and the latest of each code: many of one kind push out none of the others. */
export function latestNotices(notices: readonly TailNotice[]): readonly TailNotice[] {
  const kept = [...new Map(notices.map((notice) => [notice.id, notice])).values()];
  while (kept.length > MAX_NOTICES) kept.splice(oldestOfTheMost(kept), 1);
  return kept;
}

/** The latest. Those that say whom they concern stay longest. */
export function latestUnplaced(events: readonly UnplacedEvent[]): readonly UnplacedEvent[] {
  const kept = [...events];
  while (kept.length > MAX_UNPLACED) kept.splice(Math.max(kept.findIndex(namesNobody), 0), 1);
  return kept;
}

/** Neither a checkout nor a charge: the event itself is read again. */
export function namesNobody({ checkout_id: checkout, charge_id: charge }: UnplacedEvent): boolean {
  return checkout === null && charge === null;
}

function oldestOfTheMost(notices: readonly TailNotice[]): number {
  const counts = new Map<string, number>();
  for (const { code } of notices) counts.set(code, (counts.get(code) ?? 0) + 1);
  const most = Math.max(...counts.values());
  return notices.findIndex(({ code }) => counts.get(code) === most);
}
