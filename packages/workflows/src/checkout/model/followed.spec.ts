import { describe, expect, it } from 'vitest';
import { DrivenCheckout, listed, notAccepted, paidCharge, pendingCharge } from '../../testing/driven-checkout.js';

describe('a checkout', () => {
  it('is followed by an event endpoint as the latest call that was answered says', () => {
    const checkout = DrivenCheckout.withSource();
    const { model, now } = checkout;
    const seen = [model.isFollowed];
    const note = (): void => void seen.push(model.isFollowed);
    model.applyCharge(now, { kind: 'done', value: { ...pendingCharge, isFollowed: true } }, now);
    note();
    checkout.retrieve(paidCharge);
    note();
    checkout.retrieve({ ...paidCharge, isFollowed: true });
    note();
    checkout.missRetrieve();
    note();
    checkout.askRefund('k', 100);
    checkout.sendRefund({ ...paidCharge, isFollowed: true });
    checkout.answerRefund('k', notAccepted);
    note();
    checkout.answerRefund('k', { kind: 'done', value: listed('rfnd_1', 100, 'k') });
    note();
    checkout.answerRefund('k', { kind: 'done', value: { ...listed('rfnd_1', 100, 'k'), isFollowed: true } });
    note();
    expect(seen).toEqual([false, true, false, true, true, true, false, true]);
  });

  it('is not followed when the charge that was made says nothing of it', () => {
    const { model, now } = DrivenCheckout.withSource();
    model.applyCharge(now, { kind: 'done', value: pendingCharge }, now);
    expect(model.isFollowed).toBe(false);
  });

  it('stays followed while a charge is refused', () => {
    const checkout = DrivenCheckout.withSource();
    checkout.retrieve({ ...pendingCharge, isFollowed: true });
    checkout.model.applyCharge(checkout.now, notAccepted, checkout.now);
    expect(checkout.model.isFollowed).toBe(true);
  });
});
