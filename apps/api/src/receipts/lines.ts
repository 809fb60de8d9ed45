import { minorUnitDecimals } from '@tillflow/domain';
import { writeAmount, writeNumber, writeTime } from './formats.js';
import { wordsOf, type Words } from './languages.js';
import type { CheckoutReceipt } from './receipts.schema.js';

type Paid = CheckoutReceipt['payment'];

/** Rates are rounded. */
const RATE_TOLERANCE = 0.01;

type Field = { readonly kind: 'field'; readonly label: string; readonly value: string };

/** One line of a receipt, before a form of output gives it a width. */
export type Line =
  | { readonly kind: 'shop' | 'address' | 'title' | 'heading'; readonly text: string }
  /** The amount that the receipt is about. */
  | { readonly kind: 'total'; readonly label: string; readonly value: string }
  | Field
  | { readonly kind: 'rule' };

/** The lines of a receipt from top to bottom, in its language. A value that is not known has no line. */
export function linesOf(receipt: CheckoutReceipt): readonly Line[] {
  const words = wordsOf(receipt.language);
  const { shop, store, kind } = receipt;
  const isRefund = kind === 'refund';
  return [
    ...(shop.name === null ? [] : [{ kind: 'shop', text: shop.name } as const]),
    ...shop.address.map((text) => ({ kind: 'address', text }) as const),
    ...(shop.tax_id === null ? [] : [{ kind: 'address', text: `${words.taxId} ${shop.tax_id}` } as const]),
    { kind: 'title', text: isRefund ? words.refund : words.payment },
    { kind: 'rule' },
    ...field(words.store, store === null ? null : (store.name ?? store.id)),
    ...field(words.till, receipt.terminal),
    ...field(words.reference, receipt.reference),
    ...field(words.time, receipt.time_text),
    ...field(words.description, receipt.description),
    ...(receipt.refund === null ? [] : field(words.refundId, receipt.refund.id)),
    { kind: 'rule' },
    { kind: 'total', label: isRefund ? words.refunded : words.paid, value: receipt.amount_text },
    { kind: 'rule' },
    ...(isRefund ? originalPayment(receipt, words) : []),
    ...payment(receipt, words),
  ];
}

function originalPayment(
  { payment: { amount, currency, paid_at }, ...receipt }: CheckoutReceipt,
  words: Words,
): Line[] {
  const { language, time_zone } = receipt;
  return [
    { kind: 'heading', text: words.originalPayment },
    ...field(words.originalAmount, amount === null ? null : writeAmount(amount, currency, language)),
    ...field(words.originalTime, paid_at === null ? null : writeTime(paid_at, time_zone, language)),
  ];
}

function payment({ payment: paid, network, language, currency }: CheckoutReceipt, words: Words): Field[] {
  const { customer_amount: amount, customer_currency: own, customer_exchange_rate: rate, references } = paid;
  // A customer who pays in the currency of the sale needs no second amount.
  const isForeign = amount !== null && own !== null && own !== currency;
  return [
    ...field(words.customerAmount, isForeign ? writeAmount(amount, own, language) : null),
    ...field(
      words.exchangeRate,
      isForeign && rate !== null && fits(paid, rate) ? `1 ${currency} = ${writeNumber(rate, language)} ${own}` : null,
    ),
    ...field(words.paidWith, network ?? words.qrCode),
    ...field(words.networkReference, references.provider_1),
    ...field(words.networkReference, references.provider_2),
    ...field(words.acquirerReference, references.acquirer),
    ...field(words.approvalCode, references.approval_code),
    ...field(words.chargeId, paid.charge_id),
  ];
}

/** Whether the rate leads from the amount to the customer's: a provider may write rates the other way round. */
function fits({ amount, currency, customer_amount: own, customer_currency: ownCurrency }: Paid, rate: number): boolean {
  if (amount === null || own === null || ownCurrency === null) return false;
  const expected = amount * rate * 10 ** (minorUnitDecimals(ownCurrency) - minorUnitDecimals(currency));
  return Math.abs(expected - own) <= Math.max(own * RATE_TOLERANCE, 1);
}

/** No field where the value is missing. */
function field(label: string, value: string | null): Field[] {
  return value === null || value === '' ? [] : [{ kind: 'field', label, value }];
}
