import { describe, expect, it } from 'vitest';
import type { RefundFacts } from '../../activities.js';
import { entryOf, mayBeInProgress, mismatchOf, type Expected } from './matching.js';
import type { RefundEntry } from './refunds.js';

const entry: RefundEntry = {
  key: 'k',
  chargeId: 'chrg_1',
  amount: 50_000,
  asked: 50_000,
  kind: 'refund',
  status: 'pending',
  id: null,
  by: 'caller',
  reason: null,
  failureCode: null,
  failureMessage: null,
  createdAt: 0,
  refusals: 0,
  retryAt: null,
  inFlightUntil: null,
};
const other: RefundEntry = { ...entry, key: 'other', amount: 70_000 };
const expected: Expected = { entries: [other, entry], inProgress: { key: 'k', wasUnknown: true }, adopting: null };
const facts: RefundFacts = { refundId: 'rfnd_9', amount: 50_000, isVoid: false, key: null };

describe('a refund that the provider lists', () => {
  it.each<[string, string | undefined, Partial<Expected>, string, Partial<RefundFacts>]>([
    ['with a key is the refund with that key', 'other', {}, 'chrg_1', { key: 'other' }],
    ['with a key of another charge is none of them', undefined, {}, 'chrg_2', { key: 'k' }],
    ['without a key is none of them', undefined, {}, 'chrg_1', {}],
    ['is the one in progress when an operator named its id', 'k', { adopting: 'rfnd_9' }, 'chrg_1', {}],
    ['is not the one in progress when its amount differs', undefined, { adopting: 'rfnd_9' }, 'chrg_1', { amount: 1 }],
    ['is none of them when none is in progress', undefined, { adopting: 'rfnd_9', inProgress: null }, 'chrg_1', {}],
    ['is another one than an operator named', undefined, { adopting: 'rfnd_8' }, 'chrg_1', {}],
  ])('a refund %s', (_, key, more, chargeId, change) => {
    expect(entryOf({ ...expected, ...more }, chargeId, { ...facts, ...change })?.key).toBe(key);
  });

  it.each<[string, boolean, Partial<Expected>, string, Partial<RefundFacts>]>([
    ['may be the one in progress when it has no key and the same amount', true, {}, 'chrg_1', {}],
    ['is not the one in progress with a key', false, {}, 'chrg_1', { key: 'k' }],
    ['is not the one in progress with the amount of another one', false, {}, 'chrg_1', { amount: 70_000 }],
    ['is not the one in progress at another charge', false, {}, 'chrg_2', {}],
    ['needs no decision when none is in progress', false, { inProgress: null }, 'chrg_1', {}],
    [
      'needs no decision while the outcome is known',
      false,
      { inProgress: { key: 'k', wasUnknown: false } },
      'chrg_1',
      {},
    ],
    ['needs no decision once an operator named it', false, { adopting: 'rfnd_9' }, 'chrg_1', {}],
    [
      'needs no decision once the one in progress succeeded',
      false,
      { entries: [{ ...entry, status: 'succeeded' }] },
      'chrg_1',
      {},
    ],
    ['needs no decision when the one in progress is not known', false, { entries: [other] }, 'chrg_1', {}],
    [
      'needs no decision when its id is known already',
      false,
      { entries: [{ ...other, id: 'rfnd_9' }, entry] },
      'chrg_1',
      {},
    ],
  ])('a refund %s', (_, expectation, more, chargeId, change) => {
    expect(mayBeInProgress({ ...expected, ...more }, chargeId, { ...facts, ...change })).toBe(expectation);
  });

  it.each<[string, string | null, Partial<RefundFacts>]>([
    ['as it was requested', null, {}],
    ['over another amount', 'has the amount 1, not 50000', { amount: 1 }],
    ['in another currency', 'is in MYR, not THB', { otherCurrency: 'MYR' }],
  ])('a refund %s is described to people by what differs', (_, text, change) => {
    expect(mismatchOf(entry, { ...facts, ...change }, 'THB')).toBe(text);
  });
});
