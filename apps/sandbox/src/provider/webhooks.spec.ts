import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ChargeJson, EventJson } from '../index.js';
import { NEW_CHARGE, openReceiver, openSandbox, type Bench, type Received } from '../../test/harness.js';

const SECRET = Buffer.from('a secret of the test').toString('base64');
const open = (): Promise<Bench> => openSandbox({ seed: 's', now: '2026-03-10T09:00:00Z', frozen: true });
const createCharge = async ({ call }: Bench, form: Record<string, string | number> = {}): Promise<ChargeJson> =>
  (await call<ChargeJson>('POST', '/charges', { form: { ...NEW_CHARGE, ...form } })).body;
const eventOf = ({ body }: Received): EventJson => JSON.parse(body) as EventJson;
const keysOf = (received: Received[]): string[] => received.map((each) => eventOf(each).key);

/** Checks a signature on its own terms, not with the sandbox's code. */
function isSigned({ headers, body }: Received, secret: string): boolean {
  const timestamp = headers['webhook-signature-timestamp'];
  const wanted = createHmac('sha256', Buffer.from(secret, 'base64'))
    .update(`${String(timestamp)}.${body}`)
    .digest('hex');
  return String(headers['webhook-signature']).split(',').includes(wanted);
}

describe('a webhook', () => {
  it('contains the event as it was, signed with wall time', async () => {
    const bench = await open();
    const receiver = await openReceiver();
    bench.sandbox.webhooks.configure({ url: receiver.url, secret: SECRET });
    const charge = await createCharge(bench);
    await receiver.count(1);
    bench.sandbox.mark(charge.id, { status: 'successful' });
    const [created, completed] = await receiver.count(2);
    await bench.sandbox.webhooks.idle();
    if (created === undefined || completed === undefined) throw new Error('unreachable');

    expect(completed.headers['content-type']).toBe('application/json');
    expect(eventOf(created)).toMatchObject({ key: 'charge.create', data: { status: 'pending' } });
    expect(eventOf(completed)).toMatchObject({ key: 'charge.complete', data: { id: charge.id, status: 'successful' } });
    expect(isSigned(completed, SECRET)).toBe(true);
    expect(completed.headers['webhook-signature']).toMatch(/^[0-9a-f]{64}$/);
    // The sandbox's clock stands in March 2026; the receiver's does not.
    const age = Date.now() / 1_000 - Number(completed.headers['webhook-signature-timestamp']);
    expect(Math.abs(age)).toBeLessThan(60);
  });

  it('is retried by the clock until a 2xx answer', async () => {
    const bench = await open();
    const receiver = await openReceiver((index) => [500, 404, 302, 204][index] ?? 200);
    bench.sandbox.webhooks.configure({ url: receiver.url, secret: SECRET });
    await createCharge(bench);
    for (const [tries, seconds] of [
      [1, 5],
      [2, 30],
      [3, 120],
    ] as const) {
      await receiver.count(tries);
      await bench.sandbox.webhooks.idle();
      bench.sandbox.advance(seconds - 0.001);
      await bench.sandbox.webhooks.idle();
      expect(receiver.received).toHaveLength(tries);
      bench.sandbox.advance(0.001);
    }
    await receiver.count(4);
    await bench.sandbox.webhooks.idle();
    bench.sandbox.advance(7 * 24 * 3_600);
    await bench.sandbox.webhooks.idle();
    expect(receiver.received.filter((each) => eventOf(each).key === 'charge.create')).toHaveLength(4);
    expect(new Set(receiver.received.slice(0, 4).map(({ body }) => body)).size).toBe(1);
    const tries = bench.sandbox.state().deliveries.filter(({ key }) => key === 'charge.create');
    expect(tries.map(({ attempt, status }) => [attempt, status])).toEqual([
      [1, 500],
      [2, 404],
      [3, 302],
      [4, 204],
    ]);
    expect(tries[0]?.error).toBe('answered 500');
  });

  it('without a 2xx answer is not sent after the last try', async () => {
    const bench = await openSandbox({ frozen: true, assumptions: { webhookRetriesMs: [1_000, 1_000] } });
    bench.sandbox.webhooks.configure({ url: 'http://127.0.0.1:1/closed', secret: SECRET });
    await createCharge(bench);
    for (let i = 0; i < 5; i += 1) {
      await bench.sandbox.webhooks.idle();
      bench.sandbox.advance(1);
    }
    const { deliveries } = bench.sandbox.state();
    expect(deliveries.map(({ attempt, status }) => [attempt, status])).toEqual([
      [1, null],
      [2, null],
      [3, null],
    ]);
    expect(deliveries[0]?.error).toMatch(/\w/);
  });

  it('also goes to the endpoints of its charge, once to each address', async () => {
    const bench = await open();
    const account = await openReceiver();
    const own = await openReceiver();
    await bench.call('PATCH', '/account', { form: { webhook_uri: account.url } });
    const form = `amount=150000&currency=THB&source[type]=wallet_mpm&webhook_endpoints[]=${encodeURIComponent(own.url)}`;
    await bench.call('POST', '/charges', { form: `${form}&webhook_endpoints[]=${encodeURIComponent(account.url)}` });
    await Promise.all([account.count(1), own.count(1)]);
    await bench.sandbox.webhooks.idle();
    expect([account.received.length, own.received.length]).toEqual([1, 1]);
    expect(isSigned(own.received[0] as Received, bench.sandbox.keys.webhookSecrets[0] ?? '')).toBe(true);
  });

  it('is sent for every kind of event, but not for a refusal', async () => {
    const bench = await open();
    const receiver = await openReceiver();
    bench.sandbox.webhooks.configure({ url: receiver.url, secret: SECRET });
    const paid = await createCharge(bench);
    bench.sandbox.mark(paid.id, { status: 'successful' });
    await bench.call('POST', `/charges/${paid.id}/refunds`, { form: { amount: 1 } });
    await bench.call('POST', `/charges/${paid.id}/refunds`, { form: { amount: 150_000 } });
    await createCharge(bench);
    bench.sandbox.advance(24 * 3_600);
    await receiver.count(5);
    await bench.sandbox.webhooks.idle();
    const keys = ['charge.create', 'charge.complete', 'refund.create', 'charge.create', 'charge.expire'];
    expect(keysOf(receiver.received).toSorted()).toEqual(keys.toSorted());
  });

  it('is not sent while no address is set', async () => {
    const bench = await open();
    await createCharge(bench);
    await bench.sandbox.webhooks.idle();
    expect(bench.sandbox.state().deliveries).toEqual([]);
  });

  it('waits while the maximum number of deliveries is in progress', async () => {
    const bench = await openSandbox({ assumptions: { webhookConcurrency: 2 } });
    let release = (_status: number): void => {};
    const released = new Promise<number>((resolve) => (release = resolve));
    const receiver = await openReceiver(async () => await released);
    bench.sandbox.webhooks.configure({ url: receiver.url, secret: SECRET });
    for (let i = 0; i < 6; i += 1) await createCharge(bench);
    await receiver.count(2);
    // Time enough for a third one, were it sent.
    for (let i = 0; i < 5; i += 1) await createCharge(bench);
    expect(receiver.received).toHaveLength(2);
    release(200);
    await receiver.count(11);
  });
});

describe('an event sent again', () => {
  it('goes to its addresses again with the same body, without faults', async () => {
    const bench = await open();
    const receiver = await openReceiver();
    bench.sandbox.webhooks.configure({ url: receiver.url, secret: SECRET, drop: 1, corrupt_signature: 1 });
    await createCharge(bench);
    const [event] = bench.sandbox.state().events;
    const reply = await bench.control('POST', `/events/${event?.id}/resend`);
    expect(reply.body).toEqual({ event: event?.id, sent_to: [receiver.url] });
    await bench.control('POST', `/events/${event?.id}/resend`);
    const [first, second] = await receiver.count(2);
    await bench.sandbox.webhooks.idle();
    expect(first && isSigned(first, SECRET)).toBe(true);
    expect(first?.body).toBe(second?.body);
    expect(bench.sandbox.state().deliveries).toMatchObject([
      { event: event?.id, dropped: true },
      { event: event?.id, status: 200, dropped: false, corrupted: false },
      { status: 200 },
    ]);
    expect((await bench.call<EventJson>('GET', `/events/${event?.id}`)).body.webhook_deliveries).toHaveLength(3);
  });

  it('without an address goes nowhere, and an unknown event is not found', async () => {
    const bench = await open();
    await createCharge(bench);
    const [event] = bench.sandbox.state().events;
    expect((await bench.control('POST', `/events/${event?.id}/resend`)).body).toMatchObject({ sent_to: [] });
    expect((await bench.control('POST', '/events/x/resend')).status).toBe(404);
  });
});

describe('a rotation of the secret', () => {
  const next = Buffer.from('the next one').toString('base64');
  /** The signatures of an event that happens now: of the old secret, of the new one, and how many there are. */
  const signatures = async (bench: Bench, receiver: Awaited<ReturnType<typeof openReceiver>>) => {
    const before = receiver.received.length;
    await createCharge(bench);
    const received = (await receiver.count(before + 1)).at(-1);
    await bench.sandbox.webhooks.idle();
    if (received === undefined) throw new Error('unreachable');
    const count = String(received.headers['webhook-signature']).split(',').length;
    return [isSigned(received, SECRET), isSigned(received, next), count];
  };
  const begin = async () => {
    const bench = await open();
    const receiver = await openReceiver();
    bench.sandbox.webhooks.configure({ url: receiver.url, secret: SECRET });
    return { bench, receiver };
  };

  it('signs with both secrets until it is ended', async () => {
    const { bench, receiver } = await begin();
    expect((await bench.control('POST', '/webhooks/rotate', { secret: next })).body).toEqual({
      signing_with: 2,
    });
    expect(await signatures(bench, receiver)).toEqual([true, true, 2]);
    expect((await bench.control('DELETE', '/webhooks/rotate')).body).toEqual({ signing_with: 1 });
    expect(await signatures(bench, receiver)).toEqual([false, true, 1]);
  });

  it('ends by the clock after its overlap', async () => {
    const { bench, receiver } = await begin();
    await bench.control('POST', '/webhooks/rotate', { secret: next, overlap: 60 });
    bench.sandbox.advance(59.999);
    expect(await signatures(bench, receiver)).toEqual([true, true, 2]);
    bench.sandbox.advance(0.001);
    expect(await signatures(bench, receiver)).toEqual([false, true, 1]);
  });

  it('with an overlap of 0 signs with the new secret alone', async () => {
    const { bench, receiver } = await begin();
    const { secrets } = bench.sandbox.webhooks.rotate({ overlap: 0 });
    expect(secrets).toHaveLength(1);
    expect(await signatures(bench, receiver)).toEqual([false, false, 1]);
  });

  it.each([
    [{ secret: 'not base64!' }],
    [{ secret: `${next},${next}` }],
    [{ secret: next, overlap: -1 }],
    [{ overlap: 60 }],
    [{ secret: next, until: 'now' }],
  ])('with %j is refused and changes nothing', async (body) => {
    const { bench, receiver } = await begin();
    expect((await bench.control('POST', '/webhooks/rotate', body)).status).toBe(400);
    expect(await signatures(bench, receiver)).toEqual([true, false, 1]);
  });

  it('is forgotten by a reset', async () => {
    const bench = await open();
    const [first] = bench.sandbox.keys.webhookSecrets;
    bench.sandbox.webhooks.rotate();
    bench.sandbox.reset();
    expect(bench.sandbox.webhooks.endRotation()).toEqual({ secrets: [first] });
  });
});

describe('webhooks with faults', () => {
  it('are dropped, and the deliveries show it', async () => {
    const bench = await open();
    const receiver = await openReceiver();
    bench.sandbox.webhooks.configure({ url: receiver.url, secret: SECRET, drop: 1 });
    await createCharge(bench);
    bench.sandbox.advance(3_600);
    await bench.sandbox.webhooks.idle();
    expect(receiver.received).toEqual([]);
    expect(bench.sandbox.state().deliveries).toMatchObject([{ dropped: true, status: null, attempt: 1 }]);
  });

  it('are sent twice with the same body', async () => {
    const bench = await open();
    const receiver = await openReceiver();
    bench.sandbox.webhooks.configure({ url: receiver.url, secret: SECRET, duplicate: 1 });
    await createCharge(bench);
    const [first, second] = await receiver.count(2);
    await bench.sandbox.webhooks.idle();
    expect(first?.body).toBe(second?.body);
    expect(receiver.received).toHaveLength(2);
    const twins = bench.sandbox.state().deliveries.map(({ duplicate }) => duplicate);
    expect(twins.toSorted((a, b) => Number(a) - Number(b))).toEqual([false, true]);
  });

  it('have a wrong signature', async () => {
    const bench = await open();
    const receiver = await openReceiver();
    bench.sandbox.webhooks.configure({ url: receiver.url, secret: SECRET, corrupt_signature: 1 });
    await createCharge(bench);
    const [received] = await receiver.count(1);
    await bench.sandbox.webhooks.idle();
    expect(received && isSigned(received, SECRET)).toBe(false);
    expect(received?.headers['webhook-signature']).toMatch(/^[0-9a-f]{64}$/);
    expect(bench.sandbox.state().deliveries).toMatchObject([{ corrupted: true }]);
  });

  it('leave late by the clock', async () => {
    const bench = await open();
    const receiver = await openReceiver();
    bench.sandbox.webhooks.configure({ url: receiver.url, secret: SECRET, delay_ms: 60_000 });
    await createCharge(bench);
    bench.sandbox.advance(59.999);
    await bench.sandbox.webhooks.idle();
    expect(receiver.received).toEqual([]);
    bench.sandbox.advance(0.001);
    await receiver.count(1);
  });

  it('change their order, and the last one leaves after a limit', async () => {
    const bench = await openSandbox({
      now: '2026-03-10T09:00:00Z',
      frozen: true,
      assumptions: { webhookConcurrency: 1 },
    });
    const receiver = await openReceiver();
    bench.sandbox.webhooks.configure({ url: receiver.url, secret: SECRET, reorder: 1 });
    const { id } = await createCharge(bench);
    bench.sandbox.mark(id, { status: 'successful' });
    await bench.sandbox.webhooks.idle();
    expect(receiver.received).toEqual([]);
    bench.sandbox.advance(3);
    expect(keysOf(await receiver.count(2))).toEqual(['charge.complete', 'charge.create']);
  });

  it('hit the same deliveries with the same seed', async () => {
    const choices = async (seed: string): Promise<string> => {
      const bench = await openSandbox({ seed, frozen: true });
      const receiver = await openReceiver();
      bench.sandbox.webhooks.configure({ url: receiver.url, secret: SECRET, drop: 0.5, duplicate: 0.5 });
      for (let i = 0; i < 12; i += 1) await createCharge(bench);
      await bench.sandbox.webhooks.idle();
      const { events, deliveries } = bench.sandbox.state();
      const sent = deliveries.map(
        ({ event, dropped }) => `${events.findIndex(({ id }) => id === event)}${dropped ? '-' : '+'}`,
      );
      return sent.toSorted().join(' ');
    };
    const first = await choices('one');
    expect(await choices('one')).toBe(first);
    expect(await choices('two')).not.toBe(first);
    expect(first).toMatch(/-/);
    expect(first).toMatch(/\+/);
  });
});
