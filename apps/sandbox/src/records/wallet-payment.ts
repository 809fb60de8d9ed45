import { createHash } from 'node:crypto';
import type { Currency } from '@tillflow/domain';
import type { ChargeRecord } from './records.js';

/** Customers pay from a wallet in another country. Units of its currency for one unit of the charge's: assumption. */
const WALLET_CURRENCY = 'CNY';
const RATES: Readonly<Record<Currency, number>> = { THB: 0.2143, SGD: 5.3871, MYR: 1.6204 };

/**
 * What the wallet's network adds to a paid charge: the customer's own amount, the references on the customer's slip,
 * and a name that a merchant should not store. Follows from the charge's id, so nothing is stored. Source: API
 * reference, "Source" and "Charge"; the values are an assumption.
 */
export function walletPayment({ id, amount, currency }: Pick<ChargeRecord, 'id' | 'amount' | 'currency'>) {
  const digest = createHash('sha256').update(id).digest('hex');
  // Decimal digits of the digest, `count` of them from this place.
  const digits = (from: number, count: number): string =>
    BigInt(`0x${digest.slice(from)}`)
      .toString()
      .slice(0, count)
      .padStart(count, '0');
  const rate = RATES[currency];
  return {
    references: {
      expires_at: null,
      device_id: null,
      customer_amount: Math.round(amount * rate),
      customer_currency: WALLET_CURRENCY,
      customer_exchange_rate: rate,
      service_tax_id: null,
      reference_number_1: null,
      reference_number_2: null,
      barcode: null,
      payment_code: null,
      va_code: null,
    },
    provider_references: {
      reference_number_1: digits(0, 16),
      reference_number_2: `W${digest.slice(40, 49).toUpperCase()}`,
      buyer_name: `Buyer ${digest.slice(0, 6)}`,
    },
    receipt_amount: amount,
    acquirer_reference_number: digits(20, 12),
    approval_code: digest.slice(52, 58).toUpperCase(),
  };
}
