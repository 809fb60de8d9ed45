import { plus } from '@tillflow/domain';
import { describe, expect, it } from 'vitest';
import type { Resolution } from '../../shared/resolution.js';
import {
  DrivenCheckout,
  listed,
  notAccepted,
  paidCharge,
  pendingCharge,
  withRefunds,
} from '../../testing/driven-checkout.js';
import { unknownOutcome } from '../../testing/runner.js';
import { MINUTE, SECOND, START } from '../../testing/simulated-provider.js';

const expiredCharge = { ...pendingCharge, status: 'expired' };
const by = 'till-1';

function unknownCreate(): DrivenCheckout {
  const checkout = DrivenCheckout.withSource();
  checkout.model.applyCharge(START, unknownOutcome, plus(START, 20 * SECOND));
  return checkout;
}

describe('a cancel', () => {
  it('a cancel is in the timeline once, with its requester', () => {
    const checkout = DrivenCheckout.payable();
    checkout.model.requestCancel(START, { by });
    checkout.model.requestCancel(START, { by: 'till-2' });
    expect(checkout.timeline('cancel_requested')).toEqual([{ what: 'cancel_requested', by }]);
  });

  it.each([
    ['paid', paidCharge],
    ['expired', expiredCharge],
  ])('a cancel of a checkout that is %s changes nothing', (status, facts) => {
    const checkout = DrivenCheckout.payable();
    checkout.retrieve(facts);
    checkout.model.requestCancel(START);
    expect(checkout.timeline('cancel_requested')).toEqual([]);
    expect(checkout.model.status).toBe(status);
  });
});

describe('a request for another attempt', () => {
  it('a request for another attempt is carried out once, when the open charge has ended', () => {
    const checkout = DrivenCheckout.payable();
    checkout.model.requestAttempt(START, { after: 1, by });
    checkout.model.requestAttempt(START, { after: 1 });
    expect(checkout.step).toEqual({ do: 'expireCharge', chargeId: 'chrg_1' });
    checkout.retrieve(expiredCharge);
    checkout.model.advanceTo(START);
    checkout.model.requestAttempt(START, { after: 1 });
    checkout.model.advanceTo(START);
    expect(checkout.timeline('attempt_requested', 'attempt_opened')).toEqual([
      { what: 'attempt_requested', detail: 'after attempt 1', by },
      { what: 'attempt_opened', detail: 'attempt 2' },
    ]);
  });

  it.each([
    ['of a paid checkout', DrivenCheckout.paid, 1],
    ['after an attempt that does not exist', DrivenCheckout.payable, 2],
  ])('a request for another attempt %s is ignored', (_, make, after) => {
    const checkout = make();
    checkout.model.requestAttempt(START, { after });
    expect(checkout.timeline('attempt_requested')).toEqual([]);
    expect(checkout.model.attempt.number).toBe(1);
  });

  it('a request for another attempt waits while the outcome of a create is unknown', () => {
    const { model } = unknownCreate();
    model.requestAttempt(START, { after: 1 });
    model.advanceTo(START);
    expect(model.attempt.number).toBe(1);
  });

  it('a request for another attempt ends when the open charge turns out to be paid', () => {
    const checkout = DrivenCheckout.payable();
    checkout.model.requestAttempt(START, { after: 1 });
    checkout.retrieve(paidCharge);
    checkout.model.advanceTo(START);
    expect(checkout.model.attempt.number).toBe(1);
    expect(checkout.model.isEnded).toBe(true);
  });
});

it('a refund request that arrives as a signal is carried out and not noted as refused', () => {
  const checkout = DrivenCheckout.paid();
  checkout.model.requestRefundBySignal(START, { key: 'k', amount: 50_000, reason: null });
  expect(checkout.model.refunds).toMatchObject([{ key: 'k', status: 'pending' }]);
  expect(checkout.timeline('refund_refused')).toEqual([]);
});

describe('a hint', () => {
  it('a hint is in the timeline as a webhook with its kind, or as a reconciliation', () => {
    const checkout = DrivenCheckout.payable();
    checkout.model.hint(START, { eventId: 'evnt_1', eventKey: 'charge.complete', chargeId: 'chrg_1' });
    checkout.model.hint(START, { eventId: '2026-03-10', eventKey: 'reconciliation' });
    expect(checkout.timeline('webhook', 'reconciliation')).toEqual([
      { what: 'webhook', detail: 'charge.complete evnt_1' },
      { what: 'reconciliation', detail: '2026-03-10', by: 'auto:reconciliation' },
    ]);
  });

  it('a hint has the charge searched for at once while the outcome of its create is unknown', () => {
    const checkout = unknownCreate();
    expect(checkout.step.do).toBe('wait');
    checkout.model.hint(START, { eventId: 'evnt_1', eventKey: 'charge.create' });
    expect(checkout.step).toMatchObject({ do: 'findCharges', why: 'unknown' });
  });

  it('a hint does not shorten the delay before a create that the provider did not accept', () => {
    const checkout = DrivenCheckout.withSource();
    checkout.model.applyCharge(START, notAccepted, START);
    checkout.model.hint(START, { eventId: 'evnt_1', eventKey: 'charge.create' });
    expect(checkout.step).toMatchObject({ do: 'wait', until: START + SECOND });
  });
});

describe('a decision of an operator', () => {
  const abandon: Resolution = { action: 'abandon', reason: 'no answer' };

  function mismatched(): DrivenCheckout {
    const checkout = DrivenCheckout.payable();
    checkout.retrieve({ ...pendingCharge, amount: 1 });
    return checkout;
  }

  it.each<[string, boolean, () => DrivenCheckout]>([
    ['possible while the outcome of a create is unknown', true, unknownCreate],
    ['possible while an attention is shown', true, mismatched],
    ['refused while nothing is unresolved', false, DrivenCheckout.payable],
    ['refused while a source is created', false, DrivenCheckout.opened],
  ])('a decision of an operator to abandon is %s', (_, isPossible, make) => {
    const refused = { code: 'invalid_resolution', message: 'This checkout has nothing to resolve' };
    expect(make().model.refuseResolution(abandon)).toEqual(isPossible ? null : refused);
  });

  it.each<[string, Resolution]>([
    ['look: a call', { action: 'look', reason: 'a call' }],
    ['adopt chrg_2: seen', { action: 'adopt', id: 'chrg_2', reason: 'seen' }],
    ['abandon: no answer', abandon],
  ])('a decision of an operator is in the timeline as "%s"', (detail, resolution) => {
    const checkout = DrivenCheckout.payable();
    checkout.model.resolve(START, { ...resolution, by: 'cli:ann' });
    expect(checkout.timeline('resolve')).toEqual([{ what: 'resolve', detail, by: 'cli:ann' }]);
  });

  it.each([
    ['a charge that the checkout knows', 'chrg_1', []],
    ['another charge', 'chrg_2', [{ id: 'chrg_2', retrieveAt: START, tries: 0 }]],
  ])('a decision of an operator to adopt %s retrieves it once', (_, id, unrecognized) => {
    const { model } = DrivenCheckout.payable();
    model.resolve(START, { action: 'adopt', id, reason: 'seen' });
    expect(model.state.unrecognized).toEqual(unrecognized);
  });
});

describe('the answer to a create', () => {
  it('the answer to a create that does not match is not believed, and the charge is searched for', () => {
    const checkout = DrivenCheckout.withSource();
    checkout.model.applyCharge(START, { kind: 'done', value: { ...pendingCharge, amount: 1 } }, START);
    expect(checkout.view).toMatchObject({ status: 'creating', attention: { code: 'integrity_mismatch' } });
    expect(checkout.pass(SECOND).step).toMatchObject({ do: 'findCharges', why: 'unknown' });
  });

  it('the answer to a create that is no longer under way is ignored', () => {
    const { model } = DrivenCheckout.payable();
    model.applyCharge(START, { kind: 'done', value: { ...pendingCharge, chargeId: 'chrg_2' } }, START);
    expect(model.chargeIds).toEqual(['chrg_1']);
  });
});

describe('a charge that the checkout learns of when it has ended', () => {
  const paid = withRefunds([]);
  const refunded = withRefunds([listed('rfnd_9', 50_000, null)]);
  const hintOf = (chargeId: string) => ({ eventId: 'evnt_1', eventKey: 'refund.create', chargeId });

  it('a search shows it together with its refund', () => {
    const checkout = unknownCreate();
    checkout.model.applySearch(START, START, 'unknown', { seen: [refunded] });
    expect(checkout.model.refunds).toMatchObject([{ key: 'rfnd_9', status: 'succeeded' }]);
    expect(checkout.view).toMatchObject({ status: 'partially_refunded', refunded_amount: 50_000 });
  });

  it.each<[string, boolean, (checkout: DrivenCheckout) => void]>([
    [
      'a search shows it, and a hint has named it',
      true,
      ({ model }) => {
        model.hint(START, hintOf('chrg_1'));
        model.applySearch(START, START, 'unknown', { seen: [paid] });
      },
    ],
    [
      'a search shows it, and no hint has named it',
      false,
      ({ model }) => model.applySearch(START, START, 'unknown', { seen: [paid] }),
    ],
    [
      'a retrieve shows it, and another hint names it meanwhile',
      true,
      ({ model }) => {
        for (const _ of ['before', 'during']) model.hint(START, hintOf('chrg_1'));
        model.applyRetrieve(START, START, 'chrg_1', { seen: paid });
      },
    ],
    [
      'a retrieve shows it, and no other hint names it',
      false,
      ({ model }) => {
        model.hint(START, hintOf('chrg_1'));
        model.applyRetrieve(START, START, 'chrg_1', { seen: paid });
      },
    ],
  ])('%s: it is retrieved again: %s', (_, isRetrieved, learn) => {
    const checkout = unknownCreate();
    learn(checkout);
    const { now } = checkout.pass(SECOND);
    expect(checkout.view.status).toBe('paid');
    expect(checkout.step).toMatchObject(isRetrieved ? { do: 'retrieveCharge', chargeId: 'chrg_1' } : { do: 'wait' });
    if (!isRetrieved) return;
    checkout.model.applyRetrieve(now, now, 'chrg_1', { seen: refunded });
    expect(checkout.model.refunds).toMatchObject([{ key: 'rfnd_9', status: 'succeeded' }]);
  });
});

describe('a search for late charges', () => {
  it('a search for late charges applies what it shows of a charge that is known', () => {
    const checkout = DrivenCheckout.paid();
    const facts = withRefunds([listed('rfnd_9', 50_000, null)]);
    checkout.model.applySearch(START, START, 'late effect', { seen: [facts] });
    expect(checkout.model.refunds).toMatchObject([{ key: 'rfnd_9', status: 'succeeded' }]);
    expect(checkout.view.status).toBe('partially_refunded');
  });

  it('a search for late charges raises an attention when it shows a charge of another checkout', () => {
    const checkout = DrivenCheckout.paid();
    const other = { ...pendingCharge, chargeId: 'chrg_2', checkoutId: 'chk_default_b' };
    checkout.model.applySearch(START, START, 'late effect', { seen: [other] });
    expect(checkout.view.attention).toMatchObject({
      code: 'integrity_mismatch',
      detail: 'charge chrg_2 belongs to chk_default_b',
    });
    expect(checkout.timeline('charge_not_ours')).toEqual([]);
  });

  it('a search that the provider does not answer leaves the checkout silent since its first miss', () => {
    const checkout = unknownCreate();
    for (const passed of [0, MINUTE]) {
      const { now } = checkout.pass(passed);
      checkout.model.applySearch(now, now, 'unknown', { unseen: 'no answer', code: 'timeout' });
    }
    expect(checkout.model.state.silentSince).toBe(START);
    expect(checkout.view.attention).toBeNull();
    checkout.model.applySearch(checkout.now, checkout.now, 'unknown', { seen: [] });
    expect(checkout.model.state.silentSince).toBeNull();
  });
});
