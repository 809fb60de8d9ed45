import { plus } from '@tillflow/domain';
import { describe, expect, it } from 'vitest';
import {
  chargeFacts,
  hint,
  paidCharge,
  payableModel,
  retrieve,
  retrievesWithin,
  sourcedModel,
  stepAt,
} from '../../../testing/sample-model.js';
import { HOUR, MINUTE, SECOND, START } from '../../../testing/simulated-provider.js';
import { DEFAULT_POLICY } from '../../policy.js';
import { dueOf, emptyCharge, planAfterMiss, planAfterRetrieve, type Charge } from './polling.js';

const after = (ms: number) => plus(START, ms);

/** A charge that can be paid, and was retrieved at `START`. */
const charge = (changes: Partial<Charge> = {}): Charge => ({
  ...emptyCharge(),
  id: 'chrg_1',
  retrievedAt: START,
  ...changes,
});

const retrieval = { do: 'retrieveCharge', chargeId: 'chrg_1' };
const again = { step: retrieval, why: 'then retrieve the charge again' };
const expiry = { step: { do: 'expireCharge', chargeId: 'chrg_1' }, why: 'then expire the charge again' };

describe('a hint that comes before the answer to the charge', () => {
  const created = { kind: 'done', value: chargeFacts() } as const;

  it.each([
    ['names the charge', 'chrg_1'],
    ['names none', null],
  ])('a hint that comes before the answer to the charge and %s causes a retrieve at once', (_, chargeId) => {
    const model = sourcedModel();
    hint(model, START, chargeId, 'charge.complete');
    model.applyCharge(after(SECOND), created, after(MINUTE));
    expect(stepAt(model, after(SECOND))).toEqual(retrieval);
    retrieve(model, after(SECOND), paidCharge());
    expect(model.status).toBe('paid');
    expect(model.state.charges.early).toBeUndefined();
  });

  it('a hint that comes before the answer to the charge is rechecked once when another one came before it', () => {
    const model = sourcedModel();
    hint(model, START, 'chrg_1');
    model.hint(START, { eventId: 'evnt_2', eventKey: 'charge.complete', chargeId: 'chrg_1', transactionId: 'trxn_1' });
    model.applyCharge(after(SECOND), created, after(MINUTE));
    const [known] = model.state.charges.all;
    expect(known).toMatchObject({ hintedAt: after(SECOND), otherHintAt: after(SECOND), hintedTransaction: 'trxn_1' });
  });

  it('a hint that comes before the answer to the charge is forgotten by a run of version 0.1', () => {
    const model = sourcedModel();
    model.hint(START, { eventId: 'evnt_1', eventKey: 'charge.complete', chargeId: null }, false);
    model.applyCharge(after(SECOND), created, after(MINUTE));
    expect(stepAt(model, after(SECOND)).do).toBe('wait');
  });
});

describe('a charge', () => {
  it.each<[string, Partial<Charge>, number | null, unknown[]]>([
    ['no step when it is final', { status: 'expired' }, null, []],
    [
      'a retrieve and a check for a late refund, also when it is final',
      { status: 'successful', retrieveAt: after(SECOND), lateEffectCheckAt: after(MINUTE) },
      null,
      [
        { at: after(SECOND), ...again },
        { at: after(MINUTE), ...again },
      ],
    ],
    [
      'a regular retrieve until the time to pay ends',
      {},
      after(15 * MINUTE),
      [
        { at: after(25 * SECOND), step: retrieval, why: 'wait for a webhook, then retrieve the charge' },
        { at: after(15 * MINUTE), why: 'wait for a webhook; then the time to pay ends' },
      ],
    ],
    [
      'an expire call at once and a retrieve when it must end',
      { retrieveAt: after(MINUTE) },
      null,
      [
        { at: after(MINUTE), ...again },
        { at: after(SECOND), ...expiry },
      ],
    ],
    [
      'only a retrieve after an expire call',
      { retrieveAt: after(SECOND), expireCalls: 1, nextExpireAt: after(0) },
      null,
      [{ at: after(SECOND), ...again }],
    ],
    [
      'the next expire call after that retrieve',
      { expireCalls: 1, nextExpireAt: after(MINUTE) },
      null,
      [{ at: after(MINUTE), ...expiry }],
    ],
  ])('a charge needs %s', (_, changes, payableUntil, due) => {
    expect(dueOf(charge(changes), payableUntil, DEFAULT_POLICY, after(SECOND))).toEqual(due);
  });
});

describe('a hint', () => {
  const RECHECKS = { 'no recheck': [], 'two rechecks': [SECOND, 5 * SECOND] } as const;

  it('a hint waits until one second has passed since the last retrieve', () => {
    const model = payableModel();
    retrieve(model, after(24 * SECOND), chargeFacts());
    hint(model, after(24_100), 'chrg_1');
    expect(retrievesWithin(model, after(24_100), 3 * SECOND, chargeFacts())).toEqual([900, 1_900]);
  });

  it('a hint between two rechecks causes a retrieve at once', () => {
    const model = payableModel();
    hint(model, START, 'chrg_1');
    expect(retrievesWithin(model, START, 3 * SECOND, chargeFacts())).toEqual([0, SECOND]);
    hint(model, after(3 * SECOND), 'chrg_1');
    expect(stepAt(model, after(3 * SECOND))).toEqual(retrieval);
  });

  it('a hint does not delay a retrieve that is due earlier', () => {
    const model = payableModel();
    hint(model, START, 'chrg_1');
    hint(model, after(500), 'chrg_1');
    expect(stepAt(model, after(500))).toEqual(retrieval);
  });

  it.each([
    ['before a retrieve that shows no change', 'two rechecks', 0, chargeFacts(), chargeFacts()],
    ['during a retrieve that shows no change', 'two rechecks', 100, chargeFacts(), chargeFacts()],
    ['before a retrieve that shows an expiry', 'no recheck', 0, chargeFacts(), chargeFacts({ status: 'expired' })],
    ['during a retrieve that shows an expiry', 'two rechecks', 100, chargeFacts(), chargeFacts({ status: 'expired' })],
    ['before a retrieve that shows the payment', 'no recheck', 0, chargeFacts(), paidCharge()],
    ['during a retrieve that shows the payment', 'two rechecks', 100, chargeFacts(), paidCharge()],
    ['before a retrieve that shows a refund', 'no recheck', 0, paidCharge(), paidCharge({ refundedAmount: 1 })],
    ['during a retrieve that shows a refund', 'two rechecks', 100, paidCharge(), paidCharge({ refundedAmount: 1 })],
    ['before a retrieve of a paid charge that shows no change', 'two rechecks', 0, paidCharge(), paidCharge()],
  ] as const)('a hint %s is followed by %s', (_, rechecks, ms, before, shown) => {
    const model = payableModel();
    retrieve(model, START, before);
    const begin = after(10 * SECOND);
    hint(model, plus(begin, ms), 'chrg_1');
    const end = plus(begin, 200);
    model.applyRetrieve(end, begin, 'chrg_1', { seen: shown });
    expect(retrievesWithin(model, end, 10 * SECOND, shown)).toEqual(RECHECKS[rechecks]);
  });

  it('a hint of the payment that a retrieve shows meanwhile has no rechecks', () => {
    const model = payableModel();
    hint(model, after(100), 'chrg_1', 'charge.complete');
    model.applyRetrieve(after(200), START, 'chrg_1', { seen: paidCharge() });
    expect(retrievesWithin(model, after(200), 10 * SECOND, paidCharge())).toEqual([]);
  });

  it('a hint is what rechecks follow: a retrieve for another reason has none', () => {
    const model = payableModel();
    retrieve(model, START, chargeFacts());
    expect(retrievesWithin(model, START, 20 * SECOND, chargeFacts())).toEqual([]);
  });
});

describe('a retrieve without an answer', () => {
  it.each([
    ['pending', [SECOND, 5 * SECOND, 30 * SECOND, 5 * MINUTE, 5 * MINUTE]],
    ['successful', [SECOND, 5 * SECOND, 30 * SECOND, 5 * MINUTE, HOUR, HOUR]],
  ] as const)(
    'a retrieve without an answer of a %s charge is repeated after longer and longer delays',
    (status, delays) => {
      const one = charge({ status });
      const seen = delays.map(() => {
        planAfterMiss(DEFAULT_POLICY, one, START, START);
        return (one.retrieveAt ?? 0) - START;
      });
      expect(seen).toEqual(delays);
      expect(one).toMatchObject({ lateEffectCheckAt: null, hintedAt: null, retrievedAt: START });
    },
  );

  it('a retrieve without an answer is repeated before the next recheck when that comes later', () => {
    const one = charge({ pendingRechecks: [4 * SECOND] });
    planAfterMiss(DEFAULT_POLICY, one, START, START);
    expect(one.retrieveAt).toBe(after(SECOND));
  });

  it('a retrieve without an answer is repeated at the next recheck when that comes earlier', () => {
    const one = charge({ pendingRechecks: [4 * SECOND], unansweredRetrieves: 3 });
    planAfterMiss(DEFAULT_POLICY, one, START, START);
    expect(one.retrieveAt).toBe(after(4 * SECOND));
  });
});

describe('a check for a late refund', () => {
  it.each([
    ['waits for the next retrieve when that comes later', 4, 5 * MINUTE, HOUR],
    ['keeps its time when the next retrieve comes earlier', 0, 5 * MINUTE, 5 * MINUTE],
  ])('a check for a late refund %s', (_, unansweredRetrieves, checkIn, expected) => {
    const one = charge({ status: 'successful', unansweredRetrieves, lateEffectCheckAt: after(checkIn) });
    planAfterMiss(DEFAULT_POLICY, one, START, START);
    expect(one.lateEffectCheckAt).toBe(after(expected));
  });

  it.each([
    ['is still due after a retrieve that began earlier', MINUTE - 1, after(MINUTE)],
    ['is done by a retrieve that began when it was due', MINUTE, null],
    ['is done by a retrieve that began later', MINUTE + 1, null],
  ])('a check for a late refund %s', (_, began, lateEffectCheckAt) => {
    const one = charge({ status: 'successful', lateEffectCheckAt: after(MINUTE) });
    planAfterRetrieve(DEFAULT_POLICY, one, after(2 * MINUTE), after(began), one);
    expect(one.lateEffectCheckAt).toBe(lateEffectCheckAt);
  });
});

describe('an expire call that the provider refuses', () => {
  it.each([
    [1, SECOND],
    [2, 5 * SECOND],
    [3, 30 * SECOND],
    [4, 5 * MINUTE],
    [15, 5 * MINUTE],
    [16, HOUR],
    [40, HOUR],
  ])('an expire call that the provider refuses, number %d, is repeated after %d ms', (expireCalls, delay) => {
    const one = charge({ expireCalls });
    planAfterRetrieve(DEFAULT_POLICY, one, START, START, one);
    expect(one.nextExpireAt).toBe(after(delay));
  });

  it('an expire call that the provider refuses raises an attention a minute after the first one', () => {
    const model = payableModel();
    model.requestCancel(START);
    for (const ms of [0, SECOND, 6 * SECOND]) {
      model.applyExpire(after(ms), 'chrg_1');
      retrieve(model, after(ms), chargeFacts());
    }
    model.advanceTo(after(MINUTE - 1));
    expect(model.projection(after(MINUTE)).attention).toBeNull();
    model.advanceTo(after(MINUTE));
    expect(model.projection(after(MINUTE)).attention).toMatchObject({
      code: 'expire_refused',
      detail: 'the provider does not expire chrg_1: a customer may be confirming',
    });
  });

  it('an expire call that the provider refuses is followed by a retrieve, which an operator can bring forward', () => {
    const model = payableModel();
    model.requestCancel(START);
    expect(stepAt(model, START)).toEqual(expiry.step);
    model.applyExpire(START, 'chrg_1');
    expect(stepAt(model, START)).toEqual(retrieval);
    retrieve(model, START, chargeFacts());
    expect(stepAt(model, START)).toMatchObject({ do: 'wait', until: after(SECOND) });
    model.resolve(after(500), { action: 'look', reason: 'the customer left' });
    expect(stepAt(model, after(500))).toEqual(retrieval);
    retrieve(model, after(500), chargeFacts());
    expect(stepAt(model, after(1_500))).toEqual(expiry.step);
  });
});
