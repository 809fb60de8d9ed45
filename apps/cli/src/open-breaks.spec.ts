import type { Break } from '@tillflow/domain';
import type { FullReconciliation } from '@tillflow/temporal';
import { describe, expect, it } from 'vitest';
import { openBreaks } from './open-breaks.js';

const NO_IDS = { refund_id: null, transaction_id: null, receipt_id: null } as const;

function breakOf(charge: string, more: Partial<Break> = {}): Break {
  const about = { type: 'missing_there', checkout_id: 'chk_default_a', charge_id: charge, ...NO_IDS } as const;
  return { ...about, expected: null, actual: null, age_seconds: 0, suggested_action: 'look', healed: false, ...more };
}

const day = (n: number): string => new Date(Date.UTC(2026, 10, n)).toISOString();

/** A run over these days of November. @param begun the day on which it began */
function runOf(id: string, begun: number, [from, to]: readonly [number, number], found: Break[]): FullReconciliation {
  const summary = {
    from: day(from),
    to: day(to),
    dry_run: false,
    totals: [],
    breaks: found.length,
    healed: found.filter(({ healed }) => healed).length,
    outside: 0,
  };
  const result = { ...summary, found, foreign: [], omitted: { breaks: 0, foreign: 0 } };
  return { id, status: 'completed', summary, isDaily: false, createdAt: day(begun), result, failure: null };
}

/** @param runs in the order in which Temporal lists them: the last one that ended first */
function stored(...runs: readonly FullReconciliation[]) {
  const read: string[] = [];
  let underWay = 0;
  let most = 0;
  const reconciliations = {
    async *runs(most: number) {
      for (const run of runs.slice(0, most)) yield await Promise.resolve(run);
    },
    get: async (id: string) => {
      read.push(id);
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise(setImmediate);
      underWay -= 1;
      const run = runs.find((one) => one.id === id);
      if (run === undefined) throw new Error(`No run ${id}`);
      return run;
    },
  };
  const open = async () =>
    (await openBreaks(reconciliations)).map(({ id, breaks }) => `${id}: ${breaks.map((one) => one.charge_id).join()}`);
  return { open, read, most: () => most };
}

describe('the open breaks of recent runs', () => {
  it('are read one run after the other, the newest first', async () => {
    const runs = Array.from({ length: 20 }, (_, n) =>
      runOf(`rec_${20 - n}`, 21 - n, [20 - n, 21 - n], [breakOf(`${n}`)]),
    );
    const { open, read, most } = stored(...runs);
    expect(await open()).toHaveLength(20);
    expect(read).toEqual(runs.map(({ id }) => id));
    expect(most()).toBe(1);
  });

  it('leave out what a newer run over some of the same days shows as healed or acknowledged', async () => {
    const older = runOf('older', 4, [1, 3], [breakOf('a'), breakOf('b'), breakOf('c')]);
    const healed = runOf('healed', 5, [2, 4], [breakOf('a', { healed: true })]);
    const known = { by: 'ops', at: day(6), reason: 'known' };
    const acknowledged = runOf('acknowledged', 6, [2, 3], [breakOf('b', { acknowledged: known })]);
    expect(await stored(acknowledged, healed, older).open()).toEqual(['older: c']);
    // The older run took longer, so it is listed first.
    expect(await stored(older, acknowledged, healed).open()).toEqual(['older: c']);
  });

  it('are those of a daily run of days ago, however many runs followed', async () => {
    const later = Array.from({ length: 150 }, (_, n) => runOf(`later_${n}`, 9, [6, 7], []));
    expect(await stored(...later, runOf('daily', 4, [3, 4], [breakOf('a')])).open()).toEqual(['daily: a']);
  });

  it('are those of receipts, while each newer run over the same days could not read receipts', async () => {
    const older = runOf('older', 4, [1, 3], [breakOf('a'), breakOf('r', { type: 'receipt_total' })]);
    const summaryOf = (run: FullReconciliation) => ({
      ...run.summary,
      not_compared: [{ what: 'receipts', code: 'provider_timeout', detail: 'no answer' }] as const,
    });
    const newer = runOf('newer', 5, [1, 3], []);
    const unread = { ...newer, summary: summaryOf(newer) };
    expect(await stored(unread, older).open()).toEqual(['older: r']);
    expect(await stored(runOf('newest', 6, [1, 3], []), unread, older).open()).toEqual([]);
  });

  it('leave out what a newer run over the same days no longer has', async () => {
    const older = runOf('older', 4, [1, 3], [breakOf('a'), breakOf('b')]);
    const replaced = runOf('replaced', 5, [2, 4], [breakOf('a'), breakOf('c')]);
    const newest = runOf('newest', 6, [2, 4], [breakOf('d')]);
    expect(await stored(newest, replaced, older).open()).toEqual(['newest: d', 'older: b']);
  });

  it('leave out a run that a newer one covers, although the newer one has no break', async () => {
    const { open, read } = stored(runOf('newer', 5, [1, 4], []), runOf('older', 4, [1, 3], [breakOf('a')]));
    expect(await open()).toEqual([]);
    expect(read).toEqual([]);
  });

  it('cost no read of a healed run over other days', async () => {
    const { open, read } = stored(
      runOf('healed', 5, [3, 4], [breakOf('b', { healed: true })]),
      runOf('older', 4, [1, 3], [breakOf('a')]),
    );
    expect(await open()).toEqual(['older: a']);
    expect(read).toEqual(['older']);
  });
});
