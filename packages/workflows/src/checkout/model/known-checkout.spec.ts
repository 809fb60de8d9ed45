import { describe, expect, it } from 'vitest';
import { DrivenCheckout, listed, notAccepted, paidCharge, pendingCharge } from '../../testing/driven-checkout.js';
import { unknownOutcome } from '../../testing/runner.js';
import { MINUTE, SECOND, START } from '../../testing/simulated-provider.js';
import { restore } from './snapshot.js';

/** The create of the first charge ended with an unknown outcome. */
function unknownCreate(): DrivenCheckout {
  const checkout = DrivenCheckout.withSource();
  checkout.model.applyCharge(START, unknownOutcome, START);
  return checkout;
}

/** The second attempt was requested; the first charge can still be paid. */
function replaced(): DrivenCheckout {
  const checkout = DrivenCheckout.payable();
  checkout.model.requestAttempt(START, { after: 1 });
  return checkout;
}

/** The same, after the first charge has expired. */
function replacedAfterEnd(): DrivenCheckout {
  const checkout = replaced();
  checkout.retrieve({ ...pendingCharge, status: 'expired' });
  return checkout;
}

/** The second attempt is open, and has no charge yet. */
function secondAttempt(): DrivenCheckout {
  const checkout = replacedAfterEnd();
  checkout.model.advanceTo(START);
  return checkout;
}

function secondPayable(): DrivenCheckout {
  const { model } = secondAttempt();
  model.applySource(START, { kind: 'done', value: { sourceId: 'src_2' } });
  const value = { ...pendingCharge, chargeId: 'chrg_2', sourceId: 'src_2', attempt: '2' };
  model.applyCharge(START, { kind: 'done', value }, START);
  return DrivenCheckout.resumed(model, START);
}

function paidDuringSecondAttempt(): DrivenCheckout {
  const checkout = secondAttempt();
  checkout.retrieve(paidCharge);
  return checkout;
}

function expired(): DrivenCheckout {
  const checkout = DrivenCheckout.payable();
  checkout.retrieve({ ...pendingCharge, status: 'expired' });
  return checkout;
}

function cancelledAtTheStart(): DrivenCheckout {
  const checkout = DrivenCheckout.opened();
  checkout.model.requestCancel(START);
  return checkout;
}

function slowStart(): DrivenCheckout {
  const checkout = DrivenCheckout.opened();
  checkout.model.applySource(START, notAccepted);
  checkout.model.advanceTo(checkout.pass(MINUTE).now);
  return checkout;
}

const CREATING = { isJustOpened: false, isAnswered: false, isEnded: false, isAwaiting: true };
const JUST_OPENED = { ...CREATING, isJustOpened: true };
const OFFERED = { ...CREATING, isAnswered: true };
const ENDED = { isJustOpened: false, isAnswered: true, isEnded: true, isAwaiting: false };

describe('what a checkout waits for', () => {
  it.each<[string, () => DrivenCheckout, typeof CREATING]>([
    ['has only been opened at its start', DrivenCheckout.opened, JUST_OPENED],
    ['has only been opened once it has a source', DrivenCheckout.withSource, JUST_OPENED],
    ['is more than opened after a cancel', cancelledAtTheStart, CREATING],
    ['is more than opened once operators see an attention', slowStart, CREATING],
    ['has no answer while the create of its charge has an unknown outcome', unknownCreate, CREATING],
    ['has its answer with the QR', DrivenCheckout.payable, OFFERED],
    ['has its answer while the first charge makes way for the next one', replaced, OFFERED],
    ['has not ended when the first charge made way for the next one', replacedAfterEnd, OFFERED],
    ['has no answer while the second charge is created', secondAttempt, CREATING],
    ['has its answer with the second QR', secondPayable, OFFERED],
    ['has ended when its charge has expired', expired, ENDED],
    ['has ended when it is paid', DrivenCheckout.paid, ENDED],
    [
      'awaits no payment when the first charge is paid while the second one is created',
      paidDuringSecondAttempt,
      { ...ENDED, isEnded: false },
    ],
  ])('a checkout %s', (_, make, expectation) => {
    const { isJustOpened, isAnswered, isEnded, isAwaiting } = make().model;
    expect({ isJustOpened, isAnswered, isEnded, isAwaiting }).toEqual(expectation);
  });

  it.each<[string, () => DrivenCheckout, readonly [first: boolean, second: boolean]]>([
    [
      'nothing while its first charge is created, except that no second attempt will exist',
      DrivenCheckout.opened,
      [false, true],
    ],
    ['that the first attempt has its charge', DrivenCheckout.payable, [true, true]],
    ['nothing of the second attempt after it was requested', replaced, [true, false]],
    ['nothing of the second attempt while its charge is created', secondAttempt, [true, false]],
    ['that the second attempt has its charge', secondPayable, [true, true]],
  ])('a caller who waits for an attempt learns %s', (_, make, answers) => {
    const { model } = make();
    expect([1, 2].map((number) => model.isAttemptAnswered(number))).toEqual(answers);
  });
});

describe('the start of aftercare', () => {
  it('the start of aftercare holds only what differs from an empty checkout', () => {
    const { model } = DrivenCheckout.paid();
    model.advanceTo(START);
    const createdAt = START;
    const list = [
      { sourceId: 'src_1', chargeId: 'chrg_1', status: 'successful', createdAt, expiresAt: START + 15 * MINUTE },
    ];
    const all = [{ id: 'chrg_1', status: 'successful', paidAt: START }];
    expect(model.snapshot).toEqual({
      attempts: { list },
      charges: { accepted: 'chrg_1', all },
      published: { status: 'paid', version: 2 },
    });
  });

  it('the start of aftercare restores everything that a paid checkout still needs', () => {
    const checkout = DrivenCheckout.paid();
    checkout.askRefund('k', 50_000);
    checkout.retrieve({ ...paidCharge, payment: { fees: [100, 7, 149_893], payout: '2026-03-11T00:00:00.000Z' } });
    const { model, now } = checkout;
    const { attempts, charges } = model.state;
    const list = attempts.list.map((attempt) => ({ ...attempt, instructions: null }));
    const all = charges.all.map((charge) => ({ ...charge, retrievedAt: 0 }));
    const restored = restore(model.snapshot, { timeline: model.timeline, state: model.projection(now) });
    expect(restored).toEqual({
      ...model.state,
      attempts: { ...attempts, list },
      charges: { ...charges, all },
      endedAt: null,
    });
  });
});

describe('what operators see', () => {
  it('operators see the checkout, its refunds and its timeline', () => {
    const checkout = DrivenCheckout.paid();
    checkout.askRefund('k', 50_000);
    const { model, now } = checkout;
    const { checkout: shown, refunds, timeline } = model.result(now);
    expect(shown).toMatchObject({ id: 'chk_default_a', reference: 'a', amount: 150_000, status: 'paid' });
    expect(refunds).toMatchObject([{ key: 'k', amount: 50_000, requested_by: null }]);
    expect(timeline.map(({ what }) => what)).toEqual([
      'opened',
      'source_created',
      'charge_created',
      'paid',
      'refund_requested',
    ]);
    expect([model.refund('k')?.status, model.refund('other')]).toEqual(['pending', null]);
  });

  it('operators see since when the provider has not answered, until it answers', () => {
    const checkout = DrivenCheckout.payable();
    const silentSince = () => checkout.model.view(checkout.now).provider_silent_since;
    expect(silentSince()).toBeNull();
    checkout.missRetrieve();
    checkout.pass(SECOND).missRetrieve();
    expect(silentSince()).toBe('2026-03-10T09:00:00.000Z');
    checkout.missRetrieve('not_found');
    expect(silentSince()).toBeNull();
    checkout.missRetrieve();
    expect(silentSince()).toBe('2026-03-10T09:00:01.000Z');
    checkout.missRetrieve('integrity_mismatch');
    expect(silentSince()).toBeNull();
  });

  it('operators see how often the checkout was published', () => {
    const { model } = DrivenCheckout.payable();
    expect(model.state.published).toEqual({ status: 'awaiting_payment', version: 1 });
    model.wasPublished();
    expect(model.state.published.version).toBe(2);
  });
});

describe('what a customer can pay', () => {
  it('a charge shows no QR until the provider shows one', () => {
    const checkout = DrivenCheckout.withSource();
    checkout.model.applyCharge(START, { kind: 'done', value: { ...pendingCharge, qr: null } }, START);
    expect(checkout.view).toMatchObject({ status: 'awaiting_payment', qr: null });
    checkout.retrieve(pendingCharge);
    expect(checkout.view.qr).toEqual({
      download_uri: 'https://provider.test/qr.svg',
      raw_data: 'qr',
      expires_at: '2026-03-10T09:15:00.000Z',
    });
  });

  it('a charge of an unknown status shows no QR', () => {
    const checkout = DrivenCheckout.payable();
    checkout.retrieve({ ...pendingCharge, status: 'on_hold' });
    expect(checkout.view).toMatchObject({ qr: null, attention: { code: 'unknown_status' } });
  });

  it('a charge keeps its QR while the provider does not answer', () => {
    const checkout = DrivenCheckout.payable();
    checkout.missRetrieve();
    checkout.model.advanceTo(checkout.pass(MINUTE).now);
    expect(checkout.view).toMatchObject({ qr: { raw_data: 'qr' }, attention: { code: 'provider_unreachable' } });
  });

  it.each<[string, () => DrivenCheckout, readonly (string | null)[]]>([
    ['not shown before the charge exists', DrivenCheckout.withSource, [null]],
    ['shown with the charge', DrivenCheckout.payable, ['src_1']],
    ['shown while it is not known whether it was charged', unknownCreate, ['src_1']],
    ['shown of the attempt before the one that is created', secondAttempt, ['src_1', null]],
  ])('a source is %s', (_, make, sources) => {
    expect(make().view.attempts.map(({ source_id }) => source_id)).toEqual(sources);
  });
});

describe('a published refund', () => {
  it('a published refund has no requester and no nonce when none is known', () => {
    const checkout = DrivenCheckout.paid();
    checkout.askRefund('k', 50_000);
    expect(Object.keys(checkout.model.refund('k') ?? {}).slice(-2)).toEqual(['created_at', 'asked']);
  });

  it('a payment of which a part was refunded can no longer be voided', () => {
    const checkout = DrivenCheckout.paid();
    expect(checkout.view.voidable_until).toBe('2026-03-10T16:15:00.000Z');
    checkout.askRefund('k', 50_000);
    checkout.sendRefund();
    checkout.answerRefund('k', { kind: 'done', value: listed('rfnd_1', 50_000, 'k') });
    expect(checkout.view.voidable_until).toBeNull();
  });
});
