import { setTimeout as sleep } from 'node:timers/promises';
import { checkoutId } from '@tillflow/domain';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FULL } from './support/full.js';
import { newReference, Stack, type Answer } from './support/stack.js';

/** About four times what the development server and the worker do on two cores. */
const PER_SECOND = 80;
const SECONDS = 60;
const RECOVERED_WITHIN_MS = 15_000;
const BATCHES_PER_SECOND = 8;

let stack: Stack;
beforeAll(async () => {
  // Without webhooks, every checkout is polled. A worker that caches fewer of them replays each one's history for that.
  stack = await Stack.start({ webhookUrl: null, shared: { MAX_CACHED_WORKFLOWS: String(PER_SECOND * SECONDS) } });
});
afterAll(() => stack.stop());

type Taken = { readonly reference: string; readonly answer: Answer };

/** Asks for checkouts at a steady rate, whatever becomes of those before. */
async function load(): Promise<Taken[]> {
  const asking: Promise<Taken>[] = [];
  for (let batch = 0; batch < SECONDS * BATCHES_PER_SECOND; batch += 1) {
    for (let index = 0; index < PER_SECOND / BATCHES_PER_SECOND; index += 1) {
      const reference = newReference();
      asking.push(stack.create({ reference }).then((answer) => ({ reference, answer })));
    }
    await sleep(1_000 / BATCHES_PER_SECOND);
  }
  return Promise.all(asking);
}

/** Reads a known checkout during the load, as a till does. */
async function readAllTheWhile(id: string, isOver: () => boolean): Promise<number[]> {
  const statuses: number[] = [];
  while (!isOver()) {
    statuses.push((await stack.get(`/v1/checkouts/${id}`)).status);
    await sleep(100);
  }
  return statuses;
}

it(
  `under four times its capacity the API answers or refuses each request, still serves reads, and recovers within ${RECOVERED_WITHIN_MS / 1_000} s`,
  { ...FULL, timeout: (SECONDS + 180) * 1_000 },
  async () => {
    const known = (await stack.create()).body;
    let isOver = false;
    const reading = readAllTheWhile(known.id, () => isOver);
    const taken = await load();
    isOver = true;
    const reads = await reading;

    for (const { answer } of taken) {
      expect([200, 201, 202, 503]).toContain(answer.status);
      if (answer.status === 503 || answer.status === 202) {
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      }
    }
    const refused = taken.filter(({ answer }) => answer.status === 503);
    expect(refused.map(({ answer }) => (answer.body as unknown as { code: string }).code)).toEqual(
      refused.map(() => 'overloaded'),
    );
    expect(refused.length).toBeGreaterThan(0);
    // Callers who were refused together are not sent back together.
    expect(new Set(refused.map(({ answer }) => answer.headers.get('retry-after'))).size).toBeGreaterThan(1);
    expect(reads.filter((status) => status !== 200)).toEqual([]);

    const recoveredBy = Date.now() + RECOVERED_WITHIN_MS;
    await expect
      .poll(async () => (await stack.create()).status, { timeout: RECOVERED_WITHIN_MS, interval: 500 })
      .toBe(201);
    expect((await stack.get(`/v1/checkouts/${known.id}`)).status).toBe(200);
    expect((await stack.get('/v1/checkouts?limit=5')).status).toBe(200);
    expect(Date.now()).toBeLessThan(recoveredBy);

    const accepted = taken.filter(({ answer }) => answer.status !== 503);
    for (const { answer } of accepted) await stack.untilStatus(answer.body.id, 'awaiting_payment', RECOVERED_WITHIN_MS);
    const { charges = [] } = stack.sandbox.state(['charges']);
    const chargesOf = (id: string): number => charges.filter(({ metadata }) => metadata['checkout'] === id).length;
    expect(accepted.filter(({ answer }) => chargesOf(answer.body.id) !== 1)).toEqual([]);
    expect(refused.filter(({ reference }) => chargesOf(checkoutId({ account: 'default', reference })) > 0)).toEqual([]);
  },
);
