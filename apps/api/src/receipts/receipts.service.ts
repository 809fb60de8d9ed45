import { Injectable } from '@nestjs/common';
import { isPaid } from '@tillflow/domain';
import type { StoredCheckout } from '@tillflow/temporal';
import { toCheckout, type StoredRefund } from '@tillflow/workflows';
import { CheckoutsRepository, keyOf } from '../checkouts/checkouts.repository.js';
import { LinkReads } from '../checkouts/link-reads.js';
import { Problem } from '../problems/problem.js';
import { Settings } from '../providers.js';
import { writeAmount, writeTime } from './formats.js';
import type { Language } from './languages.js';
import type { CheckoutReceipt } from './receipts.schema.js';

type ReceiptPayment = CheckoutReceipt['payment'];

/** What a receipt needs of a checkout. */
type Sale = {
  readonly store: CheckoutReceipt['store'];
  readonly terminal: string | null;
  /** Null until the checkout is paid. */
  readonly payment: ReceiptPayment | null;
};

/** Receipts of payments and refunds, for the till to print. */
@Injectable()
export class ReceiptsService {
  constructor(
    private readonly repository: CheckoutsRepository,
    private readonly linkReads: LinkReads,
    private readonly settings: Settings,
  ) {}

  /**
   * The receipt of the payment, or of the refund with this key.
   * @throws {Problem} `not_found`, `not_paid`, `not_refunded`.
   */
  async receipt(
    id: string,
    refundKey: string | undefined,
    language: Language,
    isByLink: boolean,
  ): Promise<CheckoutReceipt> {
    const reads = isByLink ? this.linkReads : this.repository;
    const stored = await reads.get(keyOf(id));
    const sale = saleOf(stored);
    return refundKey === undefined
      ? this.#ofPayment(stored, sale, language)
      : this.#ofRefund(stored, sale, refundOf(stored, refundKey), language);
  }

  #ofPayment(stored: StoredCheckout, sale: Sale, language: Language): CheckoutReceipt {
    const { payment } = sale;
    // A payment that came too late is returned, and the checkout stays unpaid.
    const { status } = stored.state;
    if (payment === null || !isPaid(status)) throw new Problem('not_paid', `The checkout is ${status}`);
    const { amount, currency, paid_at: time } = payment;
    const paid = { amount: amount ?? stored.intent.amount, currency, time };
    return this.#receipt(stored, sale, { kind: 'payment', ...paid, payment, refund: null }, language);
  }

  #ofRefund(stored: StoredCheckout, sale: Sale, refund: StoredRefund, language: Language): CheckoutReceipt {
    const { id, key, kind, amount, currency, charge_id: charge, created_at: time } = refund;
    // The second of two payments is returned although the checkout does not count it.
    const payment = sale.payment?.charge_id === charge ? sale.payment : unknownPayment(charge, currency);
    const returned = { amount, currency, time, payment, refund: { id, key, kind } };
    return this.#receipt(stored, sale, { kind: 'refund', ...returned }, language);
  }

  #receipt(
    { intent }: StoredCheckout,
    { store, terminal }: Sale,
    movement: Pick<CheckoutReceipt, 'kind' | 'amount' | 'currency' | 'time' | 'payment' | 'refund'>,
    language: Language,
  ): CheckoutReceipt {
    const { SHOP_NAME, SHOP_ADDRESS, SHOP_TAX_ID, QR_NETWORK_NAME, BUSINESS_TIMEZONE: zone } = this.settings.values;
    const { kind, amount, currency, time, payment, refund } = movement;
    return {
      kind,
      language,
      shop: { name: SHOP_NAME ?? null, address: SHOP_ADDRESS, tax_id: SHOP_TAX_ID ?? null },
      store,
      terminal,
      checkout_id: intent.id,
      reference: intent.reference,
      description: intent.description,
      amount,
      currency,
      amount_text: writeAmount(amount, currency, language) ?? `${amount} ${currency}`,
      time,
      time_text: time === null ? null : writeTime(time, zone, language),
      time_zone: zone,
      network: QR_NETWORK_NAME ?? null,
      payment,
      refund,
    };
  }
}

/** What the checkout knows of its store, its till and its payment. */
function saleOf({ intent, state, timeline }: StoredCheckout): Sale {
  const { store, terminal, payment } = toCheckout(intent, state, timeline);
  if (payment === null) return { store, terminal, payment };
  const { charge_id, paid_at, amount, currency, references } = payment;
  const { customer_amount, customer_currency, customer_exchange_rate } = payment;
  const customer = { customer_amount, customer_currency, customer_exchange_rate };
  return { store, terminal, payment: { charge_id, paid_at, amount, currency, ...customer, references } };
}

/** @throws {Problem} `not_found`; `not_refunded` unless the provider has made the refund. */
function refundOf({ refunds }: StoredCheckout, key: string): StoredRefund {
  const refund = refunds.find((each) => each.key === key);
  if (refund === undefined) throw new Problem('not_found', 'The checkout has no refund with this key');
  if (refund.status !== 'succeeded') throw new Problem('not_refunded', `The refund is ${refund.status}`);
  return refund;
}

function unknownPayment(charge: string | null, currency: string): ReceiptPayment {
  return {
    charge_id: charge,
    paid_at: null,
    amount: null,
    currency,
    customer_amount: null,
    customer_currency: null,
    customer_exchange_rate: null,
    references: { provider_1: null, provider_2: null, acquirer: null, approval_code: null },
  };
}
