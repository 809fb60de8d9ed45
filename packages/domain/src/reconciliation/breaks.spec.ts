import { describe, expect, it } from 'vitest';
import { compare, entry, refund, refunded, type Change } from '../testing/one-payment.js';
import {
  BREAK_TYPES,
  compareBreaks,
  factsOf,
  healsByRetrieve,
  idsOf,
  isOpen,
  toBreak,
  withAcknowledgement,
  type Break,
  type BreakFacts,
  type BreakType,
} from './breaks.js';

const FACTS: BreakFacts = {
  type: 'status',
  checkout_id: 'chk_default_a',
  charge_id: 'chrg_1',
  expected: null,
  actual: null,
  ageMs: 61_999,
  around: { from: '2026-03-10T08:59:00.000Z', to: '2026-03-10T09:01:00.000Z' },
};
const LOOK = 'pnpm tillflow resolve chk_default_a --look --reason reconciliation';
const ADOPT = 'pnpm tillflow resolve chk_default_a --adopt chrg_1 --reason reconciliation';
const SHOW = 'pnpm tillflow show chk_default_a';
const BACKFILL = 'pnpm tillflow backfill --from 2026-03-10T08:59:00.000Z';
const AGAIN = 'pnpm tillflow reconcile --from 2026-03-10T08:59:00.000Z --to 2026-03-10T09:01:00.000Z --dry-run';
const paid = { status: 'successful', amount: 150_000, currency: 'THB' };

const actionOf = (facts: Partial<BreakFacts>): string => toBreak({ ...FACTS, ...facts }).suggested_action;

describe('the suggested action', () => {
  it.each<[BreakType, string, string]>([
    ['missing_here', BACKFILL, BACKFILL],
    ['missing_there', LOOK, SHOW],
    ['amount', SHOW, SHOW],
    ['currency', SHOW, SHOW],
    ['status', LOOK, SHOW],
    ['refund_made_outside', LOOK, SHOW],
    ['duplicate_payment', ADOPT, BACKFILL],
    ['fee_difference', SHOW, SHOW],
    ['unsettled', AGAIN, AGAIN],
    ['receipt_total', AGAIN, AGAIN],
  ])('for %s is "%s", and for a closed checkout "%s"', (type, open, closed) => {
    expect([actionOf({ type }), actionOf({ type, isClosed: true })]).toEqual([open, closed]);
  });

  it('for a missed payment of a closed checkout is a backfill, and for a missed refund is not', () => {
    expect(actionOf({ actual: paid, isClosed: true })).toBe(BACKFILL);
    expect(actionOf({ actual: paid, isClosed: true, refund_id: 'rfnd_1' })).toBe(SHOW);
    expect(actionOf({ actual: { ...paid, status: 'failed' }, isClosed: true })).toBe(SHOW);
  });

  it('without a checkout is another comparison', () => {
    const { checkout_id: _, ...facts } = FACTS;
    expect(BREAK_TYPES.map((type) => toBreak({ ...facts, type }).suggested_action)).toEqual(
      BREAK_TYPES.map(() => AGAIN),
    );
  });
});

describe('a break', () => {
  it('does not heal by a retrieve without a checkout, or without a charge that was paid', () => {
    const { checkout_id: _, ...facts } = FACTS;
    expect(healsByRetrieve(toBreak({ ...facts, type: 'refund_made_outside' }))).toBe(false);
    expect(healsByRetrieve(toBreak({ ...facts, actual: paid }))).toBe(false);
    expect(healsByRetrieve(toBreak(FACTS))).toBe(false);
    expect(healsByRetrieve(toBreak({ ...FACTS, actual: paid }))).toBe(true);
  });

  it('has null for each id that it does not concern', () => {
    expect(toBreak(FACTS)).toEqual({
      type: 'status',
      checkout_id: 'chk_default_a',
      charge_id: 'chrg_1',
      refund_id: null,
      transaction_id: null,
      receipt_id: null,
      expected: null,
      actual: null,
      age_seconds: 61,
      suggested_action: LOOK,
      healed: false,
    });
  });

  it('has the age zero when its record is younger than the run', () => {
    expect(toBreak({ ...FACTS, ageMs: -1 }).age_seconds).toBe(0);
  });

  it('is identified by its type and ids', () => {
    const ids = { charge_id: null, refund_id: 'rfnd_1', transaction_id: 'trxn_1', receipt_id: 'rcpt_1' };
    expect(idsOf(toBreak(FACTS))).toBe('status chk_default_a chrg_1   ');
    expect(idsOf(toBreak({ ...FACTS, ...ids }))).toBe('status chk_default_a  rfnd_1 trxn_1 rcpt_1');
  });

  it('has other facts when a status, an amount or an id changes, and the same ones at another age or when it heals', () => {
    const one = toBreak({ ...FACTS, actual: paid });
    const acknowledged = { by: 'cli:nan', at: '2026-03-11T09:00:00.000Z', reason: 'known' };
    const same: Break[] = [
      { ...one, age_seconds: 5 },
      { ...one, healed: true },
      { ...one, acknowledged },
    ];
    expect(same.map(factsOf)).toEqual(same.map(() => factsOf(one)));
    const other: Break[] = [
      { ...one, type: 'amount' },
      { ...one, refund_id: 'rfnd_1' },
      { ...one, refund_id: 'chrg_1', charge_id: null },
      { ...one, actual: null },
      { ...one, actual: null, expected: paid },
      { ...one, actual: { ...paid, amount: 1 } },
      { ...one, actual: { ...paid, status: 'failed' } },
      { ...one, actual: { ...paid, currency: 'SGD' } },
    ];
    expect(new Set([one, ...other].map(factsOf)).size).toBe(9);
  });

  it('is open until it has healed or a person has acknowledged it', () => {
    const acknowledged = { by: 'cli:nan', at: '2026-03-11T09:00:00.000Z', reason: 'known' };
    const one = toBreak(FACTS);
    expect([one, { ...one, healed: true }, { ...one, acknowledged }].map(isOpen)).toEqual([true, false, false]);
  });

  it('comes in lists by type first, then by ids', () => {
    const found = (type: BreakType, checkout_id: string): Break => toBreak({ ...FACTS, type, checkout_id });
    const sorted = [found('missing_here', 'z'), found('status', 'a'), found('status', 'b'), found('unsettled', 'a')];
    const orders = sorted.map((one) => sorted.map((other) => Math.sign(compareBreaks(one, other))));
    expect(orders).toEqual([
      [0, -1, -1, -1],
      [1, 0, -1, -1],
      [1, 1, 0, -1],
      [1, 1, 1, 0],
    ]);
  });
});

it('a break heals by a retrieve when it is a missed payment or a refund made outside, and no other break does', () => {
  const heal = (change: Change): boolean[] => compare(change).map(healsByRetrieve);
  expect(heal({ checkout: { status: 'expired', paidAt: null, charges: [] } })).toEqual([true]);
  expect(heal({ charge: refunded(refund()) })).toEqual([true]);
  expect(heal({ checkout: { refunds: [entry({ key: 'rfnd_1' })] }, charge: refunded(refund()) })).toEqual([false]);
  expect(heal({ charge: { status: 'reversed' } })).toEqual([false]);
  expect(heal({ checkout: { charges: [{ id: 'chrg_other', status: 'successful' }] } })).toEqual([false]);
  expect(heal({ checkout: null })).toEqual([false]);
});

describe('an acknowledgement', () => {
  const acknowledged = { by: 'ops', at: '2026-03-11T09:00:00.000Z', reason: 'known' };

  it('closes its break, and takes the place of an earlier one', () => {
    const one = withAcknowledgement(toBreak(FACTS), { ...acknowledged, reason: 'earlier' });
    expect(withAcknowledgement(one, acknowledged)).toEqual({ ...toBreak(FACTS), acknowledged });
    expect([isOpen(toBreak(FACTS)), isOpen(one)]).toEqual([true, false]);
  });

  it('that is taken away leaves the break as it was', () => {
    expect(withAcknowledgement(withAcknowledgement(toBreak(FACTS), acknowledged), null)).toEqual(toBreak(FACTS));
  });
});
