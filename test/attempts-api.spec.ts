import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chargeIdOf, IMPATIENT, Stack, type Answer, type CheckoutJson, type ProblemJson } from './support/stack.js';

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start();
});
afterAll(() => stack.stop());

const again = <T = CheckoutJson>(id: string, body?: unknown): Promise<Answer<T>> =>
  stack.post<T>(`/v1/checkouts/${id}/attempts`, body);

const refusal = (code: string) => ({ status: 409, body: { status: 409, code } });

async function failed(): Promise<CheckoutJson> {
  const body = await stack.open();
  stack.sandbox.mark(chargeIdOf(body), { status: 'failed', failure_code: 'insufficient_fund' });
  return stack.untilStatus(body.id, 'failed');
}

async function signalsOf(checkout: CheckoutJson): Promise<string[]> {
  const handle = stack.temporal.client.workflow.getHandle(`checkout/default/${checkout.reference}`);
  const { events } = await handle.fetchHistory();
  return (events ?? []).flatMap(({ workflowExecutionSignaledEventAttributes: signal }) => signal?.signalName ?? []);
}

describe('a new attempt', () => {
  it('after a failed attempt has a new QR that the customer can pay', async () => {
    const { id, attempts } = await failed();
    const { status, body, headers } = await again(id, { after: 1 });
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`/v1/checkouts/${id}`);
    expect(body).toMatchObject({
      id,
      status: 'awaiting_payment',
      attempts: [attempts[0], { number: 2, status: 'pending', failure_code: null }],
    });
    expect(body.qr?.raw_data).toBeTruthy();
    expect((await stack.get(`/v1/checkouts/${id}`)).body).toEqual(body);
    stack.sandbox.mark(body.attempts[1]?.charge_id ?? '', { status: 'successful' });
    expect(await stack.untilStatus(id, 'paid')).toMatchObject({ attempts: [{}, { status: 'successful' }] });
  });

  it('is not created again when the same number is requested again', async () => {
    const { id } = await failed();
    const first = await again(id, { after: 1 });
    const second = await again(id, { after: 1 });
    expect(second).toMatchObject({ status: 201, body: first.body });
    expect(stack.chargesOf(id)).toHaveLength(2);
  });

  it('is created once when ten requests arrive at once, and all ten get the same answer', async () => {
    const { id } = await failed();
    const answers = await Promise.all(Array.from({ length: 10 }, () => again(id, { after: 1 })));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(201));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(stack.chargesOf(id)).toHaveLength(2);
  });

  it('requested without a number replaces the open attempt, which Tillflow expires at the provider first', async () => {
    const { body } = await stack.create();
    const renewed = await again(body.id);
    expect(renewed).toMatchObject({
      status: 201,
      body: { status: 'awaiting_payment', attempts: [{ status: 'expired' }, { number: 2, status: 'pending' }] },
    });
    expect(renewed.body.qr?.raw_data).not.toBe(body.qr?.raw_data);
    const third = await again(body.id, {});
    expect(third.body.attempts.map(({ number, status }) => `${number} ${status}`)).toEqual([
      '1 expired',
      '2 expired',
      '3 pending',
    ]);
    expect(stack.chargesOf(body.id).filter(({ status }) => status === 'pending')).toHaveLength(1);
  });

  it('is refused at a paid checkout, and nothing is charged', async () => {
    const body = await stack.open();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await stack.untilStatus(body.id, 'paid');
    expect(await again<ProblemJson>(body.id)).toMatchObject(refusal('already_paid'));
    expect(await again<ProblemJson>(body.id, { after: 1 })).toMatchObject(refusal('already_paid'));
    expect(stack.chargesOf(body.id)).toHaveLength(1);
  });

  it('is refused when the customer has paid, even if Tillflow had not seen the payment before the request', async () => {
    const body = await stack.open();
    stack.sandbox.webhooks.clear();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    const refused = await again<ProblemJson>(body.id, { after: 1 });
    stack.sendWebhooksTo(`${stack.api.url}/webhooks/provider`);
    expect(refused).toMatchObject(refusal('already_paid'));
    expect(stack.chargesOf(body.id)).toHaveLength(1);
  });

  it('is refused at a cancelled checkout', async () => {
    const { body } = await stack.create();
    await stack.post(`/v1/checkouts/${body.id}/cancel`);
    expect(await again<ProblemJson>(body.id)).toMatchObject(refusal('checkout_closed'));
    expect(stack.chargesOf(body.id)).toHaveLength(1);
  });

  it('is refused when `after` is higher than the newest attempt', async () => {
    const { id } = await failed();
    const refused = await again<ProblemJson>(id, { after: 2 });
    expect(refused).toMatchObject(refusal('attempt_unknown'));
    expect(refused.body.detail).toBeTruthy();
    expect(stack.chargesOf(id)).toHaveLength(1);
  });

  it('is refused once the checkout has closed: with already_paid after a payment, otherwise with checkout_closed', async () => {
    const unpaid = await failed();
    await stack.temporal.client.workflow.getHandle(`checkout/default/${unpaid.reference}`).terminate('as an end');
    expect(await again<ProblemJson>(unpaid.id)).toMatchObject(refusal('checkout_closed'));
    const body = await stack.open();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await stack.untilStatus(body.id, 'paid');
    await stack.temporal.client.workflow.getHandle(`checkout/default/${body.reference}`).terminate('as an end');
    expect(await again<ProblemJson>(body.id)).toMatchObject(refusal('already_paid'));
    // The reference stays with the checkout that closed.
    expect(await stack.create({ reference: unpaid.reference })).toMatchObject({
      status: 200,
      body: { id: unpaid.id, status: 'failed', events_url: null },
    });
  });
});

describe('a new attempt that takes long', () => {
  it('is answered with 202 and no QR, is stored durably, and is returned when the request is repeated', async () => {
    const { body } = await stack.create();
    stack.sandbox.faults.add({
      method: 'POST',
      path: '/sources',
      action: 'commit_then_delay',
      delay_ms: 6_000,
      times: 1,
    });
    const slow = await stack.withApi(IMPATIENT, () => again(body.id, { after: 1 }));
    expect(slow).toMatchObject({ status: 202, body: { id: body.id, qr: null } });
    expect(slow.headers.get('location')).toBe(slow.body.location);
    expect(slow.body.location).toMatch(/\?wait=\d+&after_version=\d+$/);
    // Durable in the memo: the workflow took it before the provider was slow.
    await expect
      .poll(async () => (await stack.memoOf(body.id)).state?.attempts)
      .toMatchObject([{ number: 1 }, { number: 2, status: 'pending' }]);
    await stack.until(body.id, ({ qr, attempts }) => attempts.length === 2 && qr !== null);
    const there = await again(body.id, { after: 1 });
    expect(there).toMatchObject({ status: 201, body: { attempts: [{ status: 'expired' }, { status: 'pending' }] } });
    expect(stack.chargesOf(body.id)).toHaveLength(2);
  });

  it('requested while no worker runs hides the old QR at once, and is created when a worker is back', async () => {
    const { body } = await stack.create();
    expect(body.qr).not.toBeNull();
    await stack.stopWorker();
    try {
      const answer = await stack.withApi(IMPATIENT, () => again(body.id, { after: 1 }));
      expect(answer).toMatchObject({ status: 202, body: { id: body.id, qr: null } });
      // While Temporal still waits for a task of the stopped worker, the history does not show the signal.
      await expect.poll(() => signalsOf(body)).toContain('newAttemptRequest');
    } finally {
      await stack.startWorker();
    }
    await stack.until(body.id, ({ qr, attempts }) => attempts.length === 2 && qr !== null);
    expect(stack.chargesOf(body.id).map(({ status }) => status)).toEqual(['expired', 'pending']);
  });
});
