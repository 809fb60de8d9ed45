import { apiSettings, startApi } from '@tillflow/api';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { CutLine } from './support/cut-line.js';
import { FULL } from './support/full.js';
import { KEYS, newReference, Stack, type Answer, type ProblemJson } from './support/stack.js';

/** The worker has a line of its own, so that only the API sees a slow engine. */
const ANSWER_WITHIN_MS = 1_500;
/** The extra time that a busy machine needs. */
const SLACK_MS = 1_000;

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

async function timed<T>(work: () => Promise<T>): Promise<T & { readonly tookMs: number }> {
  const startedAt = performance.now();
  const answer = await work();
  return { ...answer, tookMs: performance.now() - startedAt };
}

function expectPromptly({ tookMs }: { readonly tookMs: number }): void {
  expect(tookMs).toBeLessThan(ANSWER_WITHIN_MS + SLACK_MS);
}

function expectAccepted(answer: Answer, reference: string): void {
  expect(answer).toMatchObject({ status: 202, body: { reference, status: 'creating', qr: null } });
  expect(answer.headers.get('location')).toBe(answer.body.location);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
}

/** Connects the API, so that a call has a connection to go by. */
async function warm(): Promise<void> {
  line.mend();
  await expect.poll(async () => (await stack.get('/health/ready')).status, { timeout: 20_000 }).toBe(200);
}

describe('while Temporal hangs', () => {
  it('a checkout that may have begun is answered 202 within ANSWER_WITHIN_MS, and the repetition finds it', async () => {
    await warm();
    const reference = newReference();
    line.freeze();
    const answer = await timed(() => stack.create({ reference }));
    expectPromptly(answer);
    expectAccepted(answer, reference);
    line.mend();
    const repeated = await stack.create({ reference });
    expect([200, 201]).toContain(repeated.status);
    expect(repeated.body.id).toBe(answer.body.id);
    expect(stack.chargesOf(answer.body.id)).toHaveLength(1);
  });

  it('reads, cancels, attempts and refunds are answered in that time with 503 or 202, each with Retry-After', async () => {
    await warm();
    const { body } = await stack.create();
    line.freeze();
    const answers = await Promise.all([
      timed(() => stack.get(`/v1/checkouts/${body.id}`)),
      timed(() => stack.get(`/v1/checkouts/${body.id}/timeline`)),
      timed(() => stack.get('/v1/checkouts')),
      timed(() => stack.post(`/v1/checkouts/${body.id}/cancel`)),
      timed(() => stack.post(`/v1/checkouts/${body.id}/attempts`, { after: 1 })),
      timed(() =>
        stack.request('POST', `/v1/checkouts/${body.id}/refunds`, { body: {}, headers: { 'idempotency-key': 'k' } }),
      ),
    ]);
    line.mend();
    for (const answer of answers) {
      expectPromptly(answer);
      expect([202, 503]).toContain(answer.status);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
  });
});

it('a start whose answer is lost with the connection is answered 202, and the checkout is there', async () => {
  await warm();
  const reference = newReference();
  const charges = stack.sandbox.state().charges.length;
  line.mute();
  const creating = stack.create({ reference });
  await expect.poll(() => stack.sandbox.state().charges.length, { timeout: 5_000, interval: 20 }).toBe(charges + 1);
  line.cut();
  const answer = await creating;
  expectAccepted(answer, reference);
  await warm();
  await stack.untilStatus(answer.body.id, 'awaiting_payment');
});

it('a start that was lost on the way is sent again: the 202 holds for a caller that only polls', async () => {
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

it('a source that the provider does not show in time leaves the request in its time', async () => {
  await warm();
  stack.sandbox.faults.add({ method: 'GET', path: '/sources/src_test_1', action: 'hang' });
  const answer = await timed(() => stack.create({ source: 'src_test_1' }));
  stack.sandbox.faults.clear();
  expectPromptly(answer);
  expect(answer).toMatchObject({ status: 502, body: { code: 'provider_unavailable' } });
});

it('what cannot have been sent is answered 503, and no checkout begins', async () => {
  await warm();
  line.cut();
  // The connection is known to be gone.
  await expect.poll(async () => (await stack.get('/health/ready')).status).toBe(503);
  const reference = newReference();
  const answer = await timed(() =>
    stack.post<ProblemJson>('/v1/checkouts', { reference, amount: 100_000, currency: 'THB' }),
  );
  expectPromptly(answer);
  expect(answer).toMatchObject({ status: 503, body: { code: 'temporal_unavailable' } });
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  await warm();
  expect((await stack.get(`/v1/checkouts?reference=${reference}`)).body).toMatchObject({ data: [] });
});

it('thirty checkouts at once are all answered in that time by an engine that is slow, and repeated each has begun once', async () => {
  await warm();
  line.slow(700);
  const references = Array.from({ length: 30 }, newReference);
  const answers = await Promise.all(references.map((reference) => timed(() => stack.create({ reference }))));
  line.mend();
  for (const answer of answers) {
    expectPromptly(answer);
    expect([201, 202]).toContain(answer.status);
  }
  // 202 says that it may have begun: who repeats the request knows.
  for (const reference of references) {
    const { body } = await stack.create({ reference });
    await stack.untilStatus(body.id, 'awaiting_payment');
    expect(stack.chargesOf(body.id)).toHaveLength(1);
  }
});

it('eighty requests for one reference at once, half of them at another process, get one checkout', async () => {
  await warm();
  const other = await startApi(apiSettings(stack.apiEnvironment()), stack.logger);
  const body = { reference: newReference(), amount: 150_000, currency: 'THB' };
  const answers = await Promise.all(
    Array.from({ length: 80 }, async (_, index) => {
      const response = await fetch(`${index % 2 === 0 ? other.url : stack.api.url}/v1/checkouts`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEYS.checkout}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
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
  'the API replaces a connection that is lost without an end within 15 s, and answers reads again',
  { ...FULL, timeout: 30_000 },
  async () => {
    await warm();
    const { body } = await stack.create();
    line.forget();
    expect((await stack.get(`/v1/checkouts/${body.id}`)).status).toBe(503);
    await expect
      .poll(async () => (await stack.get(`/v1/checkouts/${body.id}`)).status, { timeout: 15_000, interval: 200 })
      .toBe(200);
  },
);
