import { afterAll, beforeAll, expect, it } from 'vitest';
import { chargeIdOf, newReference, Stack } from './support/stack.js';

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start();
});
afterAll(() => stack.stop());

it('a checkout answers with its QR, and is paid once the customer confirmed', async () => {
  const { status, body } = await stack.create();
  expect(status).toBe(201);
  expect(body.status).toBe('awaiting_payment');
  expect(body.qr?.download_uri).toContain(stack.sandboxUrl);
  stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
  const paid = await stack.untilStatus(body.id, 'paid');
  expect(paid.paid_at).not.toBeNull();
  console.log(JSON.stringify(paid, null, 1), await stack.timeline(body.id));
});
