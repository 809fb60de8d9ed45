import { defineSearchAttributeKey, type SearchAttributeUpdatePair } from '@temporalio/common';
import { parseInstant } from '@tillflow/domain';
import { slipReferencesOf } from './payment.js';
import type { CheckoutState } from './types.js';

/** What operators search checkouts by. They are never encrypted, so they contain nothing personal. */
export const searchAttributes = {
  status: defineSearchAttributeKey('CheckoutStatus', 'KEYWORD'),
  reference: defineSearchAttributeKey('CheckoutReference', 'KEYWORD'),
  currency: defineSearchAttributeKey('Currency', 'KEYWORD'),
  terminal: defineSearchAttributeKey('Terminal', 'KEYWORD'),
  store: defineSearchAttributeKey('Store', 'KEYWORD'),
  attention: defineSearchAttributeKey('Attention', 'KEYWORD'),
  /** The charges, and the references of the payment as `slipReference` writes them. */
  chargeId: defineSearchAttributeKey('ChargeId', 'KEYWORD_LIST'),
  amount: defineSearchAttributeKey('Amount', 'INT'),
  createdAt: defineSearchAttributeKey('CreatedAt', 'DATETIME'),
  paidAt: defineSearchAttributeKey('PaidAt', 'DATETIME'),
  /** When the newest of the events happened that other systems get. Absent after the first QR code alone. */
  changedAt: defineSearchAttributeKey('ChangedAt', 'DATETIME'),
} as const;

/**
 * A text as a search attribute has it: quotes, backslashes and percent signs as `%` and two hexadecimal digits.
 * Temporal's versions read these characters differently in a search, and some never find them.
 */
export function searchable(text: string): string {
  return text.replaceAll(/["'`\\%]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** The references of the payment, as a search names them. */
export function slipAttributes(state: Pick<CheckoutState, 'payment'>): string[] {
  return slipReferencesOf(state).map(searchable);
}

/**
 * The attributes that change with the checkout. Both open statuses have one value: a checkout starts as
 * `awaiting_payment`, and readers learn from the memo that it is still `creating`.
 * @param chargeIds every charge of the checkout, also one that no attempt shows
 */
export function changingAttributes(state: CheckoutState, chargeIds: readonly string[]): SearchAttributeUpdatePair[] {
  const { status, attention, paid_at } = state;
  const names = [...chargeIds, ...slipAttributes(state)];
  return [
    { key: searchAttributes.status, value: status === 'creating' ? 'awaiting_payment' : status },
    { key: searchAttributes.attention, value: attention?.code ?? null },
    { key: searchAttributes.chargeId, value: names.length === 0 ? null : names },
    { key: searchAttributes.paidAt, value: paid_at === null ? null : new Date(parseInstant(paid_at)) },
  ];
}
