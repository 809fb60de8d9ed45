import { expect, it } from 'vitest';
import { chargeIdOf, Stack } from './support/stack.js';

/** 200 bytes, names included. */
const METADATA = { order: 'o'.repeat(95), cashier: 'c'.repeat(93) };
const MOST_BYTES = 4_096;

/** The events of a run that Temporal Cloud bills. A change of search attributes would be one more. Source: its pricing, "Actions". */
const BILLED = [
  'workflowExecutionStarted',
  'workflowExecutionUpdateAccepted',
  'workflowExecutionSignaled',
  'workflowExecutionContinuedAsNew',
  'activityTaskScheduled',
  'timerStarted',
  'upsertWorkflowSearchAttributes',
] as const;

it('a checkout that is paid at once bills eight actions, and leaves a history of less than 4 KB open for a year', async () => {
  const stack = await Stack.start();
  try {
    const { body } = await stack.create({ description: 'Coffee', metadata: METADATA, terminal: 'till-7' });
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await stack.untilStatus(body.id, 'paid');
    // The timer is the last event that the run writes before it waits.
    const isAsleep = async (): Promise<boolean> => {
      const { events } = await stack.workflowOf(body.id).fetchHistory();
      return events?.some(({ timerStartedEventAttributes }) => timerStartedEventAttributes) === true;
    };
    await expect.poll(isAsleep, { timeout: 20_000 }).toBe(true);

    const [untilPaid = []] = await stack.runsOf(body.reference);
    const billed = untilPaid.flatMap((event) => BILLED.filter((kind) => event[`${kind}EventAttributes`]));
    expect(billed).toEqual([
      'workflowExecutionStarted',
      'workflowExecutionUpdateAccepted',
      'activityTaskScheduled',
      'activityTaskScheduled',
      'timerStarted',
      'workflowExecutionSignaled',
      'activityTaskScheduled',
      'workflowExecutionContinuedAsNew',
    ]);
    const { historySize } = await stack.workflowOf(body.id).describe();
    expect(historySize).toBeGreaterThan(1_000);
    expect(historySize).toBeLessThanOrEqual(MOST_BYTES);
  } finally {
    await stack.stop();
  }
});
