import { CURRENCIES, decimalsOf, formatMoney, isCurrency, type Currency } from '@tillflow/domain';
import { UsageError } from './command.js';

const AMOUNT = /^(?:([A-Z]{3}) )?(\d{1,11}|\d{1,3}(?:,\d{3}){1,3})(?:\.(\d+))?$/;

/**
 * Reads an amount that a person wrote, in major units with the decimals of its currency. A whole number is refused
 * because it can be read as major units or as the smallest unit.
 * @param option the option with this amount, such as `--amount`, for the error.
 * @throws {UsageError} when the text is not an amount in any currency.
 */
export function readAmount(option: string, text: string): WrittenAmount {
  const [, code, grouped = '', fraction] = AMOUNT.exec(text.toUpperCase()) ?? [];
  const whole = grouped.replaceAll(',', '');
  const isInSomeCurrency =
    whole !== '' &&
    (code === undefined || isCurrency(code)) &&
    CURRENCIES.some((currency) => fraction === undefined || fraction.length === decimalsOf(currency));
  if (!isInSomeCurrency || Number(whole + (fraction ?? '')) === 0) {
    throw new UsageError(`${option} must be above zero, in major units with all decimals: 500.00, or "THB 500.00"`);
  }
  return new WrittenAmount({ option, text, code, whole, fraction });
}

type Parts = {
  readonly option: string;
  readonly text: string;
  readonly code: string | undefined;
  /** Digits only. */
  readonly whole: string;
  readonly fraction: string | undefined;
};

export class WrittenAmount {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The amount in the smallest unit. @throws {UsageError} for another currency, other decimals, or a whole number. */
  smallestUnitsIn(currency: Currency): number {
    const { option, code, whole, fraction } = this.#parts;
    if (code !== undefined && code !== currency) {
      throw new UsageError(`${option} is in ${code}, and the checkout is in ${currency}`);
    }
    this.refuseWholeNumber(currency);
    const decimals = decimalsOf(currency);
    if (fraction?.length !== decimals) {
      throw new UsageError(`${option} must be in major units with ${decimals} digits after the point in ${currency}`);
    }
    return Number(whole + fraction);
  }

  /** @param currency undefined when it is unknown. @throws {UsageError} for a whole number, with both readings. */
  refuseWholeNumber(currency?: Currency): void {
    const { option, text, whole, fraction } = this.#parts;
    if (fraction !== undefined) return;
    const decimals = decimalsOf(currency ?? CURRENCIES[0]);
    const readings = [Number(whole) * 10 ** decimals, Number(whole)].map((amount) => {
      const shown = formatMoney({ amount, currency: currency ?? CURRENCIES[0] });
      const [, major = ''] = shown.split(' ');
      return `${currency === undefined ? major : shown} (write ${major.replaceAll(',', '')})`;
    });
    throw new UsageError(`${option}: ${text} can mean ${readings.join(' or ')}`);
  }
}
