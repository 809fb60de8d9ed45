import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { billedActions, kindOf, sumOf, totalOf, type HistoryEvent } from './billed-actions.js';

type RecordedRun = { readonly type: string; readonly events: readonly HistoryEvent[] };

/** A checkout that was paid by a prompt webhook, reduced to what is counted here. */
const PAID = JSON.parse(
  readFileSync(new URL('../../histories/paid.json', import.meta.url), 'utf8'),
) as readonly RecordedRun[];

const event = (kind: string, attributes: object = {}): HistoryEvent => ({ [`${kind}EventAttributes`]: attributes });
const billed = (...events: HistoryEvent[]): number => totalOf(billedActions(events));

describe('the billed actions of a history', () => {
  it('are those of a paid checkout, by kind', () => {
    const [checkout] = PAID;
    expect(billedActions(checkout?.events ?? [])).toEqual({
      start: 1,
      update: 1,
      signal: 1,
      timer: 1,
      activity: 3,
      attributes: 0,
      continueAsNew: 1,
    });
  });

  it('bill a run that continues another to the event by which that one ended', () => {
    expect(PAID.map(({ type }) => type)).toEqual(['checkout', 'aftercare']);
    const counts = PAID.map(({ events }) => billedActions(events));
    expect(counts.map(({ start }) => start)).toEqual([1, 0]);
    expect(sumOf(counts).continueAsNew).toBe(1);
  });

  it('count each try of an activity', () => {
    expect(billed(event('activityTaskScheduled'), event('activityTaskStarted', { attempt: 1 }))).toBe(1);
    expect(billed(event('activityTaskScheduled'), event('activityTaskStarted', { attempt: 3 }))).toBe(3);
  });

  it('count an upsert of attributes, but not one of the memo, and not the marker of a patch', () => {
    expect(billed(event('upsertWorkflowSearchAttributes'))).toBe(1);
    expect(billed(event('workflowPropertiesModified'))).toBe(0);
    expect(billed(event('markerRecorded', { markerName: 'core_patch' }))).toBe(0);
  });

  it('are not guessed', () => {
    expect(() => billed(event('childWorkflowExecutionStarted'))).toThrow(
      'not known whether childWorkflowExecutionStarted',
    );
    expect(() => billed(event('markerRecorded', { markerName: 'core_local_activity' }))).toThrow(Error);
  });

  it('tell what happened by the one field that is set', () => {
    expect(kindOf({ eventId: '7', timerFiredEventAttributes: {}, timerStartedEventAttributes: null })).toBe(
      'timerFired',
    );
    expect(() => kindOf({ eventId: '7' })).toThrow('without attributes');
  });
});
