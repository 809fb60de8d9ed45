import {
  DEFAULT_ACCOUNT,
  formatInstant,
  parseCheckoutId,
  plus,
  type Fees,
  type Instant,
  type MadeBy,
  type Movement,
  type ProviderCharge,
} from '@tillflow/domain';
import {
  NotFoundError,
  UnreadableRecord,
  type Charge,
  type Event,
  type PaymentsClient,
  type Refund,
  type RequestOptions,
  type Transaction,
} from '@tillflow/payments-client';
import { instantOf, refundedAmountOf, textOf, toRefundFacts } from '../activities/charge-facts.js';
import { refundsOf } from '../checkout/activities.js';
import { listByTime } from './list-by-time.js';

/** A page of a hundred records takes longer to read than one record. */
const PAGE_LIMITS = { timeoutMs: 15_000, deadlineMs: 60_000 } as const;
/**
 * The origin of a credit is a charge, that of a debit a refund. Source: assumption, "Transactions of a paid charge".
 */
const CHARGE = 'chrg_';
const REFUND = 'rfnd_';
/** The time between the event and the movement of the same refund, in milliseconds: usually, and at most. */
const EVENT_DISTANCES_MS = [5_000, 300_000];

/** The provider's records, in the order of their creation. */
export class ProviderRecords {
  readonly #options: RequestOptions;

  constructor(
    private readonly client: PaymentsClient,
    private readonly account: string,
    /** The mode of the client's key. Records of the other mode are left out. */
    private readonly livemode: boolean,
    signal: AbortSignal,
  ) {
    this.#options = { ...PAGE_LIMITS, signal };
  }

  /** Charges created from `from` to `to`, inclusive, with all of their refunds. */
  async *charges(from: Instant, to: Instant): AsyncGenerator<ProviderCharge, void, undefined> {
    for await (const charge of listByTime((bounds) => this.client.charges.iterate(bounds, this.#options), from, to)) {
      if (this.#isOfSameMode(charge)) yield await this.#withRefunds(charge);
    }
  }

  /** Movements of the balance by payments and refunds, from `from` to `to`, inclusive. */
  async *movements(from: Instant, to: Instant): AsyncGenerator<Movement, void, undefined> {
    for await (const one of listByTime((bounds) => this.client.transactions.iterate(bounds, this.#options), from, to)) {
      const movement = this.#isOfSameMode(one) ? toMovement(one) : null;
      if (movement !== null) yield movement;
    }
  }

  async charge(id: string): Promise<ProviderCharge | null> {
    const charge = await orNull(this.client.charges.retrieve(id, this.#options));
    return charge === null || !this.#isOfSameMode(charge) ? null : this.#withRefunds(charge);
  }

  async movement(id: string): Promise<Movement | null> {
    const transaction = await orNull(this.client.transactions.retrieve(id, this.#options));
    return transaction === null ? null : toMovement(transaction);
  }

  /** A refund cannot be retrieved by its id, but the event of the refund names its charge. */
  async refunded({ refundId, createdAt }: Movement): Promise<ProviderCharge | null> {
    for await (const { data } of this.#eventsOf(refundId, createdAt)) {
      const chargeId = textOf(data['charge']);
      if (chargeId !== null) return this.charge(chargeId);
    }
    return null;
  }

  /** Who made a refund. Null when no event of the refund names a person or a team. @param at about when it was made */
  async madeBy(refundId: string, at: Instant): Promise<MadeBy | null> {
    for await (const event of this.#eventsOf(refundId, at)) {
      const [actor_uid, user_uid, team_uid] = [event.actor_uid, event.user_uid, event.team_uid].map(textOf);
      if (actor_uid || user_uid || team_uid) {
        return { actor_uid: actor_uid ?? null, user_uid: user_uid ?? null, team_uid: team_uid ?? null };
      }
    }
    return null;
  }

  /** The events of a refund, the nearest to its movement first. */
  async *#eventsOf(refundId: string | null, at: Instant): AsyncGenerator<Event, void, undefined> {
    for (const apart of EVENT_DISTANCES_MS) {
      const bounds = { from: formatInstant(plus(at, -apart)), to: formatInstant(plus(at, apart)) };
      for await (const event of this.client.events.iterateTolerant(bounds, this.#options)) {
        // One of another system that cannot be read must not stop the reconciliation.
        if (!(event instanceof UnreadableRecord) && event.data.id === refundId) yield event;
      }
    }
  }

  #isOfSameMode({ livemode }: { readonly livemode?: boolean | null | undefined }): boolean {
    return (livemode ?? this.livemode) === this.livemode;
  }

  async #withRefunds(charge: Charge): Promise<ProviderCharge> {
    const refunds = await refundsOf(this.client, charge, this.#options);
    return toProviderCharge(charge, refunds, this.account);
  }
}

/** @param account a charge whose metadata names another account belongs to another system */
export function toProviderCharge(
  charge: Charge,
  refunds: readonly Refund[],
  account = DEFAULT_ACCOUNT,
): ProviderCharge {
  const isPaid = charge.status === 'successful';
  const createdAt = instantOf(charge.created_at) ?? instantOf(charge.paid_at) ?? EARLIEST;
  const checkoutId = textOf(charge.metadata?.['checkout']);
  const { transaction } = charge;
  return {
    id: charge.id,
    checkoutId: checkoutId !== null && parseCheckoutId(checkoutId)?.account === account ? checkoutId : null,
    // A reversed charge keeps its status, but the payment is gone: see `toFacts`.
    status: charge.reversed === true ? 'reversed' : charge.status,
    amount: charge.amount,
    currency: charge.currency,
    till: { store: textOf(charge.source?.store_id), terminal: textOf(charge.source?.terminal_id) },
    createdAt,
    paidAt: instantOf(charge.paid_at) ?? (isPaid ? createdAt : null),
    refundedAmount: refundedAmountOf(charge) ?? refunds.reduce((sum, { amount }) => sum + amount, 0),
    refunds: refunds.map((refund) => {
      const { refundId, amount, key, isVoid } = toRefundFacts(refund, refund.currency);
      const voided = isVoid ? { voided: true as const } : {};
      return { id: refundId, amount, key, createdAt: instantOf(refund.created_at), ...voided };
    }),
    transactionId: textOf(transaction) ?? textOf((transaction as { readonly id?: unknown } | null | undefined)?.id),
    fees: feesOf(charge),
  };
}

/** The time of a record without a time. */
const EARLIEST = 0 as Instant;

function feesOf(charge: Charge): Fees | null {
  const { fee, fee_vat: vat, net, currency, funding_currency: funding } = charge;
  if (typeof fee !== 'number' || typeof vat !== 'number' || typeof net !== 'number') return null;
  if (typeof funding === 'string' && funding !== currency) return null;
  // A void returns the fee: nothing is left to compare with the rates.
  if (charge.voided === true && fee === 0) return null;
  const interest = (charge.interest ?? 0) + (charge.interest_vat ?? 0);
  return { fee, vat, net: net + interest, byRates: byRates(charge) };
}

/**
 * Rates are in percent, the flat fee in the smallest unit. Null when one is missing. Source: assumption, "Rates of
 * fees".
 */
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
