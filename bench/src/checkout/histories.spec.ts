import { describe, expect, it } from 'vitest';
import { eventsUntilPaid } from './counts.js';
import { billedActions, kindOf, type HistoryEvent } from './histories.js';

const event = (kind: string, attributes: object = {}): HistoryEvent => ({ [`${kind}EventAttributes`]: attributes });
const billed = (...events: HistoryEvent[]): number => billedActions(events);

describe('the billed actions of a history', () => {
  it('count the start of a checkout, and a run that continues another in the run that ended', () => {
    expect(billed(event('workflowExecutionStarted'))).toBe(1);
    expect(billed(event('workflowExecutionStarted', { continuedExecutionRunId: 'x' }))).toBe(0);
    expect(billed(event('workflowExecutionContinuedAsNew'))).toBe(1);
  });

  it('count all local activities of one workflow task once', () => {
    const local = (workflowTaskCompletedEventId: number): HistoryEvent =>
      event('markerRecorded', { markerName: 'core_local_activity', workflowTaskCompletedEventId });
    expect(billed(local(4), local(4))).toBe(1);
    expect(billed(local(4), local(4), local(19))).toBe(2);
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
    expect(() => billed(event('markerRecorded', { markerName: 'core_unknown' }))).toThrow(Error);
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

describe('the events of a checkout until it is paid', () => {
  const run = (type: string, ...kinds: string[]) => ({ type, events: kinds.map((kind) => event(kind)) });

  it('end with the write of the attributes, before the timer for the night', () => {
    const kinds = ['workflowExecutionStarted', 'workflowPropertiesModified', 'upsertWorkflowSearchAttributes'];
    const paid = [run('checkout', ...kinds, 'timerStarted')];
    expect(eventsUntilPaid(paid).map(kindOf)).toEqual(kinds);
  });

  it('end with the continue-as-new of a version that continues at the payment', () => {
    const paid = [
      run('checkout', 'workflowExecutionStarted', 'workflowExecutionContinuedAsNew'),
      run('aftercare', 'workflowExecutionStarted', 'timerStarted'),
    ];
    expect(eventsUntilPaid(paid)).toHaveLength(2);
  });
});
