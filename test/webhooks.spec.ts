import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { webhooks } from '@tillflow/payments-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hintsOf } from './support/hints.js';
import { chargeIdOf, newReference, Stack, type Answer, type CheckoutJson, type ProblemJson } from './support/stack.js';

type Receipt = { received: boolean; outcome: string };

let stack: Stack;
beforeAll(async () => {
  // Polls are too rare to help, so only a webhook can reveal a change here.
  stack = await Stack.start({ webhookUrl: null, api: { POLL_INTERVAL_MS: '3600000' } });
});
afterAll(() => stack.stop());

const nowSeconds = (): number => Math.floor(Date.now() / 1_000);

/** An event about the checkout's charge, with the fields that the test chooses. */
function eventAbout(
  checkout: CheckoutJson,
  charge: Readonly<Record<string, unknown>>,
  key = 'charge.complete',
): string {
  return JSON.stringify({
    object: 'event',
    id: `evnt_test_${Math.random().toString(36).slice(2)}`,
    livemode: false,
    location: '/events/x',
    webhook_deliveries: [],
    key,
    created_at: new Date().toISOString(),
    data: { object: 'charge', id: chargeIdOf(checkout), metadata: { checkout: checkout.id, attempt: '1' }, ...charge },
  });
}

function deliver<T = Receipt>(body: string, headers: Record<string, string>): Promise<Answer<T>> {
  return stack.request<T>('POST', '/webhooks/provider', { body, key: null, headers });
}

function signed(body: string, options: { secret?: string; timestamp?: number } = {}): Record<string, string> {
  const { secret = secretOf(stack), timestamp = nowSeconds() } = options;
  return webhooks.sign(body, { secret, timestamp });
}

function secretOf({ sandbox }: Stack): string {
  return sandbox.keys.webhookSecrets[0] ?? '';
}

function deliverSigned<T = Receipt>(body: string): Promise<Answer<T>> {
  return deliver<T>(body, signed(body));
}

/** Waits until the provider has received a retrieve, whatever time that takes. */
async function untilRetrieved(checkout: CheckoutJson, times: number): Promise<void> {
  const seen = (): number =>
    stack.sandbox
      .state()
      .requests.filter(({ method, path }) => method === 'GET' && path === `/charges/${chargeIdOf(checkout)}`).length;
  await expect.poll(seen).toBeGreaterThanOrEqual(times);
}

describe('a webhook', () => {
  it('with a valid signature and a false status changes nothing, because the retrieved charge is not paid', async () => {
    const { body } = await stack.create();
    const answer = await deliverSigned(
      eventAbout(body, { status: 'successful', paid: true, paid_at: '2026-01-01T00:00:00Z' }),
    );
    expect(answer).toMatchObject({ status: 200, body: { outcome: 'hinted' } });
    // At once, after 1 s and after 5 s.
    await untilRetrieved(body, 3);
    expect((await stack.get(`/v1/checkouts/${body.id}`)).body).toEqual(body);
  });

  it('with a false failure changes nothing, and a later payment is still seen', async () => {
    const body = await stack.open();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await deliverSigned(eventAbout(body, { status: 'failed', failure_code: 'payment_rejected' }));
    await stack.untilStatus(body.id, 'paid');
  });

  it.each<[string, (body: string) => Record<string, string>]>([
    ['without a signature', () => ({})],
    ['signed with another secret', (body) => signed(body, { secret: Buffer.from('another').toString('base64') })],
    ['signed for another body', () => signed('{}')],
    ['of ten minutes ago', (body) => signed(body, { timestamp: nowSeconds() - 600 })],
    ['of the future', (body) => signed(body, { timestamp: nowSeconds() + 600 })],
  ])('%s is refused, and causes no retrieve', async (_, headersFor) => {
    const body = await stack.open();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    const event = eventAbout(body, { status: 'successful' });
    const refused = await deliver<ProblemJson>(event, headersFor(event));
    expect(refused).toMatchObject({ status: 400, body: { code: 'signature_invalid' } });
    expect(await stack.timeline(body.id)).not.toContainEqual(expect.objectContaining({ what: 'webhook' }));
    expect((await stack.get(`/v1/checkouts/${body.id}`)).body.status).toBe('awaiting_payment');
    await deliverSigned(event);
    await stack.untilStatus(body.id, 'paid');
  });

  it('that is repeated many times counts as one payment, and causes few retrieves', async () => {
    const body = await stack.open();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    const event = eventAbout(body, { status: 'successful' });
    const answers = await Promise.all(Array.from({ length: 20 }, () => deliverSigned(event)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(answers.filter(({ body: receipt }) => receipt.outcome === 'hinted')).toHaveLength(1);
    await stack.untilStatus(body.id, 'paid');
    const again = await deliverSigned(event);
    expect(again.status).toBe(200);
    expect((await stack.timeline(body.id)).filter(({ what }) => what === 'paid')).toHaveLength(1);
  });

  it('that comes before the answer to its charge reveals the payment once the answer is there', async () => {
    const slow = { method: 'POST', path: '/charges', action: 'commit_then_delay', delay_ms: 1_500, times: 1 } as const;
    stack.sandbox.faults.add(slow);
    const reference = newReference();
    const id = `chk_default_${reference}`;
    const creating = stack.create({ reference });
    await expect.poll(() => stack.chargesOf(id)).toHaveLength(1);
    const [charge] = stack.chargesOf(id);
    stack.sandbox.mark(charge?.id ?? '', { status: 'successful' });
    const data = { object: 'charge', id: charge?.id, metadata: { checkout: id, attempt: '1' } };
    const event = { object: 'event', id: 'evnt_test_early', key: 'charge.complete', data };
    expect(await deliverSigned(JSON.stringify(event))).toMatchObject({ body: { outcome: 'hinted' } });
    expect(await creating).toMatchObject({ status: 201 });
    await stack.untilStatus(id, 'paid');
  });

  it('that names another checkout does not delay the checkout of its charge', async () => {
    const { body } = await stack.create();
    const other = (await stack.create()).body;
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await deliverSigned(eventAbout(body, { metadata: { checkout: other.id } }));
    expect(await deliverSigned(eventAbout(body, {}))).toMatchObject({ status: 200, body: { outcome: 'hinted' } });
    await stack.untilStatus(body.id, 'paid');
    expect((await stack.get(`/v1/checkouts/${other.id}`)).body.status).toBe('awaiting_payment');
  });

  it('that arrives before the provider shows the payment is followed by further retrieves, which find the payment', async () => {
    const body = await stack.open();
    await deliverSigned(eventAbout(body, { status: 'successful' }));
    await untilRetrieved(body, 1);
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await stack.untilStatus(body.id, 'paid', 10_000);
  });

  it('that concerns no checkout gets 200 and changes nothing', async () => {
    const { body } = await stack.create();
    const strangers = [
      eventAbout(body, { metadata: {} }),
      eventAbout(body, { metadata: { checkout: 'chk_default_nobody' } }),
      eventAbout(body, { metadata: { checkout: 'chk_other_x' } }),
      eventAbout(body, { metadata: { checkout: '../../etc' } }),
      // Sought by its charge; a second one would wait for the first.
      eventAbout(body, { id: 'chrg_test_of_someone_else', metadata: 7 }),
      JSON.stringify({ object: 'event', id: 'evnt_1', key: 'transfer.pay', data: { object: 'transfer' } }),
    ];
    for (const event of strangers) {
      expect(await deliverSigned(event)).toMatchObject({ status: 200, body: { outcome: 'ignored' } });
    }
    expect((await stack.get(`/v1/checkouts/${body.id}`)).body).toEqual(body);
  });

  it('that is signed but does not have the documented shape is a hint if it names a charge or a checkout', async () => {
    const body = await stack.open();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    const event = JSON.parse(eventAbout(body, {})) as object;
    const odd = await deliverSigned(JSON.stringify({ ...event, id: 7, key: null }));
    expect(odd).toMatchObject({ status: 200, body: { outcome: 'hinted' } });
    await stack.untilStatus(body.id, 'paid');
    expect(await deliverSigned('{"object":"event","data":[]}')).toMatchObject({
      status: 200,
      body: { outcome: 'ignored' },
    });
    const refused = await deliverSigned<ProblemJson>('no json');
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  });

  it.each(['', 'no json', '[]', 'null', '{"data":{}}'])('with the body %j never causes a 5xx', async (body) => {
    const answer = await deliverSigned<ProblemJson & Receipt>(body);
    expect([200, 400]).toContain(answer.status);
  });

  it('may be signed with either secret while one is rotated', async () => {
    const next = Buffer.from('the next secret').toString('base64');
    const rotating = await Stack.start({
      api: { PROVIDER_WEBHOOK_SECRET: `${next},${stack.sandbox.keys.webhookSecrets[0]}` },
    });
    try {
      const body = '{"object":"event","id":"evnt_1","key":"x","data":{}}';
      for (const secret of [next, secretOf(stack)]) {
        const headers = signed(body, { secret });
        expect((await rotating.request('POST', '/webhooks/provider', { body, key: null, headers })).status).toBe(200);
      }
    } finally {
      await rotating.stop();
    }
  });
});

describe('a webhook about a refund', () => {
  const refundEvent = (chargeId: string): string =>
    JSON.stringify({
      object: 'event',
      id: `evnt_test_${Math.random().toString(36).slice(2)}`,
      key: 'refund.create',
      data: { object: 'refund', id: 'rfnd_test_outside', charge: chargeId, amount: 20_000, metadata: {} },
    });

  it('that was made outside and names no checkout reaches the checkout that has its charge', async () => {
    const body = await stack.open();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await deliverSigned(eventAbout(body, {}));
    await stack.untilStatus(body.id, 'paid');
    await stack.refundElsewhere(chargeIdOf(body), 20_000);
    // The search sees a charge a moment after its checkout wrote it down.
    await expect
      .poll(async () => (await deliverSigned(refundEvent(chargeIdOf(body)))).body.outcome)
      .not.toBe('ignored');
    // A merged webhook is answered while its search still runs, so the search of the first one may not have found the
    // charge yet.
    await expect
      .poll(() => hintsOf(stack, body))
      .toContainEqual(expect.objectContaining({ eventKey: 'refund.create', chargeId: chargeIdOf(body) }));
    const refunded = await stack.untilStatus(body.id, 'partially_refunded');
    expect(refunded.refunded_amount).toBe(20_000);
  });

  it('is delivered even among repeated webhooks of the payment, which a paid checkout ignores', async () => {
    const body = await stack.open();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await deliverSigned(eventAbout(body, {}));
    await stack.untilStatus(body.id, 'paid');
    const keys = ['charge.complete', 'charge.complete', 'charge.complete', 'charge.update', 'charge.reverse'];
    await Promise.all(keys.map((key) => deliverSigned(eventAbout(body, {}, key))));
    const others = expect.objectContaining({ eventKey: expect.stringMatching(/^charge\.(update|reverse)$/) });
    await expect.poll(() => hintsOf(stack, body)).toContainEqual(others);
  });

  it('of an unrecognized charge changes nothing, however often it arrives', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => deliverSigned(refundEvent('chrg_test_of_someone_else'))),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(answers.filter(({ body }) => body.outcome === 'ignored')).toHaveLength(1);
    expect(answers.filter(({ body }) => body.outcome === 'coalesced')).toHaveLength(19);
  });

  it('of a closed checkout gets 200 and changes nothing', async () => {
    const body = await stack.open();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await deliverSigned(eventAbout(body, {}));
    await stack.untilStatus(body.id, 'paid');
    await stack.temporal.client.workflow.getHandle(`checkout/default/${body.reference}`).terminate('as its end');
    await expect.poll(async () => (await deliverSigned(refundEvent(chargeIdOf(body)))).body.outcome).toBe('ignored');
  });
});

it('a webhook names the charge that the checkout retrieves', async () => {
  const body = await stack.open();
  // A busy machine may answer 503, and the provider sends its webhook again.
  await expect.poll(async () => (await deliverSigned(eventAbout(body, {}))).status).toBe(200);
  const named = { eventKey: 'charge.complete', chargeId: chargeIdOf(body) };
  expect(await hintsOf(stack, body)).toMatchObject([named]);
});

it('a webhook is durable when the API has accepted it, also while no worker runs', async () => {
  const checkouts = [(await stack.create()).body, (await stack.create()).body];
  await stack.stopWorker();
  try {
    for (const checkout of checkouts) {
      stack.sandbox.mark(chargeIdOf(checkout), { status: 'successful' });
      expect(await deliverSigned(eventAbout(checkout, {}))).toMatchObject({ status: 200, body: { outcome: 'hinted' } });
      // While the stopped worker holds a task, the server stores a signal beside the history until that task has timed out.
      const signal = { as: 'signal', chargeId: chargeIdOf(checkout) };
      await expect.poll(() => hintsOf(stack, checkout)).toMatchObject([signal]);
    }
  } finally {
    await stack.startWorker();
  }
  for (const { id } of checkouts) await stack.untilStatus(id, 'paid');
});

describe('when no webhook comes at all', () => {
  it('a poll notices the payment within 30 s at the default settings', async () => {
    const polling = await Stack.start({ webhookUrl: null });
    try {
      const body = await polling.open();
      polling.sandbox.mark(chargeIdOf(body), { status: 'successful' });
      await polling.untilStatus(body.id, 'paid', 30_000);
      expect((await polling.timeline(body.id)).map(({ what }) => what)).not.toContain('webhook');
    } finally {
      await polling.stop();
    }
  });
});

describe('while Temporal is down', () => {
  it('a webhook gets 503, so that the provider sends it again, and /health/ready answers 503', async () => {
    const address = await addressOfNobody();
    const cut = await Stack.start({ worker: false, webhookUrl: null, api: { TEMPORAL_ADDRESS: address } });
    try {
      const { body } = await stack.create();
      const event = eventAbout(body, { status: 'successful' });
      const headers = signed(event, { secret: secretOf(cut) });
      const refused = await cut.request<ProblemJson>('POST', '/webhooks/provider', { body: event, key: null, headers });
      expect(refused).toMatchObject({ status: 503, body: { code: 'temporal_unavailable' } });
      expect(refused.headers.get('retry-after')).toMatch(/^[1-4]$/);
      expect((await cut.request('POST', '/webhooks/provider', { body: event, key: null, headers })).status).toBe(503);
      expect((await cut.get('/health/ready')).status).toBe(503);
      expect((await cut.get('/health/live')).status).toBe(200);
      expect((await cut.create()).status).toBe(503);
      expect(cut.sandbox.state().requests).toEqual([]);
    } finally {
      await cut.stop();
    }
  });
});

/** An address that refuses connections. */
async function addressOfNobody(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `127.0.0.1:${port}`;
}
