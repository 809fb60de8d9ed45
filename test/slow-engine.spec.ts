import { apiSettings, startApi } from '@tillflow/api';
import { checkoutId, DEFAULT_ACCOUNT } from '@tillflow/domain';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { CutLine } from '@tillflow/tools';
import { eventually } from './support/eventually.js';
import { FULL } from './support/full.js';
import { KEYS, newReference, Stack, type Answer, type ProblemJson } from './support/stack.js';

/** The worker has a line of its own, so that only the API sees a slow engine. */
const ANSWER_WITHIN_MS = 1_500;

let line: CutLine;
let stack: Stack;
beforeAll(async () => {
  line = await CutLine.to(inject('temporalAddress'));
  stack = await Stack.start({
    webhookUrl: null,
    api: { TEMPORAL_ADDRESS: line.address, ANSWER_WITHIN_MS: String(ANSWER_WITHIN_MS) },
  });
});
afterAll(async () => {
  line.mend();
  await stack.stop();
  line.close();
});

function expectAccepted(answer: Answer, reference: string): void {
  expect(answer).toMatchObject({ status: 202, body: { reference, status: 'creating', qr: null } });
  expect(answer.headers.get('location')).toBe(answer.body.location);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
}

function postCheckout(url: string, reference: string): Promise<Response> {
  return fetch(`${url}/v1/checkouts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEYS.checkout}`, 'content-type': 'application/json' },
    body: JSON.stringify({ reference, amount: 150_000, currency: 'THB' }),
  });
}

/** Connects the API, so that a call has a connection to go by. */
async function warm(): Promise<void> {
  line.mend();
  await expect.poll(async () => (await stack.get('/health/ready')).status).toBe(200);
}

describe('while Temporal hangs', () => {
  it('a request whose checkout may have started gets 202, and its repetition finds the checkout', async () => {
    await warm();
    const reference = newReference();
    line.freeze();
    const answer = await stack.create({ reference });
    expectAccepted(answer, reference);
    line.mend();
    const repeated = await stack.create({ reference });
    // 202 again where the machine is too busy to show the QR in time.
    expect([200, 201, 202]).toContain(repeated.status);
    expect(repeated.body.id).toBe(answer.body.id);
    await stack.untilStatus(answer.body.id, 'awaiting_payment');
    expect(stack.chargesOf(answer.body.id)).toHaveLength(1);
  });

  it('the API with the shorter ANSWER_WITHIN_MS answers first', async () => {
    const patient = await startApi(apiSettings({ ...stack.apiEnvironment(), ANSWER_WITHIN_MS: '20000' }), stack.logger);
    try {
      await warm();
      await expect.poll(async () => (await fetch(`${patient.url}/health/ready`)).status).toBe(200);
      line.freeze();
      const answers = [patient.url, stack.api.url].map(async (url) => {
        await postCheckout(url, newReference());
        return url;
      });
      expect(await Promise.race(answers)).toBe(stack.api.url);
      line.mend();
      await Promise.all(answers);
    } finally {
      await patient.close();
    }
  });

  it('reads, cancels, attempts and refunds get 503 or 202 with Retry-After', async () => {
    await warm();
    const { body } = await stack.create();
    line.freeze();
    const answers = await Promise.all([
      stack.get(`/v1/checkouts/${body.id}`),
      stack.get(`/v1/checkouts/${body.id}/timeline`),
      stack.get('/v1/checkouts'),
      stack.post(`/v1/checkouts/${body.id}/cancel`),
      stack.post(`/v1/checkouts/${body.id}/attempts`, { after: 1 }),
      stack.request('POST', `/v1/checkouts/${body.id}/refunds`, { body: {}, headers: { 'idempotency-key': 'k' } }),
    ]);
    line.mend();
    for (const answer of answers) {
      expect([202, 503]).toContain(answer.status);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
  });
});

it("a request for a checkout gets 202 when the connection breaks before Temporal's answer, and the checkout exists", async () => {
  await warm();
  const reference = newReference();
  const charges = (): number => stack.chargesOf(checkoutId({ account: DEFAULT_ACCOUNT, reference })).length;
  line.mute();
  const creating = stack.create({ reference });
  await expect.poll(charges, { interval: 20 }).toBe(1);
  line.cut();
  const answer = await creating;
  expectAccepted(answer, reference);
  await warm();
  await stack.untilStatus(answer.body.id, 'awaiting_payment');
});

it('the API sends a lost start to Temporal again, so a caller that got 202 and only polls finds its checkout', async () => {
  await warm();
  line.freeze();
  const answer = await stack.create();
  expect(answer.status).toBe(202);
  // The bytes that the line holds are lost with its connections.
  line.cut();
  line.mend();
  await stack.untilStatus(answer.body.id, 'awaiting_payment');
  expect(stack.chargesOf(answer.body.id)).toHaveLength(1);
});

it('a request with a source gets 502 when the provider does not answer the retrieve of the source', async () => {
  await warm();
  stack.sandbox.faults.add({ method: 'GET', path: '/sources/src_test_1', action: 'hang' });
  const answer = await stack.create({ source: 'src_test_1' });
  stack.sandbox.faults.clear();
  expect(answer).toMatchObject({ status: 502, body: { code: 'provider_unavailable' } });
});

it('a request that the API could not send to Temporal gets 503, and no checkout starts', async () => {
  await warm();
  line.cut();
  // The connection is known to be gone.
  await expect.poll(async () => (await stack.get('/health/ready')).status).toBe(503);
  const reference = newReference();
  const answer = await stack.post<ProblemJson>('/v1/checkouts', { reference, amount: 100_000, currency: 'THB' });
  expect(answer).toMatchObject({ status: 503, body: { code: 'temporal_unavailable' } });
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  await warm();
  // A search may take longer than this API waits for it.
  const search = () => stack.get(`/v1/checkouts?reference=${reference}`);
  await expect.poll(search).toMatchObject({ status: 200, body: { data: [] } });
});

it('thirty simultaneous requests all get an answer while Temporal is slow, and each has one checkout after its repetition', async () => {
  await warm();
  line.slow(700);
  const references = Array.from({ length: 30 }, newReference);
  const answers = await Promise.all(references.map((reference) => stack.create({ reference })));
  line.mend();
  // 202 says that the checkout may have started, 503 that it has not. Repeating the request is safe after both.
  for (const { status } of answers) expect([201, 202, 503]).toContain(status);
  for (const reference of references) {
    // The places of starts that Temporal has not confirmed become free one after the other.
    const { body } = await eventually(async () => {
      const answer = await stack.create({ reference });
      if (answer.status === 503) throw new Error('Not yet');
      return answer;
    });
    await stack.untilStatus(body.id, 'awaiting_payment');
    expect(stack.chargesOf(body.id)).toHaveLength(1);
  }
});

it('eighty simultaneous requests for one reference through two API processes get one checkout', async () => {
  await warm();
  const other = await startApi(apiSettings(stack.apiEnvironment()), stack.logger);
  const reference = newReference();
  const answers = await Promise.all(
    Array.from({ length: 80 }, async (_, index) => {
      const response = await postCheckout(index % 2 === 0 ? other.url : stack.api.url, reference);
      return { status: response.status, id: ((await response.json()) as { id?: string }).id };
    }),
  );
  await other.close();
  expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
  const counts = (status: number): number => answers.filter((answer) => answer.status === status).length;
  expect(counts(200) + counts(201) + counts(202)).toBe(80);
  expect(counts(201)).toBeLessThanOrEqual(1);
});

it(
  'the API replaces a silently lost connection to Temporal within 15 s, and answers reads again',
  { ...FULL, timeout: 90_000 },
  async () => {
    await warm();
    const { body } = await stack.create();
    line.forget();
    expect((await stack.get(`/v1/checkouts/${body.id}`)).status).toBe(503);
    await expect.poll(async () => (await stack.get(`/v1/checkouts/${body.id}`)).status, { interval: 200 }).toBe(200);
  },
);
