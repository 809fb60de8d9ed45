import { minorUnitDecimals } from '@tillflow/domain';

/** Longer amounts do not fit the display. The limits of the provider are far below. */
const MOST_DIGITS = 10;

/** An amount as the language writes it. @param amount in the smallest currency unit */
export function formatAmount(amount: number, currency: string, language: string): string {
  const decimals = minorUnitDecimals(currency);
  const format = new Intl.NumberFormat(language, {
    style: 'currency',
    currency,
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  return format.format(amount / 10 ** decimals);
}

/** Types on the amount pad: each digit moves the others to the left, as on a card terminal. */
export function typed(amount: number, key: string): number {
  if (key === 'clear') return 0;
  if (key === 'back') return Math.floor(amount / 10);
  const digits = `${amount}${key}`;
  return /^\d+$/.test(key) && digits.replace(/^0+/, '').length <= MOST_DIGITS ? Number(digits) : amount;
}
