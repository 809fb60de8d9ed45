/** The currencies of the QR method. Source: API reference, "Limits". */
export const CURRENCIES = ['THB', 'SGD', 'MYR'] as const;
export type Currency = (typeof CURRENCIES)[number];

/** An amount in the currency's smallest unit (satang, cent, sen): a whole number, never a fraction. */
export type Money = { readonly amount: number; readonly currency: Currency };

/** The limits of one QR charge, both inclusive, in the smallest unit. */
export type AmountLimits = { readonly min: number; readonly max: number };

/** Source: API reference, "Limits". */
const CHARGE_LIMITS: Readonly<Record<Currency, AmountLimits>> = {
  THB: { min: 2_000, max: 15_000_000 },
  SGD: { min: 100, max: 2_000_000 },
  MYR: { min: 100, max: 3_000_000 },
};

/** Decimals of the major unit. Source: ISO 4217. */
const DECIMALS: Readonly<Record<Currency, number>> = { THB: 2, SGD: 2, MYR: 2 };

/** Decimals of the major unit. */
export function decimalsOf(currency: Currency): number {
  return DECIMALS[currency];
}

/** The currencies whose minor unit is not a hundredth. Source: ISO 4217. `Intl` follows daily use instead. */
const NO_DECIMALS = new Set('BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'.split(' '));
const THREE_DECIMALS = new Set('BHD IQD JOD KWD LYD OMR TND'.split(' '));

/** Decimals of the major unit of any currency, such as a customer's. Source: ISO 4217. */
export function minorUnitDecimals(currency: string): number {
  if (NO_DECIMALS.has(currency)) return 0;
  return THREE_DECIMALS.has(currency) ? 3 : 2;
}

export function isCurrency(text: string): text is Currency {
  return (CURRENCIES as readonly string[]).includes(text);
}

export function chargeLimits(currency: Currency): AmountLimits {
  return CHARGE_LIMITS[currency];
}

export function isWithinChargeLimits({ amount, currency }: Money): boolean {
  const { min, max } = CHARGE_LIMITS[currency];
  return amount >= min && amount <= max;
}

/** For people, in major units with a thousands separator: `THB 1,500.00`. */
export function formatMoney({ amount, currency }: Money): string {
  const decimals = DECIMALS[currency];
  const digits = String(amount).padStart(decimals + 1, '0');
  const whole = digits.slice(0, -decimals).replace(/\B(?=(\d{3})+$)/g, ',');
  return `${currency} ${whole}.${digits.slice(-decimals)}`;
}
