import { parseCheckoutId, type Instant, type TillflowCheckout } from '@tillflow/domain';
import { CheckoutNotFoundError, PaidCheckouts, toTillflowCheckout, type Checkouts } from '@tillflow/temporal';

/** Tillflow's records: the checkouts that Temporal stores. */
export class TillflowRecords {
  readonly #paid: PaidCheckouts;

  constructor(
    private readonly checkouts: Checkouts,
    taskQueue: string,
  ) {
    this.#paid = new PaidCheckouts(checkouts, taskQueue);
  }

  /**
   * Checkouts that were paid at or after `from` and before `to`, in the order of their payments.
   * @throws {UnreadablePayloadError} when a checkout cannot be decrypted: it would count as missing.
   */
  async *paid(from: Instant, to: Instant): AsyncGenerator<TillflowCheckout, void, undefined> {
    for await (const stored of this.#paid.between(from, to)) yield toTillflowCheckout(stored);
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
}
