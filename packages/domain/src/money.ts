/** The currencies of the QR method. Source: API reference, "Limits". */
export const CURRENCIES = ['THB', 'SGD', 'MYR'] as const;
export type Currency = (typeof CURRENCIES)[number];

/** An amount in the currency's smallest unit (satang, cent, sen): a whole number, never a fraction. */
export type Money = { readonly amount: number; readonly currency: Currency };

/** The least and the most that one QR charge may be, both inclusive, in the smallest unit. */
export type AmountLimits = { readonly min: number; readonly max: number };

/** Source: API reference, "Limits". */
const CHARGE_LIMITS: Readonly<Record<Currency, AmountLimits>> = {
  THB: { min: 2_000, max: 15_000_000 },
  SGD: { min: 100, max: 2_000_000 },
  MYR: { min: 100, max: 3_000_000 },
};

/** Digits after the point in the major unit. Source: ISO 4217. */
const EXPONENT: Readonly<Record<Currency, number>> = { THB: 2, SGD: 2, MYR: 2 };

/** Digits after the point in the major unit. */
export function decimalsOf(currency: Currency): number {
  return EXPONENT[currency];
}

export function isCurrency(text: string): text is Currency {
  return (CURRENCIES as readonly string[]).includes(text);
}

/**
 * @throws {RangeError} when `amount` is not a whole, non-negative number of smallest units that arithmetic keeps exact,
 *   or the currency is not one of {@link CURRENCIES}.
 */
export function money(amount: number, currency: string): Money {
  if (!isCurrency(currency)) throw new RangeError(`Unknown currency: ${currency}`);
  if (!Number.isSafeInteger(amount) || amount < 0) {
    throw new RangeError(`Not a whole amount in the smallest unit: ${amount}`);
  }
  return { amount, currency };
}

export function chargeLimits(currency: Currency): AmountLimits {
  return CHARGE_LIMITS[currency];
}

export function isWithinChargeLimits({ amount, currency }: Money): boolean {
  const { min, max } = CHARGE_LIMITS[currency];
  return amount >= min && amount <= max;
}

export function sameMoney(a: Money, b: Money): boolean {
  return a.amount === b.amount && a.currency === b.currency;
}

/** @throws {RangeError} when the currencies differ or the sum is no longer exact. */
export function addMoney(a: Money, b: Money): Money {
  if (a.currency !== b.currency) throw new RangeError(`Cannot add ${b.currency} to ${a.currency}`);
  return money(a.amount + b.amount, a.currency);
}

/** @throws {RangeError} when the currencies differ or the rest would be negative. */
export function subtractMoney(a: Money, b: Money): Money {
  if (a.currency !== b.currency) throw new RangeError(`Cannot subtract ${b.currency} from ${a.currency}`);
  return money(a.amount - b.amount, a.currency);
}

/** For people, in major units with a thousands separator: `THB 1,500.00`. */
export function formatMoney({ amount, currency }: Money): string {
  const exponent = EXPONENT[currency];
  const digits = String(amount).padStart(exponent + 1, '0');
  const whole = digits.slice(0, -exponent).replace(/\B(?=(\d{3})+$)/g, ',');
  return `${currency} ${whole}.${digits.slice(-exponent)}`;
}
