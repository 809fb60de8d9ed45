import { plus } from '@tillflow/domain';
import { describe, expect, it } from 'vitest';
import { unknownOutcome } from '../../../testing/runner.js';
import {
  chargeFacts,
  declined,
  entriesOf,
  nextAttemptModel,
  openModel,
  paidCharge,
  retrieve,
  showAbsence,
  sourcedModel,
  stepAt,
  unknownModel,
} from '../../../testing/sample-model.js';
import { intent, MINUTE, SECOND, START } from '../../../testing/simulated-provider.js';
import { DEFAULT_POLICY } from '../../policy.js';
import type { CheckoutModel } from '../checkout-model.js';
import { partsOf } from '../parts.js';
import { emptyState } from '../state.js';

const after = (ms: number) => plus(START, ms);
const inFlightUntil = after(20 * SECOND);
const notSent = { kind: 'rejected', code: 'rate_limited', message: 'later', retryable: true } as const;
const tooLate = {
  kind: 'rejected',
  code: 'bad_request',
  message: 'expires_at must be in the future.',
  retryable: false,
} as const;

/** The creation of the first attempt, without the rest of the model. */
function newCreation(sourceId: string | null = null) {
  const { creation, attempts, timeline } = partsOf(intent, DEFAULT_POLICY, emptyState());
  creation.start(START, START, sourceId);
  return { creation, attempts, timeline };
}

const payEnd = { at: after(15 * MINUTE), why: 'then the time to pay ends' };

describe('the creation of a charge', () => {
  it('the creation of a charge begins with a source', () => {
    const { creation } = newCreation();
    const step = { do: 'createSource' };
    expect(creation.due()).toEqual([{ at: START, step, why: 'then create a source again' }, payEnd]);
    expect(stepAt(openModel(), START)).toEqual(step);
  });

  it('the creation of a charge begins at once when the till brings the source', () => {
    const { creation } = newCreation('src_till');
    const step = { do: 'createCharge', attempt: 1, sourceId: 'src_till' };
    expect(creation.due()).toEqual([{ at: START, step, why: 'then create a charge again' }, payEnd]);
    expect(stepAt(openModel({}, { source: 'src_till' }), START)).toEqual(step);
  });

  it('the creation of a charge continues with the source that the provider made', () => {
    const model = openModel();
    model.applySource(START, { kind: 'done', value: { sourceId: 'src_1' } });
    expect(entriesOf(model)).toEqual(['opened', 'source_created']);
    expect(stepAt(model, START)).toEqual({ do: 'createCharge', attempt: 1, sourceId: 'src_1' });
  });

  it('the creation of a charge of unknown outcome continues with a search from the beginning of the attempt', () => {
    const { creation } = newCreation('src_till');
    creation.applyNoCharge(START, unknownOutcome, inFlightUntil);
    const range = { sourceId: 'src_till', since: START, until: inFlightUntil, why: 'unknown' };
    const why = 'then search for the charge, its outcome is unknown';
    expect(creation.due()).toEqual([{ at: after(SECOND), step: { do: 'findCharges', ...range }, why }]);
  });

  it('the creation of a charge needs no further step once it is over', () => {
    const { creation } = newCreation();
    creation.finish();
    expect(creation.due()).toEqual([]);
    expect(creation.lateEffectCheckDue(START)).toEqual([]);
  });

  it('the creation of a charge ignores an answer that comes when it is over', () => {
    const { creation, attempts, timeline } = newCreation();
    creation.finish();
    creation.applySource(START, { kind: 'done', value: { sourceId: 'src_1' } });
    creation.applyNoCharge(START, declined, START);
    creation.applySearch(START, START, 'nothing');
    creation.applyLateEffectCheck(START, false);
    creation.checkForLateEffectNow(START);
    creation.continueNow(START);
    creation.abandon(START);
    expect(creation.due()).toEqual([]);
    expect(creation.lateEffectCheckDue(START)).toEqual([]);
    expect(attempts.current).toMatchObject({ status: 'pending', sourceId: null });
    expect(timeline.all).toEqual([]);
  });

  it('the creation of a charge ignores a search that was not made for it', () => {
    const { creation } = newCreation();
    creation.applySearch(after(SECOND), after(SECOND), 'nothing');
    expect(creation.due()[0]?.at).toBe(START);
  });

  it.each([
    ['an unknown outcome', unknownOutcome],
    ['a request that was not sent', notSent],
  ])('the creation of a charge begins again, a little later, after %s for its source', (_, outcome) => {
    const model = openModel();
    model.applySource(START, outcome);
    expect(stepAt(model, START)).toEqual({ do: 'wait', until: after(SECOND), why: 'then create a source again' });
    expect(stepAt(model, after(SECOND))).toEqual({ do: 'createSource' });
    expect(entriesOf(model)).toEqual(['opened']);
  });

  it('the creation of a charge is repeated, a little later, when the request was not sent', () => {
    const model = sourcedModel();
    model.applyCharge(START, notSent, inFlightUntil);
    expect(stepAt(model, START)).toEqual({ do: 'wait', until: after(SECOND), why: 'then create a charge again' });
  });

  it('the creation of a charge goes on when an operator abandons what is unresolved', () => {
    const model = openModel();
    model.resolve(START, { action: 'abandon', reason: 'a slip' });
    expect(stepAt(model, START)).toEqual({ do: 'createSource' });
  });
});

describe('a refusal', () => {
  it('a refusal of the source ends the attempt with the reason', () => {
    const model = openModel();
    model.applySource(START, declined);
    expect(model.projection(START)).toMatchObject({
      status: 'failed',
      attempts: [{ failure_code: 'bad_request', failure_message: 'no' }],
    });
    expect(entriesOf(model).at(-1)).toBe('refused: bad_request: no');
    expect(model.isEnded).toBe(true);
  });

  it('a refusal of the charge counts once a search shows no charge, and is followed by no other search', () => {
    const model = sourcedModel();
    model.applyCharge(START, declined, inFlightUntil);
    model.applySearch(START, START, 'unknown', { seen: [] });
    expect(entriesOf(model, 2)).toEqual(['refused: bad_request: no']);
    expect(model.state.creation).toEqual({ inProgress: null, lateEffectCheck: null });
  });

  it('a refusal of the charge after the time to pay is over ends the attempt as expired', () => {
    const model = sourcedModel();
    const late = after(15 * MINUTE);
    model.applyCharge(late, tooLate, late);
    model.applySearch(late, late, 'unknown', { seen: [] });
    expect(model.projection(late)).toMatchObject({
      status: 'expired',
      attempts: [{ failure_code: null, failure_message: null }],
    });
    expect(entriesOf(model, 2)).toEqual([
      'expired: before the provider accepted a charge (bad_request: expires_at must be in the future.)',
    ]);
  });

  it('a refusal that may be the refusal of a second try is followed by a search, as an unknown outcome is', () => {
    const model = unknownModel();
    showAbsence(model, inFlightUntil);
    model.applyCharge(inFlightUntil, notSent, after(MINUTE));
    expect(entriesOf(model).at(-1)).toBe('outcome_unknown: rate_limited: later');
  });
});

describe('a create of unknown outcome', () => {
  it('a create of unknown outcome is in the timeline with its reason, and so is the proof that it had no effect', () => {
    const model = unknownModel();
    showAbsence(model, inFlightUntil);
    expect(entriesOf(model, 2)).toEqual(['outcome_unknown: timeout: no answer', 'charge_absent: no charge uses src_1']);
    expect(stepAt(model, after(21 * SECOND))).toEqual({ do: 'createCharge', attempt: 1, sourceId: 'src_1' });
  });

  it.each([
    ['is repeated when two searches in a row show no charge', [[], []], 'createCharge'],
    [
      'is not repeated when the search between them shows a charge of another amount',
      [[], [chargeFacts({ amount: 1 })], []],
      'findCharges',
    ],
    [
      'is repeated when two searches in a row show no charge after one with another amount',
      [[], [chargeFacts({ amount: 1 })], [], []],
      'createCharge',
    ],
  ])('a create of unknown outcome %s', (_, searches, step) => {
    const model = unknownModel();
    for (const [index, seen] of searches.entries()) {
      const now = plus(inFlightUntil, index);
      model.applySearch(now, now, 'unknown', { seen });
    }
    expect(stepAt(model, plus(inFlightUntil, 5 * MINUTE)).do).toBe(step);
  });

  it('a create of unknown outcome is looked up at once when an operator asks, or another attempt is requested', () => {
    for (const ask of [
      (model: CheckoutModel) => model.resolve(START, { action: 'look', reason: 'a customer waits' }),
      (model: CheckoutModel) => model.requestAttempt(START, { after: 1 }),
      (model: CheckoutModel) => model.requestCancel(START),
      (model: CheckoutModel) => model.hint(START, { eventId: 'e', eventKey: 'charge.create', chargeId: null }),
    ]) {
      const model = unknownModel();
      expect(stepAt(model, START)).toMatchObject({ do: 'wait', until: after(SECOND) });
      ask(model);
      expect(stepAt(model, START)).toMatchObject({ do: 'findCharges' });
    }
  });

  it('a create of unknown outcome that an operator abandons ends the attempt, and a charge that appears later is found', () => {
    const model = unknownModel();
    model.resolve(START, { action: 'abandon', reason: 'the customer left' });
    expect(entriesOf(model, 3)).toEqual(['resolve: abandon: the customer left', 'expired: abandoned by an operator']);
    const { status, failure_code, failure_message } = model.projection(START).attempts[0] ?? {};
    expect({ status, failure_code, failure_message }).toEqual({
      status: 'expired',
      failure_code: null,
      failure_message: null,
    });
    const later = after(5 * MINUTE);
    expect(stepAt(model, later)).toMatchObject({ do: 'findCharges', why: 'late effect' });
    model.applySearch(later, later, 'late effect', { seen: [chargeFacts()] });
    expect(stepAt(model, later)).toEqual({ do: 'expireCharge', chargeId: 'chrg_1' });
  });

  it('a create of unknown outcome is looked up also when the time to pay is over, because its charge can exist', () => {
    const model = unknownModel();
    expect(stepAt(model, after(15 * MINUTE))).toMatchObject({ do: 'findCharges', why: 'unknown' });
  });
});

describe('an attempt that ends without a charge', () => {
  it('an attempt that ends without a charge has expired when its time is over', () => {
    const model = openModel();
    model.advanceTo(after(15 * MINUTE));
    expect(entriesOf(model).at(-1)).toBe('expired: before the provider accepted a charge');
    expect(model.projection(START)).toMatchObject({ status: 'expired', attempts: [{ failure_code: null }] });
    expect(model.isEnded).toBe(true);
  });

  it('an attempt that ends without a charge is cancelled when the checkout is, also after a search', () => {
    const unsent = openModel();
    unsent.requestCancel(START);
    unsent.advanceTo(START);
    expect(entriesOf(unsent).at(-1)).toBe('cancelled: before the provider accepted a charge');

    const searched = unknownModel();
    searched.requestCancel(START);
    showAbsence(searched, inFlightUntil);
    expect(entriesOf(searched).at(-1)).toBe('cancelled: before the provider accepted a charge');
    expect(searched.status).toBe('cancelled');
  });

  it('an attempt that ends without a charge has expired when an earlier attempt was paid after the cancellation', () => {
    const model = nextAttemptModel();
    model.applySource(START, { kind: 'done', value: { sourceId: 'src_2' } });
    model.applyCharge(START, unknownOutcome, inFlightUntil);
    model.requestCancel(START);
    retrieve(model, START, paidCharge());
    showAbsence(model, inFlightUntil);
    expect(entriesOf(model).at(-1)).toBe('expired: before the provider accepted a charge');
  });

  it('an attempt that ends without a charge takes no source that comes later', () => {
    const model = openModel();
    model.requestCancel(START);
    model.advanceTo(START);
    model.applySource(START, { kind: 'done', value: { sourceId: 'src_1' } });
    expect(model.projection(START).attempts).toMatchObject([{ source_id: null }]);
    expect(stepAt(model, START)).toMatchObject({ do: 'wait', why: 'Tillflow still notices a late payment' });
  });
});
