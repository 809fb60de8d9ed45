import { instant, parseCheckoutId, parseInstant, type Instant, type OurCheckout } from '@tillflow/domain';
import { CheckoutNotFoundError, paidCheckouts, type Checkouts, type StoredCheckout } from '@tillflow/temporal';
import { showsPayment } from '@tillflow/workflows';

/** One page of the engine's list; beyond it, the stretch of time is made shorter instead. */
const PAGE = 200;
const FIRST_STRETCH_MS = 600_000;
const LONGEST_STRETCH_MS = 86_400_000;

/** Our books: checkouts as Temporal keeps them. */
export class Ours {
  constructor(
    private readonly checkouts: Checkouts,
    private readonly taskQueue: string,
  ) {}

  /**
   * Checkouts that were paid from `from` on and before `to`, in the order of their payments. The engine has no such
   * order: it is asked for one stretch of time after the other, each as long as fits a page.
   * @throws {UnreadablePayloadError} when one cannot be read: it would be taken for missing.
   */
  async *paid(from: Instant, to: Instant): AsyncGenerator<OurCheckout, void, undefined> {
    let stretch = FIRST_STRETCH_MS;
    for (let at = from; at < to;) {
      const until = instant(Math.min(at + stretch, to));
      const found = await this.#paidBetween(at, until, stretch > 1);
      if (found === null) {
        stretch = Math.max(1, Math.floor(stretch / 4));
        continue;
      }
      yield* found;
      at = until;
      if (found.length < PAGE / 4) stretch = Math.min(stretch * 2, LONGEST_STRETCH_MS);
    }
  }

  async get(id: string): Promise<OurCheckout | null> {
    const key = parseCheckoutId(id);
    if (key === null) return null;
    try {
      return toOurCheckout(await this.checkouts.get(key));
    } catch (error) {
      if (error instanceof CheckoutNotFoundError) return null;
      throw error;
    }
  }

  /** @returns null when they are more than one page and the stretch can still be divided. */
  async #paidBetween(from: Instant, to: Instant, canDivide: boolean): Promise<OurCheckout[] | null> {
    const query = paidCheckouts({ from, to, taskQueue: this.taskQueue });
    // One that continues as new meanwhile may be listed twice.
    const found = new Map<string, OurCheckout>();
    for (let token: Uint8Array | null = null, isFirst = true; isFirst || token !== null; isFirst = false) {
      const page = await this.checkouts.page(query, PAGE, token, refuseUnreadable);
      if (page.nextPageToken !== null && page.data.length === PAGE && canDivide) return null;
      for (const stored of page.data) found.set(stored.intent.id, toOurCheckout(stored));
      token = page.nextPageToken;
    }
    return [...found.values()].toSorted((a, b) => (a.paidAt ?? 0) - (b.paidAt ?? 0) || (a.id < b.id ? -1 : 1));
  }
}

function refuseUnreadable(_workflowId: string, error: Error): never {
  throw error;
}

function toOurCheckout({ intent, state, refunds, timeline, closed }: StoredCheckout): OurCheckout {
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
 * Those that attempts name, and those that were paid besides: their money goes back, by a refund. An attempt is shown as
 * paid also where another charge of it was: then the timeline says which.
 */
function chargesOf({
  state: { attempts },
  refunds,
  timeline,
}: Pick<StoredCheckout, 'state' | 'refunds' | 'timeline'>): OurCheckout['charges'] {
  const isPaidBesides = timeline.some(
    ({ what, detail }) => what === 'paid_twice' && !attempts.some(({ charge_id: id }) => id === detail),
  );
  const charges = new Map<string, OurCheckout['charges'][number]>();
  for (const { charge_id: id, status } of attempts) {
    if (id === null) continue;
    const isOther = isPaidBesides && status === 'successful' && !showsPayment({ timeline }, id);
    charges.set(id, { id, status: isOther ? 'expired' : status });
  }
  for (const { charge_id: id } of refunds) charges.set(id, { id, status: 'successful' });
  return [...charges.values()];
}
