import { businessDay, DaySums, instant, UTC_DAYS } from '@tillflow/domain';
import { describe, expect, it } from 'vitest';
import { Findings } from './findings.js';
import { DEFAULT_RECONCILE_POLICY } from './messages.js';

const DAY = businessDay('2026-11-20', UTC_DAYS);
const sums = new DaySums();
sums.add(DAY, { store: 'north', terminal: null }, 'THB', { sales: { count: 1, amount: 5 } });
const page = { totals: [], days: sums.list(), breaks: [], foreign: [] };

describe('the result of a run', () => {
  const findings = () =>
    new Findings(
      { account: 'default', from: DAY.from, to: DAY.to, dry_run: false },
      DAY,
      DEFAULT_RECONCILE_POLICY,
      instant(DAY.to + 1),
    );

  it('has the sums of the tills of all of its calls, and the time at which it began', () => {
    const all = findings();
    all.add(page);
    all.add(page);
    expect(all.result()).toMatchObject({
      compared_at: '2026-11-21T00:00:00.001Z',
      days: [{ date: '2026-11-20', totals: [{ store: 'north', sales: { count: 2, amount: 10 } }] }],
    });
  });

  it('has no sums of the tills when a worker of an earlier release made one of its calls', () => {
    const all = findings();
    all.add(page);
    all.add({ totals: [], breaks: [], foreign: [] });
    all.add(page);
    expect(all.result()).not.toHaveProperty('days');
  });
});
