import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { billedActions, kindOf, type HistoryEvent } from './histories.js';

type RecordedRun = { readonly type: string; readonly events: readonly HistoryEvent[] };

/** A checkout that was paid by a prompt webhook, reduced to the fields that are counted. */
const PAID = JSON.parse(
  readFileSync(new URL('../../histories/paid.json', import.meta.url), 'utf8'),
) as readonly RecordedRun[];

const event = (kind: string, attributes: object = {}): HistoryEvent => ({ [`${kind}EventAttributes`]: attributes });
const billed = (...events: HistoryEvent[]): number => billedActions(events);

describe('the billed actions of a history', () => {
  it('are eight for a paid checkout: start, update, signal, timer, three activities and continue-as-new', () => {
    expect(PAID.map(({ type }) => type)).toEqual(['checkout', 'aftercare']);
    expect(billedActions(PAID[0]?.events ?? [])).toBe(8);
  });

  it('count a run that continues another in the run that ended, so its own timer is all that aftercare adds', () => {
    expect(billedActions(PAID[1]?.events ?? [])).toBe(1);
    expect(billed(event('workflowExecutionStarted'))).toBe(1);
    expect(billed(event('workflowExecutionStarted', { continuedExecutionRunId: 'x' }))).toBe(0);
    expect(billed(event('workflowExecutionContinuedAsNew'))).toBe(1);
  });

  it('count each attempt of an activity', () => {
    expect(billed(event('activityTaskScheduled'), event('activityTaskStarted', { attempt: 1 }))).toBe(1);
    expect(billed(event('activityTaskScheduled'), event('activityTaskStarted', { attempt: 3 }))).toBe(3);
  });

  it('count an upsert of attributes, but not an upsert of the memo or the marker of a patch', () => {
    expect(billed(event('upsertWorkflowSearchAttributes'))).toBe(1);
    expect(billed(event('workflowPropertiesModified'))).toBe(0);
    expect(billed(event('markerRecorded', { markerName: 'core_patch' }))).toBe(0);
  });

  it('are not guessed for unknown kinds of events', () => {
    expect(() => billed(event('childWorkflowExecutionStarted'))).toThrow(
      'not known whether childWorkflowExecutionStarted',
    );
    expect(() => billed(event('markerRecorded', { markerName: 'core_local_activity' }))).toThrow(Error);
  });
});

describe('the kind of a history event', () => {
  it('is the name of the one field that is set', () => {
    expect(kindOf({ eventId: '7', timerFiredEventAttributes: {}, timerStartedEventAttributes: null })).toBe(
      'timerFired',
    );
    expect(() => kindOf({ eventId: '7' })).toThrow('without attributes');
  });
});
