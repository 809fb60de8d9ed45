import { randomUUID } from 'node:crypto';
import { Checkouts, EndpointSealer, EventEndpoints, eventLinks, nameOnQueue, Seal } from '@tillflow/temporal';
import { due, eventFeedWorkflowId, wake, type EndpointPolicy } from '@tillflow/workflows';
import { vi } from 'vitest';
import { TailRun } from './event-tail.js';
import { eventually } from './eventually.js';
import { Receiver } from './receiver.js';
import { chargeIdOf, SIGNING_KEY, type CheckoutJson, type Stack } from './stack.js';

/** One path through an event endpoint or the feed: the function causes it, and returns the id of the workflow. */
export type EventPath = (stack: Stack) => Promise<string>;

const BY = 'key:ops';
/** A failed delivery is tried again soon. */
const QUICK: Partial<EndpointPolicy> = { retryDelaysMs: Array.from({ length: 9 }, () => 100), probeMs: 100 };
/** With so many wakes, the history of a feed is full. */
const MANY_WAKES = 60;

/** Every path through the feed and an event endpoint. The histories of all of them are committed and replayed. */
export const EVENT_PATHS: Readonly<Record<string, EventPath>> = {
  // The first two need that there is no endpoint. A feed that was woken looks once more, and then ends.
  'feed-without-endpoints': async (stack) => {
    await endpointsOf(stack).keepFeed();
    await feedOf(stack).result();
    return feedOf(stack).workflowId;
  },
  'feed-continued-as-new': async (stack) => {
    await endpointsOf(stack).keepFeed();
    await Promise.all(Array.from({ length: MANY_WAKES }, () => feedOf(stack).signal(wake)));
    await feedOf(stack).result();
    return feedOf(stack).workflowId;
  },
  'feed-of-an-endpoint': async (stack) => {
    await withEndpoint(stack, undefined, async ({ receiver }) => {
      await delivered(receiver, (await stack.create()).body, 'awaiting_payment');
      // A feed that cannot search ends its activity, and begins another one: otherwise after five minutes.
      const search = vi.spyOn(Checkouts.prototype, 'all').mockRejectedValueOnce(new Error('The search fails'));
      await eventually(async () => {
        const [events = []] = await stack.runsOfWorkflow(feedOf(stack).workflowId);
        if (!events.some((event) => event.activityTaskCompletedEventAttributes)) throw new Error('Not yet');
      });
      search.mockRestore();
    });
    return feedOf(stack).workflowId;
  },
  'endpoint-delivered': (stack) =>
    withEndpoint(stack, undefined, async ({ receiver }) => {
      const body = await stack.open();
      stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
      await delivered(receiver, body, 'paid');
      const options = { body: { amount: 50_000 }, headers: { 'idempotency-key': randomUUID() } };
      await stack.request('POST', `/v1/checkouts/${body.id}/refunds`, options);
      await delivered(receiver, body, 'refunded');
    }),
  'endpoint-refusing-then-accepting': (stack) =>
    withEndpoint(stack, QUICK, async ({ receiver }) => {
      const statuses = [500, 404];
      receiver.answer = () => ({ status: statuses.shift() ?? 200 });
      await stack.create();
      await until(() => receiver.received.length === 3);
    }),
  'endpoint-down-and-back': (stack) =>
    withEndpoint(stack, { retryDelaysMs: [60_000], probeMs: 100 }, async ({ receiver }) => {
      receiver.answer = () => ({ status: 503 });
      await Promise.all(Array.from({ length: 10 }, () => stack.create()));
      // After ten first tries it is down. The others find out whether it is back.
      await until(() => receiver.received.length > 11);
      receiver.answer = () => ({ status: 200 });
    }),
  'endpoint-gone-and-enabled': (stack) =>
    withEndpoint(stack, undefined, async ({ receiver, endpoints, id }) => {
      receiver.answer = () => ({ status: 410 });
      await untilNoticed(stack, id);
      const { body: missed } = await stack.create();
      receiver.answer = () => ({ status: 200 });
      await endpoints.change(id, { by: BY, enabled: true });
      await delivered(receiver, missed, 'awaiting_payment');
    }),
  'endpoint-failing-for-too-long': (stack) =>
    withEndpoint(stack, { ...QUICK, disableAfterMs: 500 }, async ({ receiver, id }) => {
      receiver.answer = () => ({ status: 500 });
      await untilNoticed(stack, id);
    }),
  'endpoint-changed-by-a-person': (stack) =>
    withEndpoint(stack, undefined, async ({ receiver, endpoints, id }) => {
      await endpoints.change(id, { by: BY, settings: { events: ['cancelled'], description: 'orders' } });
      await endpoints.change(id, { by: BY, enabled: false });
      const { body } = await stack.create();
      await stack.post(`/v1/checkouts/${body.id}/cancel`);
      await endpoints.change(id, { by: BY, enabled: true });
      await delivered(receiver, body, 'cancelled');
    }),
  'endpoint-replayed': (stack) =>
    withEndpoint(stack, undefined, async ({ receiver, endpoints, id }) => {
      const { body } = await stack.create();
      await delivered(receiver, body, 'awaiting_payment');
      await endpoints.replay(id, rangeOf(body), BY);
      await until(() => receiver.received.length > 1);
    }),
  'endpoint-whose-feed-was-away': (stack) =>
    withEndpoint(stack, undefined, async ({ receiver, id, workflowId }) => {
      const { body } = await stack.create();
      await delivered(receiver, body, 'awaiting_payment');
      const workflow = stack.temporal.client.workflow.getHandle(workflowId);
      await workflow.signal(due, { endpoint: id, events: [], missed: rangeOf(body) });
      await until(() => receiver.received.length > 1);
    }),
  'endpoint-continued-as-new': (stack) =>
    withEndpoint(stack, { retryDelaysMs: Array.from({ length: 9 }, () => 1_000), renewAfterMs: 2_500 }, async (own) => {
      own.receiver.answer = () => ({ status: 503 });
      const next = stack.untilNextRunOfWorkflow(own.workflowId);
      await stack.create();
      await next;
      own.receiver.answer = () => ({ status: 200 });
    }),
  'endpoint-tested': (stack) =>
    withEndpoint(stack, undefined, async ({ receiver, endpoints, id }) => {
      await endpoints.test(id, BY);
      await until(() => receiver.received.length === 1);
    }),
  'endpoint-secret-rotated': (stack) =>
    withEndpoint(stack, undefined, async ({ receiver, endpoints, id }) => {
      await endpoints.rotate(id, sealerOf(stack), linksOf(stack), { by: BY });
      await delivered(receiver, (await stack.create()).body, 'awaiting_payment');
    }),
};

type PathEndpoint = {
  readonly receiver: Receiver;
  readonly endpoints: EventEndpoints;
  readonly id: string;
  readonly workflowId: string;
};

/** Deletes the endpoint at the end, once nothing of it is in progress. @returns the id of its workflow */
async function withEndpoint(
  stack: Stack,
  policy: Partial<EndpointPolicy> | undefined,
  path: (endpoint: PathEndpoint) => Promise<void>,
): Promise<string> {
  const receiver = await Receiver.start();
  const endpoints = endpointsOf(stack);
  const { sealed } = await sealerOf(stack).create(linksOf(stack));
  const settings = { url: receiver.url, events: null, description: null };
  const id = (await endpoints.create({ ...settings, by: BY }, sealed, policy))?.endpoint.id ?? '';
  try {
    const { workflowId } = await eventually(async () => {
      const listed = (await endpoints.running()).find(({ memo }) => memo.endpoint.id === id);
      if (listed === undefined) throw new Error('The endpoint is not listed yet');
      return listed;
    });
    await path({ receiver, endpoints, id, workflowId });
    await eventually(async () => {
      if (!isIdle((await stack.runsOfWorkflow(workflowId)).at(-1) ?? [])) throw new Error('Not yet');
    });
    return workflowId;
  } finally {
    await endpoints.remove(id, BY);
    await receiver.close();
  }
}

/** No activity, no workflow task and no pause before a further try is in progress. */
function isIdle(events: Awaited<ReturnType<Stack['runsOfWorkflow']>>[number]): boolean {
  const open = new Set<string>();
  for (const event of events) {
    const summary = Buffer.from(event.userMetadata?.summary?.data ?? []).toString();
    const begun =
      event.activityTaskScheduledEventAttributes ??
      event.workflowTaskScheduledEventAttributes ??
      (summary === '"Until the next try"' ? event.timerStartedEventAttributes : null);
    if (begun) open.add(String(event.eventId));
    const task =
      event.activityTaskCompletedEventAttributes ??
      event.workflowTaskCompletedEventAttributes ??
      event.workflowTaskTimedOutEventAttributes;
    const timer = event.timerFiredEventAttributes ?? event.timerCanceledEventAttributes;
    open.delete(String(task?.scheduledEventId ?? timer?.startedEventId));
  }
  return open.size === 0;
}

/** Until the tail has the notice that the endpoint was disabled, because of a checkout's event. */
async function untilNoticed(stack: Stack, id: string): Promise<void> {
  const tail = await TailRun.start(stack);
  await stack.create();
  await eventually(async () => {
    const { notices = [] } = await tail.memo();
    if (!notices.some(({ subject }) => subject === id)) throw new Error('Not yet');
  });
  await tail.stop();
}

const until = (isTrue: () => boolean): Promise<boolean> => vi.waitUntil(isTrue, { timeout: 90_000 });

const delivered = (receiver: Receiver, { id }: CheckoutJson, event: string): Promise<boolean> =>
  until(() => receiver.typesOf(id).includes(event));

/** From the checkout's begin until now. */
const rangeOf = ({ created_at: from }: CheckoutJson) => ({ from: Date.parse(from), to: Date.now() });

const endpointsOf = ({ temporal, taskQueue }: Stack): EventEndpoints =>
  new EventEndpoints(temporal, { taskQueue, readWithinMs: 10_000 });

const feedOf = ({ temporal, taskQueue }: Stack) =>
  temporal.client.workflow.getHandle(nameOnQueue(eventFeedWorkflowId('default'), taskQueue));

const sealerOf = ({ sandbox }: Stack): EndpointSealer => new EndpointSealer(new Seal(sandbox.keys.secret));

const linksOf = ({ api }: Stack) => eventLinks(api.url, SIGNING_KEY);
