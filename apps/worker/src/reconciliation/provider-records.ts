import {
  DEFAULT_ACCOUNT,
  formatInstant,
  parseCheckoutId,
  plus,
  type Fees,
  type Instant,
  type Movement,
  type TheirCharge,
} from '@tillflow/domain';
import {
  NotFoundError,
  type Charge,
  type PaymentsClient,
  type Refund,
  type RequestOptions,
} from '@tillflow/payments-client';
import type { Transaction } from '@tillflow/payments-client';
import { instantOf, textOf, toRefundFacts } from '../activities/charge-facts.js';
import { refundsOf } from '../checkout/activities.js';
import { inTime } from './list-by-time.js';

/** Pages of a hundred records take longer than one. */
const PAGE_LIMITS = { timeoutMs: 15_000, deadlineMs: 60_000 } as const;
/** A credit of this origin is a payment's, a debit a refund's. Source: assumption, "Transactions of a paid charge". */
const CHARGE = 'chrg_';
const REFUND = 'rfnd_';
/** How close an event and the movement of the same refund are, in milliseconds: as a rule, and at most. */
const SAME_MOMENT_MS = [5_000, 300_000];

/** The provider's books, read in the order in which they were written. */
export class Theirs {
  readonly #options: RequestOptions;

  constructor(
    private readonly client: PaymentsClient,
    private readonly account: string,
    /** Of our key: what is of the other mode is no money, or not ours to see. */
    private readonly livemode: boolean,
    signal: AbortSignal,
  ) {
    this.#options = { ...PAGE_LIMITS, signal };
  }

  /** Charges made from `from` to `to`, inclusive, with all of their refunds. */
  async *charges(from: Instant, to: Instant): AsyncGenerator<TheirCharge, void, undefined> {
    for await (const charge of inTime((bounds) => this.client.charges.iterate(bounds, this.#options), from, to)) {
      if (this.#isOfOurMode(charge)) yield await this.#withRefunds(charge);
    }
  }

  /** What payments and refunds moved the balance from `from` to `to`, inclusive. */
  async *movements(from: Instant, to: Instant): AsyncGenerator<Movement, void, undefined> {
    for await (const one of inTime((bounds) => this.client.transactions.iterate(bounds, this.#options), from, to)) {
      const movement = this.#isOfOurMode(one) ? toMovement(one) : null;
      if (movement !== null) yield movement;
    }
  }

  async charge(id: string): Promise<TheirCharge | null> {
    const charge = await orNull(this.client.charges.retrieve(id, this.#options));
    return charge === null || !this.#isOfOurMode(charge) ? null : this.#withRefunds(charge);
  }

  async movement(id: string): Promise<Movement | null> {
    const transaction = await orNull(this.client.transactions.retrieve(id, this.#options));
    return transaction === null ? null : toMovement(transaction);
  }

  /** No refund can be retrieved by its id: the event of the moment names its charge. */
  async refunded({ refundId, createdAt }: Movement): Promise<TheirCharge | null> {
    for (const apart of SAME_MOMENT_MS) {
      const bounds = { from: formatInstant(plus(createdAt, -apart)), to: formatInstant(plus(createdAt, apart)) };
      for await (const { data } of this.client.events.iterate(bounds, this.#options)) {
        const chargeId = textOf(data['charge']);
        if (data.id === refundId && chargeId !== null) return this.charge(chargeId);
      }
    }
    return null;
  }

  #isOfOurMode({ livemode }: { readonly livemode?: boolean | null | undefined }): boolean {
    return (livemode ?? this.livemode) === this.livemode;
  }

  async #withRefunds(charge: Charge): Promise<TheirCharge> {
    const refunds = await refundsOf(this.client, charge, this.#options);
    return toTheirCharge(charge, refunds, this.account);
  }
}

/** @param account whose metadata is ours: a charge with another's is one of another system. */
export function toTheirCharge(charge: Charge, refunds: readonly Refund[], account = DEFAULT_ACCOUNT): TheirCharge {
  const isPaid = charge.status === 'successful';
  const createdAt = instantOf(charge.created_at) ?? instantOf(charge.paid_at) ?? EARLIEST;
  const checkoutId = textOf(charge.metadata?.['checkout']);
  const { transaction } = charge;
  return {
    id: charge.id,
    checkoutId: checkoutId !== null && parseCheckoutId(checkoutId)?.account === account ? checkoutId : null,
    // As in a checkout's own look: a reversed charge is not the payment that its status says it is.
    status: charge.reversed === true ? 'reversed' : charge.status,
    amount: charge.amount,
    currency: charge.currency,
    createdAt,
    paidAt: instantOf(charge.paid_at) ?? (isPaid ? createdAt : null),
    refundedAmount: charge.refunded_amount ?? refunds.reduce((sum, { amount }) => sum + amount, 0),
    refunds: refunds.map((refund) => {
      const { refundId, amount, key } = toRefundFacts(refund, refund.currency);
      return { id: refundId, amount, key, createdAt: instantOf(refund.created_at) };
    }),
    transactionId: textOf(transaction) ?? textOf((transaction as { readonly id?: unknown } | null | undefined)?.id),
    fees: feesOf(charge),
  };
}

/** The beginning of time, for a record without one. */
const EARLIEST = 0 as Instant;

function feesOf(charge: Charge): Fees | null {
  const { fee, fee_vat: vat, net, currency, funding_currency: funding } = charge;
  if (typeof fee !== 'number' || typeof vat !== 'number' || typeof net !== 'number') return null;
  if (typeof funding === 'string' && funding !== currency) return null;
  // A void gives the fee back: nothing is left to compare with the rates.
  if (charge.voided === true && fee === 0) return null;
  const interest = (charge.interest ?? 0) + (charge.interest_vat ?? 0);
  return { fee, vat, net: net + interest, byRates: byRates(charge) };
}

/** Rates are in percent, a flat fee in the smallest unit. Null where not all are said. Source: assumption, "Rates of fees". */
function byRates({ amount, transaction_fees: rates }: Charge): Fees['byRates'] {
  const [flat, rate, vatRate] = [rates?.fee_flat, rates?.fee_rate, rates?.vat_rate].map((text) =>
    Number(text === '' ? Number.NaN : (text ?? Number.NaN)),
  );
  if (flat === undefined || rate === undefined || vatRate === undefined) return null;
  if (![flat, rate, vatRate].every(Number.isFinite) || (flat === 0 && rate === 0)) return null;
  const fee = Math.round((amount * rate) / 100 + flat);
  return { fee, vat: Math.round((fee * vatRate) / 100) };
}

function toMovement({ id, origin, direction, amount, currency, ...times }: Transaction): Movement | null {
  const createdAt = instantOf(times.created_at);
  if (createdAt === null || typeof origin !== 'string') return null;
  const isPayment = direction === 'credit' && origin.startsWith(CHARGE);
  const isRefund = direction === 'debit' && origin.startsWith(REFUND);
  if (!isPayment && !isRefund) return null;
  return {
    id,
    chargeId: isPayment ? origin : null,
    refundId: isRefund ? origin : null,
    amount,
    currency,
    createdAt,
    transferableAt: instantOf(times.transferable_at),
  };
}

async function orNull<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}
