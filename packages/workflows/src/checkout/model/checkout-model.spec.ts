import { checkoutId, formatInstant, isAwaitingPayment, parseInstant, plus, type Instant } from '@tillflow/domain';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Resolution } from '../../shared/resolution.js';
import type { ChargeFacts, RefundFacts } from '../activities.js';
import type { Outcome } from '../../shared/outcome.js';
import { CheckoutModel } from './checkout-model.js';
import { restore, toSnapshot } from './snapshot.js';
import { DEFAULT_POLICY, type CheckoutPolicy } from '../policy.js';
import type { CheckoutIntent } from '../types.js';
import type { ModelState } from './state.js';
import { pendingCharge as pending } from '../../testing/driven-checkout.js';
import { intent } from '../../testing/simulated-provider.js';

const NOW = parseInstant('2026-03-10T09:00:00Z');
const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const successful: ChargeFacts = { ...pending, status: 'successful', paidAt: '2026-03-10T09:01:00.000Z', canVoid: true };
const expired: ChargeFacts = { ...pending, status: 'expired' };
const failed: ChargeFacts = { ...pending, status: 'failed', failureCode: 'payment_rejected', failureMessage: 'No.' };

const unknown: Outcome<never> = { kind: 'unknown', code: 'timeout', message: 'no answer' };
const refused: Outcome<never> = { kind: 'rejected', code: 'failed_refund', message: 'no', retryable: false };

function newModel(policy: Partial<CheckoutPolicy> = {}): CheckoutModel {
  const model = CheckoutModel.open(intent, { ...DEFAULT_POLICY, ...policy }, NOW);
  model.applySource(NOW, { kind: 'done', value: { sourceId: 'src_1' } });
  return model;
}

function payableModel(policy: Partial<CheckoutPolicy> = {}): CheckoutModel {
  const model = newModel(policy);
  model.applyCharge(NOW, { kind: 'done', value: pending }, NOW);
  model.wasPublished();
  return model;
}

function paidModel(paidAt = '2026-03-10T09:01:00.000Z'): CheckoutModel {
  const model = payableModel();
  retrieve(model, parseInstant(paidAt), { ...successful, paidAt });
  model.wasPublished();
  return model;
}

/** Paid at this time, at once. */
function paidModelOf(own: CheckoutIntent, paidAt: string, policy: Partial<CheckoutPolicy> = {}): CheckoutModel {
  const at = parseInstant(paidAt);
  const model = CheckoutModel.open({ ...own, created_at: paidAt }, { ...DEFAULT_POLICY, ...policy }, at);
  model.applySource(at, { kind: 'done', value: { sourceId: 'src_1' } });
  model.applyCharge(at, { kind: 'done', value: { ...successful, paidAt, checkoutId: own.id } }, at);
  return model;
}

const retrieve = (model: CheckoutModel, now: Instant, facts: ChargeFacts): void =>
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
  it('an open checkout shows the QR until the millisecond in which it expires', () => {
    const model = payableModel();
    expect(model.projection(NOW)).toMatchObject({ status: 'awaiting_payment', qr: { raw_data: 'qr' } });
    expect(model.projection(plus(NOW, 899_999)).qr).not.toBeNull();
    expect(model.projection(plus(NOW, 900_000)).qr).toBeNull();
  });

  it.each([
    ['a cancel', (model: CheckoutModel) => model.requestCancel(NOW)],
    ['another attempt', (model: CheckoutModel) => model.requestAttempt(NOW, { after: 1 })],
  ])('an open checkout shows no QR after a request for %s, and expires the charge', (_, ask) => {
    const model = payableModel();
    ask(model);
    expect(model.projection(NOW)).toMatchObject({ status: 'awaiting_payment', qr: null });
    expect(stepAt(model, NOW)).toEqual({ do: 'expireCharge', chargeId: 'chrg_1' });
  });

  it('an open checkout polls every 25 s and expires its charge in time, with one timer at a time', () => {
    const model = payableModel();
    expect(stepAt(model, NOW)).toMatchObject({ do: 'wait', until: plus(NOW, 24 * SECOND) });
    expect(stepAt(model, plus(NOW, 24 * SECOND))).toEqual({ do: 'retrieveCharge', chargeId: 'chrg_1' });
    retrieve(model, plus(NOW, 24 * SECOND), pending);
    expect(stepAt(model, plus(NOW, 24 * SECOND))).toMatchObject({ do: 'wait', until: plus(NOW, 49 * SECOND) });
    expect(stepAt(model, plus(NOW, 15 * MINUTE))).toMatchObject({ do: 'expireCharge' });
  });

  it('a charge is retrieved again 1 s and 5 s after a hint that showed no change', () => {
    const model = payableModel();
    const retrieves: number[] = [];
    model.hint(NOW, { eventId: 'e', eventKey: 'charge.complete', chargeId: 'chrg_1' });
    for (let now = NOW; now < NOW + 20 * SECOND; now = plus(now, 100)) {
      if (stepAt(model, now).do !== 'retrieveCharge') continue;
      retrieves.push(now - NOW);
      retrieve(model, now, pending);
    }
    expect(retrieves).toEqual([0, 1_000, 5_000]);
  });

  it('a charge is retrieved at most once a second, however many hints arrive', () => {
    const model = payableModel();
    let retrieves = 0;
    for (let now = NOW; now < NOW + 10 * SECOND; now = plus(now, 10)) {
      model.hint(now, { eventId: 'e', eventKey: 'charge.complete', chargeId: 'chrg_1' });
      if (stepAt(model, now).do !== 'retrieveCharge') continue;
      retrieves += 1;
      retrieve(model, now, pending);
    }
    expect(retrieves).toBe(10);
  });

  it('the time to pay counts from the request, however late the first workflow task is', () => {
    const late = CheckoutModel.open(intent, DEFAULT_POLICY, plus(NOW, 600_000));
    expect(late.expiresAt).toBe(plus(NOW, 900_000));
    const clockBehind = CheckoutModel.open(intent, DEFAULT_POLICY, plus(NOW, -5_000));
    expect(clockBehind.expiresAt).toBe(plus(NOW, 895_000));
  });

  it('a failure with payment_expired is an expiry, and a later cancel does not change an end', () => {
    const byTime = payableModel();
    retrieve(byTime, NOW, { ...failed, failureCode: 'payment_expired' });
    expect(byTime.status).toBe('expired');
    const model = payableModel();
    retrieve(model, NOW, failed);
    model.requestCancel(NOW);
    expect(model.status).toBe('failed');
  });

  it('an ended checkout stays open for the grace period, then closes', () => {
    const model = payableModel();
    retrieve(model, NOW, failed);
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
  ])('a retrieved charge of %s is not applied and raises integrity_mismatch', (_, change) => {
    const model = payableModel();
    retrieve(model, NOW, { ...successful, ...change });
    expect(model.projection(NOW)).toMatchObject({
      status: 'awaiting_payment',
      paid_at: null,
      qr: null,
      attention: { code: 'integrity_mismatch' },
    });
    retrieve(model, NOW, pending);
    expect(model.projection(NOW)).toMatchObject({ attention: null, qr: {} });
  });

  it('a retrieved charge of an unknown status raises unknown_status until a known status follows', () => {
    const model = payableModel();
    retrieve(model, NOW, { ...pending, status: 'reversed' });
    expect(model.projection(NOW)).toMatchObject({ status: 'awaiting_payment', attention: { code: 'unknown_status' } });
    retrieve(model, NOW, successful);
    expect(model.projection(NOW)).toMatchObject({ status: 'paid', attention: null });
  });

  it.each(['9999-06-01T00:00:00.000Z', '0001-01-01T00:00:00.000Z', '2026-03-12T00:00:00.000Z'])(
    'a payment time of %s is implausible: the workflow takes its own time',
    (paidAt) => {
      const model = payableModel();
      retrieve(model, plus(NOW, 1_000), { ...successful, paidAt });
      expect(model.projection(NOW)).toMatchObject({ status: 'paid', paid_at: '2026-03-10T09:00:01.000Z' });
    },
  );

  it('a checkout is paid if and only if a retrieved charge was successful, in any order and number of retrieves', () => {
    const news = fc.constantFrom(pending, successful, expired, failed);
    fc.assert(
      fc.property(fc.array(fc.oneof(news, fc.constant('cancel' as const), fc.constant('report' as const))), (all) => {
        const model = newModel();
        model.applyCharge(NOW, { kind: 'done', value: pending }, NOW);
        for (const one of all) {
          if (one === 'cancel') model.requestCancel(NOW);
          else if (one === 'report') model.wasPublished();
          else retrieve(model, NOW, one);
        }
        expect(model.isPaid).toBe(all.includes(successful));
        expect(model.projection(NOW).paid_at !== null).toBe(all.includes(successful));
      }),
    );
  });
});

describe('a charge whose create has an unknown outcome', () => {
  const inFlightUntil = plus(NOW, 20 * SECOND);

  /** Answers every due search with no charge, until another step is due. */
  function untilOtherStep(model: CheckoutModel): { searches: number[]; at: number; step: string } {
    const searches: number[] = [];
    for (let now = NOW; ; now = plus(now, 100)) {
      const step = stepAt(model, now);
      if (step.do === 'findCharges') {
        searches.push(now - NOW);
        model.applySearch(now, now, step.why, { seen: [] });
      } else if (step.do !== 'wait') return { searches, at: now - NOW, step: step.do };
    }
  }

  it('a create of unknown outcome is repeated only after two searches, the last when nothing can be in flight', () => {
    const model = newModel();
    model.applyCharge(NOW, unknown, inFlightUntil);
    const { searches, step } = untilOtherStep(model);
    expect(searches).toEqual([1_000, 6_000, 20_000]);
    expect(step).toBe('createCharge');
  });

  it('a repeated create is followed by a late-effect check after five minutes, and a late charge is expired', () => {
    const model = newModel();
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

  it('a refused create is confirmed by a search, and is not believed after an unknown outcome', () => {
    const model = newModel();
    model.applyCharge(NOW, refused, inFlightUntil);
    expect(stepAt(model, NOW)).toMatchObject({ do: 'findCharges' });
    model.applySearch(NOW, NOW, 'unknown', { seen: [] });
    expect(model.projection(NOW)).toMatchObject({ status: 'failed', attempts: [{ failure_code: 'failed_refund' }] });

    const unknownBefore = newModel();
    unknownBefore.applyCharge(NOW, unknown, inFlightUntil);
    const { at } = untilOtherStep(unknownBefore);
    unknownBefore.applyCharge(plus(NOW, at), refused, plus(NOW, at + 20 * SECOND));
    unknownBefore.applySearch(plus(NOW, at), plus(NOW, at), 'unknown', { seen: [] });
    expect(unknownBefore.status).toBe('creating');
  });

  it('a create of unknown outcome raises outcome_unknown after a minute, until its charge is found', () => {
    const model = newModel();
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
  it('a payment has the time that the provider names and both windows', () => {
    expect(paidModel().projection(NOW)).toMatchObject({
      status: 'paid',
      paid_at: '2026-03-10T09:01:00.000Z',
      voidable_until: '2026-03-10T16:15:00.000Z',
      refundable_until: '2027-03-10T09:01:00.000Z',
      attention: null,
    });
  });

  it('a payment after a published end is refunded or kept, as the policy says; before a published end it makes the checkout paid', () => {
    for (const latePayment of ['return', 'keep'] as const) {
      const published = payableModel({ latePayment });
      retrieve(published, NOW, expired);
      published.wasPublished();
      retrieve(published, NOW, successful);
      published.advanceTo(NOW);
      expect(published.projection(NOW)).toMatchObject({
        status: latePayment === 'return' ? 'expired' : 'paid',
        attention: { code: 'late_payment' },
      });
      expect(published.refunds.map(({ key }) => key)).toEqual(latePayment === 'return' ? ['auto:chrg_1'] : []);
    }
    const unpublished = payableModel();
    retrieve(unpublished, NOW, expired);
    retrieve(unpublished, NOW, successful);
    expect(unpublished.projection(NOW)).toMatchObject({ status: 'paid', attention: null });
  });

  it.each([
    ['2026-03-10T09:01:00.000Z', '2026-03-10T16:15:00.000Z', '2027-03-10T09:01:00.000Z'],
    ['2026-03-10T16:14:59.999Z', '2026-03-10T16:15:00.000Z', '2027-03-10T16:14:59.999Z'],
    ['2024-02-29T10:00:00.000Z', '2024-02-29T16:15:00.000Z', '2025-02-28T10:00:00.000Z'],
    ['2026-12-31T12:00:00.000Z', '2026-12-31T16:15:00.000Z', '2027-12-31T12:00:00.000Z'],
  ])('a payment at %s can be voided until %s and refunded until %s, to the millisecond', (paidAt, void_, refund_) => {
    const at = parseInstant(paidAt);
    const own = { ...intent, created_at: formatInstant(plus(at, -MINUTE)) };
    const model = CheckoutModel.open(own, DEFAULT_POLICY, plus(at, -MINUTE));
    model.applySource(at, { kind: 'done', value: { sourceId: 'src_1' } });
    model.applyCharge(at, { kind: 'done', value: { ...successful, paidAt } }, at);
    const cutOff = parseInstant(void_);
    const end = parseInstant(refund_);
    expect(model.projection(plus(cutOff, -1)).voidable_until).toBe(void_);
    expect(model.projection(cutOff).voidable_until).toBeNull();
    expect(model.refuseRefund(end, { key: 'k', amount: null, reason: null })).toBeNull();
    expect(model.refuseRefund(plus(end, 1), { key: 'k', amount: null, reason: null })?.code).toBe(
      'refund_window_closed',
    );
    expect(model.projection(end).refundable_until).toBe(refund_);
    expect(stepAt(model, plus(end, 1))).toEqual({ do: 'retrieveCharge', chargeId: 'chrg_1' });
    model.applyRetrieve(plus(end, 1), plus(end, 1), 'chrg_1', { seen: { ...successful, paidAt } });
    expect(stepAt(model, plus(end, DAY))).toEqual({ do: 'close' });
    expect(model.projection(plus(end, 1)).refundable_until).toBeNull();
  });

  it.each([
    // 18:00 UTC is the next day at UTC+7. 11:00 UTC is the next day at UTC+14 and the same day at UTC-12.
    ['2026-03-10T18:00:00.000Z', 420, '2026-03-11T16:15:00.000Z'],
    ['2024-02-28T17:00:00.000Z', 420, '2024-02-29T16:15:00.000Z'],
    ['2026-12-31T11:00:00.000Z', 840, '2027-01-01T16:15:00.000Z'],
    ['2026-03-10T11:00:00.000Z', -720, null],
  ])(
    'a payment at %s with dates %i minutes east of UTC can be voided until %s',
    (paidAt, voidDateOffsetMinutes, until) => {
      const at = parseInstant(paidAt);
      const own = { ...intent, created_at: paidAt };
      const model = CheckoutModel.open(own, { ...DEFAULT_POLICY, voidDateOffsetMinutes }, at);
      model.applySource(at, { kind: 'done', value: { sourceId: 'src_1' } });
      model.applyCharge(at, { kind: 'done', value: { ...successful, paidAt } }, at);
      expect(model.projection(at).voidable_until).toBe(until);
      const end = until === null ? null : parseInstant(until);
      if (end !== null) expect(model.projection(plus(end, -1)).voidable_until).toBe(until);
      if (end !== null) expect(model.projection(end).voidable_until).toBeNull();
    },
  );

  it.each(['2026-03-10T16:15:00.000Z', '2026-03-10T23:59:59.999Z'])('a payment at %s has no void window', (paidAt) => {
    const model = CheckoutModel.open({ ...intent, created_at: paidAt }, DEFAULT_POLICY, parseInstant(paidAt));
    model.applySource(NOW, { kind: 'done', value: { sourceId: 'src_1' } });
    model.applyCharge(parseInstant(paidAt), { kind: 'done', value: { ...successful, paidAt } }, NOW);
    expect(model.projection(parseInstant(paidAt))).toMatchObject({ status: 'paid', voidable_until: null });
  });

  it.each([
    ['2026-03-10T09:00:00.000Z', 0, '2026-03-10T16:15:00.000Z'],
    ['2026-03-10T16:15:00.000Z', 0, '2026-03-11T16:15:00.000Z'],
    ['2026-03-10T23:59:59.999Z', 0, '2026-03-11T16:15:00.000Z'],
    ['2026-03-10T11:00:00.000Z', 840, '2026-03-11T16:15:00.000Z'],
  ])(
    'payments at %s with dates %i minutes east of UTC continue as aftercare in the six hours after %s, each at its own time',
    (paidAt, voidDateOffsetMinutes, cutOff) => {
      const spread = DEFAULT_POLICY.aftercareSpreadMs;
      const delays = Array.from({ length: 1_000 }, (_, order) => {
        const id = checkoutId({ account: 'default', reference: `order-${order}` });
        const step = stepAt(paidModelOf({ ...intent, id }, paidAt, { voidDateOffsetMinutes }), parseInstant(paidAt));
        return step.do === 'wait' ? step.until - parseInstant(cutOff) : Number.NaN;
      });
      const tenths = Array.from({ length: 10 }, (_, tenth) =>
        delays.filter((delay) => Math.floor((delay / spread) * 10) === tenth),
      );
      expect(tenths.flat()).toHaveLength(1_000);
      for (const delaysOfTenth of tenths) expect(delaysOfTenth.length).toBeGreaterThan(60);
    },
  );

  it('a payment is ready for aftercare from its own time on, and does not wake up before', () => {
    const model = paidModel();
    const step = stepAt(model, NOW);
    if (step.do !== 'wait') throw new Error(`It is about to ${step.do}`);
    expect(model.isReadyForAftercare(plus(step.until, -1))).toBe(false);
    expect(model.isReadyForAftercare(step.until)).toBe(true);
    expect(payableModel().isReadyForAftercare(plus(NOW, 365 * DAY))).toBe(false);
  });

  it('checkouts close at different times within a day after the refund window', () => {
    const end = parseInstant('2027-03-10T09:01:00.000Z');
    const ends = Array.from({ length: 100 }, (_, order) => {
      const id = checkoutId({ account: 'default', reference: `order-${order}` });
      const step = stepAt(paidModelOf({ ...intent, id }, '2026-03-10T09:01:00.000Z'), end);
      return step.do === 'wait' ? step.until - end : Number.NaN;
    });
    expect(Math.min(...ends)).toBeGreaterThan(0);
    expect(Math.max(...ends)).toBeLessThanOrEqual(DAY);
    expect(new Set(ends).size).toBe(100);
  });

  it('a payment by another charge of the attempt is accepted, and can be refunded', () => {
    const model = payableModel();
    const other: ChargeFacts = { ...successful, chargeId: 'chrg_0', sourceId: 'src_0' };
    model.hint(NOW, { eventId: 'e', eventKey: 'charge.complete', chargeId: 'chrg_0' });
    model.applyRetrieve(NOW, NOW, 'chrg_0', { seen: other });
    retrieve(model, NOW, expired);
    model.wasPublished();
    model.requestRefund(NOW, { key: 'k', amount: 50_000, reason: null });
    expect(stepAt(model, NOW)).toEqual({ do: 'retrieveCharge', chargeId: 'chrg_0' });
    model.applyRetrieve(NOW, NOW, 'chrg_0', { seen: other });
    expect(stepAt(model, NOW)).toMatchObject({ do: 'createRefund', chargeId: 'chrg_0', amount: 50_000 });
    expect(model.projection(NOW)).toMatchObject({ status: 'paid', attention: null });
    expect(model.projection(NOW).attempts).toMatchObject([{ charge_id: 'chrg_0', source_id: 'src_0' }]);
  });

  it('a repeated webhook of a known payment causes no retrieve', () => {
    const model = paidModel();
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

  it('a refund of the whole untouched amount is a void when the fresh retrieve allows it', () => {
    const model = paidModel();
    ask(model, null);
    expect(stepAt(model, at)).toEqual({ do: 'retrieveCharge', chargeId: 'chrg_1' });
    retrieve(model, at, successful);
    expect(stepAt(model, at)).toMatchObject({ do: 'createRefund', amount: 150_000, asVoid: true });
  });

  it.each([
    ['a part', 50_000, {}],
    ['what the provider does not void any more', null, { canVoid: false }],
  ])('a refund of %s is no void', (_, amount, more) => {
    const model = paidModel();
    ask(model, amount);
    stepAt(model, at);
    retrieve(model, at, { ...successful, ...more });
    expect(stepAt(model, at)).toMatchObject({ do: 'createRefund', asVoid: false });
  });

  function sent(amount: number | null = 50_000): CheckoutModel {
    const model = paidModel();
    ask(model, amount);
    stepAt(model, at);
    retrieve(model, at, successful);
    stepAt(model, at);
    return model;
  }

  it('a refund of unknown outcome is not repeated before two retrieves show no refund and the first call can no longer be in flight', () => {
    const model = sent();
    model.applyRefund(at, 'k', unknown, inFlightUntil);
    let retrieves = 0;
    for (let now = at; now < inFlightUntil; now = plus(now, 100)) {
      const step = stepAt(model, now);
      expect(step.do).not.toBe('createRefund');
      if (step.do !== 'retrieveCharge') continue;
      retrieves += 1;
      retrieve(model, now, successful);
    }
    expect(retrieves).toBeGreaterThanOrEqual(2);
    expect(model.refund('k')).toMatchObject({ status: 'pending' });
    for (let now = inFlightUntil; stepAt(model, now).do !== 'createRefund'; now = plus(now, 100))
      retrieve(model, now, successful);
  });

  it('a refund of unknown outcome is found by its key', () => {
    const model = sent();
    model.applyRefund(at, 'k', unknown, inFlightUntil);
    retrieve(model, at, given([{ refundId: 'rfnd_1', amount: 50_000, isVoid: false, key: 'k' }]));
    expect(model.refund('k')).toMatchObject({ status: 'succeeded', id: 'rfnd_1' });
    expect(model.projection(at)).toMatchObject({ status: 'partially_refunded', refunded_amount: 50_000 });
  });

  it.each([
    ['answered', 50_000],
    ['found', 50_000],
    // The charge does not count it.
    ['found', 0],
  ] as const)(
    'a refund that is %s in another currency is not accepted and not repeated (the charge shows %d as refunded)',
    (how, refundedAmount) => {
      const model = sent();
      const other = { refundId: 'rfnd_1', amount: 50_000, otherCurrency: 'MYR', isVoid: false, key: 'k' };
      if (how === 'answered') model.applyRefund(at, 'k', { kind: 'done', value: other }, inFlightUntil);
      else model.applyRefund(at, 'k', unknown, inFlightUntil);
      for (let now = at; now < at + 2 * HOUR; now = plus(now, SECOND)) {
        const step = stepAt(model, now);
        expect(step.do).not.toBe('createRefund');
        if (step.do === 'retrieveCharge') retrieve(model, now, given([other], { refundedAmount }));
      }
      const state = model.projection(plus(at, 2 * HOUR));
      expect(state.attention).toMatchObject({ code: 'integrity_mismatch', detail: 'refund rfnd_1 is in MYR, not THB' });
      expect(model.refund('k')).toMatchObject({ status: 'pending', id: null });
    },
  );

  it('a refund is not repeated while the refunded amount is above the listed refunds, until an operator adopts one', () => {
    const model = sent();
    model.applyRefund(at, 'k', unknown, inFlightUntil);
    let retrieves = 0;
    for (let now = at; now < at + 2 * HOUR; now = plus(now, SECOND)) {
      const step = stepAt(model, now);
      expect(step.do).not.toBe('createRefund');
      if (step.do !== 'retrieveCharge') continue;
      retrieves += 1;
      retrieve(model, now, given([], { refundedAmount: 50_000 }));
    }
    expect(retrieves).toBeLessThan(12);
    const later = plus(at, 2 * HOUR);
    expect(model.projection(later)).toMatchObject({ refunded_amount: 50_000, attention: { code: 'refund_unmatched' } });
    model.resolve(later, { action: 'adopt', id: 'rfnd_9', reason: 'seen in the dashboard' });
    expect(stepAt(model, later).do).toBe('retrieveCharge');
    retrieve(model, later, given([{ refundId: 'rfnd_9', amount: 50_000, isVoid: false, key: null }]));
    model.advanceTo(later);
    expect(model.refund('k')).toMatchObject({ status: 'succeeded', id: 'rfnd_9' });
    expect(model.projection(later).attention).toBeNull();
  });

  it('a listed refund without a key raises refund_unmatched, and counts as made elsewhere once the pending one is abandoned', () => {
    const model = sent();
    model.applyRefund(at, 'k', unknown, inFlightUntil);
    const theirs = given([{ refundId: 'rfnd_9', amount: 50_000, isVoid: false, key: null }]);
    retrieve(model, at, theirs);
    model.resolve(at, { action: 'look', reason: 'it is not ours' });
    retrieve(model, at, theirs);
    const { attention } = model.projection(at);
    expect(attention).toMatchObject({ code: 'refund_unmatched', detail: expect.stringContaining('rfnd_9') });
    expect(attention?.detail).not.toContain('THB 0.00 are listed');
    model.resolve(at, { action: 'abandon', reason: 'ours was never made' });
    model.resolve(at, { action: 'look', reason: 'take theirs in' });
    retrieve(model, at, theirs);
    model.advanceTo(at);
    expect(model.projection(at)).toMatchObject({ refunded_amount: 50_000, attention: null });
    expect(model.refund('k')).toMatchObject({ status: 'rejected', failure_code: 'abandoned' });
    expect(model.refund('rfnd_9')).toMatchObject({ status: 'succeeded', reason: 'made elsewhere' });
    expect(model.refuseRefund(at, { key: 'new', amount: 50_000, reason: null })).toBeNull();
  });

  it('a refused void becomes a refund only after a retrieve confirms the refusal', () => {
    const model = sent(null);
    model.applyRefund(at, 'k', refused, inFlightUntil);
    expect(stepAt(model, at).do).toBe('retrieveCharge');
    retrieve(model, at, successful);
    expect(stepAt(model, at).do).toBe('retrieveCharge');
    retrieve(model, at, successful);
    expect(stepAt(model, at)).toMatchObject({ do: 'createRefund', asVoid: false });

    const unknownBefore = sent(null);
    unknownBefore.applyRefund(at, 'k', unknown, inFlightUntil);
    retrieve(unknownBefore, at, successful);
    retrieve(unknownBefore, plus(at, SECOND), successful);
    expect(stepAt(unknownBefore, plus(at, SECOND)).do).not.toBe('createRefund');
  });

  it('a refund request that arrives as a signal and is refused is in the timeline', () => {
    const model = payableModel();
    model.requestRefundBySignal(at, { key: 'k', amount: 1, reason: null });
    expect(model.refunds).toEqual([]);
    expect(model.timeline.at(-1)).toMatchObject({ what: 'refund_refused', detail: 'k: not_paid' });
  });

  it('a refund that was made twice raises refund_doubled', () => {
    const model = sent();
    const [one, two] = ['rfnd_1', 'rfnd_2'].map((refundId) => ({ refundId, amount: 50_000, isVoid: false, key: 'k' }));
    if (one === undefined || two === undefined) throw new Error('two');
    model.applyRefund(at, 'k', { kind: 'done', value: one }, inFlightUntil);
    retrieve(model, at, given([one, two]));
    expect(model.projection(at)).toMatchObject({ refunded_amount: 100_000, attention: { code: 'refund_doubled' } });
  });
});

describe('a checkout model', () => {
  it('a model resumes from its state and from its snapshot where it was', () => {
    const model = paidModel();
    model.requestRefund(NOW, { key: 'k', amount: 1, reason: null });
    const state = JSON.parse(JSON.stringify(model.state)) as ModelState;
    const resumed = CheckoutModel.resume(intent, DEFAULT_POLICY, state);
    expect(resumed.result(NOW)).toEqual(model.result(NOW));
    const continued = CheckoutModel.resume(
      intent,
      DEFAULT_POLICY,
      restore(toSnapshot(state), { timeline: state.timeline }),
    );
    expect(continued.result(NOW)).toEqual(model.result(NOW));
    expect(continued.nextStep(NOW)).toEqual(model.nextStep(NOW));
  });

  it('a timeline has at most 60 entries, among them the first and the last', () => {
    const model = newModel();
    for (let count = 0; count < 1_000; count += 1) model.note(NOW, 'webhook', String(count));
    expect(model.timeline).toHaveLength(60);
    expect(model.timeline[0]?.what).toBe('opened');
    expect(model.timeline.at(-1)?.detail).toBe('999');
  });

  it('an abandoned attempt ends, and its late payment is refunded', () => {
    const model = newModel();
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
  ] as const)('a resolution with %s is refused', (_, resolution) => {
    expect(paidModel().refuseResolution(resolution)?.code).toBe('invalid_resolution');
  });

  it('a resolution with an unknown action is refused: an operator cannot declare a checkout paid', () => {
    const sent: unknown = JSON.parse('{ "action": "paid", "reason": "seen by eye" }');
    expect(newModel().refuseResolution(sent as Resolution)?.code).toBe('invalid_resolution');
  });
});
