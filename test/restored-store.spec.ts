import { RestartableTemporal } from '@tillflow/tools';
import { expect, it, vi } from 'vitest';
import { QUICK_TAIL, TailRun } from './support/event-tail.js';
import { chargeIdOf, Stack, type CheckoutJson } from './support/stack.js';
import { operatorOf, tillflow } from './support/tillflow.js';

vi.setConfig({ testTimeout: 240_000 });

it('a store restored from an older backup learns the payments and refunds since, and restores the checkouts it lost', async () => {
  const temporal = await RestartableTemporal.start(() => {});
  const stack = await Stack.start({ shared: { ...QUICK_TAIL, TEMPORAL_ADDRESS: temporal.address } });
  const operate = (...args: string[]) => tillflow(args, operatorOf(stack));
  const opened = async (fields: Readonly<Record<string, unknown>> = {}): Promise<CheckoutJson> => {
    const { body } = await stack.create(fields);
    return stack.until(body.id, ({ qr }) => qr !== null, 90_000);
  };
  const pay = (open: CheckoutJson): Promise<CheckoutJson> => {
    stack.sandbox.mark(chargeIdOf(open), { status: 'successful' });
    return stack.untilStatus(open.id, 'paid', 90_000);
  };
  const refund = async ({ id }: CheckoutJson): Promise<string | null> => {
    const asked = { body: { amount: 5_000 }, headers: { 'idempotency-key': 'since' } };
    const { body } = await stack.request<{ id: string | null }>('POST', `/v1/checkouts/${id}/refunds`, asked);
    return body.id;
  };
  try {
    const tail = await TailRun.start(stack);
    const open = await opened();
    const paid = await pay(await opened());
    await tail.nextPass();
    const backedUpAt = new Date().toISOString();
    await temporal.backUp();

    await pay(open);
    const refundId = await vi.waitFor(
      async () => {
        const id = await refund(paid);
        expect(id).toMatch(/^rfnd_/);
        return id;
      },
      { timeout: 60_000 },
    );
    const forgotten = await pay(await opened());
    await stack.stopWorker();
    await temporal.restore();
    await stack.startWorker();

    // One payment cannot be delivered: its checkout is not there.
    await vi.waitFor(async () => expect((await operate('backfill', '--from', backedUpAt)).code).toBe(1), {
      timeout: 90_000,
    });
    await stack.untilStatus(open.id, 'paid', 60_000);
    await stack.until(paid.id, ({ refunded_amount }) => refunded_amount === 5_000, 60_000);
    expect(await refund(paid)).toBe(refundId);
    expect(stack.sandbox.state().refunds).toHaveLength(1);
    expect((await stack.get(`/v1/checkouts/${forgotten.id}`)).status).toBe(404);
    const lost = chargeIdOf(forgotten);
    expect((await operate('notices')).out).toContain(`checkout_missing:${lost}`);

    await opened({ reference: forgotten.reference });
    const adopt = await operate('resolve', forgotten.reference, '--adopt', lost, '--reason', 'the sale stands');
    expect(adopt).toMatchObject({ code: 0, out: expect.stringMatching(/^status: paid\nattention: none$/m) });
    const refunded = await operate('refund', forgotten.reference, '--key', 'after', '--amount', '1.00');
    expect(refunded).toMatchObject({ code: 0, out: expect.stringContaining('refunded: THB 1.00') });
    const statuses = stack.chargesOf(forgotten.id).map(({ id, status }) => [id === lost, status]);
    expect(statuses).toEqual([
      [true, 'successful'],
      [false, 'expired'],
    ]);
  } finally {
    await stack.stop();
    await temporal.stop();
  }
});
