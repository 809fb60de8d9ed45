import type { Break } from '@tillflow/domain';
import type { FullReconciliation, StoredReconciliation } from '@tillflow/temporal';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { ReconciliationGauges, standing } from './reconciliation.js';

type Summary = StoredReconciliation['summary'];

const run = (
  id: string,
  fields: Partial<StoredReconciliation> = {},
  summary: Partial<Summary> = {},
): StoredReconciliation => ({
  id,
  status: 'completed',
  isDaily: false,
  createdAt: '2026-11-21T00:30:00.000Z',
  summary: {
    from: '2026-11-20T00:00:00.000Z',
    to: '2026-11-21T00:00:00.000Z',
    dry_run: false,
    totals: [],
    breaks: 0,
    healed: 0,
    outside: 0,
    ...summary,
  },
  ...fields,
});
const daily = run('daily', { isDaily: true });

describe('the reconciliation that the metrics show', () => {
  it.each<[string, readonly StoredReconciliation[], string | undefined]>([
    ['is none, where none was', [], undefined],
    ['is the newest, where no daily one was', [run('b'), run('a')], 'b'],
    [
      'is the daily one, after one of some minutes of it',
      [run('b', {}, { from: '2026-11-20T23:50:00.000Z' }), daily],
      'daily',
    ],
    ['is the daily one, after one of another day', [run('b', {}, { to: '2026-11-20T00:00:00.000Z' }), daily], 'daily'],
    ['is one of the same day, made after it', [run('b'), daily], 'b'],
    ['is one of more days, made after it', [run('b', {}, { from: '2026-11-01T00:00:00.000Z' }), daily], 'b'],
    [
      'is the daily one, after one of the same day that could not read receipts',
      [run('b', {}, { not_compared: [{ what: 'receipts', code: 'provider_timeout', detail: 'no answer' }] }), daily],
      'daily',
    ],
    ['is never a dry one', [...Array.from({ length: 30 }, () => run('dry', {}, { dry_run: true })), daily], 'daily'],
    [
      'is never one that runs or failed',
      [run('a', { status: 'running' }), run('b', { status: 'failed' }), daily],
      'daily',
    ],
  ])('%s', (_, runs, expected) => {
    expect(standing(runs)?.id).toBe(expected);
  });
});

it('the age of a reconciliation is that of the newest payments that it has compared, however late it ran', async () => {
  const again: FullReconciliation = {
    ...run('again', { createdAt: '2026-11-24T00:00:00.000Z' }),
    result: null,
    failure: null,
  };
  const registry = new Registry();
  new ReconciliationGauges(registry).show(again, Date.parse('2026-11-24T00:00:10.000Z'));
  expect(await registry.metrics()).toContain(`tillflow_reconciliation_age_seconds ${3 * 86_400 + 10}`);
});

it('the gauge of breaks leaves out those that have healed and those that are acknowledged', async () => {
  const found = (more: Partial<Break>): Break => ({
    type: 'amount',
    checkout_id: 'chk_default_a',
    charge_id: 'chrg_1',
    refund_id: null,
    transaction_id: null,
    receipt_id: null,
    expected: null,
    actual: null,
    age_seconds: 1,
    suggested_action: '',
    healed: false,
    ...more,
  });
  const acknowledged = { by: 'cli:nan', at: '2026-11-21T08:00:00.000Z', reason: 'known' };
  const breaks = [found({}), found({ healed: true }), found({ acknowledged })];
  const { summary } = daily;
  const result = { ...summary, found: breaks, foreign: [], omitted: { breaks: 0, foreign: 0 } };
  const last: FullReconciliation = { ...daily, result, failure: null };
  const registry = new Registry();
  new ReconciliationGauges(registry).show(last, Date.parse(daily.createdAt));
  expect(await registry.metrics()).toContain('tillflow_reconciliation_breaks{type="amount"} 1');
});
