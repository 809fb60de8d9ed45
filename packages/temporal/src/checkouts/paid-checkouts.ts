import { instant, parseInstant, type Instant } from '@tillflow/domain';
import type { StoredCheckout } from './checkout-workflow.js';
import type { Checkouts } from './checkouts.js';
import { paidCheckouts, type PaidFilters } from './queries.js';

/** A span with more checkouts than one page is divided. */
const PAGE_SIZE = 200;
const FIRST_SPAN_MS = 600_000;
const LONGEST_SPAN_MS = 86_400_000;

/** Reads the paid checkouts of a task queue in the order of their payments, with the memory of one page. */
export class PaidCheckouts {
  constructor(
    private readonly checkouts: Pick<Checkouts, 'page'>,
    private readonly taskQueue: string,
    private readonly filters: PaidFilters = {},
  ) {}

  /**
   * Checkouts that were paid at or after `from` and before `to`, in the order of their payments. Temporal cannot sort
   * by payment, so each search covers a span of time that fits into a page.
   * @throws {UnreadablePayloadError} when a checkout cannot be decrypted: it would count as missing.
   */
  async *between(from: Instant, to: Instant): AsyncGenerator<StoredCheckout, void, undefined> {
    let span = FIRST_SPAN_MS;
    for (let at = from; at < to;) {
      const until = instant(Math.min(at + span, to));
      const found = await this.#page(at, until, span > 1);
      if (found === null) {
        span = Math.max(1, Math.floor(span / 4));
        continue;
      }
      yield* found;
      at = until;
      if (found.length < PAGE_SIZE / 4) span = Math.min(span * 2, LONGEST_SPAN_MS);
    }
  }

  /** @returns null when the span has more than one page and can be divided */
  async #page(from: Instant, to: Instant, canDivide: boolean): Promise<StoredCheckout[] | null> {
    const query = paidCheckouts({ from, to, taskQueue: this.taskQueue, ...this.filters });
    // A checkout that continues as new meanwhile may be listed twice.
    const found = new Map<string, StoredCheckout>();
    for (let token: Uint8Array | null = null, isFirst = true; isFirst || token !== null; isFirst = false) {
      const page = await this.checkouts.page(query, PAGE_SIZE, token, refuseUnreadable);
      if (page.nextPageToken !== null && page.data.length === PAGE_SIZE && canDivide) return null;
      for (const stored of page.data) found.set(stored.intent.id, stored);
      token = page.nextPageToken;
    }
    return [...found.values()].toSorted((a, b) => paidAtOf(a) - paidAtOf(b) || (a.intent.id < b.intent.id ? -1 : 1));
  }
}

function paidAtOf({ state }: StoredCheckout): number {
  return state.paid_at === null ? 0 : parseInstant(state.paid_at);
}

function refuseUnreadable(_workflowId: string, error: Error): never {
  throw error;
}
