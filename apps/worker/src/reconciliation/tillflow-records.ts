import { instant, parseCheckoutId, parseInstant, type Instant, type TillflowCheckout } from '@tillflow/domain';
import { CheckoutNotFoundError, paidCheckouts, type Checkouts, type StoredCheckout } from '@tillflow/temporal';
import { showsPayment } from '@tillflow/workflows';

/** A span with more checkouts than one page is divided. */
const PAGE_SIZE = 200;
const FIRST_SPAN_MS = 600_000;
const LONGEST_SPAN_MS = 86_400_000;

/** Tillflow's records: the checkouts that Temporal stores. */
export class TillflowRecords {
  constructor(
    private readonly checkouts: Checkouts,
    private readonly taskQueue: string,
  ) {}

  /**
   * Checkouts that were paid at or after `from` and before `to`, in the order of their payments. Temporal cannot sort by
   * payment, so each search covers a span of time that fits into a page.
   * @throws {UnreadablePayloadError} when a checkout cannot be decrypted: it would count as missing.
   */
  async *paid(from: Instant, to: Instant): AsyncGenerator<TillflowCheckout, void, undefined> {
    let span = FIRST_SPAN_MS;
    for (let at = from; at < to;) {
      const until = instant(Math.min(at + span, to));
      const found = await this.#paidBetween(at, until, span > 1);
      if (found === null) {
        span = Math.max(1, Math.floor(span / 4));
        continue;
      }
      yield* found;
      at = until;
      if (found.length < PAGE_SIZE / 4) span = Math.min(span * 2, LONGEST_SPAN_MS);
    }
  }

  async get(id: string): Promise<TillflowCheckout | null> {
    const key = parseCheckoutId(id);
    if (key === null) return null;
    try {
      return toTillflowCheckout(await this.checkouts.get(key));
    } catch (error) {
      if (error instanceof CheckoutNotFoundError) return null;
      throw error;
    }
  }

  /** @returns null when the span has more than one page and can be divided */
  async #paidBetween(from: Instant, to: Instant, canDivide: boolean): Promise<TillflowCheckout[] | null> {
    const query = paidCheckouts({ from, to, taskQueue: this.taskQueue });
    // A checkout that continues as new meanwhile may be listed twice.
    const found = new Map<string, TillflowCheckout>();
    for (let token: Uint8Array | null = null, isFirst = true; isFirst || token !== null; isFirst = false) {
      const page = await this.checkouts.page(query, PAGE_SIZE, token, refuseUnreadable);
      if (page.nextPageToken !== null && page.data.length === PAGE_SIZE && canDivide) return null;
      for (const stored of page.data) found.set(stored.intent.id, toTillflowCheckout(stored));
      token = page.nextPageToken;
    }
    return [...found.values()].toSorted((a, b) => (a.paidAt ?? 0) - (b.paidAt ?? 0) || (a.id < b.id ? -1 : 1));
  }
}

function refuseUnreadable(_workflowId: string, error: Error): never {
  throw error;
}

function toTillflowCheckout({ intent, state, refunds, timeline, closed }: StoredCheckout): TillflowCheckout {
  return {
    id: intent.id,
    status: state.status,
    amount: intent.amount,
    currency: intent.currency,
    paidAt: state.paid_at === null ? null : parseInstant(state.paid_at),
    closed,
    charges: chargesOf({ state, refunds, timeline }),
    refunds: refunds.map(({ id, key, charge_id, amount, status }) => ({
      id,
      key,
      chargeId: charge_id,
      amount,
      status,
    })),
  };
}

/**
 * The charges of attempts, and further paid charges, whose refunds return the money. An attempt also shows paid when
 * another charge of it was paid: the timeline then names that charge.
 */
function chargesOf({
  state: { attempts },
  refunds,
  timeline,
}: Pick<StoredCheckout, 'state' | 'refunds' | 'timeline'>): TillflowCheckout['charges'] {
  const hasOtherPaidCharge = timeline.some(
    ({ what, detail }) => what === 'paid_twice' && !attempts.some(({ charge_id: id }) => id === detail),
  );
  const charges = new Map<string, TillflowCheckout['charges'][number]>();
  for (const { charge_id: id, status } of attempts) {
    if (id === null) continue;
    const isOtherPaid = hasOtherPaidCharge && status === 'successful' && !showsPayment({ timeline }, id);
    charges.set(id, { id, status: isOtherPaid ? 'expired' : status });
  }
  for (const { charge_id: id } of refunds) charges.set(id, { id, status: 'successful' });
  return [...charges.values()];
}
