import { setTimeout as sleep } from 'node:timers/promises';
import { TillflowError, type Checkout, type Refund, type RepeatWith, type Tillflow } from '@tillflow/sdk';
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

type Checkouts = Tillflow['checkouts'];

/** How often tills repeated a call after they had started again, by what names the call. */
export type Repeats = Map<keyof RepeatWith | 'id', number>;

export type Till = {
  /** The client of a program that has just started. */
  readonly start: () => Tillflow;
  /** Null: the till waits until each call ends, and repeats none. */
  readonly repeats: Repeats | null;
};

type Parts = {
  readonly stack: Stack;
  readonly till: Till;
  /** Uniform in [0, 1). */
  readonly random: () => number;
};

/** A customer pays within so long. Milliseconds. */
const CUSTOMER_MS = 500;
/** A state that stays must have been shown by then, and the outcome of a call be known. Milliseconds. */
const SHOWN_WITHIN_MS = 120_000;
const RESTART_MS = 1_000;

/** One sale at a till, from its reference to its last refund. Fails when a call has no outcome, or a wrong one. */
export async function sell({ stack, till, random }: Parts, reference: string, amount: number): Promise<Sale> {
  const create = (): Promise<Checkout> =>
    untilKnown(till, { reference }, (checkouts, { reference: name = '' }) =>
      checkouts.create({ reference: name, amount, currency: 'THB' }),
    );
  // The till that crashed sends the same call again.
  const [checkout, again] = await Promise.all([create(), ...(random() < 0.1 ? [create()] : [])]);
  const { id } = checkout;
  if (again !== undefined && again.id !== id) throw new Error(`Two checkouts of ${reference}`);
  const { checkouts } = till.start();
  const watching = new Watching(checkouts, id);
  const refunds = new Map<string, number>();
  let attempts = 1;
  let isPaid = true;
  try {
    const draw = random();
    if (draw < 0.1) isPaid = await cancel(till, id, null);
    else if (draw < 0.2) isPaid = await cancel(till, id, () => pay(stack, checkout));
    else if (draw < 0.3) {
      attempts = 2;
      const next = await untilKnown(till, { after: 1 }, (one, { after = 0 }) => one.newAttempt(id, { after }));
      await customer(random, () => pay(stack, next));
    } else await customer(random, () => pay(stack, checkout));
    if (isPaid) {
      // Each way to wait is a stream of its own. Most tills use the one that they watch.
      const paid =
        random() < 0.25 ? await checkouts.untilPaid(id) : await watching.until((state) => state.status === 'paid');
      if (paid.paid_at === null || paid.amount !== amount) throw new Error(`Not paid: ${JSON.stringify(paid)}`);
      for (const refund of await refundSome(till, id, amount, random)) refunds.set(refund.key, refund.amount);
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
async function cancel(till: Till, id: string, pays: (() => void) | null): Promise<boolean> {
  const cancelling = untilKnown(till, {}, (checkouts) => checkouts.cancel(id));
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
async function refundSome(till: Till, id: string, amount: number, random: () => number): Promise<Refund[]> {
  if (random() < 0.5) return [];
  const part = 1 + Math.floor(random() * (amount - 1));
  const idempotencyKey = `part-${id}`;
  const refund = (): Promise<Refund> =>
    untilKnown(till, { idempotencyKey }, (checkouts, named) => checkouts.refund(id, { amount: part }, named));
  const [first, again] = await Promise.all([refund(), ...(random() < 0.2 ? [refund()] : [])]);
  if (again !== undefined && again.id !== first.id) throw new Error(`Two refunds of ${idempotencyKey}`);
  if (first.amount !== part) throw new Error(`A refund of ${first.amount} instead of ${part}`);
  if (random() >= 0.3) return [first];
  // The SDK makes the key, and only the error names it.
  return [first, await untilKnown(till, {}, (checkouts, named) => checkouts.refund(id, {}, named))];
}

/**
 * Calls until the outcome is known. After a call without one, the till starts again: a new client repeats the call, with
 * nothing but what the error gives it.
 */
async function untilKnown<T>(
  { start, repeats }: Till,
  first: RepeatWith,
  call: (checkouts: Checkouts, named: RepeatWith) => Promise<T>,
): Promise<T> {
  const giveUpAt = Date.now() + SHOWN_WITHIN_MS;
  for (let named = first; ;) {
    try {
      return await call(start().checkouts, named);
    } catch (error) {
      if (repeats === null || Date.now() > giveUpAt) throw error;
      if (!(error instanceof TillflowError && isForNow(error))) throw error;
      named = error.repeatWith ?? {};
      const [name = 'id'] = Object.keys(named) as (keyof RepeatWith)[];
      repeats.set(name, (repeats.get(name) ?? 0) + 1);
      await sleep(error.retryAfterMs ?? RESTART_MS);
    }
  }
}

function isForNow({ money, status }: TillflowError): boolean {
  return money === 'unknown' || status === 429 || status === 503;
}

/** A watch that runs beside the sale. */
class Watching {
  readonly versions: number[] = [];
  newest: Checkout | null = null;
  readonly #abort = new AbortController();
  readonly #done: Promise<void>;

  constructor(checkouts: Checkouts, id: string) {
    this.#done = this.#follow(checkouts.watch(id, { signal: this.#abort.signal }));
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
