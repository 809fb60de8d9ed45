import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { Checkouts } from '@tillflow/temporal';
import { CutLine } from '@tillflow/tools';
import { FakeEngine } from './support/fake-engine.js';
import {
  chargeIdOf,
  IMPATIENT,
  KEYS,
  newReference,
  Stack,
  type CheckoutJson,
  type ProblemJson,
} from './support/stack.js';

let stack: Stack;
beforeAll(async () => {
  // The polls are too far apart to help: only a notification shows a change.
  stack = await Stack.start({ api: { STREAM_POLL_MS: '60000' } });
});
afterAll(() => stack.stop());

const waitFor = ({ id, version }: CheckoutJson, seconds = 25) =>
  stack.get(`/v1/checkouts/${id}?wait=${seconds}&after_version=${version}`);

/** Asks until the checkout has the status, each time with the newest version. */
async function until(checkout: CheckoutJson, status: string): Promise<CheckoutJson> {
  let newest = checkout;
  while (newest.status !== status) ({ body: newest } = await waitFor(newest));
  return newest;
}

describe('a read with wait', () => {
  it('answers with the paid checkout as soon as the customer has paid', async () => {
    const body = await stack.open();
    const waiting = until(body, 'paid');
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    const paid = await waiting;
    expect(paid.version).toBeGreaterThan(body.version);
    expect((await stack.get(`/v1/checkouts/${body.id}`)).body).toEqual(paid);
  });

  it('can take each state from the history, as soon as Temporal has stored it', async () => {
    const body = await stack.open();
    const checkouts = new Checkouts(stack.temporal, { readWithinMs: 10_000 });
    const key = { account: 'default', reference: body.reference };
    const over = new AbortController();
    const states = checkouts.follow(key, over.signal)[Symbol.asyncIterator]();
    expect((await states.next()).value).toEqual(await checkouts.get(key));
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    let paid = (await states.next()).value;
    // The API shows the QR code before the workflow stores it.
    while (paid.state.status === 'awaiting_payment') paid = (await states.next()).value;
    expect(paid.state.status).toBe('paid');
    expect(paid.intent).toEqual((await checkouts.get(key)).intent);
    const waiting = states.next();
    over.abort();
    await expect(waiting).rejects.toThrow(/abort|cancel/i);
  });

  it('answers at once with a version that the caller does not know', async () => {
    const { body } = await stack.create();
    const { status, body: read } = await waitFor({ ...body, version: body.version - 1 });
    expect(status).toBe(200);
    expect(read).toEqual((await stack.get(`/v1/checkouts/${body.id}`)).body);
  });

  it('answers with the state as it is when the time is up', async () => {
    const { body } = await stack.create();
    for (const query of ['?wait=1', `?wait=1&after_version=${body.version}`]) {
      const answer = await stack.get(`/v1/checkouts/${body.id}${query}`);
      expect(answer).toMatchObject({ status: 200, body: { status: 'awaiting_payment', version: body.version } });
    }
  });

  it('gets 404 for a checkout that does not exist', async () => {
    for (const query of ['?wait=25', '?wait=25&after_version=2', '?wait=1&after_version=0']) {
      const answer = await stack.get<ProblemJson>(`/v1/checkouts/chk_default_${newReference()}${query}`);
      expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
    }
  });

  it.each(['?wait=0', '?wait=26', '?wait=x', '?wait=1&wait=2', '?wait=1&after_version=-1', '?wait=1&after=1', '?a=1'])(
    'is refused with %s',
    async (query) => {
      const { body } = await stack.create();
      const answer = await stack.get<ProblemJson>(`/v1/checkouts/${body.id}${query}`);
      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    },
  );

  it('needs a key, also for a checkout that does not exist', async () => {
    const answer = await stack.request('GET', '/v1/checkouts/chk_default_nothing?wait=25&after_version=0', {
      key: null,
    });
    expect(answer.status).toBe(401);
  });
});

describe('the location of a 202', () => {
  it('answers with the QR code once a worker is back', async () => {
    const idle = await Stack.start({ worker: false, api: IMPATIENT });
    try {
      const { status, body, headers } = await idle.create();
      expect(status).toBe(202);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      expect(headers.get('location')).toBe(body.location);
      const waiting = idle.get(body.location);
      await idle.startWorker();
      let { body: newest } = await waiting;
      while (newest.status === 'creating') {
        ({ body: newest } = await idle.get(`/v1/checkouts/${body.id}?wait=20&after_version=${newest.version}`));
      }
      expect(newest.qr).not.toBeNull();
    } finally {
      await idle.stop();
    }
  });

  it('waits for a checkout that Temporal does not know yet', async () => {
    const line = await CutLine.to(inject('temporalAddress'));
    const cut = await Stack.start({ api: { ...IMPATIENT, TEMPORAL_ADDRESS: line.address } });
    try {
      await cut.create();
      line.freeze();
      const { status, body } = await cut.create();
      expect(status).toBe(202);
      expect(body.location).toContain('after_version=0');
      // The bytes that the line holds are lost with its connections.
      line.cut();
      line.mend();
      await expect.poll(async () => (await cut.get('/health/ready')).status).toBe(200);
      const read = await cut.get(body.location);
      expect(read).toMatchObject({ status: 200, body: { id: body.id } });
      await cut.untilStatus(body.id, 'awaiting_payment');
    } finally {
      await cut.stop();
      line.close();
    }
  });

  it('of an attempt, a cancel and a refund waits for the next change', async () => {
    const { body } = await stack.create();
    const sold = await stack.open();
    stack.sandbox.mark(chargeIdOf(sold), { status: 'successful' });
    await stack.untilStatus(sold.id, 'paid');
    await stack.stopWorker();
    try {
      await stack.withApi(IMPATIENT, async () => {
        const answers = [
          await stack.post(`/v1/checkouts/${body.id}/attempts`, { after: 1 }),
          await stack.post(`/v1/checkouts/${body.id}/cancel`),
          await stack.request('POST', `/v1/checkouts/${sold.id}/refunds`, { headers: { 'idempotency-key': 'one' } }),
        ];
        for (const [index, { status, headers }] of answers.entries()) {
          const { id } = index === 2 ? sold : body;
          expect(status).toBe(202);
          expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
          expect(headers.get('location')).toMatch(new RegExp(`^/v1/checkouts/${id}\\?wait=\\d+&after_version=\\d+$`));
        }
      });
    } finally {
      await stack.startWorker();
    }
    await stack.untilStatus(sold.id, 'refunded');
  });
});

describe('a read that waits at an engine which knows no checkout', () => {
  const path = '/v1/checkouts/chk_default_nothing?wait=25&after_version=0';

  /** Sends the request on a connection of its own. @returns a function that disconnects. */
  function send(url: string): () => void {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${KEYS.checkout}\r\n\r\n`);
    return () => socket.destroy();
  }

  it('frees its place when its caller disconnects', async () => {
    const engine = await FakeEngine.start();
    const fake = await Stack.start({
      worker: false,
      webhookUrl: null,
      api: { TEMPORAL_ADDRESS: engine.address, WAIT_LIMIT: '10' },
    });
    try {
      const callers = Array.from({ length: 5 }, () => send(fake.api.url));
      // A sixth of the same key finds no place.
      await expect.poll(async () => (await fake.get(path.replace('25', '1'))).status).toBe(503);
      for (const leave of callers) leave();
      await expect.poll(async () => (await fake.get(path.replace('25', '1'))).status).toBe(404);
    } finally {
      await fake.stop();
      engine.close();
    }
  });
});
