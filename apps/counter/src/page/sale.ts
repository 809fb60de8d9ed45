import { TillflowError, type Checkout, type CheckoutCreateParams, type Tillflow } from '@tillflow/sdk';
import type { StoredSale } from './device.js';
import { pause } from './pause.js';
import { isSessionEnd } from './session.js';

/** What went wrong with a wish of the person: `attempt` and `cancel` are the wishes. */
export type Trouble = 'cancel_waits' | 'cancel_unknown' | 'attempt_unknown' | 'attempt_refused' | 'not_accepting';

type Parts = {
  readonly sdk: Tillflow;
  /** The API's time in milliseconds. */
  readonly now: () => number;
  /** Keeps the sale on the device. */
  readonly keep: (sale: StoredSale) => void;
  readonly changed: () => void;
  /** The sale did not begin, and no payment can come. @param code of the API's error, or a code of the page */
  readonly refused: (code: string) => void;
  /** The session is not valid any more. */
  readonly closed: () => void;
};

/** The page repeats the request for a new sale for so long. Later, the customer may be gone: it only looks. Milliseconds. */
const CREATE_WITHIN_MS = 120_000;
/** Later, the records of an ended sale may be gone. Source: "the retention" in docs/operations.md. Milliseconds. */
const RECORDS_STAY_MS = 30 * 86_400_000;
/** The time that one call may take before the page looks again at what it knows. Milliseconds. */
const PATIENCE_MS = 4_000;
const CANCEL_PATIENCE_MS = 8_000;
const AGAIN_AFTER_MS = 1_000;
/** A checkout may appear in the list some seconds after it began. Milliseconds. */
const LOOK_AGAIN_AFTER_MS = 5_000;

/** The sale is known not to exist. */
class NotMade extends Error {
  constructor(readonly code: string) {
    super(code);
  }
}

/** Carries out one sale: creates its checkout once, and follows it. */
export class SaleRun {
  checkout: Checkout | null = null;
  busy: 'cancel' | 'attempt' | null = null;
  trouble: Trouble | null = null;
  #turn = new AbortController();
  #isStopped = false;
  /** An earlier request may have made the checkout. */
  #mayExist: boolean;
  /** The API has shown the checkout. Until then, it may have accepted a sale that it never began. */
  #isSeen = false;

  /** @param isRestored the page found the sale on the device: it may have been sent before. */
  constructor(
    public sale: StoredSale,
    private readonly parts: Parts,
    readonly isRestored: boolean,
  ) {
    this.#mayExist = isRestored;
  }

  /** Goes on until the checkout has closed, the sale is refused, or {@link stop}. */
  async follow(): Promise<void> {
    while (!this.#isStopped) {
      const { signal } = (this.#turn = new AbortController());
      try {
        const id = this.sale.id ?? (await this.#begin(signal));
        for await (const checkout of this.parts.sdk.checkouts.watch(id, { signal })) {
          this.#isSeen = true;
          this.show(checkout);
        }
        return;
      } catch (error) {
        if (this.#isStopped) return;
        if (error instanceof NotMade) return this.parts.refused(error.code);
        if (isSessionEnd(error)) return this.parts.closed();
        if (isUnknownId(error) && !this.#isSeen) this.#mustBegin();
        if (!signal.aborted) await pause(AGAIN_AFTER_MS);
      }
    }
  }

  /** The API stopped before it began the sale that it had accepted. The same reference begins it once. */
  #mustBegin(): void {
    this.sale = { ...this.sale, id: null };
    this.#mayExist = true;
    this.parts.changed();
  }

  /** The connection is back: asks now, instead of after the next pause. */
  refresh(): void {
    this.#turn.abort();
  }

  stop(): void {
    this.#isStopped = true;
    this.#turn.abort();
  }

  /** Shows a state, unless a newer one is shown. */
  show(checkout: Checkout): void {
    if (this.#isStopped || checkout.version < (this.checkout?.version ?? -1)) return;
    // What went wrong before may have happened after all.
    if (stepOf(checkout) !== stepOf(this.checkout)) this.trouble = null;
    this.checkout = checkout;
    this.parts.changed();
  }

  /** Ends the sale, unless the customer is faster. */
  cancel(): Promise<void> {
    return this.#ask('cancel', async (id) => {
      this.show(await this.parts.sdk.checkouts.cancel(id, { patienceMs: CANCEL_PATIENCE_MS }));
    });
  }

  /** Replaces the QR code. */
  newAttempt(): Promise<void> {
    return this.#ask('attempt', async (id) => {
      const after = this.checkout?.attempts.at(-1)?.number;
      this.show(await this.parts.sdk.checkouts.newAttempt(id, { after }, { patienceMs: CANCEL_PATIENCE_MS }));
    });
  }

  async #ask(wish: 'cancel' | 'attempt', call: (id: string) => Promise<void>): Promise<void> {
    const { id } = this.sale;
    if (this.busy !== null || id === null) return;
    const step = stepOf(this.checkout);
    this.busy = wish;
    this.trouble = null;
    this.parts.changed();
    try {
      await call(id);
    } catch (error) {
      if (isSessionEnd(error)) return this.parts.closed();
      if (!(error instanceof TillflowError)) throw error;
      if (error.checkout !== undefined) this.show(error.checkout);
      if (stepOf(this.checkout) === step) this.trouble = troubleOf(wish, error.code);
    } finally {
      this.busy = null;
      this.parts.changed();
    }
  }

  /** @returns the id of the sale's checkout. @throws {NotMade} */
  async #begin(signal: AbortSignal): Promise<string> {
    const { reference, amount, currency, note, startedAt } = this.sale;
    if (this.parts.now() - startedAt > CREATE_WITHIN_MS) {
      return this.#find(signal, this.parts.now() - startedAt > RECORDS_STAY_MS ? 'gone' : 'not_made');
    }
    const params: CheckoutCreateParams = {
      reference,
      amount,
      // The API refuses a currency that it does not know.
      currency: currency as CheckoutCreateParams['currency'],
      ...(note === '' ? {} : { description: note }),
    };
    try {
      return this.#found(await this.parts.sdk.checkouts.create(params, { signal, patienceMs: PATIENCE_MS }));
    } catch (error) {
      if (!(error instanceof TillflowError)) throw error;
      if (error.checkout !== undefined) return this.#found(error.checkout);
      if (error.money === 'unknown') this.#mayExist = true;
      if (!isRefusal(error)) throw error;
      if (!this.#mayExist) throw new NotMade(error.code);
      return this.#find(signal, error.code);
    }
  }

  /** @throws {NotMade} when the sale's reference has no checkout. */
  async #find(signal: AbortSignal, code: string): Promise<string> {
    for (let looks = 1; ; looks += 1) {
      const { data } = await this.parts.sdk.checkouts.list({ reference: this.sale.reference, limit: 1 }, { signal });
      const [checkout] = data;
      if (checkout !== undefined) return this.#found(checkout);
      if (looks === 2) throw new NotMade(code);
      await pause(LOOK_AGAIN_AFTER_MS, signal);
      signal.throwIfAborted();
    }
  }

  #found(checkout: Checkout): string {
    this.sale = { ...this.sale, id: checkout.id };
    if (!this.#isStopped) this.parts.keep(this.sale);
    this.show(checkout);
    return checkout.id;
  }
}

/** Changes with each new QR code and each end. */
function stepOf(checkout: Checkout | null): string {
  return `${checkout?.status} ${checkout?.attempts.at(-1)?.number}`;
}

/** The API refuses the request, and would refuse it again. */
function isRefusal({ code, money, problem, status = 0 }: TillflowError): boolean {
  // A proxy, or a network that wants a person to sign in, does not speak for the API.
  if (money !== 'not_moved' || problem === undefined) return false;
  return code === 'not_accepting' || (status >= 400 && status <= 499 && ![401, 403, 408, 425, 429].includes(status));
}

function isUnknownId(error: unknown): boolean {
  return error instanceof TillflowError && error.code === 'not_found';
}

function troubleOf(wish: 'cancel' | 'attempt', code: string): Trouble | null {
  // The checkout shows it.
  if (code === 'already_paid' || code === 'checkout_failed') return null;
  if (wish === 'cancel') return code === 'outcome_pending' ? 'cancel_waits' : 'cancel_unknown';
  if (code === 'not_accepting') return 'not_accepting';
  return code === 'checkout_closed' || code === 'too_many_attempts' ? 'attempt_refused' : 'attempt_unknown';
}
