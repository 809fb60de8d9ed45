import { instant, parseInstant, plus } from '@tillflow/domain';
import { initialState, type StoredRefund } from '@tillflow/workflows';
import { sampleIntent } from '@tillflow/workflows/testing';
import { expect, it } from 'vitest';
import { refundDryRun } from './refund-dry-run.js';

const PAID_AT = '2026-03-10T09:00:00.000Z';
const CUT_OFF = parseInstant('2026-03-10T16:15:00.000Z');
const NOW = instant(CUT_OFF - 1);
const intent = sampleIntent();

function refundOf(key: string, changes: Partial<StoredRefund> = {}): StoredRefund {
  return {
    id: `rfnd_${key}`,
    key,
    charge_id: 'chrg_1',
    amount: 1,
    asked: 1,
    currency: intent.currency,
    kind: 'refund',
    status: 'succeeded',
    reason: null,
    failure_code: null,
    failure_message: null,
    created_at: PAID_AT,
    ...changes,
  };
}

function dryRun(amount: number | null, { refunds = [] as readonly StoredRefund[], key = 'k', now = NOW } = {}) {
  const state = {
    ...initialState(intent),
    status: 'paid' as const,
    paid_at: PAID_AT,
    refunded_amount: refunds.reduce((sum, refund) => sum + refund.amount, 0),
    voidable_until: refunds.length === 0 ? '2026-03-10T16:15:00.000Z' : null,
  };
  const stored = { intent, state, timeline: [], refunds, requestNonce: '', version: 1, closed: false };
  return refundDryRun(stored, { key, amount, reason: null }, now);
}

it.each([
  ['the whole payment before the cut-off', null, NOW, 'would refund THB 1,500.00 of chk_default_a by a void', 'void'],
  [
    'the whole payment from the cut-off on',
    null,
    plus(NOW, 1),
    'would refund THB 1,500.00 of chk_default_a by a refund',
    'refund',
  ],
  ['a part of the payment', 50_000, NOW, 'would refund THB 500.00 of chk_default_a by a refund', 'refund'],
])('a dry run of a refund of %s says by which kind', (_, amount, now, line, kind) => {
  const { lines, json } = dryRun(amount, { now });
  expect(lines[0]).toBe(line);
  expect(json).toMatchObject({ kind, possible: true });
});

it('a dry run of a hundred and first refund says that it would be refused', () => {
  const refunds = Array.from({ length: 100 }, (__, n) => refundOf(`k${n}`));
  const { exit, lines, json } = dryRun(1, { refunds });
  expect(exit).toBe(1);
  expect(lines[0]).toMatch(/^would be refused: .+: A checkout has at most 100 refunds$/);
  expect(json).toMatchObject({ kind: null, possible: false });
});

it('a dry run with the key of a refund shows that refund, or that the key has another amount', () => {
  const refunds = [refundOf('k', { amount: 50_000, asked: 50_000 })];
  expect(dryRun(50_000, { refunds }).lines[0]).toBe(
    'nothing to do: the key k already has a refund of THB 500.00 by a refund (succeeded)',
  );
  expect(dryRun(1, { refunds }).lines[0]).toContain('This key already belongs to a refund of THB 500.00');
});
