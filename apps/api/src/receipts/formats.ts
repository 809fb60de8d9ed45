import { isCurrency, minorUnitDecimals } from '@tillflow/domain';
import type { Language } from './languages.js';

/** Where a language writes dates in several ways: the one of the countries where Tillflow sells. */
const LOCALES: Readonly<Record<Language, string>> = { en: 'en-GB', th: 'th', ms: 'ms', 'zh-Hans': 'zh-Hans' };

/**
 * An amount as the language writes it.
 * @param amount in the smallest currency unit
 * @returns null when `currency` has not the form of an ISO 4217 code
 */
export function writeAmount(amount: number, currency: string, language: Language): string | null {
  if (!/^[A-Z]{3}$/.test(currency)) return null;
  const decimals = minorUnitDecimals(currency);
  const format = new Intl.NumberFormat(LOCALES[language], {
    style: 'currency',
    currency,
    // The sign ¥ belongs to two currencies.
    currencyDisplay: isCurrency(currency) ? 'symbol' : 'code',
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  return withPlainBlanks(format.format(amount / 10 ** decimals));
}

/** A number with up to eight decimals, as the language writes it. */
export function writeNumber(value: number, language: Language): string {
  return withPlainBlanks(new Intl.NumberFormat(LOCALES[language], { maximumFractionDigits: 8 }).format(value));
}

/**
 * A time to the second in a zone, as the language writes it, with the zone's distance from UTC.
 * @param time ISO 8601
 */
export function writeTime(time: string, timeZone: string, language: Language): string {
  const at = new Date(time);
  const locale = LOCALES[language];
  const day = new Intl.DateTimeFormat(locale, { timeZone, dateStyle: 'medium' }).format(at);
  const clock = new Intl.DateTimeFormat(locale, {
    timeZone,
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  }).format(at);
  const zone = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'shortOffset' })
    .formatToParts(at)
    .find(({ type }) => type === 'timeZoneName');
  // Releases of ICU differ here.
  const offset = zone?.value === 'GMT+0' ? 'GMT' : (zone?.value ?? '');
  return withPlainBlanks(`${day} ${clock} ${offset}`.trim());
}

/** Printers have no glyph for the blanks that do not break. */
function withPlainBlanks(text: string): string {
  return text.replaceAll(/\s/gu, ' ');
}
