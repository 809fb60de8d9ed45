import { describe, expect, it } from 'vitest';
import { CHECKOUT_STATUSES, isAwaitingPayment, isCheckoutStatus, isPaid } from './checkout.js';

describe('the status of a checkout', () => {
  it('means paid also when the money was returned later', () => {
    expect(CHECKOUT_STATUSES.filter(isPaid)).toEqual(['paid', 'partially_refunded', 'refunded']);
  });

  it('means awaiting payment while no end is published', () => {
    expect(CHECKOUT_STATUSES.filter(isAwaitingPayment)).toEqual(['creating', 'awaiting_payment']);
  });

  it('is one of the published texts and no other', () => {
    expect(['paid', 'cancelled', 'PAID', 'open', '', 'toString'].filter(isCheckoutStatus)).toEqual([
      'paid',
      'cancelled',
    ]);
  });
});
