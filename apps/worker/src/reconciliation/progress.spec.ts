import { businessDay, DaySums, instant, Totals, UTC_DAYS, type ComparedSlice } from '@tillflow/domain';
import { expect, it } from 'vitest';
import { Progress } from './progress.js';

const [FROM, HALF, TO] = [instant(0), instant(3_600_000), instant(7_200_000)];
const CALL = {
  account: 'default',
  window: { from: FROM, to: TO },
  place: { at: FROM, listFrom: FROM },
  rules: { now: TO, youngMs: 0 },
  room: { breaks: 10, foreign: 10 },
  chargesPerCall: 3,
};
const totals = new Totals();
totals.add('THB', { charges: 2 });
const days = new DaySums();
const TILL = { store: null, terminal: 'till-7' };
days.add(businessDay('1970-01-01', UTC_DAYS), TILL, 'THB', { sales: { count: 2, amount: 7 } });
const half: ComparedSlice = {
  totals: totals.list(),
  days: days.list(),
  breaks: [],
  foreign: [],
  next: { at: HALF, listFrom: FROM },
};

it('Progress continues from the heartbeat of an earlier try', () => {
  const before = Progress.of(CALL, undefined);
  before.add(half);
  const next = Progress.of(CALL, JSON.parse(JSON.stringify(before.snapshot())));
  expect(next.place).toEqual(half.next);
  next.add(half);
  expect(next.result().totals).toMatchObject([{ charges: 4 }]);
  expect(next.result().days).toMatchObject([{ totals: [{ ...TILL, sales: { count: 4, amount: 14 } }] }]);
  expect([before.isEnough, next.isEnough]).toEqual([false, true]);
});

it('Progress has nothing left when the earlier try compared everything', () => {
  const before = Progress.of(CALL, undefined);
  before.add({ ...half, next: null });
  expect(Progress.of(CALL, before.snapshot()).place).toEqual({ at: TO, listFrom: TO });
});

it.each([
  ['nothing', undefined],
  ['null', null],
  ['a number', 7],
  ['a list', []],
  ['a place alone', { next: { at: HALF, listFrom: FROM } }],
  ['a place of another shape', { ...half, charges: 2, next: { at: '2026-11-21T00:00:00Z' } }],
  ['sums without the tills, as an earlier release wrote them', { ...half, charges: 2, days: undefined }],
  ['totals of another shape', { ...half, charges: 2, totals: { THB: 2 } }],
])('Progress starts again when the last heartbeat is %s', (_, heartbeat) => {
  const progress = Progress.of(CALL, heartbeat);
  expect(progress.place).toEqual(CALL.place);
  expect(progress.result()).toEqual({ totals: [], days: [], breaks: [], foreign: [], next: CALL.place });
});
