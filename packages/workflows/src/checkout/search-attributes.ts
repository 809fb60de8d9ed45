import { defineSearchAttributeKey } from '@temporalio/common';

/** What operators search checkouts by. They are never encrypted, so they contain nothing personal. */
export const searchAttributes = {
  status: defineSearchAttributeKey('CheckoutStatus', 'KEYWORD'),
  reference: defineSearchAttributeKey('CheckoutReference', 'KEYWORD'),
  currency: defineSearchAttributeKey('Currency', 'KEYWORD'),
  terminal: defineSearchAttributeKey('Terminal', 'KEYWORD'),
  attention: defineSearchAttributeKey('Attention', 'KEYWORD'),
  chargeId: defineSearchAttributeKey('ChargeId', 'KEYWORD_LIST'),
  amount: defineSearchAttributeKey('Amount', 'INT'),
  createdAt: defineSearchAttributeKey('CreatedAt', 'DATETIME'),
  paidAt: defineSearchAttributeKey('PaidAt', 'DATETIME'),
} as const;
