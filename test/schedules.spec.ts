import { randomUUID } from 'node:crypto';
import { queueOfAccount } from '@tillflow/domain';
import {
  nameOnQueue,
  openTemporal,
  scheduleIdOf,
  setUpSchedules,
  temporalSettings,
  type Temporal,
} from '@tillflow/temporal';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { z } from 'zod';

const taskQueue = `test-${randomUUID()}`;
const scheduleId = nameOnQueue('event-tail', taskQueue);

let temporal: Temporal;
beforeAll(async () => {
  temporal = await openTemporal(z.object(temporalSettings).parse({ TEMPORAL_ADDRESS: inject('temporalAddress') }));
});
afterAll(async () => {
  const left = await running();
  await schedule().delete();
  for (const id of left) await temporal.client.workflow.getHandle(id).terminate();
  await temporal.connection.close();
});

const schedule = () => temporal.client.schedule.getHandle(scheduleId);
const running = async () =>
  (await schedule().describe()).info.runningActions.map(({ workflow }) => workflow.workflowId);

describe('the schedules', () => {
  it('have names without the queue on the default task queue only', () => {
    expect(nameOnQueue('event-tail', 'tillflow')).toBe('event-tail');
    expect(nameOnQueue('event-tail', 'other')).toBe('event-tail@other');
  });

  it('of a further account name the account', () => {
    expect(scheduleIdOf('event-tail', queueOfAccount('tillflow', 'siam'))).toBe('event-tail/siam');
    expect(scheduleIdOf('event-tail', queueOfAccount('other', 'siam'))).toBe('event-tail/siam@other');
    expect(scheduleIdOf('reconcile-daily', 'tillflow')).toBe('reconcile-daily');
  });

  it('are listed by a dry run, created once, and not changed by a second setup', async () => {
    const announced = await setUpSchedules(temporal, taskQueue, { dryRun: true });
    expect(announced).toContainEqual({ what: `create schedule ${scheduleId} (eventTail)`, done: false });
    await expect(schedule().describe()).rejects.toThrow('not found');
    const made = await setUpSchedules(temporal, taskQueue, { dryRun: false });
    expect(made).toEqual(announced.map(({ what }) => ({ what, done: true })));
    expect(await setUpSchedules(temporal, taskQueue, { dryRun: false })).toEqual([]);
  });

  it('start the event tail at once, and no second one while it runs', async () => {
    await expect.poll(running).toHaveLength(1);
    const [id = ''] = await running();
    expect(await temporal.client.workflow.getHandle(id).describe()).toMatchObject({ type: 'eventTail', taskQueue });
    // As the next minute does.
    await schedule().trigger('SKIP');
    const skipped = async () => (await schedule().describe()).info.numActionsSkippedOverlap;
    await expect.poll(skipped).toBeGreaterThan(0);
    expect(await running()).toEqual([id]);
  });

  it('are restored to their definition when someone changed them, and stay paused when someone paused them', async () => {
    await schedule().pause('while the provider moves house');
    await schedule().update((previous) => ({ ...previous, spec: { intervals: [{ every: '1 day' }] } }));
    expect(await setUpSchedules(temporal, taskQueue, { dryRun: false })).toEqual([
      { what: `change schedule ${scheduleId} (eventTail)`, done: true },
    ]);
    const { spec, state } = await schedule().describe();
    expect(spec.intervals).toMatchObject([{ every: 60_000 }]);
    expect(state).toMatchObject({ paused: true, note: 'while the provider moves house' });
    expect(await setUpSchedules(temporal, taskQueue, { dryRun: false })).toEqual([]);
  });
});
