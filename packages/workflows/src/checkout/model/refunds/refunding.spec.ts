import { describe, expect, it } from 'vitest';
import {
  DrivenCheckout,
  listed,
  notAccepted,
  paidCharge,
  refusal,
  withRefunds,
} from '../../../testing/driven-checkout.js';
import { unknownOutcome } from '../../../testing/runner.js';
import { DAY, MINUTE, SECOND } from '../../../testing/simulated-provider.js';

const RETRIEVE = { do: 'retrieveCharge', chargeId: 'chrg_1' };
const AFTERCARE = { do: 'wait', why: 'then continue as aftercare' };
const abandon = { action: 'abandon', reason: 'no answer' } as const;
const look = { action: 'look', reason: 'now' } as const;

/** A refund of 500 baht with key `k`; it is not sent yet. */
function requested(): DrivenCheckout {
  const checkout = DrivenCheckout.paid();
  checkout.askRefund('k', 50_000);
  checkout.model.advanceTo(checkout.now);
  return checkout;
}

/** The same, while its call is under way. */
function sent(): DrivenCheckout {
  const checkout = requested();
  expect(checkout.sendRefund()).toMatchObject({ do: 'createRefund', key: 'k', amount: 50_000 });
  return checkout;
}

/** The same, after its call ended with an unknown outcome. */
function unknown(inFlightMs = 20 * SECOND): DrivenCheckout {
  const checkout = sent();
  checkout.answerRefund('k', unknownOutcome, inFlightMs);
  return checkout;
}

/** The refund `old` over 100 baht was abandoned during its call; then `k` over 500 baht has an unknown outcome. */
function unknownAfterAbandoned(): DrivenCheckout {
  const checkout = DrivenCheckout.paid();
  checkout.askRefund('old', 10_000);
  checkout.sendRefund();
  checkout.model.resolve(checkout.now, abandon);
  checkout.askRefund('k', 50_000);
  checkout.sendRefund();
  checkout.answerRefund('k', unknownOutcome);
  return checkout;
}

describe('a refund that waits', () => {
  it('a refund that the provider does not accept yet is tried again a little later each time', () => {
    const checkout = sent();
    checkout.answerRefund('k', notAccepted);
    const until = checkout.now + SECOND;
    expect(checkout.step).toEqual({ do: 'wait', until, why: 'then retrieve the charge, and refund' });
    expect(checkout.retrieveUntilOther()).toMatchObject({ do: 'createRefund' });
    checkout.answerRefund('k', notAccepted);
    expect(checkout.step).toMatchObject({ do: 'wait', until: checkout.now + 5 * SECOND });
  });

  it('a refund of unknown outcome is looked up after a second', () => {
    const checkout = unknown();
    const until = checkout.now + SECOND;
    expect(checkout.step).toEqual({ do: 'wait', until, why: 'then look up a refund, its outcome is unknown' });
  });

  it('a refund that waits for its next try is sent at once when an operator asks to look', () => {
    const checkout = sent();
    checkout.answerRefund('k', notAccepted);
    checkout.model.resolve(checkout.now, look);
    checkout.retrieve(paidCharge);
    expect(checkout.step).toMatchObject({ do: 'createRefund' });
  });

  it('an operator who looks during the call of a refund does not shorten the delay before its next try', () => {
    const checkout = sent();
    checkout.answerRefund('k', notAccepted);
    checkout.retrieveUntilOther();
    checkout.model.resolve(checkout.now, look);
    checkout.answerRefund('k', notAccepted);
    checkout.retrieve(paidCharge);
    expect(checkout.step).toMatchObject({ do: 'wait', until: checkout.now + 5 * SECOND });
  });

  it('a retrieve for another reason does not shorten the delay before the next try', () => {
    const checkout = sent();
    checkout.answerRefund('k', notAccepted);
    checkout.retrieve(paidCharge);
    expect(checkout.step).toMatchObject({ do: 'wait', until: checkout.now + SECOND });
  });
});

describe('a decided refund', () => {
  it.each([
    [
      'shows a charge that can no longer be voided',
      (one: DrivenCheckout) => one.retrieve({ ...paidCharge, canVoid: false }),
    ],
    ['has no answer', (one: DrivenCheckout) => one.missRetrieve()],
  ])('a decided refund is sent as it was decided when a retrieve before its call %s', (_, retrieve) => {
    const checkout = DrivenCheckout.paid();
    checkout.askRefund('k', null);
    checkout.sendRefund();
    checkout.model.resolve(checkout.now, look);
    expect(checkout.step).toEqual(RETRIEVE);
    retrieve(checkout);
    expect(checkout.step).toMatchObject({ do: 'createRefund', asVoid: true });
  });

  it("a caller's refund is refused when less is left than it asks for", () => {
    const checkout = DrivenCheckout.paid();
    checkout.askRefund('k', 100_001);
    checkout.sendRefund(withRefunds([listed('rfnd_9', 50_000, null)]));
    expect(checkout.model.refund('k')).toMatchObject({
      status: 'rejected',
      failure_code: 'refund_exceeds_paid',
      failure_message: 'At most THB 1,000.00 can still be refunded',
    });
    expect(checkout.step.do).toBe('wait');
  });

  it('a return is made over the rest when someone refunded a part meanwhile', () => {
    const checkout = DrivenCheckout.paidLate();
    expect(checkout.sendRefund(withRefunds([listed('rfnd_9', 50_000, null)]))).toMatchObject({
      do: 'createRefund',
      key: 'auto:chrg_1',
      amount: 100_000,
    });
  });

  it('a return is made over no more than was announced when a caller also has a refund pending', () => {
    const checkout = DrivenCheckout.paidLate();
    checkout.askRefund('k', 50_000);
    checkout.sendRefund();
    checkout.model.resolve(checkout.now, abandon);
    expect(checkout.sendRefund()).toMatchObject({ key: 'auto:chrg_1', amount: 100_000 });
  });
});

describe('an operator who abandons a refund', () => {
  it.each([
    ['cannot abandon a refund before its call', false, requested],
    ['can abandon a refund during its call', true, sent],
    ['can abandon a refund while its outcome is unknown', true, unknown],
  ])('an operator %s', (_, isPossible, make) => {
    const { model, now } = make();
    const refused = { code: 'invalid_resolution', message: 'This checkout has nothing to resolve' };
    expect(model.refuseResolution(abandon)).toEqual(isPossible ? null : refused);
    model.resolve(now, abandon);
    expect(model.refund('k')?.status).toBe(isPossible ? 'rejected' : 'pending');
  });

  it.each([
    ['during its call counts as in flight for as long as a call can take', 20 * SECOND, 0, sent],
    ['of unknown outcome counts as in flight for as long as its call said', 45 * SECOND, 0, () => unknown(45 * SECOND)],
    ['of unknown outcome is no longer in flight once that time is over', 0, MINUTE, () => unknown(45 * SECOND)],
  ])('a refund that an operator abandons %s', (_, inFlightMs, passed, make) => {
    const { model, now } = make().pass(passed);
    model.resolve(now, abandon);
    expect(model.state.refunds).toMatchObject([{ key: 'k', inFlightUntil: now + inFlightMs }]);
  });

  it.each([
    [
      'is retrieved five minutes after the call ended without an answer',
      unknownOutcome,
      { until: 5 * MINUTE, why: 'then retrieve the charge again' },
    ],
    [
      'is not retrieved again when the call ended with the refund',
      { kind: 'done', value: listed('rfnd_1', 10_000, 'old') } as const,
      null,
    ],
  ])('after a refund was abandoned during its call, the charge %s', (_, outcome, wait) => {
    const checkout = DrivenCheckout.paid();
    checkout.askRefund('old', 10_000);
    checkout.sendRefund();
    checkout.model.resolve(checkout.now, abandon);
    checkout.askRefund('k', 50_000);
    checkout.model.advanceTo(checkout.now);
    checkout.answerRefund('old', outcome);
    expect(checkout.step).toEqual(RETRIEVE);
    expect(checkout.sendRefund()).toMatchObject({ do: 'createRefund', key: 'k' });
    checkout.answerRefund('k', { kind: 'done', value: listed('rfnd_2', 50_000, 'k') });
    expect(checkout.step).toMatchObject(
      wait === null ? AFTERCARE : { do: 'wait', until: checkout.now + wait.until, why: wait.why },
    );
  });

  it('after a refund of unknown outcome was abandoned, the charge is retrieved five minutes later', () => {
    const checkout = unknown(45 * SECOND);
    checkout.model.resolve(checkout.now, abandon);
    const until = checkout.now + 5 * MINUTE;
    expect(checkout.step).toMatchObject({ do: 'wait', until, why: 'then retrieve the charge again' });
    checkout.pass(5 * MINUTE).retrieve(withRefunds([listed('rfnd_1', 50_000, 'k')]));
    expect(checkout.model.refund('k')).toMatchObject({ status: 'succeeded', id: 'rfnd_1' });
  });

  it('an abandoned refund that turns out to be made does not end the lookups of another one', () => {
    const checkout = unknownAfterAbandoned();
    checkout.pass(SECOND).retrieve(withRefunds([listed('rfnd_1', 10_000, 'old')]));
    expect(checkout.model.refund('old')?.status).toBe('succeeded');
    expect(checkout.model.state.refunding.inProgress).toMatchObject({ key: 'k', stage: 'unknown' });
  });

  it('an abandoned refund that turns out to be made leaves the id that an operator named for another one', () => {
    const checkout = unknownAfterAbandoned();
    checkout.model.resolve(checkout.now, { action: 'adopt', id: 'rfnd_9', reason: 'on the dashboard' });
    checkout.retrieve(withRefunds([listed('rfnd_1', 10_000, 'old'), listed('rfnd_9', 50_000, null)]));
    expect(checkout.model.refunds).toMatchObject([
      { key: 'old', id: 'rfnd_1', status: 'succeeded' },
      { key: 'k', id: 'rfnd_9', status: 'succeeded' },
    ]);
  });

  it('an id that an operator named counts no longer once its refund shows another key', () => {
    const checkout = unknownAfterAbandoned();
    checkout.model.resolve(checkout.now, { action: 'adopt', id: 'rfnd_9', reason: 'on the dashboard' });
    checkout.retrieve(withRefunds([listed('rfnd_9', 10_000, 'old')]));
    expect(checkout.model.state.refunding).toMatchObject({ adopting: null, inProgress: { key: 'k' } });
  });

  it('an id that an operator names while no refund is pending is not kept for the next one', () => {
    const checkout = sent();
    checkout.answerRefund('k', { kind: 'done', value: listed('rfnd_1', 50_000, 'k') });
    checkout.model.resolve(checkout.now, { action: 'adopt', id: 'rfnd_9', reason: 'on the dashboard' });
    expect(checkout.model.state.refunding.adopting).toBeNull();
  });
});

describe('what the provider lists', () => {
  it('a refund that the provider confirmed is neither unknown nor doubled when it is listed', () => {
    const checkout = sent();
    checkout.answerRefund('k', { kind: 'done', value: listed('rfnd_1', 50_000, 'k') });
    checkout.retrieve(withRefunds([listed('rfnd_1', 50_000, 'k')]));
    expect(checkout.view).toMatchObject({ refunded_amount: 50_000, attention: null });
    expect(checkout.timeline('refund_unknown', 'attention')).toEqual([]);
  });

  it('operators read which refund was made twice, and see both', () => {
    const checkout = sent();
    checkout.answerRefund('k', { kind: 'done', value: listed('rfnd_1', 50_000, 'k') });
    checkout.retrieve(withRefunds([listed('rfnd_1', 50_000, 'k'), listed('rfnd_2', 50_000, 'k')]));
    expect(checkout.view.attention).toMatchObject({
      code: 'refund_doubled',
      detail: 'k was made twice: rfnd_1 and rfnd_2',
    });
    expect(checkout.model.refunds.map(({ key, id }) => [key, id])).toEqual([
      ['k', 'rfnd_1'],
      ['rfnd_2', 'rfnd_2'],
    ]);
  });

  it.each([
    [
      'more is refunded than it lists',
      withRefunds([], { refundedAmount: 50_000 }),
      'the provider reports THB 500.00 of chrg_1 as refunded, but its listed refunds add up to THB 0.00',
    ],
    [
      'a refund without a key may be the one in progress',
      withRefunds([listed('rfnd_9', 50_000, null)]),
      'it is not known whether rfnd_9 (THB 500.00) is the refund k',
    ],
  ])('operators read that %s', (_, facts, detail) => {
    const checkout = unknown();
    checkout.retrieve(facts);
    expect(checkout.view.attention).toMatchObject({ code: 'refund_unmatched', detail });
  });

  it('a lookup that shows a possible match does not count as one that shows no refund', () => {
    const checkout = unknown();
    checkout.pass(MINUTE);
    checkout.retrieve(paidCharge);
    checkout.retrieve(withRefunds([listed('rfnd_9', 50_000, null)], { refundedAmount: 0 }));
    expect(checkout.view.attention?.code).toBe('refund_unmatched');
    checkout.retrieve(paidCharge);
    expect(checkout.step.do).toBe('wait');
    checkout.retrieve(paidCharge);
    expect(checkout.pass(DAY).retrieveUntilOther()).toMatchObject({ do: 'createRefund' });
  });

  it('an answer about a refund without a request changes nothing', () => {
    const checkout = DrivenCheckout.paid();
    checkout.answerRefund('other', unknownOutcome);
    expect(checkout.model.refunds).toEqual([]);
    expect(checkout.step).toMatchObject(AFTERCARE);
  });
});

it('a void that is refused after an unknown outcome is replaced by a refund at once', () => {
  const checkout = DrivenCheckout.paid();
  checkout.askRefund('k', null);
  checkout.sendRefund();
  checkout.answerRefund('k', unknownOutcome);
  expect(checkout.retrieveUntilOther()).toMatchObject({ do: 'createRefund', asVoid: true });
  checkout.answerRefund('k', refusal);
  for (let count = 0; checkout.timeline('void_refused').length === 0 && count < 9; count += 1) {
    const step = checkout.step;
    if (step.do === 'wait') checkout.now = step.until;
    else checkout.retrieve(paidCharge);
  }
  expect(checkout.step).toEqual(RETRIEVE);
  checkout.retrieve(paidCharge);
  expect(checkout.step).toMatchObject({ do: 'createRefund', asVoid: false });
});
