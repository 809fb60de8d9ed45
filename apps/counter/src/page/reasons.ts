import type { Availability, Checkout } from '@tillflow/sdk';
import { formatAmount } from './money.js';
import { screenOf, type Screen } from './screen.js';
import { fill, type Language, type Words } from './words.js';

// What the API answers, in the words of the page. The API's own texts are English, and are not shown.

/** Why new sales make no sense. An operator types the reason of a pause, and it is shown as typed. */
export function whyNotAccepting({ reason, since, provider }: Availability, words: Words): string {
  const isOfProvider = provider.status === 'failing' && since === provider.since;
  return isOfProvider ? words.providerFails : fill(words.paused, { reason: reason ?? '' });
}

/** Why a sale did not begin. @param code of the error */
export function whyNotBegun(code: string, { refusals }: Words): string {
  return refusals[code] ?? refusals.other;
}

/** What the person at the till reads below the title of a screen. */
export function textOf(
  screen: Screen,
  checkout: Checkout | null,
  { language, words }: { readonly language: Language; readonly words: Words },
): string {
  if (isReturnRefused(checkout)) return words.returnRefused;
  if (screen === 'failed') {
    const code = checkout?.attempts.at(-1)?.failure_code ?? null;
    return code === null ? words.screens.failed.text : (words.failures[code] ?? words.failures.other);
  }
  if (screen !== 'paid' || checkout === null) return words.screens[screen].text;
  if (checkout.attention?.code === 'double_payment') return words.paidTwice;
  if (checkout.attention?.code === 'return_refused') return words.paidTwiceRefused;
  if (checkout.refunded_amount === 0) return '';
  return fill(words.partlyReturned, { amount: formatAmount(checkout.refunded_amount, checkout.currency, language) });
}

/** The provider does not return a payment that came too late: a person must. */
export function isReturnRefused(checkout: Checkout | null): boolean {
  return checkout?.attention?.code === 'return_refused' && screenOf(checkout, null) === 'late';
}
