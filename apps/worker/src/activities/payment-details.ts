import { MAX_SLIP_REFERENCE } from '@tillflow/domain';
import type { Charge } from '@tillflow/payments-client';
import type { PaymentDetails } from '@tillflow/workflows';

/** More discounts than this, in characters of JSON, are left out: the checkout stores them for a year. */
const MAX_DISCOUNTS = 500;

/**
 * What a paid charge says of its payment. Every value is checked: one of another kind counts as missing. `buyer_name`
 * is left out. Source: API reference, "Source" and "Charge".
 */
export function paymentDetails({ source, ...charge }: Charge): PaymentDetails {
  const { customer_amount, customer_currency, customer_exchange_rate } = source?.references ?? {};
  const { reference_number_1, reference_number_2 } = source?.provider_references ?? {};
  const customer = [amountOf(customer_amount), currencyOf(customer_currency), rateOf(customer_exchange_rate)] as const;
  // A refund changes fees.
  const isWhole = charge.voided !== true && (charge.refunded_amount ?? 0) === 0;
  const feeOf = (value: unknown): number | null => (isWhole ? amountOf(value) : null);
  const fees = [feeOf(charge.fee), feeOf(charge.fee_vat), feeOf(charge.net)] as const;
  const slip = [
    referenceOf(reference_number_1),
    referenceOf(reference_number_2),
    referenceOf(charge.acquirer_reference_number),
    referenceOf(charge.approval_code),
  ] as const;
  const receipt = amountOf(source?.receipt_amount);
  const discounts = discountsOf(source?.discounts);
  return {
    ...(isEmpty(customer) ? {} : { customer }),
    ...(receipt === null ? {} : { receipt }),
    ...(discounts?.length === 0 ? {} : { discounts }),
    ...(isEmpty(fees) ? {} : { fees }),
    ...(isEmpty(slip) ? {} : { slip }),
  };
}

function isEmpty(values: readonly unknown[]): boolean {
  return values.every((value) => value === null);
}

function amountOf(value: unknown): number | null {
  return Number.isSafeInteger(value) ? (value as number) : null;
}

function rateOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : null;
}

function currencyOf(value: unknown): string | null {
  return typeof value === 'string' && /^[A-Z]{3}$/.test(value) ? value : null;
}

function referenceOf(value: unknown): string | null {
  // Some characters become many in the form in which references are searched.
  if (typeof value !== 'string' || value.normalize('NFKC').length > MAX_SLIP_REFERENCE) return null;
  return value.trim() === '' || /[\p{Cs}\p{Cc}]/u.test(value) ? null : value;
}

function discountsOf(value: unknown): readonly unknown[] | null {
  if (!Array.isArray(value)) return null;
  const text = JSON.stringify(value, (name, field: unknown) => (name === 'buyer_name' ? undefined : field));
  return text.length > MAX_DISCOUNTS ? null : (JSON.parse(text) as unknown[]);
}
