import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { asOperator } from './support/resources.js';
import { Stack, type ProblemJson } from './support/stack.js';

/** One request at once, and the next one after 1000 s. */
const ONE_REQUEST = { PROVIDER_REQUESTS_PER_SECOND: '1', PROVIDER_PROCESSES: '1000' };

describe("each process's part of PROVIDER_REQUESTS_PER_SECOND", () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await Stack.start({ webhookUrl: null, shared: ONE_REQUEST, api: { ANSWER_WITHIN_MS: '1500' } });
  });
  afterAll(() => stack.stop());

  it('limits a worker, also in local activities: the checkout waits, and nothing more is sent', async () => {
    const body = { reference: 'limited', amount: 150_000, currency: 'THB' };
    expect((await stack.request('POST', '/v1/checkouts', { body })).status).toBe(202);
    await expect.poll(() => stack.requests('POST /sources')).toHaveLength(1);
    expect(stack.requests('POST /charges')).toEqual([]);
  });

  it('limits the API: a read that is over it is not sent', async () => {
    const read = (): Promise<{ status: number }> => asOperator<ProblemJson>(stack, 'GET', '/v1/account');
    expect((await read()).status).toBe(200);
    expect(await read()).toMatchObject({ status: 504, body: { code: 'provider_timeout' } });
    expect(stack.requests('GET /account')).toHaveLength(1);
  });
});
