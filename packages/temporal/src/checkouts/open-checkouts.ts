import { parseInstant } from '@tillflow/domain';
import type { OnUnreadable } from '../listed-runs.js';
import type { StoredCheckout } from './checkout-workflow.js';
import type { Checkouts } from './checkouts.js';
import { runningWhere, type CheckoutFilters } from './queries.js';

const PAGE = 200;

/**
 * Reads the checkouts that a list's filters find and whose workflow runs: each once, the newest first, a page at a
 * time. A checkout that no longer matches when its page is read is left out.
 */
export async function* openCheckoutsWhere(
  checkouts: Checkouts,
  filters: CheckoutFilters,
  taskQueue: string,
  onUnreadable: OnUnreadable,
): AsyncGenerator<StoredCheckout> {
  const query = runningWhere(filters, taskQueue);
  const seen = new Set<string>();
  let token: Uint8Array | null = null;
  do {
    const page: Awaited<ReturnType<Checkouts['page']>> = await checkouts.page(query, PAGE, token, onUnreadable);
    token = page.nextPageToken;
    for (const stored of page.data) {
      if (seen.has(stored.intent.id) || !isOpenWhere(stored, filters)) continue;
      seen.add(stored.intent.id);
      yield stored;
    }
  } while (token !== null);
}

/** How many checkouts {@link openCheckoutsWhere} finds, as far as Temporal's search knows. Costs one search. */
export function countOpenWhere(checkouts: Checkouts, filters: CheckoutFilters, taskQueue: string): Promise<number> {
  return checkouts.count(runningWhere(filters, taskQueue));
}

/** Whether the checkout is open and matches. The search attributes may lag, and a search knows only whole seconds. */
export function isOpenWhere({ intent, state, closed }: StoredCheckout, filters: CheckoutFilters): boolean {
  const { status, attention, from, to } = filters;
  const createdAt = parseInstant(intent.created_at);
  return (
    !closed &&
    (status === undefined || state.status === status) &&
    (attention !== true || state.attention !== null) &&
    (from === undefined || createdAt >= parseInstant(from)) &&
    (to === undefined || createdAt < parseInstant(to))
  );
}
