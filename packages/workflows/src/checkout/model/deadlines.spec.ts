import { formatInstant, instant, parseInstant, plus } from '@tillflow/domain';
import { describe, expect, it } from 'vitest';
import { chargeFacts, paidCharge, payableModel, retrieve, sourcedModel } from '../../testing/sample-model.js';
import { unknownOutcome } from '../../testing/runner.js';
import { HOUR, intent, MINUTE, SECOND, START } from '../../testing/simulated-provider.js';
import { aftercareAtOf, deadlinesOf } from './deadlines.js';
import type { Known } from './projection.js';

const shown = (known: Known, isAftercare = false): string[] =>
  deadlinesOf(known, isAftercare).map(({ at, why }) => `${formatInstant(at)} ${why}`);

/** Paid at this time. */
function paidAt(time: string, policy = {}): Known {
  const model = payableModel(policy);
  retrieve(model, parseInstant(time), paidCharge({ paidAt: time }));
  return model;
}

describe('a checkout', () => {
  it('a checkout that can be paid has no deadline of its own', () => {
    expect(shown(payableModel())).toEqual([]);
    expect(aftercareAtOf(payableModel())).toBeNull();
  });

  it('a checkout that ended unpaid notices a late payment for two days', () => {
    const model = payableModel();
    retrieve(model, START, chargeFacts({ status: 'expired' }));
    model.advanceTo(START);
    expect(shown(model)).toEqual(['2026-03-12T09:00:00.000Z Tillflow still notices a late payment']);
  });

  it('a checkout with a call of unknown outcome wakes up after a minute to show it to operators', () => {
    const model = sourcedModel();
    model.applyCharge(START, unknownOutcome, plus(START, 20 * SECOND));
    expect(deadlinesOf(model, false)).toEqual([
      { at: plus(START, MINUTE), why: 'then show an attention to operators' },
    ]);
  });

  // A replay of a run must come to the same times, so they are the same in every version.
  it.each([
    ['chk_default_a', '2026-03-10T18:28:13.533Z', '2027-03-10T17:53:54.135Z'],
    ['chk_default_b', '2026-03-10T20:00:21.563Z', '2027-03-11T00:02:26.256Z'],
    ['chk_default_order-1001', '2026-03-10T21:54:23.407Z', '2027-03-11T07:38:33.631Z'],
    ['chk_kiosk_a', '2026-03-10T16:57:10.865Z', '2027-03-10T11:49:43.462Z'],
  ])('a checkout %s continues as aftercare at %s and wakes up after its refund window at %s', (id, aftercare, end) => {
    const { state, policy } = paidAt('2026-03-10T09:01:00.000Z');
    expect(shown({ state, policy, intent: { ...intent, id } })).toEqual([
      `${aftercare} then continue as aftercare`,
      `${end} a refund is possible`,
    ]);
  });

  it('a checkout that became aftercare before its time wakes up only after its refund window', () => {
    const known = paidAt('2026-03-10T09:01:00.000Z');
    expect(shown(known, true)).toEqual(shown(known).slice(1));
  });

  it.each([
    ['before the cut-off of its date', '2026-03-10T09:01:00.000Z', '2026-03-10T16:15:00.000Z'],
    ['after the cut-off of its date', '2026-03-10T17:00:00.000Z', '2026-03-11T16:15:00.000Z'],
  ])('a checkout paid %s continues as aftercare in the hours after the next cut-off', (_, time, cutOff) => {
    const earliest = parseInstant(cutOff);
    const at = aftercareAtOf(paidAt(time)) ?? instant(0);
    expect(at).toBeGreaterThan(earliest);
    expect(at).toBeLessThan(plus(earliest, 6 * HOUR));
    expect(aftercareAtOf(paidAt(time, { aftercareSpreadMs: 0 }))).toBe(earliest);
  });
});
