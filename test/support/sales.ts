import { setTimeout as sleep } from 'node:timers/promises';
import { TillflowError, type Checkout, type Refund, type Tillflow } from '@tillflow/sdk';
import { chargeIdOf, type Stack } from './stack.js';

/** How a sale ended, as its till saw it. */
export type Sale = {
  readonly id: string;
  readonly amount: number;
  /** The last state that the watch showed. */
  readonly seen: Checkout;
  /** The versions that the watch showed, in order. */
  readonly versions: readonly number[];
  /** The amounts of the refunds that the SDK returned, by their keys. */
  readonly refunds: ReadonlyMap<string, number>;
  /** The till has learned that the customer paid in time. */
  readonly isPaid: boolean;
  /** The number of attempts that the till asked for. */
  readonly attempts: number;
};

type Parts = {
  readonly stack: Stack;
  readonly tillflow: Tillflow;
  /** Uniform in [0, 1). */
  readonly random: () => number;
};

/** A customer pays within so long. Milliseconds. */
const CUSTOMER_MS = 500;
/** A state that stays must have been shown by then. Milliseconds. */
const SHOWN_WITHIN_MS = 120_000;

/** One sale at a till, from its reference to its last refund. Fails when a call has no outcome, or a wrong one. */
export async function sell({ stack, tillflow, random }: Parts, reference: string, amount: number): Promise<Sale> {
  const { checkouts } = tillflow;
  const create = (): Promise<Checkout> => checkouts.create({ reference, amount, currency: 'THB' });
  // The till that crashed sends the same call again.
  const [checkout, again] = await Promise.all([create(), ...(random() < 0.1 ? [create()] : [])]);
  const { id } = checkout;
  if (again !== undefined && again.id !== id) throw new Error(`Two checkouts of ${reference}`);
  const watching = new Watching(checkouts.watch.bind(checkouts), id);
  const refunds = new Map<string, number>();
  let attempts = 1;
  let isPaid = true;
  try {
    const draw = random();
    if (draw < 0.1) isPaid = await cancel(checkouts, id, null);
    else if (draw < 0.2) isPaid = await cancel(checkouts, id, () => pay(stack, checkout));
    else if (draw < 0.3) {
      attempts = 2;
      const next = await checkouts.newAttempt(id, { after: 1 });
      await customer(random, () => pay(stack, next));
    } else await customer(random, () => pay(stack, checkout));
    if (isPaid) {
      // Each way to wait is a stream of its own. Most tills use the one that they watch.
      const paid =
        random() < 0.25 ? await checkouts.untilPaid(id) : await watching.until((state) => state.status === 'paid');
      if (paid.paid_at === null || paid.amount !== amount) throw new Error(`Not paid: ${JSON.stringify(paid)}`);
      for (const refund of await refundSome(checkouts, id, amount, random)) refunds.set(refund.key, refund.amount);
    }
    const refunded = [...refunds.values()].reduce((sum, one) => sum + one, 0);
    await watching.until((state) => isSettled(state, isPaid) && state.refunded_amount >= refunded);
  } finally {
    await watching.end();
  }
  const { newest: seen, versions } = watching;
  if (seen === null) throw new Error(`Nothing was shown of ${id}`);
  return { id, amount, seen, versions, refunds, isPaid, attempts };
}

function isSettled({ status }: Checkout, isPaid: boolean): boolean {
  const ends = isPaid ? ['paid', 'partially_refunded', 'refunded'] : ['cancelled', 'expired', 'refunded'];
  return ends.includes(status);
}

/** Sets the payment of the newest attempt off after a while. It goes on without the till. */
async function customer(random: () => number, pays: () => void): Promise<void> {
  void sleep(random() * CUSTOMER_MS).then(pays);
}

function pay(stack: Stack, { attempts }: Checkout): void {
  const charge = chargeIdOf({ attempts: attempts.slice(-1) });
  try {
    stack.sandbox.mark(charge, { status: 'successful' });
  } catch {
    // The charge has expired, because the till cancelled first.
  }
}

/** Cancels while a customer may pay. @returns whether the customer was faster. */
async function cancel(checkouts: Tillflow['checkouts'], id: string, pays: (() => void) | null): Promise<boolean> {
  const cancelling = checkouts.cancel(id);
  pays?.();
  try {
    const { status } = await cancelling;
    if (status !== 'cancelled') throw new Error(`Not cancelled: ${status}`);
    return false;
  } catch (error) {
    if (error instanceof TillflowError && error.code === 'already_paid' && error.money === 'paid') return true;
    throw error;
  }
}

/** Half of the customers get money back: a part, then perhaps the rest. */
async function refundSome(
  checkouts: Tillflow['checkouts'],
  id: string,
  amount: number,
  random: () => number,
): Promise<Refund[]> {
  if (random() < 0.5) return [];
  const part = 1 + Math.floor(random() * (amount - 1));
  const idempotencyKey = `part-${id}`;
  const refund = (): Promise<Refund> => checkouts.refund(id, { amount: part }, { idempotencyKey });
  const [first, again] = await Promise.all([refund(), ...(random() < 0.2 ? [refund()] : [])]);
  if (again !== undefined && again.id !== first.id) throw new Error(`Two refunds of ${idempotencyKey}`);
  if (first.amount !== part) throw new Error(`A refund of ${first.amount} instead of ${part}`);
  return random() < 0.3 ? [first, await checkouts.refund(id)] : [first];
}

/** A watch that runs beside the sale. */
class Watching {
  readonly versions: number[] = [];
  newest: Checkout | null = null;
  readonly #abort = new AbortController();
  readonly #done: Promise<void>;

  constructor(watch: Tillflow['checkouts']['watch'], id: string) {
    this.#done = this.#follow(watch(id, { signal: this.#abort.signal }));
    // Read by `end`.
    this.#done.catch(() => {});
  }

  async until(satisfied: (state: Checkout) => boolean): Promise<Checkout> {
    const giveUpAt = Date.now() + SHOWN_WITHIN_MS;
    while (this.newest === null || !satisfied(this.newest)) {
      if (Date.now() > giveUpAt) throw new Error(`The watch still shows ${JSON.stringify(this.newest)}`);
      await sleep(20);
    }
    return this.newest;
  }

  async end(): Promise<void> {
    this.#abort.abort();
    await this.#done;
  }

  async #follow(states: AsyncIterable<Checkout>): Promise<void> {
    try {
      for await (const state of states) {
        this.versions.push(state.version);
        this.newest = state;
      }
    } catch (error) {
      if (!(error instanceof TillflowError && error.code === 'aborted')) throw error;
    }
  }
}
