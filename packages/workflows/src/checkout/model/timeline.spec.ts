import { describe, expect, it } from 'vitest';
import { START } from '../../testing/simulated-provider.js';
import type { TimelineEntry } from '../types.js';
import { Timeline } from './timeline.js';

const FULL = 60;

/** A timeline with 60 entries. @param webhookAt the index of the entry that is a webhook; null: none is. */
function fullTimeline(webhookAt: number | null): Timeline {
  const entries = Array.from({ length: FULL }, (_, index): TimelineEntry => {
    return { at: '', what: index === webhookAt ? 'webhook' : 'entry', detail: String(index) };
  });
  return new Timeline(entries);
}

describe('a timeline', () => {
  it.each([
    ['without detail', undefined, {}, {}],
    ['with a detail', 'chrg_1', {}, { detail: 'chrg_1' }],
    ['with a detail and a requester', 'chrg_1', { by: 'cli:ann' }, { detail: 'chrg_1', by: 'cli:ann' }],
    ['with a requester and its machine', undefined, { by: 'cli:ann', origin: 'm1' }, { by: 'cli:ann', origin: 'm1' }],
  ])('a timeline notes an entry %s', (_, detail, requester, shown) => {
    const timeline = new Timeline([]);
    timeline.note(START, 'paid', detail, requester);
    expect(timeline.all).toStrictEqual([{ at: '2026-03-10T09:00:00.000Z', what: 'paid', ...shown }]);
  });

  it('a timeline that is full of requests keeps their first half and the newest, and drops what no one requested', () => {
    const timeline = new Timeline([]);
    for (let count = 0; count < FULL; count += 1) timeline.note(START, 'refund_requested', String(count), { by: 'a' });
    timeline.note(START, 'refunded', 'one');
    expect(timeline.all.some(({ what }) => what === 'refunded')).toBe(false);
    timeline.note(START, 'refund_requested', 'new', { by: 'a' });
    expect([timeline.all.length, timeline.all[0]?.detail, timeline.all.at(-1)?.detail]).toEqual([FULL, '0', 'new']);
  });

  it.each([
    ['its oldest webhook, wherever that is', 45, '45'],
    ['its oldest webhook, also as the first entry', 0, '0'],
    ['an entry in the middle, when no entry is a webhook', null, '30'],
  ])('a timeline that is full drops %s', (_, webhookAt, dropped) => {
    const timeline = fullTimeline(webhookAt);
    timeline.note(START, 'paid', 'chrg_1');
    const before = Array.from({ length: FULL }, (__, index) => String(index)).filter((detail) => detail !== dropped);
    expect(timeline.all.map(({ detail }) => detail)).toEqual([...before, 'chrg_1']);
  });
});
