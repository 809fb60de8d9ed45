import { parseInstant, plus, refundableUntil, type Instant } from '@tillflow/domain';
import { describe, expect, it } from 'vitest';
import {
  chargeFacts,
  entriesOf,
  hint,
  nextAttemptModel,
  paidCharge,
  payableModel,
  retrieve,
  secondAttemptModel,
  secondCharge,
  sourcedModel,
  stepAt,
} from '../../../testing/sample-model.js';
import { DAY, intent, SECOND, START } from '../../../testing/simulated-provider.js';
import { DEFAULT_POLICY } from '../../policy.js';
import type { CheckoutModel } from '../checkout-model.js';
import { partsOf } from '../parts.js';

const after = (ms: number) => plus(START, ms);
const silent = { unseen: 'no answer', code: 'timeout' };
const failed = { status: 'failed', failureCode: 'payment_rejected', failureMessage: 'No.' };

/** The first attempt shows `chrg_1`, and `chrg_3` is one more charge of it. */
function twoChargeModel(): CheckoutModel {
  const model = payableModel();
  hint(model, START, 'chrg_3');
  retrieve(model, START, chargeFacts({ chargeId: 'chrg_3' }));
  return model;
}

describe('a hint about a charge', () => {
  const noted = (model: CheckoutModel): boolean => entriesOf(model).at(-1) === 'webhook: charge.complete evnt_1';

  it.each<[string, string | null, readonly string[], boolean]>([
    ['is ignored when it names a charge that is known to be paid', 'chrg_1', ['chrg_1'], false],
    ['counts when it names another charge than the paid one', 'chrg_3', ['chrg_1'], true],
    ['counts when it names none while one is not paid', null, ['chrg_1'], true],
    ['is ignored when it names none and all are paid', null, ['chrg_1', 'chrg_3'], false],
    ['counts when it names a charge that the checkout does not have', 'chrg_9', ['chrg_1', 'chrg_3'], true],
  ])('a hint about a charge %s', (_, named, paid, isNoted) => {
    const model = twoChargeModel();
    for (const chargeId of paid) retrieve(model, START, paidCharge({ chargeId }));
    hint(model, START, named, 'charge.complete');
    expect(noted(model)).toBe(isNoted);
  });

  it.each([
    ['every charge when it names none', null, ['chrg_1', 'chrg_3']],
    ['only the charge that it names', 'chrg_3', ['chrg_3']],
  ])('a hint about a charge causes a retrieve of %s', (_, named, due) => {
    const model = twoChargeModel();
    hint(model, after(SECOND), named);
    expect(model.state.charges.all.filter(({ hintedAt }) => hintedAt !== null).map(({ id }) => id)).toEqual(due);
    expect(model.state.unrecognized).toEqual([]);
  });
});

describe('the end of a charge', () => {
  /** @param count how many entries the timeline has before the end. */
  const end = (model: CheckoutModel, facts = chargeFacts({ status: 'expired' })): unknown => {
    const count = model.timeline.length;
    retrieve(model, START, facts);
    return model.timeline.slice(count).map(({ what, detail }) => (detail === undefined ? [what] : [what, detail]));
  };
  const cancelled = (model: CheckoutModel): CheckoutModel => {
    model.requestCancel(START);
    return model;
  };
  const replaced = (model: CheckoutModel): CheckoutModel => {
    model.requestAttempt(START, { after: 1 });
    return model;
  };

  it.each([
    ['an expiry', payableModel(), chargeFacts({ status: 'expired' }), ['expired']],
    ['a failure', payableModel(), chargeFacts(failed), ['failed', 'payment_rejected']],
    ['an expiry after a cancellation', cancelled(payableModel()), chargeFacts({ status: 'expired' }), ['cancelled']],
    [
      'an expiry before the next attempt',
      replaced(payableModel()),
      chargeFacts({ status: 'expired' }),
      ['expired', 'attempt 1'],
    ],
    [
      'a failure before the next attempt',
      replaced(payableModel()),
      chargeFacts(failed),
      ['failed', 'attempt 1: payment_rejected'],
    ],
    ['an expiry of the second attempt', secondAttemptModel(), secondCharge({ status: 'expired' }), ['expired']],
  ])('the end of a charge is in the timeline as what it means for the checkout: %s', (_, model, facts, entry) => {
    expect(end(model, facts)).toEqual([entry]);
  });

  it('the end of a charge of an earlier attempt does not count as the cancellation of the checkout', () => {
    const model = cancelled(secondAttemptModel());
    hint(model, START, 'chrg_3');
    retrieve(model, START, chargeFacts({ chargeId: 'chrg_3' }));
    expect(end(model, chargeFacts({ chargeId: 'chrg_3', status: 'expired' }))).toEqual([['expired', 'attempt 1']]);
    expect(end(model, secondCharge({ status: 'expired' }))).toEqual([['cancelled']]);
  });

  it('the end of a charge after a payment of another does not count as the cancellation of the checkout', () => {
    const model = cancelled(secondAttemptModel());
    retrieve(model, START, paidCharge());
    expect(end(model, secondCharge({ status: 'expired' }))).toEqual([['expired']]);
  });

  it('the end of a charge that its attempt does not show leaves the attempt open', () => {
    const model = twoChargeModel();
    retrieve(model, START, chargeFacts({ chargeId: 'chrg_3', status: 'expired' }));
    expect(model.projection(START).attempts).toMatchObject([{ status: 'pending', failure_code: null }]);
    expect(model.isEnded).toBe(false);
    retrieve(model, START, chargeFacts(failed));
    const failure = { status: 'failed', failure_code: 'payment_rejected', failure_message: 'No.' };
    expect(model.projection(START).attempts).toMatchObject([failure]);
    expect(model.isEnded).toBe(true);
  });
});

describe('a charge that an operator abandons', () => {
  const abandon = (model: CheckoutModel): void =>
    model.resolve(START, { action: 'abandon', reason: 'the provider does not expire it' });

  it('a charge that an operator abandons ends its attempt, and a payment that comes later still counts', () => {
    const model = payableModel();
    model.requestCancel(START);
    model.applyExpire(START, 'chrg_1');
    abandon(model);
    expect(entriesOf(model).at(-1)).toBe('charge_abandoned: chrg_1');
    const [attempt] = model.projection(START).attempts;
    expect(attempt).toMatchObject({ status: 'expired', failure_code: null, failure_message: null });
    expect(model.state.charges.all).toMatchObject([{ status: 'expired', expiringSince: null, nextExpireAt: null }]);
    expect(model.isEnded).toBe(true);
    retrieve(model, START, paidCharge());
    expect(model.isPaid).toBe(true);
  });

  it('a charge that an operator abandons does not change the failure that its attempt shows of another', () => {
    const model = twoChargeModel();
    retrieve(model, START, chargeFacts(failed));
    abandon(model);
    expect(model.projection(START).attempts).toMatchObject([{ status: 'failed', failure_code: 'payment_rejected' }]);
    expect(model.isEnded).toBe(true);
  });

  it('a charge that an operator abandons can still be paid when nothing asks for its end', () => {
    const model = payableModel();
    abandon(model);
    expect(model.status).toBe('awaiting_payment');
  });
});

describe('a retrieve without an answer', () => {
  const miss = (model: CheckoutModel, now: Instant, why = silent): void => model.applyRetrieve(now, now, 'chrg_1', why);

  it('a retrieve without an answer shows no mismatch, and one with another charge does', () => {
    const model = payableModel();
    miss(model, START);
    expect(model.projection(START).attention).toBeNull();
    miss(model, START, { unseen: 'the provider showed chrg_9', code: 'integrity_mismatch' });
    expect(model.projection(START).attention).toMatchObject({
      code: 'integrity_mismatch',
      detail: 'retrieved charge chrg_1: the provider showed chrg_9',
    });
  });

  it('a retrieve without an answer is the last one after six tries, once the refund window is over', () => {
    const model = payableModel();
    retrieve(model, START, paidCharge());
    const end = refundableUntil(parseInstant('2026-03-10T09:01:00.000Z'));
    expect(stepAt(model, end)).toMatchObject({ do: 'wait' });
    let now = plus(end, 1);
    let tries = 0;
    for (let step = stepAt(model, now); step.do !== 'close' && tries < 10; step = stepAt(model, now)) {
      if (step.do === 'wait') now = step.until;
      else {
        tries += 1;
        miss(model, now);
      }
    }
    expect(tries).toBe(6);
    expect(entriesOf(model).filter((entry) => entry.startsWith('charge_not_shown'))).toEqual([
      'charge_not_shown: chrg_1: timeout',
    ]);
  });
});

describe('a charge', () => {
  it('a charge that does not match stays shown to operators until a new charge matches', () => {
    const model = sourcedModel();
    model.applyCharge(START, { kind: 'done', value: chargeFacts({ amount: 1 }) }, START);
    expect(model.projection(START).attention?.code).toBe('integrity_mismatch');
    model.applySearch(START, START, 'unknown', { seen: [chargeFacts()] });
    expect(model.projection(START).attention).toBeNull();
    model.applySearch(START, START, 'late effect', { seen: [chargeFacts({ chargeId: 'chrg_9', amount: 1 })] });
    retrieve(model, START, chargeFacts());
    expect(model.projection(START).attention?.detail).toBe('charge chrg_9 has the amount 1, not 150000');
  });

  it('a charge of another checkout is not taken in, and is in the timeline', () => {
    const model = payableModel();
    hint(model, START, 'chrg_9');
    retrieve(model, START, chargeFacts({ chargeId: 'chrg_9', checkoutId: 'chk_default_b' }));
    expect(entriesOf(model).at(-1)).toBe('charge_not_ours: chrg_9');
    expect(model.projection(START).attention).toBeNull();
  });

  it('a charge of unknown status is shown to operators with its status', () => {
    const model = payableModel();
    retrieve(model, START, chargeFacts({ status: 'reversed' }));
    expect(model.projection(START).attention?.detail).toBe('charge chrg_1 is reversed');
  });

  it('a charge that the checkout does not have changes nothing when an answer is about it', () => {
    const { charges } = partsOf(intent, DEFAULT_POLICY, payableModel().state);
    const before = JSON.stringify(charges.all);
    charges.applyExpire(START, 'chrg_9');
    charges.sawRefunded('chrg_9', 100);
    charges.checkForLateRefund(START, 'chrg_9');
    expect(JSON.stringify(charges.all)).toBe(before);
  });
});

describe('a new charge', () => {
  it('a new charge is in the timeline with its attempt, from the second one on', () => {
    expect(entriesOf(payableModel()).at(-1)).toBe('charge_created: chrg_1');
    expect(entriesOf(secondAttemptModel()).at(-1)).toBe('charge_created: chrg_2, attempt 2');
  });

  it('a new charge of an earlier attempt does not end the creation for the present one', () => {
    const model = nextAttemptModel();
    hint(model, START, 'chrg_3');
    retrieve(model, START, chargeFacts({ chargeId: 'chrg_3', status: 'expired' }));
    expect(stepAt(model, START)).toEqual({ do: 'createSource' });
  });

  it('a new charge shows its QR only if its attempt shows the charge', () => {
    const model = sourcedModel();
    model.applyCharge(START, { kind: 'done', value: chargeFacts({ qr: null }) }, START);
    hint(model, START, 'chrg_3');
    const qr = { downloadUri: 'https://provider.test/3.svg', rawData: 'qr 3' };
    retrieve(model, START, chargeFacts({ chargeId: 'chrg_3', qr }));
    expect(model.projection(START).qr).toBeNull();
    retrieve(model, START, chargeFacts());
    expect(model.projection(START).qr).toMatchObject({ raw_data: 'qr 1' });
  });
});

describe('a payment', () => {
  it('a payment after the checkout was published as ended is late, and operators see as what', () => {
    const model = payableModel();
    retrieve(model, START, chargeFacts({ status: 'expired' }));
    model.wasPublished();
    retrieve(model, START, paidCharge());
    expect(entriesOf(model).slice(-2)).toEqual([
      'paid: chrg_1',
      'attention: late_payment: paid after the checkout was published as expired',
    ]);
  });

  it('a payment is not late while the next attempt is requested, whatever was published before', () => {
    const model = payableModel();
    retrieve(model, START, chargeFacts(failed));
    model.wasPublished();
    model.requestAttempt(START, { after: 1 });
    retrieve(model, START, paidCharge());
    expect(model.projection(START)).toMatchObject({ status: 'paid', attention: null });
  });

  it.each([
    ['that shows no time has the present time', null, START],
    ['that shows a time one day before its attempt has that time', after(-DAY), after(-DAY)],
    ['that shows an earlier time has the present time', after(-DAY - 1), START],
    ['that shows a time one day from now has that time', after(DAY), after(DAY)],
    ['that shows a later time has the present time', after(DAY + 1), START],
  ])('a payment %s', (_, shown, paidAt) => {
    const model = payableModel();
    retrieve(model, START, paidCharge({ paidAt: shown === null ? null : new Date(shown).toISOString() }));
    expect(model.projection(START).paid_at).toBe(new Date(paidAt).toISOString());
  });

  it('a payment that was refunded in part keeps the highest amount that was seen', () => {
    const { charges } = partsOf(intent, DEFAULT_POLICY, payableModel().state);
    charges.sawRefunded('chrg_1', 500);
    charges.sawRefunded('chrg_1', 300);
    expect(charges.find('chrg_1')?.refunded).toBe(500);
  });

  it('a payment counts also when the charge has the failure code of an expiry', () => {
    const model = payableModel();
    retrieve(model, START, paidCharge({ failureCode: 'payment_expired' }));
    expect(model.status).toBe('paid');
  });
});

describe('the details of a payment', () => {
  const DETAILS = { fees: [100, 7, 149_893], slip: ['4200', null, null, null] } as const;
  const detailsOf = (model: CheckoutModel) => model.projection(START).payment;

  it('are those of the first paid charge, and a later answer only adds what was missing', () => {
    const model = payableModel();
    retrieve(model, START, paidCharge({ payment: DETAILS }));
    expect(detailsOf(model)).toEqual(DETAILS);
    retrieve(model, START, paidCharge({ payment: { fees: [0, 0, 0], payout: '2026-03-11T00:00:00.000Z' } }));
    expect(detailsOf(model)).toEqual({ ...DETAILS, payout: '2026-03-11T00:00:00.000Z' });
    expect(model.isPayoutKnown).toBe(true);
    retrieve(model, START, paidCharge({ payment: { slip: ['other', 'W1', null, 'A1'] } }));
    const slip = ['4200', 'W1', null, 'A1'];
    expect(JSON.stringify(detailsOf(model))).toBe(
      JSON.stringify({ ...DETAILS, slip, payout: '2026-03-11T00:00:00.000Z' }),
    );
  });

  it('are asked for with the transaction that a hint names, until a retrieve has followed', () => {
    const model = payableModel();
    expect(model.paymentWanted('chrg_1')).toEqual({ payment: 'details and payout' });
    model.hint(START, { eventId: 'evnt_1', eventKey: 'charge.complete', chargeId: 'chrg_1', transactionId: 'trxn_1' });
    expect(model.paymentWanted('chrg_1')).toEqual({ payment: 'details and payout', transactionId: 'trxn_1' });
    retrieve(model, START, chargeFacts());
    expect(model.paymentWanted('chrg_1')).toEqual({ payment: 'details and payout' });
    retrieve(model, START, paidCharge({ payment: { payout: '2026-03-11T00:00:00.000Z' } }));
    expect(model.paymentWanted('chrg_1')).toEqual({ payment: 'details' });
  });

  it('are absent until the provider gives any', () => {
    const model = payableModel();
    retrieve(model, START, paidCharge());
    expect(model.projection(START)).not.toHaveProperty('payment');
    expect(model.isPayoutKnown).toBe(false);
  });

  it('of a second payment are not those of the checkout', () => {
    const model = payableModel();
    retrieve(model, START, paidCharge({ payment: DETAILS }));
    retrieve(model, START, paidCharge({ chargeId: 'chrg_other', payment: { fees: [1, 1, 1] } }));
    expect(detailsOf(model)).toEqual(DETAILS);
  });
});
