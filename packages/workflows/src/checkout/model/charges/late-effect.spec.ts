import { plus } from '@tillflow/domain';
import { describe, expect, it } from 'vitest';
import { unknownOutcome } from '../../../testing/runner.js';
import {
  chargeFacts,
  paidCharge,
  payableModel,
  retrieve,
  secondAttemptModel,
  secondCharge,
  showAbsence,
  stepAt,
  unknownModel,
} from '../../../testing/sample-model.js';
import { intent, MINUTE, SECOND, START } from '../../../testing/simulated-provider.js';
import { DEFAULT_POLICY } from '../../policy.js';
import type { CheckoutModel } from '../checkout-model.js';
import { partsOf } from '../parts.js';

const after = (ms: number) => plus(START, ms);

describe('a check for a late effect', () => {
  /** The second try made a charge, so the first one may still make another. */
  function repeatedModel(): CheckoutModel {
    const model = unknownModel();
    showAbsence(model, after(60 * SECOND));
    model.applyCharge(after(61 * SECOND), { kind: 'done', value: chargeFacts() }, after(61 * SECOND));
    return model;
  }
  const dueAt = after(61 * SECOND + 5 * MINUTE);

  it('a check for a late effect searches from the beginning of the attempt to the present', () => {
    const model = repeatedModel();
    const { creation } = partsOf(intent, DEFAULT_POLICY, model.state);
    const step = { do: 'findCharges', sourceId: null, since: START, why: 'late effect' };
    const why = 'then search for a late charge';
    expect(creation.lateEffectCheckDue(START)).toEqual([{ at: dueAt, step: { ...step, until: dueAt }, why }]);
    const late = plus(dueAt, SECOND);
    expect(creation.lateEffectCheckDue(late)).toEqual([{ at: dueAt, step: { ...step, until: late }, why }]);
  });

  it('a check for a late effect is made again five minutes later when it has no answer, until it has one', () => {
    const model = repeatedModel();
    model.applySearch(dueAt, dueAt, 'late effect', { unseen: 'no answer', code: 'timeout' });
    expect(model.state.creation.lateEffectCheck).toEqual({ at: plus(dueAt, 5 * MINUTE), since: START });
    model.applySearch(dueAt, dueAt, 'late effect', { seen: [] });
    expect(model.state.creation.lateEffectCheck).toBeNull();
  });

  it('a check for a late effect is made at once when an operator asks', () => {
    const model = repeatedModel();
    retrieve(model, after(MINUTE), paidCharge());
    model.resolve(after(MINUTE), { action: 'look', reason: 'the customer asks' });
    retrieve(model, after(MINUTE), paidCharge());
    expect(stepAt(model, after(MINUTE))).toMatchObject({ do: 'findCharges', why: 'late effect' });
  });

  it('a check for a late effect of two attempts searches from the beginning of the first', () => {
    const model = unknownModel();
    model.requestAttempt(START, { after: 1 });
    showAbsence(model, after(20 * SECOND));
    model.advanceTo(after(MINUTE));
    model.applySource(after(MINUTE), { kind: 'done', value: { sourceId: 'src_2' } });
    model.applyCharge(after(MINUTE), unknownOutcome, after(80 * SECOND));
    showAbsence(model, after(80 * SECOND));
    expect(model.attempt).toMatchObject({ number: 2, createdAt: after(MINUTE) });
    expect(model.state.creation.lateEffectCheck).toEqual({ at: after(81 * SECOND + 5 * MINUTE), since: START });
  });
});

describe('the result of a search', () => {
  it('the result of a search says whether it found the charge of the present attempt', () => {
    const { charges } = partsOf(intent, DEFAULT_POLICY, secondAttemptModel().state);
    expect(charges.resultOf([chargeFacts()])).toBe('nothing');
    expect(charges.resultOf([chargeFacts(), secondCharge()])).toBe('found');
    expect(charges.resultOf([secondCharge(), chargeFacts({ chargeId: 'chrg_9' })])).toBe('disbelieved');
    expect(partsOf(intent, DEFAULT_POLICY, payableModel().state).charges.resultOf([])).toBe('nothing');
  });
});
