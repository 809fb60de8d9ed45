import { setTimeout as sleep } from 'node:timers/promises';
import { EndpointSealer, EventEndpoints, eventLinks, nameOnQueue, Seal } from '@tillflow/temporal';
import { eventEndpointWorkflowId, eventFeedWorkflowId, type EndpointPolicy } from '@tillflow/workflows';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { SHORT_LIVED, TailRun } from './support/event-tail.js';
import { eventually } from './support/eventually.js';
import { FULL } from './support/full.js';
import { Receiver, type Received } from './support/receiver.js';
import {
  chargeIdOf,
  KEYS,
  SIGNING_KEY,
  Stack,
  type Answer,
  type CheckoutJson,
  type ProblemJson,
} from './support/stack.js';

type EndpointJson = {
  readonly id: string;
  readonly url: string;
  readonly events: string[];
  readonly enabled: boolean;
  readonly disabled_because: string | null;
  readonly failing_since: string | null;
  readonly failure: string | null;
  readonly secret: string;
};
type DeliveryJson = {
  readonly id: string;
  readonly type: string;
  readonly attempt: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly accepted: boolean;
  readonly next_try_at: string | null;
};
type DeliveryPage = { readonly data: DeliveryJson[]; readonly next_cursor: string | null };

const ROUTE = '/v1/event-endpoints';
/** A failed delivery is tried again soon. */
const QUICK: Partial<EndpointPolicy> = { retryDelaysMs: Array.from({ length: 9 }, () => 100), probeMs: 100 };

let stack: Stack;
let endpoints: EventEndpoints;
let sealer: EndpointSealer;
const receivers: Receiver[] = [];

beforeAll(async () => {
  stack = await Stack.start({ shared: { EVENT_ENDPOINT_NETWORKS: '127.0.0.0/8' } });
  endpoints = new EventEndpoints(stack.temporal, { taskQueue: stack.taskQueue, readWithinMs: 10_000 });
  sealer = new EndpointSealer(new Seal(stack.sandbox.keys.secret));
  // The worker reads every five seconds whether there is an endpoint, and then believes it for a minute.
  const { id } = await endpointFor(await receive());
  await sleep(6_000);
  await endpoints.remove(id, 'a test');
});
afterEach(async () => {
  for (const { memo } of await endpoints.running()) await endpoints.remove(memo.endpoint.id, 'a test');
  for (const receiver of receivers.splice(0)) await receiver.close();
});
afterAll(() => stack.stop());

const ask = <T = EndpointJson>(method: string, path = '', body?: unknown): Promise<Answer<T>> =>
  stack.request<T>(method, `${ROUTE}${path}`, { key: KEYS.ops, body });

async function receive(answer?: Receiver['answer']): Promise<Receiver> {
  const receiver = await Receiver.start();
  receivers.push(receiver);
  if (answer !== undefined) receiver.answer = answer;
  return receiver;
}

/** As an operator creates it. */
async function endpointFor({ url }: Receiver, fields: object = {}): Promise<EndpointJson> {
  const { status, body } = await ask('POST', '', { url, ...fields });
  expect([status, body]).toMatchObject([201, { url, enabled: true }]);
  return body;
}

/** One whose failed deliveries are tried again soon. */
async function quickEndpointFor({ url }: Receiver, policy = QUICK): Promise<{ id: string; secret: string }> {
  const { secret, sealed } = await sealer.create(eventLinks(stack.api.url, SIGNING_KEY));
  const created = await endpoints.create({ url, events: null, description: null, by: 'a test' }, sealed, policy);
  return { id: created?.endpoint.id ?? '', secret };
}

async function paid(): Promise<CheckoutJson> {
  const body = await stack.open();
  stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
  return stack.untilStatus(body.id, 'paid');
}

async function refund({ id }: CheckoutJson, amount: number): Promise<void> {
  const headers = { 'idempotency-key': `return-${amount}` };
  const { status } = await stack.request('POST', `/v1/checkouts/${id}/refunds`, { body: { amount }, headers });
  expect(status).toBe(201);
}

const expectEvents = (receiver: Receiver, id: string, types: readonly string[]): Promise<void> =>
  expect.poll(() => receiver.typesOf(id)).toEqual(types);

const verified = (secret: string, { raw, headers }: Received): unknown => new Webhook(secret).verify(raw, headers);

/** The histories of an endpoint's runs. */
const runsOf = (endpoint: string) =>
  stack.runsOfWorkflow(
    nameOnQueue(eventEndpointWorkflowId('default', Number(endpoint.slice('evep_'.length, -16))), stack.taskQueue),
  );

const historyOf = async (endpoint: string) => (await runsOf(endpoint)).flat();

/** The times on the workflow's clock at which an endpoint lists a part of a time, in milliseconds. */
async function timesOfLists(endpoint: string): Promise<number[]> {
  const events = await historyOf(endpoint);
  const eventOf = (id: unknown) => events.find(({ eventId }) => String(eventId) === String(id));
  return events.flatMap(({ activityTaskScheduledEventAttributes: scheduled }) => {
    if (scheduled?.activityType?.name !== 'listEvents') return [];
    const task = eventOf(scheduled.workflowTaskCompletedEventId)?.workflowTaskCompletedEventAttributes;
    const { seconds, nanos } = eventOf(task?.startedEventId)?.eventTime ?? {};
    return [Number(seconds) * 1_000 + Math.floor((nanos ?? 0) / 1e6)];
  });
}

async function deliveriesOf(id: string): Promise<DeliveryJson[]> {
  return (await ask<DeliveryPage>('GET', `/${id}/deliveries?limit=100`)).body.data;
}

describe('an event endpoint', () => {
  it('gets each event of a checkout, signed, with the checkout as GET answers it', async () => {
    const receiver = await receive();
    const { secret } = await endpointFor(receiver);
    const body = await stack.open({ metadata: { order: '4711' } });
    await expectEvents(receiver, body.id, ['awaiting_payment']);
    expect(receiver.of(body.id)[0]?.data).toEqual((await stack.get(`/v1/checkouts/${body.id}`)).body);
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await expectEvents(receiver, body.id, ['awaiting_payment', 'paid']);
    const checkout = await stack.get(`/v1/checkouts/${body.id}`);
    expect(receiver.of(body.id)[1]?.data).toEqual(checkout.body);
    await refund(checkout.body, 50_000);
    await expectEvents(receiver, body.id, ['awaiting_payment', 'paid', 'refunded']);
    await refund(checkout.body, 20_000);
    await expectEvents(receiver, body.id, ['awaiting_payment', 'paid', 'refunded', 'refunded']);
    const buyer = stack.chargesOf(body.id)[0]?.source?.provider_references?.buyer_name ?? '';
    expect(buyer).toMatch(/^Buyer /);
    for (const delivery of receiver.of(body.id)) {
      expect([delivery.raw.includes(buyer), delivery.raw.includes('buyer')]).toEqual([false, false]);
      expect(verified(secret, delivery)).toMatchObject({ type: delivery.type, timestamp: expect.stringMatching(/Z$/) });
      expect(() => verified(secret, { ...delivery, raw: `${delivery.raw} ` })).toThrow('No matching signature');
    }
    const versions = receiver.of(body.id).map(({ data }) => data.version);
    expect(versions).toEqual(versions.toSorted((one, other) => one - other));
    expect(new Set(receiver.of(body.id).map(({ id }) => id)).size).toBe(4);
  });

  it('gets the events of a cancelled checkout and of a refused payment', async () => {
    const receiver = await receive();
    await endpointFor(receiver);
    const [cancelled, failed] = [(await stack.create()).body, (await stack.create()).body];
    await stack.post(`/v1/checkouts/${cancelled.id}/cancel`);
    stack.sandbox.mark(chargeIdOf(failed), { status: 'failed' });
    await expectEvents(receiver, cancelled.id, ['awaiting_payment', 'cancelled']);
    await expectEvents(receiver, failed.id, ['awaiting_payment', 'failed']);
  });

  it('gets only the types that it wants', async () => {
    const [all, some] = [await receive(), await receive()];
    await endpointFor(all);
    const { events } = await endpointFor(some, { events: ['checkout.paid'] });
    expect(events).toEqual(['checkout.paid']);
    const { id } = await paid();
    await expectEvents(all, id, ['awaiting_payment', 'paid']);
    await expectEvents(some, id, ['paid']);
  });

  it('that does not answer delays no other', async () => {
    const [silent, well] = [await receive(() => new Promise(() => undefined)), await receive()];
    await endpointFor(silent);
    await endpointFor(well);
    const { id } = await paid();
    await expectEvents(well, id, ['awaiting_payment', 'paid']);
    expect(silent.of(id).length).toBeLessThan(2);
  });
});

describe('a state that lasts', () => {
  it('is delivered when an attention ends', async () => {
    const receiver = await receive();
    await endpointFor(receiver, { events: ['checkout.attention'] });
    const body = await stack.open();
    await stack.post(`/v1/checkouts/${body.id}/cancel`);
    // Tillflow returns a late payment. Until it is returned, it is an attention.
    const slow = { method: 'POST', path: '/charges/{id}/refunds', action: 'delay', delay_ms: 6_000 } as const;
    stack.sandbox.faults.add(slow);
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful', force: true });
    await expectEvents(receiver, body.id, ['attention']);
    await expectEvents(receiver, body.id, ['attention', 'attention']);
    stack.sandbox.faults.clear();
    expectRepeated(receiver, body.id);
    const [begun, ended] = receiver.of(body.id);
    expect([begun?.data.attention?.code, ended?.data.attention]).toEqual(['late_payment', null]);
  });

  it('is delivered when the provider names details of a payment later', async () => {
    const receiver = await receive();
    await endpointFor(receiver, { events: ['checkout.paid'] });
    stack.sandbox.faults.add({ method: 'GET', path: '/transactions/{id}', action: 'status', status: 500 });
    const { id } = await paid();
    await expectEvents(receiver, id, ['paid']);
    stack.sandbox.faults.clear();
    await stack.workflowOf(id).signal('hint', { eventId: 'test', eventKey: 'refund.create' });
    await expectEvents(receiver, id, ['paid', 'paid']);
    expectRepeated(receiver, id);
    expect(receiver.of(id).map(({ data }) => data.payment?.transferable_at ?? null)).toEqual([
      null,
      expect.any(String),
    ]);
  });

  /** The second of two deliveries is another event, of a newer state. */
  function expectRepeated(receiver: Receiver, checkout: string): void {
    const [first, second] = receiver.of(checkout);
    expect(second?.id).not.toBe(first?.id);
    expect(second?.data.version).toBeGreaterThan(first?.data.version ?? Infinity);
  }
});

describe('a delivery', () => {
  it('that is refused, or redirected, is sent again with the same id', async () => {
    const statuses = [500, 302, 404];
    const receiver = await receive(() => ({ status: statuses.shift() ?? 204, headers: { location: '/elsewhere' } }));
    const { id: endpoint, secret } = await quickEndpointFor(receiver);
    const { body } = await stack.create();
    await expect.poll(() => receiver.of(body.id)).toHaveLength(4);
    const got = receiver.of(body.id);
    expect(new Set(got.map(({ id }) => id)).size).toBe(1);
    for (const delivery of got) verified(secret, delivery);
    await expect
      .poll(async () => (await deliveriesOf(endpoint)).map(({ status }) => status))
      .toEqual([204, 404, 302, 500]);
    expect(await deliveriesOf(endpoint)).toMatchObject([
      { id: got[0]?.id, type: 'checkout.awaiting_payment', attempt: 4, accepted: true, next_try_at: null },
      { attempt: 3, accepted: false, next_try_at: expect.any(String) },
      { attempt: 2, accepted: false },
      { attempt: 1, accepted: false },
    ]);
  });

  it('waits as long as Retry-After says', async () => {
    const times: number[] = [];
    const receiver = await receive(() => {
      times.push(Date.now());
      return times.length === 1 ? { status: 503, headers: { 'retry-after': '2' } } : { status: 200 };
    });
    await quickEndpointFor(receiver);
    await stack.create();
    await expect.poll(() => times.length).toBe(2);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(2_000);
  });

  it('of a checkout begins after the delivery before has ended, and shows a version that is not older', async () => {
    let inProgress = 0;
    let most = 0;
    const receiver = await receive(async () => {
      most = Math.max(most, (inProgress += 1));
      await sleep(700);
      inProgress -= 1;
      return { status: 200 };
    });
    await endpointFor(receiver);
    const checkout = await paid();
    await refund(checkout, 50_000);
    await expect.poll(() => receiver.typesOf(checkout.id).at(-1)).toBe('refunded');
    expect(most).toBe(1);
    const versions = receiver.of(checkout.id).map(({ data }) => data.version);
    expect(versions).toEqual(versions.toSorted((one, other) => one - other));
  });

  it('that was answered with 410 disables the endpoint and notifies operators, and enabling it sends what it missed', async () => {
    const receiver = await receive(() => ({ status: 410 }));
    const { id: endpoint } = await endpointFor(receiver);
    const tail = await TailRun.start(stack, SHORT_LIVED);
    const { body } = await stack.create();
    await eventually(async () => {
      expect((await ask('GET', `/${endpoint}`)).body).toMatchObject({ enabled: false, disabled_because: 'gone' });
    });
    await expect
      .poll(async () => (await tail.memo()).notices)
      .toMatchObject([{ code: 'endpoint_disabled', subject: endpoint }]);
    await tail.stop();
    const missed = await paid();
    receiver.answer = () => ({ status: 200 });
    const { status, body: enabled } = await ask('PATCH', `/${endpoint}`, { enabled: true });
    expect([status, enabled]).toMatchObject([200, { enabled: true, disabled_because: null }]);
    await expect.poll(() => receiver.typesOf(missed.id)).toContain('paid');
    await expect.poll(() => receiver.of(body.id).length).toBeGreaterThan(1);
  });
});

describe('an operator', () => {
  it('rotates a secret: the new one and the old one sign', async () => {
    const receiver = await receive();
    const { id: endpoint, secret: old } = await endpointFor(receiver);
    const { body: rotated } = await ask('POST', `/${endpoint}/rotate-secret`);
    expect(rotated).toMatchObject({ id: endpoint, secret: expect.stringMatching(/^whsec_/) });
    const { body } = await stack.create();
    await expectEvents(receiver, body.id, ['awaiting_payment']);
    const [delivery] = receiver.of(body.id);
    if (delivery === undefined) return;
    for (const secret of [old, rotated.secret]) expect(verified(secret, delivery)).toBeDefined();
    expect(delivery.headers['webhook-signature']?.split(' ')).toHaveLength(2);
  });

  it('rotates a secret that was sealed with another PROVIDER_SECRET_KEY, and the endpoint gets what waited', async () => {
    const receiver = await receive();
    const { sealed } = await new EndpointSealer(new Seal('skey_test_before')).create(eventLinks('http://old', 'old'));
    const fields = { url: receiver.url, events: null, description: null, by: 'a test' };
    const endpoint = (await endpoints.create(fields, sealed, QUICK))?.endpoint.id ?? '';
    const { body } = await stack.create();
    await expect.poll(async () => (await ask('GET', `/${endpoint}`)).body.failure).toContain('rotate the secret');
    expect(receiver.received).toEqual([]);
    const { body: rotated } = await ask('POST', `/${endpoint}/rotate-secret`);
    await expectEvents(receiver, body.id, ['awaiting_payment']);
    const [delivery] = receiver.of(body.id);
    if (delivery !== undefined) expect(verified(rotated.secret, delivery)).toBeDefined();
  });

  it('sends a marked event', async () => {
    const receiver = await receive();
    const { id: endpoint, secret } = await endpointFor(receiver);
    const { status, body } = await ask<{ id: string }>('POST', `/${endpoint}/test`);
    expect(status).toBe(202);
    await expect.poll(() => receiver.received).toHaveLength(1);
    const [delivery] = receiver.received;
    if (delivery === undefined) return;
    expect(verified(secret, delivery)).toMatchObject({ type: 'endpoint.test', data: { endpoint } });
    expect(delivery.id).toBe(body.id);
    await expect
      .poll(() => deliveriesOf(endpoint))
      .toMatchObject([{ id: body.id, type: 'endpoint.test', accepted: true }]);
  });

  it('sends a marked event to an endpoint that fails: when it is accepted, the endpoint gets what waits', async () => {
    const receiver = await receive(() => ({ status: 500 }));
    const { id: endpoint } = await quickEndpointFor(receiver, { retryDelaysMs: [] });
    const { body } = await stack.create();
    await expect.poll(async () => (await ask('GET', `/${endpoint}`)).body.failing_since).not.toBeNull();
    receiver.answer = () => ({ status: 200 });
    await ask('POST', `/${endpoint}/test`);
    await expectEvents(receiver, body.id, ['awaiting_payment', 'awaiting_payment']);
    await expect.poll(async () => (await ask('GET', `/${endpoint}`)).body.failing_since).toBeNull();
  });

  it('sends a marked event that is answered with 410, and the endpoint is disabled', async () => {
    const receiver = await receive(() => ({ status: 410 }));
    const { id: endpoint } = await endpointFor(receiver);
    await ask('POST', `/${endpoint}/test`);
    await expect.poll(async () => (await ask('GET', `/${endpoint}`)).body.disabled_because).toBe('gone');
  });

  it('keeps an endpoint in runs of a bounded time, so that keys of the encryption can be replaced', async () => {
    const receiver = await receive();
    const { id: endpoint } = await quickEndpointFor(receiver, { renewAfterMs: 1_000 });
    await expect.poll(async () => (await runsOf(endpoint)).length).toBeGreaterThan(2);
    const { body } = await stack.create();
    await expectEvents(receiver, body.id, ['awaiting_payment']);
  });

  it('sends the newest event of each checkout of a time range again, with the same id', async () => {
    const receiver = await receive();
    const from = new Date().toISOString();
    const { id: endpoint } = await endpointFor(receiver);
    const { id } = await paid();
    await expectEvents(receiver, id, ['awaiting_payment', 'paid']);
    // In either order.
    const range = { from: new Date().toISOString(), to: from };
    expect(await ask('POST', `/${endpoint}/replay`, range)).toMatchObject({ status: 202, body: { id: endpoint } });
    await expectEvents(receiver, id, ['awaiting_payment', 'paid', 'paid']);
    const [, first, again] = receiver.of(id);
    expect(again?.id).toBe(first?.id);
    // Two parts of a time are listed at least two seconds apart, so an endpoint that is back is not flooded.
    await expect.poll(async () => (await timesOfLists(endpoint)).length).toBe(2);
    const [one = 0, second = 0] = await timesOfLists(endpoint);
    expect(second - one).toBeGreaterThanOrEqual(2_000);
  });

  it('replays a time to a disabled endpoint once it is enabled', async () => {
    const receiver = await receive();
    const from = new Date().toISOString();
    const { id: endpoint } = await endpointFor(receiver);
    const { id } = await paid();
    await expectEvents(receiver, id, ['awaiting_payment', 'paid']);
    await ask('PATCH', `/${endpoint}`, { enabled: false });
    const range = { from, to: new Date().toISOString() };
    expect(await ask('POST', `/${endpoint}/replay`, range)).toMatchObject({ status: 202, body: { enabled: false } });
    await ask('PATCH', `/${endpoint}`, { enabled: true });
    await expect.poll(() => receiver.typesOf(id).filter((type) => type === 'paid').length).toBeGreaterThan(1);
  });

  it('reads the deliveries page by page, the newest first', async () => {
    const receiver = await receive();
    const { id: endpoint } = await endpointFor(receiver);
    const ids: string[] = [];
    for (const _ of [1, 2, 3]) {
      ids.unshift((await ask<{ id: string }>('POST', `/${endpoint}/test`)).body.id);
      await expect.poll(() => deliveriesOf(endpoint)).toHaveLength(ids.length);
    }
    const first = await ask<DeliveryPage>('GET', `/${endpoint}/deliveries?limit=2`);
    const second = await ask<DeliveryPage>('GET', `/${endpoint}/deliveries?limit=2&cursor=${first.body.next_cursor}`);
    expect([...first.body.data, ...second.body.data].map(({ id }) => id)).toEqual(ids);
    expect(second.body.next_cursor).toBeNull();
  });

  it('shows people only the origin of an address in Temporal, because the rest may contain a secret', async () => {
    const { url } = await receive();
    const { body } = await ask('POST', '', { url: `${url}/token-of-the-receiver` });
    const [started] = await historyOf(body.id);
    const { userMetadata } = started ?? {};
    const { origin } = new URL(url);
    expect(JSON.parse(Buffer.from(userMetadata?.summary?.data ?? []).toString())).toBe(`Events to ${origin}`);
    const details = await stack.temporal.client.workflow
      .getHandle(nameOnQueue(eventEndpointWorkflowId('default', Number(body.id.slice(5, -16))), stack.taskQueue))
      .query<{ currentDetails?: string }>('__temporal_workflow_metadata');
    expect(JSON.stringify(details)).toContain(`Events go to ${origin}`);
    expect(JSON.stringify(details)).not.toContain('token-of-the-receiver');
  });

  it('deletes an endpoint, which gets nothing any more', async () => {
    const receiver = await receive();
    const { id: endpoint } = await endpointFor(receiver);
    expect((await ask('DELETE', `/${endpoint}`)).status).toBe(204);
    for (const [method, path, body] of [
      ['GET', ''],
      ['PATCH', '', { enabled: true }],
      ['DELETE', ''],
      ['POST', '/test'],
      ['POST', '/rotate-secret'],
      ['POST', '/replay', { from: '2026-11-21T00:00:00Z', to: '2026-11-22T00:00:00Z' }],
      ['GET', '/deliveries'],
    ] as const) {
      const { status, body: problem } = await ask<ProblemJson>(method, `/${endpoint}${path}`, body);
      expect([method, path, status, problem.code]).toEqual([method, path, 404, 'not_found']);
    }
    const { body: listed } = await ask<{ data: EndpointJson[] }>('GET');
    expect(listed.data.map(({ id }) => id)).not.toContain(endpoint);
    await paid();
    expect(receiver.received).toEqual([]);
  });
});

describe('Tillflow refuses an endpoint', () => {
  it.each([
    ['file:///etc/passwd', 'invalid_request'],
    ['https://user:secret@orders.example/', 'endpoint_refused'],
    ['https://10.0.0.1/', 'endpoint_refused'],
    ['http://93.184.216.34/', 'endpoint_refused'],
    ['http://169.254.169.254/latest/meta-data', 'endpoint_refused'],
    ['orders.example', 'invalid_request'],
    ['', 'invalid_request'],
    [`https://orders.example/${'x'.repeat(2_048)}`, 'invalid_request'],
  ])('at %.60s, and stores nothing', async (url, code) => {
    const { status, body } = await ask<ProblemJson>('POST', '', { url });
    expect([status, body.code]).toEqual([code === 'invalid_request' ? 400 : 422, code]);
    expect(body.detail).not.toBe('');
    expect(await endpoints.running()).toEqual([]);
  });

  it.each([
    { events: ['checkout.sold'] },
    { events: [] },
    { events: 'checkout.paid' },
    { description: 7 },
    { secret: 'whsec_mine' },
    { url: 7 },
  ])('with %j, and stores nothing', async (fields) => {
    const { status, body } = await ask<ProblemJson>('POST', '', { url: 'http://127.0.0.1:9/', ...fields });
    expect([status, body.code]).toEqual([400, 'invalid_request']);
    expect(await endpoints.running()).toEqual([]);
  });

  it.each<[method: string, path: string, body?: unknown]>([
    ['GET', ''],
    ['POST', '', { url: 'https://orders.example/' }],
    ['GET', '/evep_01abcdefghabcdefgh'],
    ['PATCH', '/evep_01abcdefghabcdefgh', { enabled: false }],
    ['DELETE', '/evep_01abcdefghabcdefgh'],
    ['GET', '/evep_01abcdefghabcdefgh/deliveries'],
    ['POST', '/evep_01abcdefghabcdefgh/rotate-secret'],
    ['POST', '/evep_01abcdefghabcdefgh/test'],
    ['POST', '/evep_01abcdefghabcdefgh/replay', { from: '2026-11-21T00:00:00Z', to: '2026-11-22T00:00:00Z' }],
  ])('when %s …%s comes without a key, or with the key of a till', async (method, path, body) => {
    const codeFor = async (key: string | null) => {
      const answer = await stack.request<ProblemJson>(method, `${ROUTE}${path}`, { key, body });
      return [answer.status, answer.body.code];
    };
    expect(await codeFor(null)).toEqual([401, 'unauthorized']);
    expect(await codeFor(KEYS.checkout)).toEqual([403, 'forbidden']);
  });

  it(
    'when there are 100, also when several requests for the last ones come at once',
    { ...FULL, timeout: 900_000 },
    async () => {
      const receiver = await receive();
      const request = async () => {
        const answer = await ask<ProblemJson>('POST', '', { url: receiver.url });
        return answer.status === 201 ? 'created' : answer.body.code;
      };
      for (let created = 0; created < 95; created += 5) await Promise.all(Array.from({ length: 5 }, request));
      const codes = await Promise.all(Array.from({ length: 8 }, request));
      expect(codes.toSorted()).toEqual([...Array(5).fill('created'), ...Array(3).fill('too_many_endpoints')]);
      await expect.poll(async () => (await endpoints.running()).length).toBe(100);
    },
  );

  it('when it would be moved to an address that events may not go to, and keeps the old address', async () => {
    const receiver = await receive();
    const { id } = await endpointFor(receiver);
    const { status, body } = await ask<ProblemJson>('PATCH', `/${id}`, { url: 'https://10.0.0.1/' });
    expect([status, body.code]).toEqual([422, 'endpoint_refused']);
    expect((await ask('GET', `/${id}`)).body.url).toBe(receiver.url);
  });
});

describe('an endpoint is found again', () => {
  it('by a feed that was terminated: the feed goes on where it stopped', async () => {
    const receiver = await receive();
    await endpointFor(receiver);
    const feed = stack.temporal.client.workflow.getHandle(nameOnQueue(eventFeedWorkflowId('default'), stack.taskQueue));
    await feed.terminate('by mistake');
    const { id } = await paid();
    await endpoints.keepFeed();
    // The feed repeats what it may have handed over before.
    await expect.poll(() => new Set(receiver.typesOf(id))).toEqual(new Set(['awaiting_payment', 'paid']));
  });

  it('by an API that signs its links with another key: events have its links', async () => {
    const receiver = await receive();
    await endpointFor(receiver);
    await stack.withApi({ URL_SIGNING_KEY: 'another key that signs the links of this API' }, async () => {
      const { url } = stack.api;
      await eventually(async () => {
        const { body } = await stack.create();
        await expect.poll(() => receiver.of(body.id), { timeout: 3_000 }).toHaveLength(1);
        const image = receiver.of(body.id)[0]?.data.qr?.image_url ?? '';
        expect(image.startsWith(url)).toBe(true);
        expect((await fetch(image)).status).toBe(200);
      });
    });
  });
});
