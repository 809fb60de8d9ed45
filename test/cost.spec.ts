import { EventEndpoints, nameOnQueue } from '@tillflow/temporal';
import { cancelRequest, eventFeedWorkflowId } from '@tillflow/workflows';
import { describe, expect, it } from 'vitest';
import { FULL } from './support/full.js';
import { startDirectly } from './support/paths.js';
import { chargeIdOf, SETTLES_SOON, Stack } from './support/stack.js';

/** 200 bytes, names included. */
const METADATA = { order: 'o'.repeat(95), cashier: 'c'.repeat(93) };
/** Every field of a request that a shop uses. */
const PLACED = { metadata: METADATA, terminal: 'till-7', store: { id: 'silom', name: 'Silom Road' } };
const MOST_BYTES = 4_096;
/** More events than a checkout has when its payment arrives, and fewer than it has afterwards. */
const SHORT_HISTORY = 20;

type Events = Awaited<ReturnType<Stack['runsOf']>>[number];

/** The events of a run that Temporal Cloud bills. Source: its pricing, "Actions". */
const BILLED = [
  'workflowExecutionStarted',
  'workflowExecutionUpdateAccepted',
  'workflowExecutionSignaled',
  'workflowExecutionContinuedAsNew',
  'activityTaskScheduled',
  'timerStarted',
  'upsertWorkflowSearchAttributes',
  // All local activities of one workflow task are one action. A task of a checkout has at most one.
  'markerRecorded',
] as const;

const billedOf = (events: Events): string[] =>
  events.flatMap((event) => BILLED.filter((kind) => event[`${kind}EventAttributes`]));

const activitiesOf = (events: Events): string[] =>
  events.flatMap(({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name ?? []);

/** Workflow tasks that a worker only continued, because a local activity was not done. Each costs three events. */
const heartbeatsOf = (events: Events): number =>
  events.filter(
    (event, index) =>
      event.workflowTaskScheduledEventAttributes && events[index - 1]?.workflowTaskCompletedEventAttributes,
  ).length;

describe('a checkout that is paid at once', () => {
  it('has 20 events before it is paid, and bills seven actions', async () => {
    const stack = await Stack.start();
    try {
      const { body } = await stack.create({ description: 'Coffee', ...PLACED });
      stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
      await stack.untilStatus(body.id, 'paid');
      const [events = []] = await stack.runsOf(body.reference);
      const paid = events.findIndex(({ upsertWorkflowSearchAttributesEventAttributes: upsert }) => upsert);
      expect(paid).toBe(20);
      expect(billedOf(events.slice(0, paid + 1))).toEqual([
        'workflowExecutionStarted',
        'markerRecorded',
        'activityTaskScheduled',
        'timerStarted',
        'workflowExecutionSignaled',
        'markerRecorded',
        'upsertWorkflowSearchAttributes',
      ]);
      expect(billedOf(events.slice(paid + 1))).toEqual(['timerStarted']);
    } finally {
      await stack.stop();
    }
  });

  it('leaves a history of less than 4 KB open for a year once it has continued as aftercare', async () => {
    const stack = await Stack.start();
    try {
      const { id, reference } = await startDirectly(stack, { maxHistoryEvents: SHORT_HISTORY }, PLACED);
      const open = await stack.until(id, ({ qr }) => qr !== null);
      stack.sandbox.mark(chargeIdOf(open), { status: 'successful' });
      await stack.untilStatus(id, 'paid');
      const next = stack.untilNextRun(reference);
      await stack.workflowOf(id).signal(cancelRequest, {});
      await next;
      // The timer is the last event that the run writes before it waits.
      await expect.poll(async () => billedOf((await stack.runsOf(reference)).at(-1) ?? [])).toContain('timerStarted');
      const { historySize, type } = await stack.workflowOf(id).describe();
      expect(type).toBe('aftercare');
      expect(historySize).toBeGreaterThan(1_000);
      expect(historySize).toBeLessThanOrEqual(MOST_BYTES);
    } finally {
      await stack.stop();
    }
  });
});

describe('a further refund', () => {
  it('writes a search attribute only while an event endpoint exists, which finds the refund by it', async () => {
    const stack = await Stack.start();
    const endpoints = new EventEndpoints(stack.temporal, { taskQueue: stack.taskQueue, readWithinMs: 10_000 });
    try {
      const { body } = await stack.create();
      stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
      await stack.untilStatus(body.id, 'paid');
      let refunds = 0;
      const refund = async (): Promise<number> => {
        const headers = { 'idempotency-key': `return-${(refunds += 1)}` };
        await stack.request('POST', `/v1/checkouts/${body.id}/refunds`, { body: { amount: 100 }, headers });
        const events = (await stack.runsOf(body.reference)).flat();
        return events.filter((event) => event.upsertWorkflowSearchAttributesEventAttributes).length;
      };
      // One shows the payment, and one the first refund.
      expect([await refund(), await refund(), await refund()]).toEqual([2, 2, 2]);
      const feed = nameOnQueue(eventFeedWorkflowId('default'), stack.taskQueue);
      await expect(stack.temporal.client.workflow.getHandle(feed).describe()).rejects.toThrow('not found');

      const fields = { url: 'http://127.0.0.1:9/', events: null, description: null, by: 'a test' };
      const created = await endpoints.create(fields, 'of no use here');
      // The worker reads every five seconds whether there is an endpoint.
      await expect.poll(refund, { timeout: 30_000, interval: 1_000 }).toBe(3);
      await endpoints.remove(created?.endpoint.id ?? '', 'a test');
    } finally {
      await stack.stop();
    }
  });
});

describe('a provider', () => {
  /** Pays a checkout at a provider that answers this late. */
  async function paidWith(delayMs: number): Promise<Events> {
    const stack = await Stack.start({ api: { POLL_INTERVAL_MS: '3600000' } });
    try {
      stack.sandbox.faults.add({ action: 'delay', delay_ms: delayMs });
      const { body } = await stack.create();
      const open = await stack.until(body.id, ({ qr }) => qr !== null, 60_000);
      stack.sandbox.mark(chargeIdOf(open), { status: 'successful' });
      await stack.untilStatus(body.id, 'paid', 60_000);
      return (await stack.runsOf(body.reference)).flat();
    } finally {
      await stack.stop();
    }
  }

  it.each([50, 1_000])('that answers after %i ms causes no more events than one that answers at once', async (ms) => {
    const events = await paidWith(ms);
    expect(activitiesOf(events)).toEqual(['createCharge']);
    expect(heartbeatsOf(events)).toBe(0);
  });

  it(
    'that answers after 8 s gets regular calls after the first local one, and no workflow task is continued',
    FULL,
    async () => {
      const events = await paidWith(8_000);
      expect(activitiesOf(events)).toEqual(['createSource', 'createCharge', 'retrieveCharge']);
      expect(heartbeatsOf(events)).toBe(0);
    },
  );

  it('that is down gets local calls with growing pauses, and no workflow task is continued', async () => {
    const stack = await Stack.start({ api: SETTLES_SOON });
    try {
      stack.sandbox.faults.add({ action: 'reset_before' });
      const { body } = await stack.create();
      const tries = () => stack.requests('POST /sources').length;
      await expect.poll(tries, { timeout: 20_000 }).toBeGreaterThan(4);
      stack.sandbox.faults.clear();
      await stack.until(body.id, ({ qr }) => qr !== null);
      const events = (await stack.runsOf(body.reference)).flat();
      expect(activitiesOf(events)).toEqual(['createCharge']);
      expect(heartbeatsOf(events)).toBe(0);
    } finally {
      await stack.stop();
    }
  });
});
