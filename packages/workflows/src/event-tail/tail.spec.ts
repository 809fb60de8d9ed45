import { formatInstant, parseInstant, plus } from '@tillflow/domain';
import { describe, expect, it } from 'vitest';
import type { EventsRead } from './activities.js';
import type { TailNotice, UnplacedEvent } from './memo.js';
import { retryAt, Tail } from './tail.js';

const NOW = parseInstant('2026-03-10T09:00:00Z');
const WATERMARK = '2026-03-10T08:00:00.000Z';
const LATER = '2026-03-10T08:30:00.000Z';

const read = (more: Partial<EventsRead> = {}): EventsRead => ({ watermark: LATER, intervalMs: 15_000, ...more });
const failure = { code: 'timeout', message: 'no answer' };

const notice = (number: number): TailNotice => ({
  id: `dispute_opened:dspt_${number}`,
  code: 'dispute_opened',
  since: WATERMARK,
  detail: 'a dispute',
  subject: `dspt_${number}`,
  event_id: `evnt_${number}`,
  charge_id: null,
  plan_id: null,
  checkout_id: null,
});
const unplaced = (number: number): UnplacedEvent => ({
  event_id: `evnt_${number}`,
  event_key: 'charge.complete',
  subject: 'chrg_1',
  checkout_id: 'chk_default_a',
  charge_id: 'chrg_1',
  since: WATERMARK,
  retry_at: formatInstant(plus(NOW, 1_000)),
  tries: 1,
  why: 'no answer',
});
const nameless = (number: number): UnplacedEvent => ({ ...unplaced(number), checkout_id: null, charge_id: null });
const tailAt = (watermark = WATERMARK): Tail => Tail.after({ pass: { at: WATERMARK, watermark, interval_ms: 15_000 } });
const ids = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index);

describe('Tail', () => {
  it('starts at the watermark of the earlier tail, or without one', () => {
    expect(tailAt().begin(NOW)).toEqual({ watermark: WATERMARK, retries: [] });
    expect(Tail.after(null).begin(NOW)).toEqual({ watermark: null, retries: [] });
  });

  it('continues from the watermark of a pass, also of one that failed', () => {
    const tail = tailAt();
    tail.begin(NOW);
    tail.ended(NOW, NOW, read({ failure }));
    expect(tail.begin(NOW).watermark).toBe(LATER);
  });

  it('starts at the same watermark after a pass without a result', () => {
    const tail = tailAt();
    tail.begin(NOW);
    tail.failed(NOW, failure);
    expect(tail.begin(NOW).watermark).toBe(WATERMARK);
  });

  it('publishes the time since which passes fail, and the last complete pass', () => {
    const tail = tailAt();
    tail.ended(NOW, plus(NOW, 5), read());
    expect(tail.memo).toMatchObject({ pass: { at: formatInstant(NOW), watermark: LATER }, failing: null });
    tail.failed(plus(NOW, 10), failure);
    tail.ended(plus(NOW, 20), plus(NOW, 30), read({ failure }));
    expect(tail.memo.failing).toEqual({ since: formatInstant(plus(NOW, 10)), ...failure });
    expect(tail.memo.pass?.at).toBe(formatInstant(NOW));
  });

  it('rereads from the requested instant, and is done when a pass that began later is complete', () => {
    const tail = tailAt();
    tail.begin(NOW);
    const reread = tail.reread(parseInstant('2026-01-01T00:00:00Z'));
    const counts = { read: 3, hinted: 2, reopened: 1, unplaced: 0 };
    tail.ended(NOW, NOW, read({ counts }));
    // That pass had begun before.
    expect(reread).toMatchObject({ isDone: false, counts: { read: 0 } });
    expect(tail.isRereadDue).toBe(true);
    expect(tail.begin(NOW).watermark).toBe('2026-01-01T00:00:00.000Z');
    tail.ended(NOW, NOW, read({ watermark: '2026-02-01T00:00:00.000Z', counts, failure }));
    expect(reread.isDone).toBe(false);
    // While passes fail, the pause stays.
    expect(tail.isRereadDue).toBe(false);
    expect(tail.begin(NOW).watermark).toBe('2026-02-01T00:00:00.000Z');
    tail.ended(NOW, NOW, read({ counts }));
    expect(reread).toMatchObject({ isDone: true, counts: { read: 6, hinted: 4, reopened: 2, unplaced: 0 } });
    expect(tail.isRereadDue).toBe(false);
  });

  it('rereads again when the pass of a reread has no result', () => {
    const tail = tailAt();
    tail.reread(parseInstant('2026-01-01T00:00:00Z'));
    tail.begin(NOW);
    tail.failed(NOW, failure);
    expect(tail.begin(NOW).watermark).toBe('2026-01-01T00:00:00.000Z');
  });

  it('does not skip events when a reread starts in the future', () => {
    const tail = tailAt();
    tail.reread(parseInstant('2027-01-01T00:00:00Z'));
    expect(tail.begin(NOW).watermark).toBe(WATERMARK);
  });

  it('retries an unplaced event when it is due, until it is settled', () => {
    const tail = tailAt();
    tail.ended(NOW, NOW, read({ unplaced: [unplaced(1)] }));
    expect(tail.begin(NOW).retries).toEqual([]);
    expect(tail.begin(plus(NOW, 1_000)).retries).toEqual([unplaced(1)]);
    const again = { ...unplaced(1), tries: 2 };
    tail.ended(NOW, NOW, read({ unplaced: [{ ...again, since: LATER }] }));
    expect(tail.memo.unplaced).toEqual([again]);
    tail.ended(NOW, NOW, read({ settled: ['evnt_1'] }));
    expect(tail.memo.unplaced).toEqual([]);
  });

  it('stores the latest notices and unplaced events, and one notice of each id', () => {
    const tail = tailAt();
    tail.ended(NOW, NOW, read({ notices: ids(0, 60).map(notice), unplaced: ids(0, 60).map(unplaced) }));
    expect(tail.memo.notices).toEqual(ids(10, 60).map(notice));
    expect(tail.memo.unplaced).toEqual(ids(10, 60).map(unplaced));
    tail.ended(NOW, NOW, read({ notices: [{ ...notice(59), event_id: 'evnt_new' }] }));
    expect(tail.memo.notices).toHaveLength(50);
    expect(tail.memo.notices?.at(-1)).toMatchObject({ event_id: 'evnt_new' });
  });

  it('does not store a dismissed notice again, but a later one about the same record', () => {
    const tail = tailAt();
    tail.ended(NOW, NOW, read({ notices: [notice(1)] }));
    tail.dismiss(notice(1).id);
    tail.ended(NOW, NOW, read({ notices: [notice(1)] }));
    expect(tail.memo.notices).toEqual([]);
    tail.ended(NOW, NOW, read({ notices: [{ ...notice(1), event_id: 'evnt_2' }] }));
    expect(tail.memo.notices).toHaveLength(1);
  });

  it('keeps the latest notices of each code, so that many of one code do not displace another', () => {
    const tail = tailAt();
    const missing: TailNotice = { ...notice(0), id: 'checkout_missing:chrg_1', code: 'checkout_missing' };
    tail.ended(NOW, NOW, read({ notices: [missing] }));
    tail.ended(NOW, NOW, read({ notices: ids(0, 80).map(notice) }));
    expect(tail.memo.notices).toEqual([missing, ...ids(31, 80).map(notice)]);
    tail.ended(NOW, NOW, read({ unplaced: [unplaced(0)] }));
    tail.ended(NOW, NOW, read({ unplaced: ids(1, 80).map(nameless) }));
    expect(tail.memo.unplaced?.map(({ event_id }) => event_id)).toEqual([0, ...ids(31, 80)].map((id) => `evnt_${id}`));
  });

  it('gives each pass the ids of the stored events, so that the pass returns only new ones', () => {
    const tail = tailAt();
    tail.ended(NOW, NOW, read({ notices: [notice(1), notice(2)], unplaced: [unplaced(3)] }));
    tail.dismiss(notice(2).id);
    expect(tail.begin(NOW).remembered?.toSorted()).toEqual(['evnt_1', 'evnt_2', 'evnt_3']);
  });

  it('dismisses a notice together with its event, by the id of either, permanently', () => {
    for (const id of [notice(1).id, 'evnt_1']) {
      const tail = tailAt();
      const both = { notices: [notice(1), notice(2)], unplaced: [unplaced(1), unplaced(2)] };
      tail.ended(NOW, NOW, read(both));
      tail.dismiss(id);
      // The pass that was under way tried it again without success.
      tail.ended(NOW, NOW, read(both));
      expect(tail.memo).toMatchObject({ notices: [{ event_id: 'evnt_2' }], unplaced: [{ event_id: 'evnt_2' }] });
    }
  });

  it('restores the notices, unplaced events and dismissals of a tail that was terminated', () => {
    const ended = tailAt();
    ended.ended(NOW, NOW, read({ notices: [notice(1), notice(2)], unplaced: [unplaced(3)] }));
    ended.dismiss(notice(1).id);
    const next = Tail.after({ ...ended.memo, notices: [notice(1), notice(2)] });
    next.ended(NOW, NOW, read({ notices: [notice(1)] }));
    expect(next.memo).toMatchObject({ notices: [notice(2)], unplaced: [unplaced(3)] });
  });

  it('delivers events again until a reread is complete or given up', () => {
    const tail = tailAt();
    const reread = tail.reread(parseInstant('2026-01-01T00:00:00Z'));
    expect(tail.begin(NOW).again).toBe(true);
    tail.ended(NOW, NOW, read({ failure }));
    expect(tail.begin(NOW).again).toBe(true);
    tail.ended(NOW, NOW, read());
    expect(tail.begin(NOW)).not.toHaveProperty('again');
    expect(reread.isDone).toBe(true);
    const givenUp = tail.reread(parseInstant('2026-01-01T00:00:00Z'));
    tail.giveUp(givenUp);
    expect(tail.begin(NOW)).not.toHaveProperty('again');
  });

  it('retries after growing pauses, at most a day', () => {
    const pauses = [1, 2, 3, 4, 5, 6, 100].map((tries) => retryAt(NOW, tries) - NOW);
    expect(pauses).toEqual([15_000, 60_000, 300_000, 3_600_000, 86_400_000, 86_400_000, 86_400_000]);
  });
});
