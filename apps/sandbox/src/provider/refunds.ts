import { isRefundable, isVoidable } from '@tillflow/domain';
import { ApiError } from '../http/api-error.js';
import type { FormMap } from '../http/form.js';
import type { ChargeRecord, RefundRecord } from '../records/records.js';
import type { ProviderContext } from './context.js';
import type { Payments } from './payments.js';

export type NewRefund = {
  /** Smallest currency unit. Null only for a void, which always has the full amount. */
  readonly amount: number | null;
  readonly void: boolean;
  readonly metadata: FormMap;
};

/** Refunds and voids of paid charges. Source: API reference, "Limits"; assumption, "Refund or void". */
export class Refunds {
  constructor(
    private readonly context: ProviderContext,
    private readonly payments: Payments,
  ) {}

  /** @throws {ApiError} `not_found`. */
  refund(chargeId: string, id: string): RefundRecord {
    const refund = this.payments.charge(chargeId).refunds.find((each) => each.id === id);
    if (refund === undefined) throw new ApiError('not_found', `No refund ${id} was found.`);
    return refund;
  }

  /** @throws {ApiError} `not_found`, `bad_request`, `failed_refund`, `failed_void`; nothing changes then. */
  create(chargeId: string, input: NewRefund): RefundRecord {
    const { context } = this;
    const charge = this.payments.charge(chargeId);
    const { amount, net } = input.void ? this.#voidable(charge, input) : this.#refundable(charge, input);
    const id = context.id('rfnd');
    const { currency } = charge;
    const transaction = context.transact({
      amount: net,
      currency,
      direction: 'debit',
      key: 'refund.create',
      origin: id,
    });
    const refund = context.records.refunds.put({
      id,
      createdAt: context.now(),
      chargeId,
      amount,
      currency,
      transactionId: transaction.id,
      voided: input.void,
      metadata: input.metadata,
    });
    context.records.charges.put({
      ...charge,
      refunds: [...charge.refunds, refund],
      refundedAmount: charge.refundedAmount + amount,
      voided: input.void,
    });
    context.emit('refund.create', { object: 'refund', record: refund });
    return refund;
  }

  /** The amount for the customer, and `net`, which leaves the merchant's balance: the provider returns its fee. */
  #voidable(charge: ChargeRecord, { amount }: NewRefund): { amount: number; net: number } {
    if (charge.paidAt === null) throw notPaid();
    if (charge.refundedAmount > 0) throw new ApiError('failed_void', 'A refunded or voided charge cannot be voided.');
    if ((amount ?? charge.amount) !== charge.amount) {
      throw new ApiError('failed_void', 'Only the full amount can be voided.');
    }
    if (!isVoidable(charge.paidAt, this.context.now(), this.context.assumptions.voidRule)) {
      throw new ApiError('failed_void', 'The charge can no longer be voided.');
    }
    return { amount: charge.amount, net: charge.amount - charge.fee - charge.feeVat };
  }

  /** As for a void, but the provider keeps its fee. */
  #refundable(charge: ChargeRecord, { amount }: NewRefund): { amount: number; net: number } {
    const rest = charge.amount - charge.refundedAmount;
    if (charge.paidAt === null) throw notPaid();
    if (amount === null) throw new ApiError('bad_request', 'amount is required.');
    if (amount < 1) throw new ApiError('bad_request', 'amount must be at least 1.');
    if (amount > rest) throw new ApiError('failed_refund', `At most ${rest} can still be refunded.`);
    if (!isRefundable(charge.paidAt, this.context.now())) {
      throw new ApiError('failed_refund', 'The charge can no longer be refunded.');
    }
    return { amount, net: amount };
  }
}

function notPaid(): ApiError {
  return new ApiError('failed_refund', 'The charge is not paid.');
}
