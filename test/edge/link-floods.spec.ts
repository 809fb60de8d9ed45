import { apiSettings, startApi } from '@tillflow/api';
import { Checkouts } from '@tillflow/temporal';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { KEYS, Stack, type CheckoutJson } from '../support/stack.js';

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start({ webhookUrl: null });
});
afterAll(() => stack.stop());
afterEach(() => void vi.restoreAllMocks());

const FLOOD = 100;

async function statusOf(url: string | null | undefined): Promise<number> {
  return (await fetch(url ?? '', { method: 'HEAD' })).status;
}

/** @returns how often Temporal was asked for a checkout while this many requests came by the link. */
async function looksFor(url: string | null | undefined): Promise<number> {
  const look = vi.spyOn(Checkouts.prototype, 'get');
  const statuses = await Promise.all(Array.from({ length: FLOOD }, () => statusOf(url)));
  expect(new Set(statuses)).toEqual(new Set([200]));
  return look.mock.calls.length;
}

describe('a flood of requests by one link', () => {
  it.each<[string, (checkout: CheckoutJson) => string | null | undefined]>([
    ['QR image', ({ qr }) => qr?.image_url],
    ['stream', ({ events_url: url }) => url],
  ])('to the %s causes few reads of Temporal, not one for each request', async (_, urlOf) => {
    const { body } = await stack.create();
    const looks = await looksFor(urlOf(body));
    expect(looks).toBeGreaterThan(0);
    expect(looks).toBeLessThan(FLOOD / 10);
  });

  it('gets 429 for its link and address only; other links, other addresses and keys get none', async () => {
    const [mine, other] = [(await stack.create()).body, (await stack.create()).body];
    const environment = { ...stack.apiEnvironment(), OPEN_RATE_LIMIT: '10', TRUST_PROXY: '127.0.0.1' };
    const api = await startApi(apiSettings(environment), stack.logger);
    try {
      const ask = async ({ qr }: CheckoutJson, headers: Record<string, string>): Promise<number> => {
        const { pathname, search } = new URL(qr?.image_url ?? '');
        return (await fetch(`${api.url}${pathname}${search}`, { method: 'HEAD', headers })).status;
      };
      const flood = Promise.all(Array.from({ length: FLOOD }, () => ask(mine, { 'x-forwarded-for': '192.0.2.1' })));
      const others = [
        ask(other, { 'x-forwarded-for': '192.0.2.1' }),
        ask(mine, { 'x-forwarded-for': '192.0.2.2' }),
        ask(mine, { 'x-forwarded-for': '192.0.2.1', authorization: `Bearer ${KEYS.checkout}` }),
      ];
      expect(await Promise.all(others)).toEqual([200, 200, 200]);
      expect(new Set(await flood)).toEqual(new Set([200, 429]));
    } finally {
      await api.close();
    }
  });

  it('still sees a change that a till made through the same API process', async () => {
    const { body } = await stack.create();
    expect(await statusOf(body.qr?.image_url)).toBe(200);
    await stack.post(`${body.location}/cancel`);
    expect(await statusOf(body.qr?.image_url)).toBe(404);
  });
});
