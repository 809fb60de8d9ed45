import { setTimeout as sleep } from 'node:timers/promises';
import { EventEndpoints, nameOnQueue } from '@tillflow/temporal';
import { cancelRequest, eventFeedWorkflowId, resolve } from '@tillflow/workflows';
import { describe, expect, it, vi } from 'vitest';
import { FULL } from './support/full.js';
import { startDirectly } from './support/paths.js';
import { chargeIdOf, IMPATIENT, SETTLES_SOON, Stack } from './support/stack.js';

/** 200 bytes, names included. */
const METADATA = { order: 'o'.repeat(95), cashier: 'c'.repeat(93) };
/** Every field of a request that a shop uses. */
const PLACED = { metadata: METADATA, terminal: 'till-7', store: { id: 'silom', name: 'Silom Road' } };
const MOST_BYTES = 4_096;
/** Longer than a checkout of this test takes. Milliseconds. */
const SLOW_MS = 4_000;
/** More events than a checkout has when its payment arrives, and fewer than it has afterwards. */
const SHORT_HISTORY = 20;
const DAY_S = 86_400;

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

/** The events before the one that shows the payment. */
const beforePaid = (events: Events): number =>
  events.findIndex(({ upsertWorkflowSearchAttributesEventAttributes: upsert }) => upsert);

/** Workflow tasks that a worker only continued, because a local activity was not done. Each costs three events. */
const heartbeatsOf = (events: Events): number =>
  events.filter(
    (event, index) =>
      event.workflowTaskScheduledEventAttributes && events[index - 1]?.workflowTaskCompletedEventAttributes,
  ).length;

/** The most local activities that one workflow task made. */
function mostLocalCallsOf(events: Events): number {
  const calls = new Map<string, number>();
  for (const { markerRecordedEventAttributes: marker } of events) {
    const task = String(marker?.workflowTaskCompletedEventId);
    if (marker) calls.set(task, (calls.get(task) ?? 0) + 1);
  }
  return Math.max(0, ...calls.values());
}

describe('a checkout that is paid at once', () => {
  it.each([
    ['', {}],
    // Nothing takes the spans.
    [' with traces', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_TRACES_SAMPLER: 'always_on' }],
  ])('has 21 events before it is paid, and bills seven actions%s', async (_, shared) => {
    const stack = await Stack.start({ shared });
    try {
      const body = await stack.open({ description: 'Coffee', ...PLACED });
      stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
      await stack.untilStatus(body.id, 'paid');
      const [events = []] = await stack.runsOf(body.reference);
      const paid = beforePaid(events);
      expect(paid).toBe(21);
      expect(billedOf(events.slice(0, paid + 1))).toEqual([
        'workflowExecutionStarted',
        'markerRecorded',
        'activityTaskScheduled',
        'timerStarted',
        'workflowExecutionUpdateAccepted',
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
      const newest = async (): Promise<Events> => (await stack.runsOf(reference)).at(-1) ?? [];
      await expect.poll(async () => billedOf(await newest())).toContain('timerStarted');
      // It continued as aftercare before the night, and does not wake up for that.
      const timers = (await newest()).flatMap(({ timerStartedEventAttributes: timer }) => timer ?? []);
      expect(timers.map((timer) => Number(timer.startToFireTimeout?.seconds) > 364 * DAY_S)).toEqual([true]);
      const { historySize, type } = await stack.workflowOf(id).describe();
      expect(type).toBe('aftercare');
      expect(historySize).toBeGreaterThan(1_000);
      expect(historySize).toBeLessThanOrEqual(MOST_BYTES);
    } finally {
      await stack.stop();
    }
  });
});

describe('a checkout with two QR codes', () => {
  it('makes one local call in a workflow task, and a regular one for the other QR code', async () => {
    const stack = await Stack.start();
    try {
      const { body } = await stack.create();
      await stack.post(`/v1/checkouts/${body.id}/attempts`, { after: 1 });
      await stack.workflowOf(body.id).executeUpdate(resolve, { args: [{ action: 'look', reason: 'a test' }] });
      const events = (await stack.runsOf(body.reference)).flat();
      expect(mostLocalCallsOf(events)).toBe(1);
      expect(activitiesOf(events)).toContain('retrieveCharge');
    } finally {
      await stack.stop();
    }
  });
});

describe('a state that makes an event without another change of a search attribute', () => {
  it('writes no search attribute without an endpoint, also when a new worker reads slowly that there is none', async () => {
    const read = vi.spyOn(EventEndpoints.prototype, 'count').mockImplementation(() => sleep(SLOW_MS, 0));
    const stack = await Stack.start();
    try {
      stack.sandbox.faults.add({ method: 'GET', path: '/transactions/{id}', action: 'status', status: 500 });
      const body = await stack.open();
      stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
      await stack.untilStatus(body.id, 'paid');
      stack.sandbox.faults.clear();
      await stack.workflowOf(body.id).signal('hint', { eventId: 'test', eventKey: 'refund.create' });
      await stack.until(body.id, ({ payment }) => payment?.transferable_at !== null);
      const events = (await stack.runsOf(body.reference)).flat();
      // The payment.
      expect(events.filter((event) => event.upsertWorkflowSearchAttributesEventAttributes)).toHaveLength(1);
    } finally {
      read.mockRestore();
      await stack.stop();
    }
  });
});

describe('a further refund', () => {
  it('writes a search attribute only while an event endpoint exists, which finds the refund by it', async () => {
    const stack = await Stack.start();
    const endpoints = new EventEndpoints(stack.temporal, { taskQueue: stack.taskQueue, readWithinMs: 10_000 });
    try {
      const body = await stack.open();
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
      await expect.poll(refund, { interval: 1_000 }).toBe(3);
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
      const open = await stack.open();
      stack.sandbox.mark(chargeIdOf(open), { status: 'successful' });
      await stack.untilStatus(open.id, 'paid', 60_000);
      return (await stack.runsOf(open.reference)).flat();
    } finally {
      await stack.stop();
    }
  }

  it.each([50, 1_000])('that answers after %i ms causes no more events than one that answers at once', async (ms) => {
    const events = await paidWith(ms);
    expect(beforePaid(events)).toBe(21);
    expect(activitiesOf(events)).toEqual(['createCharge']);
    expect(heartbeatsOf(events)).toBe(0);
  });

  it(
    'that answers after 8 s gets regular calls after the first local one, and no workflow task is continued',
    FULL,
    async () => {
      const events = await paidWith(8_000);
      expect(beforePaid(events)).toBe(32);
      expect(activitiesOf(events)).toEqual(['createSource', 'createCharge', 'retrieveCharge']);
      expect(heartbeatsOf(events)).toBe(0);
    },
  );

  it('whose answer to a local retrieve comes too late gets a regular one, which waits longer', FULL, async () => {
    const stack = await Stack.start({ api: { POLL_INTERVAL_MS: '3600000' } });
    try {
      const body = await stack.open();
      const path = `/charges/${chargeIdOf(body)}`;
      // Longer than the first tries of any read wait.
      stack.sandbox.faults.add({ method: 'GET', path, action: 'delay', delay_ms: 3_500 });
      stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
      await stack.untilStatus(body.id, 'paid', 60_000);
      const events = (await stack.runsOf(body.reference)).flat();
      expect(activitiesOf(events)).toEqual(['createCharge', 'retrieveCharge']);
      const tries = events.flatMap(({ activityTaskStartedEventAttributes: started }) => started?.attempt ?? []);
      expect(tries).toEqual([1, 1]);
      expect(heartbeatsOf(events)).toBe(0);
    } finally {
      await stack.stop();
    }
  });

  it(
    'that never answers gets regular calls after the first local one, and no workflow task is continued',
    FULL,
    async () => {
      const { SETTLE_DELAY_MS, LOOK_DELAYS_MS } = SETTLES_SOON;
      const stack = await Stack.start({ api: { SETTLE_DELAY_MS, LOOK_DELAYS_MS } });
      try {
        stack.sandbox.faults.add({ action: 'hang' });
        const { body } = await stack.create();
        await expect.poll(() => stack.requests('POST /sources').length).toBeGreaterThan(1);
        stack.sandbox.faults.clear();
        await stack.until(body.id, ({ qr }) => qr !== null, 60_000);
        const events = (await stack.runsOf(body.reference)).flat();
        expect(activitiesOf(events).at(0)).toBe('createSource');
        expect(events.filter((event) => event.markerRecordedEventAttributes)).toHaveLength(1);
        expect(heartbeatsOf(events)).toBe(0);
      } finally {
        await stack.stop();
      }
    },
  );

  it('that is down gets local calls with growing pauses, and no workflow task is continued', async () => {
    const stack = await Stack.start({ api: { ...SETTLES_SOON, ...IMPATIENT } });
    try {
      stack.sandbox.faults.add({ action: 'reset_before' });
      const { body } = await stack.create();
      const tries = () => stack.requests('POST /sources').length;
      await expect.poll(tries).toBeGreaterThan(4);
      stack.sandbox.faults.clear();
      await stack.until(body.id, ({ qr }) => qr !== null);
      const events = (await stack.runsOf(body.reference)).flat();
      // Each try: a task, the call's marker, and the timer of the pause after it. The last one brings the QR code.
      expect(events.length).toBeLessThanOrEqual(6 * tries() + 7);
      expect(activitiesOf(events)).toEqual(['createCharge']);
      expect(heartbeatsOf(events)).toBe(0);
    } finally {
      await stack.stop();
    }
  });
});
