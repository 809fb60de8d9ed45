import { randomUUID } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { FULL } from './support/full.js';
import { chargePlanOf, plansOf, transferPlanOf } from './support/plans.js';
import { asOperator, seedRecords } from './support/resources.js';
import type { Stack } from './support/stack.js';
import { withStack } from './support/with-stack.js';

const FAST = {
  webhookUrl: null,
  api: {
    SEND_WITHIN_MS: '1500',
    CALL_DEADLINE_MS: '1000',
    SETTLE_DELAY_MS: '200',
    LOOK_DELAYS_MS: '100,200,400',
    SECOND_LOOK_MS: '1000',
    ANSWER_WITHIN_MS: '1500',
  },
};
const ENOUGH_MS = 300_000;

const BODIES: Readonly<Record<string, (stack: Stack) => object>> = {
  charges: (stack) => chargePlanOf(stack, seedRecords(stack).customer),
  transfers: (stack) => transferPlanOf(stack, 123_456),
};

/** Asks for a plan, and asks again with the same key until it is there. */
function asking(stack: Stack, bodyOf: (stack: Stack) => object) {
  const body = bodyOf(stack);
  const headers = { 'idempotency-key': randomUUID() };
  const ask = () => asOperator<{ id: string | null }>(stack, 'POST', '/v1/recurring-plans', { body, headers });
  return {
    ask,
    untilMade: async (): Promise<string | null> => {
      let id: string | null = null;
      const isMade = async (): Promise<boolean> => {
        const answer = await ask();
        id = answer.body.id;
        return answer.status === 200;
      };
      await vi.waitUntil(isMade, { timeout: 90_000, interval: 500 });
      return id;
    },
  };
}

/** One plan, which is the one that the API answered with, and no further create. */
function expectOnce(stack: Stack, id: string | null): void {
  expect(plansOf(stack).map((plan) => plan.id)).toEqual([id]);
}

describe.concurrent.each([
  { kind: 'charges', options: {} },
  { kind: 'transfers', options: FULL },
])('a plan of $kind', ({ kind, options }) => {
  describe('and its worker', { timeout: ENOUGH_MS, ...options }, () => {
    const bodyOf = BODIES[kind] ?? (() => ({}));

    it('exists once when the worker is killed as soon as the provider has created the plan', () =>
      withStack(FAST, async (stack, start) => {
        const victim = await start();
        const off = stack.sandbox.on('committed', ({ method, route }) => {
          if (method === 'POST' && route === '/schedules') victim.signal('SIGKILL');
        });
        const { ask, untilMade } = asking(stack, bodyOf);
        await vi.waitUntil(async () => (await ask()).status === 202, { timeout: 90_000, interval: 100 });
        await victim.exited;
        off();
        await stack.startWorker();
        expectOnce(stack, await untilMade());
      }));

    it('is created once by another worker when the first one is killed before it sends the request', () =>
      withStack(FAST, async (stack, start) => {
        const victim = await start({
          moment: 'undici:request:create',
          method: 'POST',
          route: '/schedules',
          signal: 'SIGKILL',
        });
        const { ask, untilMade } = asking(stack, bodyOf);
        await vi.waitUntil(async () => (await ask()).status === 202, { timeout: 90_000, interval: 100 });
        await victim.exited;
        expect(plansOf(stack)).toEqual([]);
        await stack.startWorker();
        expectOnce(stack, await untilMade());
      }));

    it('exists once when its worker is frozen before it sends, and thaws after another worker has created the plan', () =>
      withStack(FAST, async (stack, start) => {
        const victim = await start({
          moment: 'undici:request:create',
          method: 'POST',
          route: '/schedules',
          signal: 'SIGSTOP',
        });
        const { ask, untilMade } = asking(stack, bodyOf);
        await vi.waitUntil(async () => (await ask()).status === 202, { timeout: 90_000, interval: 100 });
        await victim.signalled;
        await stack.startWorker();
        const id = await untilMade();
        await stack.stopWorker();
        victim.signal('SIGCONT');
        // Thawed, it does other work: whatever it had still to send was sent before.
        const change = () => asOperator(stack, 'PATCH', '/v1/account', { body: { chain_enabled: true } });
        await vi.waitUntil(async () => (await change()).status === 200, { timeout: 90_000, interval: 500 });
        expectOnce(stack, id);
      }));
  });
});
