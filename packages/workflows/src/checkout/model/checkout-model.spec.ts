import { formatInstant, isAwaitingPayment, parseInstant, plus, type Instant } from '@tillflow/domain';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Resolution } from '../messages.js';
import type { ChargeFacts, RefundFacts } from '../activities.js';
import type { Outcome } from '../../shared/outcome.js';
import { CheckoutModel } from './checkout-model.js';
import { restore, toSnapshot } from './snapshot.js';
import { DEFAULT_POLICY, type CheckoutPolicy } from '../policy.js';
import type { ModelState } from './state.js';
import { intent } from '../../testing/simulated-provider.js';

const NOW = parseInstant('2026-03-10T09:00:00Z');
const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const pending: ChargeFacts = {
  chargeId: 'chrg_1',
  sourceId: 'src_1',
  status: 'pending',
  amount: 150_000,
  currency: 'THB',
  checkoutId: 'chk_default_a',
  attempt: '1',
  isOtherMode: false,
  failureCode: null,
  failureMessage: null,
  paidAt: null,
  qr: { downloadUri: 'https://provider.test/qr.svg', rawData: 'qr' },
  refundedAmount: 0,
  refunds: [],
  canVoid: false,
};
const successful: ChargeFacts = { ...pending, status: 'successful', paidAt: '2026-03-10T09:01:00.000Z', canVoid: true };
const expired: ChargeFacts = { ...pending, status: 'expired' };
const failed: ChargeFacts = { ...pending, status: 'failed', failureCode: 'payment_rejected', failureMessage: 'No.' };

const unknown: Outcome<never> = { kind: 'unknown', code: 'timeout', message: 'no answer' };
const refused: Outcome<never> = { kind: 'rejected', code: 'failed_refund', message: 'no', retryable: false };

function openBook(policy: Partial<CheckoutPolicy> = {}): CheckoutModel {
  const model = CheckoutModel.open(intent, { ...DEFAULT_POLICY, ...policy }, NOW);
  model.applySource(NOW, { kind: 'done', value: { sourceId: 'src_1' } });
  return model;
}

function payableBook(policy: Partial<CheckoutPolicy> = {}): CheckoutModel {
  const model = openBook(policy);
  model.applyCharge(NOW, { kind: 'done', value: pending }, NOW);
  model.wasPublished();
  return model;
}

function paidBook(paidAt = '2026-03-10T09:01:00.000Z'): CheckoutModel {
  const model = payableBook();
  see(model, parseInstant(paidAt), { ...successful, paidAt });
  model.wasPublished();
  return model;
}

const see = (model: CheckoutModel, now: Instant, facts: ChargeFacts): void =>
  model.applyRetrieve(now, now, 'chrg_1', { seen: facts });

const stepAt = (model: CheckoutModel, now: Instant) => {
  model.advanceTo(now);
  return model.nextStep(now);
};

const given = (refunds: readonly RefundFacts[], more: Partial<ChargeFacts> = {}): ChargeFacts => ({
  ...successful,
  refunds,
  refundedAmount: refunds.reduce((sum, { amount }) => sum + amount, 0),
  ...more,
});

describe('an open checkout', () => {
  it('shows the QR while the customer can pay, and not a millisecond longer', () => {
    const model = payableBook();
    expect(model.projection(NOW)).toMatchObject({ status: 'awaiting_payment', qr: { raw_data: 'qr' } });
    expect(model.projection(plus(NOW, 899_999)).qr).not.toBeNull();
    expect(model.projection(plus(NOW, 900_000)).qr).toBeNull();
  });

  it.each([
    ['a cancel', (model: CheckoutModel) => model.requestCancel(NOW)],
    ['another attempt', (model: CheckoutModel) => model.requestAttempt(NOW, { after: 1 })],
  ])('shows no QR once %s was asked for, and asks the provider to let the charge go', (_, ask) => {
    const model = payableBook();
    ask(model);
    expect(model.projection(NOW)).toMatchObject({ status: 'awaiting_payment', qr: null });
    expect(stepAt(model, NOW)).toEqual({ do: 'expireCharge', chargeId: 'chrg_1' });
  });

  it('waits for a webhook, looks anyway, and expires at its time, with one timer at a time', () => {
    const model = payableBook();
    expect(stepAt(model, NOW)).toMatchObject({ do: 'wait', until: plus(NOW, 24 * SECOND) });
    expect(stepAt(model, plus(NOW, 24 * SECOND))).toEqual({ do: 'retrieveCharge', chargeId: 'chrg_1' });
    see(model, plus(NOW, 24 * SECOND), pending);
    expect(stepAt(model, plus(NOW, 24 * SECOND))).toMatchObject({ do: 'wait', until: plus(NOW, 49 * SECOND) });
    expect(stepAt(model, plus(NOW, 15 * MINUTE))).toMatchObject({ do: 'expireCharge' });
  });

  it('is looked at again 1 s and 5 s after a hint that found nothing', () => {
    const model = payableBook();
    const looks: number[] = [];
    model.hint(NOW, { eventId: 'e', eventKey: 'charge.complete', chargeId: 'chrg_1' });
    for (let now = NOW; now < NOW + 20 * SECOND; now = plus(now, 100)) {
      if (stepAt(model, now).do !== 'retrieveCharge') continue;
      looks.push(now - NOW);
      see(model, now, pending);
    }
    expect(looks).toEqual([0, 1_000, 5_000]);
  });

  it('asks the provider once a second at most, however many hints come', () => {
    const model = payableBook();
    let looks = 0;
    for (let now = NOW; now < NOW + 10 * SECOND; now = plus(now, 10)) {
      model.hint(now, { eventId: 'e', eventKey: 'charge.complete', chargeId: 'chrg_1' });
      if (stepAt(model, now).do !== 'retrieveCharge') continue;
      looks += 1;
      see(model, now, pending);
    }
    expect(looks).toBe(10);
  });

  it('lets the customer pay for as long as was asked for, however late the first task came', () => {
    const late = CheckoutModel.open(intent, DEFAULT_POLICY, plus(NOW, 600_000));
    expect(late.expiresAt).toBe(plus(NOW, 900_000));
    const clockBehind = CheckoutModel.open(intent, DEFAULT_POLICY, plus(NOW, -5_000));
    expect(clockBehind.expiresAt).toBe(plus(NOW, 895_000));
  });

  it('takes a failure by time as an expiry, and keeps an end when a cancel comes after it', () => {
    const byTime = payableBook();
    see(byTime, NOW, { ...failed, failureCode: 'payment_expired' });
    expect(byTime.status).toBe('expired');
    const model = payableBook();
    see(model, NOW, failed);
    model.requestCancel(NOW);
    expect(model.status).toBe('failed');
  });

  it('stays open for late news, then closes', () => {
    const model = payableBook();
    see(model, NOW, failed);
    expect(stepAt(model, NOW)).toMatchObject({ do: 'wait', until: plus(NOW, DEFAULT_POLICY.unpaidGraceMs) });
    expect(stepAt(model, plus(NOW, DEFAULT_POLICY.unpaidGraceMs))).toEqual({ do: 'close' });
  });
});

describe('a retrieved charge', () => {
  it.each([
    ['another amount', { amount: 150_001 }],
    ['another currency', { currency: 'MYR' }],
    ['another checkout', { checkoutId: 'chk_default_b' }],
    ['another charge', { chargeId: 'chrg_2' }],
    ['another source', { sourceId: 'src_2' }],
    ['no checkout and another source', { checkoutId: null, sourceId: 'src_2' }],
    ['another attempt', { attempt: '2' }],
    ['the other mode', { isOtherMode: true }],
  ])('of %s is not believed, whatever its status, and a person is told', (_, change) => {
    const model = payableBook();
    see(model, NOW, { ...successful, ...change });
    expect(model.projection(NOW)).toMatchObject({
      status: 'awaiting_payment',
      paid_at: null,
      qr: null,
      attention: { code: 'integrity_mismatch' },
    });
    see(model, NOW, pending);
    expect(model.projection(NOW)).toMatchObject({ attention: null, qr: {} });
  });

  it('of a status that is not known is not guessed at, and one that is settles it', () => {
    const model = payableBook();
    see(model, NOW, { ...pending, status: 'reversed' });
    expect(model.projection(NOW)).toMatchObject({ status: 'awaiting_payment', attention: { code: 'unknown_status' } });
    see(model, NOW, successful);
    expect(model.projection(NOW)).toMatchObject({ status: 'paid', attention: null });
  });

  it.each(['9999-06-01T00:00:00.000Z', '0001-01-01T00:00:00.000Z', '2026-03-12T00:00:00.000Z'])(
    'is not believed to be paid at %s: our own clock is taken',
    (paidAt) => {
      const model = payableBook();
      see(model, plus(NOW, 1_000), { ...successful, paidAt });
      expect(model.projection(NOW)).toMatchObject({ status: 'paid', paid_at: '2026-03-10T09:00:01.000Z' });
    },
  );

  it('makes it paid if and only if it was seen successful, in whatever order and however often news comes', () => {
    const news = fc.constantFrom(pending, successful, expired, failed);
    fc.assert(
      fc.property(fc.array(fc.oneof(news, fc.constant('cancel' as const), fc.constant('report' as const))), (all) => {
        const model = openBook();
        model.applyCharge(NOW, { kind: 'done', value: pending }, NOW);
        for (const one of all) {
          if (one === 'cancel') model.requestCancel(NOW);
          else if (one === 'report') model.wasPublished();
          else see(model, NOW, one);
        }
        expect(model.isPaid).toBe(all.includes(successful));
        expect(model.projection(NOW).paid_at !== null).toBe(all.includes(successful));
      }),
    );
  });
});

describe('a charge whose create has an unknown outcome', () => {
  const inFlightUntil = plus(NOW, 20 * SECOND);

  /** Looks whenever one is due and sees nothing, until another step is due. */
  function untilOtherStep(model: CheckoutModel): { looks: number[]; at: number; step: string } {
    const looks: number[] = [];
    for (let now = NOW; ; now = plus(now, 100)) {
      const step = stepAt(model, now);
      if (step.do === 'findCharges') {
        looks.push(now - NOW);
        model.applySearch(now, now, step.why, { seen: [] });
      } else if (step.do !== 'wait') return { looks, at: now - NOW, step: step.do };
    }
  }

  it('is created again only after two looks, the last when nothing can be under way any more', () => {
    const model = openBook();
    model.applyCharge(NOW, unknown, inFlightUntil);
    const { looks, step } = untilOtherStep(model);
    expect(looks).toEqual([1_000, 6_000, 20_000]);
    expect(step).toBe('createCharge');
  });

  it('is searched once more five minutes after the repeat, and a late one is let go', () => {
    const model = openBook();
    model.applyCharge(NOW, unknown, inFlightUntil);
    const { at } = untilOtherStep(model);
    const repeated = plus(NOW, at);
    model.applyCharge(repeated, { kind: 'done', value: { ...pending, chargeId: 'chrg_2' } }, repeated);
    const later = plus(repeated, 5 * MINUTE);
    expect(model.nextStep(plus(later, -1)).do).not.toBe('findCharges');
    model.applyRetrieve(later, later, 'chrg_2', { seen: { ...pending, chargeId: 'chrg_2' } });
    expect(stepAt(model, later)).toMatchObject({ do: 'findCharges', why: 'late effect' });
    model.applySearch(later, later, 'late effect', { seen: [pending, { ...pending, chargeId: 'chrg_2' }] });
    expect(stepAt(model, later)).toEqual({ do: 'expireCharge', chargeId: 'chrg_1' });
    expect(model.projection(later)).toMatchObject({ status: 'awaiting_payment', qr: {} });
  });

  it('is taken as refused only by a look, and not at all after a doubt', () => {
    const model = openBook();
    model.applyCharge(NOW, refused, inFlightUntil);
    expect(stepAt(model, NOW)).toMatchObject({ do: 'findCharges' });
    model.applySearch(NOW, NOW, 'unknown', { seen: [] });
    expect(model.projection(NOW)).toMatchObject({ status: 'failed', attempts: [{ failure_code: 'failed_refund' }] });

    const doubtful = openBook();
    doubtful.applyCharge(NOW, unknown, inFlightUntil);
    const { at } = untilOtherStep(doubtful);
    doubtful.applyCharge(plus(NOW, at), refused, plus(NOW, at + 20 * SECOND));
    doubtful.applySearch(plus(NOW, at), plus(NOW, at), 'unknown', { seen: [] });
    expect(doubtful.status).toBe('creating');
  });

  it('is shown to operators after a minute, and no longer once it was found', () => {
    const model = openBook();
    model.applyCharge(NOW, unknown, inFlightUntil);
    const later = plus(NOW, MINUTE);
    model.advanceTo(plus(later, -1));
    expect(model.projection(later).attention).toBeNull();
    model.advanceTo(later);
    expect(model.projection(later)).toMatchObject({ status: 'creating', attention: { code: 'outcome_unknown' } });
    model.applySearch(later, later, 'unknown', { seen: [pending] });
    model.advanceTo(later);
    expect(model.projection(later)).toMatchObject({ status: 'awaiting_payment', attention: null });
  });
});

describe('a payment', () => {
  it('has the time that the provider names, and both windows', () => {
    expect(paidBook().projection(NOW)).toMatchObject({
      status: 'paid',
      paid_at: '2026-03-10T09:01:00.000Z',
      voidable_until: '2026-03-10T16:15:00.000Z',
      refundable_until: '2027-03-10T09:01:00.000Z',
      attention: null,
    });
  });

  it('after the end was reported goes back, or is acceptedCharge and shown, as it is set; before, it simply counts', () => {
    for (const latePayment of ['return', 'keep'] as const) {
      const told = payableBook({ latePayment });
      see(told, NOW, expired);
      told.wasPublished();
      see(told, NOW, successful);
      told.advanceTo(NOW);
      expect(told.projection(NOW)).toMatchObject({
        status: latePayment === 'return' ? 'expired' : 'paid',
        attention: { code: 'late_payment' },
      });
      expect(told.refunds.map(({ key }) => key)).toEqual(latePayment === 'return' ? ['auto:chrg_1'] : []);
    }
    const untold = payableBook();
    see(untold, NOW, expired);
    see(untold, NOW, successful);
    expect(untold.projection(NOW)).toMatchObject({ status: 'paid', attention: null });
  });

  it.each([
    ['2026-03-10T09:01:00.000Z', '2026-03-10T16:15:00.000Z', '2027-03-10T09:01:00.000Z'],
    ['2026-03-10T16:14:59.999Z', '2026-03-10T16:15:00.000Z', '2027-03-10T16:14:59.999Z'],
    ['2024-02-29T10:00:00.000Z', '2024-02-29T16:15:00.000Z', '2025-02-28T10:00:00.000Z'],
    ['2026-12-31T12:00:00.000Z', '2026-12-31T16:15:00.000Z', '2027-12-31T12:00:00.000Z'],
  ])('of %s is watched until %s and until %s, to the millisecond', (paidAt, void_, refund_) => {
    const at = parseInstant(paidAt);
    const own = { ...intent, created_at: formatInstant(plus(at, -MINUTE)) };
    const model = CheckoutModel.open(own, DEFAULT_POLICY, plus(at, -MINUTE));
    model.applySource(at, { kind: 'done', value: { sourceId: 'src_1' } });
    model.applyCharge(at, { kind: 'done', value: { ...successful, paidAt } }, at);
    const cutOff = parseInstant(void_);
    const end = parseInstant(refund_);
    expect(stepAt(model, at)).toMatchObject({ do: 'wait', until: cutOff });
    expect(model.projection(plus(cutOff, -1)).voidable_until).toBe(void_);
    expect(model.projection(cutOff).voidable_until).toBeNull();
    expect(stepAt(model, cutOff)).toMatchObject({ do: 'wait', until: plus(end, 1) });
    expect(model.refuseRefund(end, { key: 'k', amount: null, reason: null })).toBeNull();
    expect(model.refuseRefund(plus(end, 1), { key: 'k', amount: null, reason: null })?.code).toBe(
      'refund_window_closed',
    );
    expect(model.projection(end).refundable_until).toBe(refund_);
    expect(stepAt(model, plus(end, 1))).toEqual({ do: 'retrieveCharge', chargeId: 'chrg_1' });
    model.applyRetrieve(plus(end, 1), plus(end, 1), 'chrg_1', { seen: { ...successful, paidAt } });
    expect(stepAt(model, plus(end, 1))).toEqual({ do: 'close' });
    expect(model.projection(plus(end, 1)).refundable_until).toBeNull();
  });

  it.each([
    // 18:00 UTC is the next day in Bangkok; 11:00 UTC the next day on the far side of the date line, the day itself on the near.
    ['2026-03-10T18:00:00.000Z', 420, '2026-03-11T16:15:00.000Z'],
    ['2024-02-28T17:00:00.000Z', 420, '2024-02-29T16:15:00.000Z'],
    ['2026-12-31T11:00:00.000Z', 840, '2027-01-01T16:15:00.000Z'],
    ['2026-03-10T11:00:00.000Z', -720, null],
  ])('of %s, with dates taken %i minutes east of UTC, is watched until %s', (paidAt, voidDateOffsetMinutes, until) => {
    const at = parseInstant(paidAt);
    const own = { ...intent, created_at: paidAt };
    const model = CheckoutModel.open(own, { ...DEFAULT_POLICY, voidDateOffsetMinutes }, at);
    model.applySource(at, { kind: 'done', value: { sourceId: 'src_1' } });
    model.applyCharge(at, { kind: 'done', value: { ...successful, paidAt } }, at);
    expect(model.projection(at).voidable_until).toBe(until);
    const end = until === null ? null : parseInstant(until);
    if (end !== null) expect(model.projection(plus(end, -1)).voidable_until).toBe(until);
    if (end !== null) expect(model.projection(end).voidable_until).toBeNull();
    expect(stepAt(model, at)).toMatchObject({ do: 'wait', ...(end === null ? {} : { until: end }) });
  });

  it.each(['2026-03-10T16:15:00.000Z', '2026-03-10T23:59:59.999Z'])('of %s never could be voided', (paidAt) => {
    const model = CheckoutModel.open({ ...intent, created_at: paidAt }, DEFAULT_POLICY, parseInstant(paidAt));
    model.applySource(NOW, { kind: 'done', value: { sourceId: 'src_1' } });
    model.applyCharge(parseInstant(paidAt), { kind: 'done', value: { ...successful, paidAt } }, NOW);
    expect(model.projection(parseInstant(paidAt))).toMatchObject({ status: 'paid', voidable_until: null });
  });

  it('that came by another charge of the attempt is believed at later looks too, and goes back when asked for', () => {
    const model = payableBook();
    const other: ChargeFacts = { ...successful, chargeId: 'chrg_0', sourceId: 'src_0' };
    model.hint(NOW, { eventId: 'e', eventKey: 'charge.complete', chargeId: 'chrg_0' });
    model.applyRetrieve(NOW, NOW, 'chrg_0', { seen: other });
    see(model, NOW, expired);
    model.wasPublished();
    model.requestRefund(NOW, { key: 'k', amount: 50_000, reason: null });
    expect(stepAt(model, NOW)).toEqual({ do: 'retrieveCharge', chargeId: 'chrg_0' });
    model.applyRetrieve(NOW, NOW, 'chrg_0', { seen: other });
    expect(stepAt(model, NOW)).toMatchObject({ do: 'createRefund', chargeId: 'chrg_0', amount: 50_000 });
    expect(model.projection(NOW)).toMatchObject({ status: 'paid', attention: null });
    expect(model.projection(NOW).attempts).toMatchObject([{ charge_id: 'chrg_0', source_id: 'src_0' }]);
  });

  it('that is told again costs nothing', () => {
    const model = paidBook();
    const before = model.timeline.length;
    model.hint(NOW, { eventId: 'e', eventKey: 'charge.complete', chargeId: 'chrg_1' });
    expect(stepAt(model, NOW).do).toBe('wait');
    expect(model.timeline).toHaveLength(before);
  });
});

describe('a refund', () => {
  const at = parseInstant('2026-03-10T10:00:00Z');
  const ask = (model: CheckoutModel, amount: number | null, key = 'k'): void =>
    model.requestRefund(at, { key, amount, reason: null });
  const inFlightUntil = plus(at, 20 * SECOND);

  it('follows a fresh look at the charge: a void where all of it is untouched and the provider allows it', () => {
    const model = paidBook();
    ask(model, null);
    expect(stepAt(model, at)).toEqual({ do: 'retrieveCharge', chargeId: 'chrg_1' });
    see(model, at, successful);
    expect(stepAt(model, at)).toMatchObject({ do: 'createRefund', amount: 150_000, asVoid: true });
  });

  it.each([
    ['a part', 50_000, {}],
    ['what the provider does not void any more', null, { canVoid: false }],
  ])('of %s is a refund', (_, amount, more) => {
    const model = paidBook();
    ask(model, amount);
    stepAt(model, at);
    see(model, at, { ...successful, ...more });
    expect(stepAt(model, at)).toMatchObject({ do: 'createRefund', asVoid: false });
  });

  function sent(amount: number | null = 50_000): CheckoutModel {
    const model = paidBook();
    ask(model, amount);
    stepAt(model, at);
    see(model, at, successful);
    stepAt(model, at);
    return model;
  }

  it('of unknown outcome is never made again before two looks showed none and nothing can be under way', () => {
    const model = sent();
    model.applyRefund(at, 'k', unknown, inFlightUntil);
    let looks = 0;
    for (let now = at; now < inFlightUntil; now = plus(now, 100)) {
      const step = stepAt(model, now);
      expect(step.do).not.toBe('createRefund');
      if (step.do !== 'retrieveCharge') continue;
      looks += 1;
      see(model, now, successful);
    }
    expect(looks).toBeGreaterThanOrEqual(2);
    expect(model.refund('k')).toMatchObject({ status: 'pending' });
    for (let now = inFlightUntil; stepAt(model, now).do !== 'createRefund'; now = plus(now, 100))
      see(model, now, successful);
  });

  it('of unknown outcome is found by its key', () => {
    const model = sent();
    model.applyRefund(at, 'k', unknown, inFlightUntil);
    see(model, at, given([{ refundId: 'rfnd_1', amount: 50_000, isVoid: false, key: 'k' }]));
    expect(model.refund('k')).toMatchObject({ status: 'succeeded', id: 'rfnd_1' });
    expect(model.projection(at)).toMatchObject({ status: 'partially_refunded', refunded_amount: 50_000 });
  });

  it.each(['answered', 'found'] as const)('that is %s in another currency is not believed, and not repeated', (how) => {
    const model = sent();
    const other = { refundId: 'rfnd_1', amount: 50_000, otherCurrency: 'MYR', isVoid: false, key: 'k' };
    if (how === 'answered') model.applyRefund(at, 'k', { kind: 'done', value: other }, inFlightUntil);
    else model.applyRefund(at, 'k', unknown, inFlightUntil);
    for (let now = at; now < at + 2 * HOUR; now = plus(now, SECOND)) {
      const step = stepAt(model, now);
      expect(step.do).not.toBe('createRefund');
      if (step.do === 'retrieveCharge') see(model, now, given([other]));
    }
    const state = model.projection(plus(at, 2 * HOUR));
    expect(state.attention).toMatchObject({ code: 'integrity_mismatch', detail: 'refund rfnd_1 is in MYR, not THB' });
    expect(model.refund('k')).toMatchObject({ status: 'pending', id: null });
  });

  it('is not repeated while more was given back than is listed: a person is told, and may say which it is', () => {
    const model = sent();
    model.applyRefund(at, 'k', unknown, inFlightUntil);
    for (let now = at; now < at + 2 * HOUR; now = plus(now, SECOND)) {
      const step = stepAt(model, now);
      expect(step.do).not.toBe('createRefund');
      if (step.do === 'retrieveCharge') see(model, now, given([], { refundedAmount: 50_000 }));
    }
    const later = plus(at, 2 * HOUR);
    expect(model.projection(later)).toMatchObject({ refunded_amount: 50_000, attention: { code: 'refund_unmatched' } });
    model.resolve(later, { action: 'adopt', id: 'rfnd_9', reason: 'seen in the dashboard' });
    expect(stepAt(model, later).do).toBe('retrieveCharge');
    see(model, later, given([{ refundId: 'rfnd_9', amount: 50_000, isVoid: false, key: null }]));
    model.advanceTo(later);
    expect(model.refund('k')).toMatchObject({ status: 'succeeded', id: 'rfnd_9' });
    expect(model.projection(later).attention).toBeNull();
  });

  it('that may be ours is named, no look decides whose it is, and it is taken in once ours is given up', () => {
    const model = sent();
    model.applyRefund(at, 'k', unknown, inFlightUntil);
    const theirs = given([{ refundId: 'rfnd_9', amount: 50_000, isVoid: false, key: null }]);
    see(model, at, theirs);
    model.resolve(at, { action: 'look', reason: 'it is not ours' });
    see(model, at, theirs);
    const { attention } = model.projection(at);
    expect(attention).toMatchObject({ code: 'refund_unmatched', detail: expect.stringContaining('rfnd_9') });
    expect(attention?.detail).not.toContain('THB 0.00 are listed');
    model.resolve(at, { action: 'abandon', reason: 'ours was never made' });
    model.resolve(at, { action: 'look', reason: 'take theirs in' });
    see(model, at, theirs);
    model.advanceTo(at);
    expect(model.projection(at)).toMatchObject({ refunded_amount: 50_000, attention: null });
    expect(model.refund('k')).toMatchObject({ status: 'rejected', failure_code: 'abandoned' });
    expect(model.refund('rfnd_9')).toMatchObject({ status: 'succeeded', reason: 'made elsewhere' });
    expect(model.refuseRefund(at, { key: 'new', amount: 50_000, reason: null })).toBeNull();
  });

  it('that the provider refuses as a void becomes a refund only after that refusal was confirmed by a look', () => {
    const model = sent(null);
    model.applyRefund(at, 'k', refused, inFlightUntil);
    expect(stepAt(model, at).do).toBe('retrieveCharge');
    see(model, at, successful);
    expect(stepAt(model, at).do).toBe('retrieveCharge');
    see(model, at, successful);
    expect(stepAt(model, at)).toMatchObject({ do: 'createRefund', asVoid: false });

    const doubtful = sent(null);
    doubtful.applyRefund(at, 'k', unknown, inFlightUntil);
    see(doubtful, at, successful);
    see(doubtful, plus(at, SECOND), successful);
    expect(stepAt(doubtful, plus(at, SECOND)).do).not.toBe('createRefund');
  });

  it('that is refused while nobody waits for the answer leaves a trace', () => {
    const model = payableBook();
    model.requestRefundBySignal(at, { key: 'k', amount: 1, reason: null });
    expect(model.refunds).toEqual([]);
    expect(model.timeline.at(-1)).toMatchObject({ what: 'refund_refused', detail: 'k: not_paid' });
  });

  it('that was made twice is never hidden', () => {
    const model = sent();
    const [one, two] = ['rfnd_1', 'rfnd_2'].map((refundId) => ({ refundId, amount: 50_000, isVoid: false, key: 'k' }));
    if (one === undefined || two === undefined) throw new Error('two');
    model.applyRefund(at, 'k', { kind: 'done', value: one }, inFlightUntil);
    see(model, at, given([one, two]));
    expect(model.projection(at)).toMatchObject({ refunded_amount: 100_000, attention: { code: 'refund_doubled' } });
  });
});

describe('a book', () => {
  it('goes on from its state, packed or not, exactly where it was', () => {
    const model = paidBook();
    model.requestRefund(NOW, { key: 'k', amount: 1, reason: null });
    const state = JSON.parse(JSON.stringify(model.state)) as ModelState;
    const resumed = CheckoutModel.resume(intent, DEFAULT_POLICY, state);
    expect(resumed.result(NOW)).toEqual(model.result(NOW));
    expect(restore(toSnapshot(state), state.timeline)).toEqual(state);
  });

  it('keeps its timeline short whatever is sent to it, the first and the last entries first of all', () => {
    const model = openBook();
    for (let count = 0; count < 1_000; count += 1) model.note(NOW, 'webhook', String(count));
    expect(model.timeline).toHaveLength(60);
    expect(model.timeline[0]?.what).toBe('opened');
    expect(model.timeline.at(-1)?.detail).toBe('999');
  });

  it('ends an attempt that an operator abandons, and takes in what shows up later all the same', () => {
    const model = openBook();
    model.applyCharge(NOW, unknown, plus(NOW, 20 * SECOND));
    model.resolve(NOW, { action: 'abandon', reason: 'the provider confirmed by phone' });
    model.advanceTo(NOW);
    expect(isAwaitingPayment(model.status)).toBe(false);
    model.wasPublished();
    const later = plus(NOW, 5 * MINUTE);
    expect(stepAt(model, later)).toMatchObject({ do: 'findCharges', why: 'late effect' });
    model.applySearch(later, later, 'late effect', { seen: [successful] });
    model.advanceTo(later);
    expect(model.refunds).toMatchObject([{ key: 'auto:chrg_1', status: 'pending' }]);
  });

  it.each([
    ['no reason', { action: 'look', reason: ' ' }],
    ['nothing to abandon', { action: 'abandon', reason: 'because' }],
    ['something that is no charge and no refund', { action: 'adopt', id: 'src_1', reason: 'because' }],
  ] as const)('refuses a resolution with %s', (_, resolution) => {
    expect(paidBook().refuseResolution(resolution)?.code).toBe('invalid_resolution');
  });

  it('refuses a resolution that there is not: nobody can declare a checkout paid, nor make the timeline say so', () => {
    const sent: unknown = JSON.parse('{ "action": "paid", "reason": "seen by eye" }');
    expect(openBook().refuseResolution(sent as Resolution)?.code).toBe('invalid_resolution');
  });
});
