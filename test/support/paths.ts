import type { CheckoutInput, CheckoutIntent } from '@tillflow/workflows';
import { vi } from 'vitest';
import { chargeIdOf, newReference, type CheckoutJson, type Stack } from './stack.js';

/** A way through a checkout, and what makes it go that way. Answers with the checkout at its end. */
export type Path = (stack: Stack) => Promise<CheckoutJson>;

const lose = (stack: Stack, path: string, action: 'reset_before' | 'commit_then_reset'): void =>
  stack.sandbox.faults.add({ method: 'POST', path, action, times: 1 });

/** Every path through the checkout workflow. The histories of all of them are committed and replayed. */
export const PATHS: Readonly<Record<string, Path>> = {
  'paid-by-webhook': async (stack) => {
    const { body } = await stack.create({ description: 'Coffee', metadata: { order: '7' }, terminal: 'till-1' });
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    return stack.untilStatus(body.id, 'paid');
  },
  'paid-by-poll': async (stack) => {
    const { body } = await stack.create();
    stack.sandbox.webhooks.clear();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    const paid = await stack.untilStatus(body.id, 'paid');
    stack.sendWebhooksTo(`${stack.api.url}/webhooks/provider`);
    return paid;
  },
  failed: async (stack) => {
    const { body } = await stack.create();
    stack.sandbox.mark(chargeIdOf(body), { status: 'failed', failure_code: 'insufficient_fund' });
    return stack.untilStatus(body.id, 'failed');
  },
  expired: async (stack) => {
    const { body } = await stack.create({ expires_in: 5 });
    return stack.untilStatus(body.id, 'expired');
  },
  cancelled: async (stack) => {
    const { body } = await stack.create();
    return (await stack.post(`/v1/checkouts/${body.id}/cancel`)).body;
  },
  'cancel-refused-then-paid': async (stack) => {
    const { body } = await stack.create();
    const expires = stack.requests('POST /charges/{id}/expire').length;
    stack.sandbox.faults.add({ method: 'POST', path: '/charges/{id}/expire', action: 'status', status: 400 });
    const cancel = stack.post(`/v1/checkouts/${body.id}/cancel`);
    await vi.waitUntil(() => stack.requests('POST /charges/{id}/expire').length > expires);
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    stack.sandbox.faults.clear();
    await cancel;
    return stack.untilStatus(body.id, 'paid');
  },
  'refused-by-the-provider': async (stack) => {
    stack.sandbox.faults.add({ method: 'POST', path: '/charges', action: 'status', status: 400, times: 1 });
    return (await stack.create()).body;
  },
  'charge-found-after-a-lost-answer': async (stack) => {
    lose(stack, '/charges', 'commit_then_reset');
    return (await stack.create()).body;
  },
  'charge-repeated-after-a-lost-request': async (stack) => {
    lose(stack, '/charges', 'reset_before');
    return (await stack.create()).body;
  },
  'source-repeated-after-a-lost-answer': async (stack) => {
    lose(stack, '/sources', 'commit_then_reset');
    return (await stack.create()).body;
  },
  'paid-after-it-was-reported-cancelled': async (stack) => {
    const { body } = await stack.create();
    await stack.post(`/v1/checkouts/${body.id}/cancel`);
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful', force: true });
    return stack.untilStatus(body.id, 'refunded');
  },
  'continued-as-new': async (stack) => {
    const { id, reference } = await startDirectly(stack, { maxHistoryEvents: 40, pollIntervalMs: 50 });
    const first = await stack.until(id, ({ qr }) => qr !== null);
    await stack.untilNextRun(reference);
    stack.sandbox.mark(chargeIdOf(first), { status: 'successful' });
    return stack.untilStatus(id, 'paid');
  },
};

/** Starts a checkout without the API, with times and limits that no setting of the API offers. */
export async function startDirectly(
  stack: Stack,
  policy: CheckoutInput['policy'],
): Promise<{ id: string; reference: string }> {
  const reference = newReference();
  const id = `chk_default_${reference}`;
  const intent: CheckoutIntent = {
    id,
    account: 'default',
    reference,
    amount: 150_000,
    currency: 'THB',
    description: null,
    metadata: {},
    terminal: null,
    expires_in: 900,
    source: null,
    created_at: new Date().toISOString(),
  };
  await stack.temporal.client.workflow.start('checkout', {
    workflowId: `checkout/default/${reference}`,
    taskQueue: stack.taskQueue,
    args: [{ intent, ...(policy === undefined ? {} : { policy }) } satisfies CheckoutInput],
    memo: { intent, opener: 'a test' },
  });
  return { id, reference };
}
