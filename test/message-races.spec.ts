import {
  begin,
  BEGIN_UPDATE_ID,
  cancel,
  cancelRequest,
  hint,
  newAttempt,
  refund,
  refundRequest,
  resolve,
} from '@tillflow/workflows';
import { WorkflowNotFoundError } from '@temporalio/client';
import { Checkouts, NotAcceptedError } from '@tillflow/temporal';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startDirectly } from './support/paths.js';
import { chargeIdOf, newReference, Stack } from './support/stack.js';
import { WorkerProcess } from './support/worker-process.js';

const within = <T>(ms: number, work: Promise<T>): Promise<T | 'no answer'> =>
  Promise.race([work, new Promise<'no answer'>((done) => setTimeout(() => done('no answer'), ms))]);

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start({ api: { LOOK_DELAYS_MS: '50,100,200,400' } });
});
afterAll(() => stack.stop());

const handleOf = (reference: string) => stack.temporal.client.workflow.getHandle(`checkout/default/${reference}`);

/** A cancelled checkout whose grace period ends while its last retrieve is under way. */
async function atTheClose(own = stack) {
  const { id, reference } = await startDirectly(own, { unpaidGraceMs: 1_500 });
  await own.until(id, ({ qr }) => qr !== null);
  const handle = own.temporal.client.workflow.getHandle(`checkout/default/${reference}`);
  expect(await handle.executeUpdate(cancel, { args: [{}] })).toBe('cancelled');
  const before = own.requests('GET /charges/{id}').length;
  own.sandbox.faults.add({ method: 'GET', path: '/charges/{id}', action: 'delay', delay_ms: 1_200 });
  await handle.signal(hint, { eventId: 'evnt_1', eventKey: 'charge.expire' });
  // The retrieve for the hint, and its two rechecks: 1 s and 4 s later.
  await vi.waitUntil(() => own.requests('GET /charges/{id}').length >= before + 3, { timeout: 90_000 });
  return handle;
}

describe('a checkout that is about to close', () => {
  it('ends normally when a signal arrives during the last retrieve, and its worker keeps running', async () => {
    const own = await Stack.start({ worker: false });
    const worker = await WorkerProcess.start(own.workerEnvironment());
    let code: number | null | 'alive' = 'alive';
    void worker.exited.then((exit) => (code = exit));
    try {
      const handle = await atTheClose(own);
      await handle.signal(cancelRequest, {});
      await new Promise((done) => setTimeout(done, 1_500));
      own.sandbox.faults.clear();
      const ended = await within(20_000, handle.result());
      expect({ ended: ended !== 'no answer', code }).toEqual({ ended: true, code: 'alive' });
    } finally {
      await worker.stop();
      await own.stop();
    }
  });

  it('answers a resolve that arrives during the last retrieve', async () => {
    const handle = await atTheClose();
    const answer = await within(
      15_000,
      handle.executeUpdate(resolve, { args: [{ action: 'look', reason: 'a test' }] }),
    );
    stack.sandbox.faults.clear();
    if (answer === 'no answer') await handle.terminate();
    expect(answer).toBe('cancelled');
  });
});

describe('a cancellation from the Temporal UI', () => {
  it('does not fail refunds of a paid checkout', async () => {
    const body = await stack.open();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await stack.untilStatus(body.id, 'paid');
    const handle = handleOf(body.reference);
    await handle.cancel();
    await new Promise((done) => setTimeout(done, 500));
    const answer = await handle
      .executeUpdate(refund, { args: [{ key: 'a', amount: 10_000, reason: null }] })
      .catch((error: unknown) => error);
    await stack.until(body.id, ({ refunded_amount }) => refunded_amount === 10_000);
    expect(answer).toMatchObject({ status: 'succeeded' });
  });

  it('does not fail the update `begin`, which repeats its first answer to every later caller', async () => {
    // The first call is local, and no message arrives before it is given up. The cancellation arrives during the second.
    for (const ms of [6_000, 1_000]) {
      stack.sandbox.faults.add({ method: 'POST', path: '/sources', action: 'delay', delay_ms: ms, times: 1 });
    }
    const { reference } = await startDirectly(stack, {});
    const handle = handleOf(reference);
    const update = { updateId: BEGIN_UPDATE_ID, waitForStage: 'ACCEPTED' } as const;
    await handle.startUpdate(begin, update);
    await handle.cancel();
    const answer = await handle
      .getUpdateHandle(BEGIN_UPDATE_ID)
      .result()
      .catch((error: unknown) => error);
    expect(answer).toMatchObject({ state: { status: 'cancelled' } });
  });
});

describe('a checkout with many waiting updates', () => {
  it.each([5, 12])("still answers an operator's resolve while %i cancels wait for the provider", async (count) => {
    const { body } = await stack.create();
    stack.sandbox.faults.add({ method: 'POST', path: '/charges/{id}/expire', action: 'status', status: 400 });
    await stack.withApi({ ANSWER_WITHIN_MS: '500' }, async () => {
      for (let index = 0; index < count; index += 1) await stack.post(`/v1/checkouts/${body.id}/cancel`);
    });
    const answer = await within(
      8_000,
      handleOf(body.reference)
        .executeUpdate(resolve, { args: [{ action: 'look', reason: 'a test' }] })
        .catch((error: unknown) => error),
    );
    stack.sandbox.faults.clear();
    expect(answer).toBe('awaiting_payment');
  });
});

describe('a refund that is requested again while its first request is not applied yet', () => {
  it('is not refused, and is made once', async () => {
    // Temporal renews the task during the slow retrieve, and the new task has both requests.
    const { id } = await startDirectly(stack, {}, {}, { workflowTaskTimeout: '2s' });
    const open = await stack.until(id, ({ qr }) => qr !== null);
    const handle = handleOf(open.reference);
    stack.sendWebhooksTo('http://127.0.0.1:1');
    stack.sandbox.mark(chargeIdOf(open), { status: 'successful' });
    stack.sendWebhooksTo(`${stack.api.url}/webhooks/provider`);
    const [retrieves, refunds] = ['GET /charges/{id}', 'POST /charges/{id}/refunds'].map(
      (route) => stack.requests(route).length,
    ) as [number, number];
    stack.sandbox.faults.add({ method: 'GET', path: '/charges/{id}', action: 'delay', delay_ms: 3_000, times: 1 });
    await handle.signal(hint, { eventId: 'evnt_1', eventKey: 'charge.complete' });
    await vi.waitUntil(() => stack.requests('GET /charges/{id}').length > retrieves, { timeout: 90_000 });
    const request = { key: 'a', amount: 10_000, reason: null };
    await handle.signal(refundRequest, request);
    const again = handle.executeUpdate(refund, { args: [request] }).catch((error: unknown) => error);
    expect(await within(60_000, again)).toMatchObject({ key: 'a', status: 'succeeded' });
    expect(stack.requests('POST /charges/{id}/refunds')).toHaveLength(refunds + 1);
  });
});

/** Temporal loses updates that no worker has accepted, for example when a worker stops, and then says `not found`. */
describe('an update that Temporal has lost', () => {
  const losing = () => {
    const { client, connection } = stack.temporal;
    const executeUpdate = (): Promise<never> => Promise.reject(new WorkflowNotFoundError('not found', '', undefined));
    const getHandle = (id: string) => Object.assign(client.workflow.getHandle(id), { executeUpdate });
    const workflow = Object.create(client.workflow, { getHandle: { value: getHandle } }) as typeof client.workflow;
    return new Checkouts(
      { client: Object.create(client, { workflow: { value: workflow } }) as typeof client, connection },
      { readWithinMs: 5_000 },
    );
  };
  const open = async () => {
    const { body } = await stack.create();
    return { ...body, key: { account: 'default', reference: body.reference } };
  };
  const look = { action: 'look', reason: 'a test' } as const;

  it('is sent as a signal: a cancel, an attempt, a refund and a hint take effect', async () => {
    const checkouts = losing();
    const [first, second] = [await open(), await open()];
    expect(await checkouts.newAttempt(first.key, { after: 1 }, 5_000)).toEqual({ kind: 'undecided' });
    await stack.until(first.id, ({ attempts }) => attempts.length === 2);
    expect(await checkouts.cancel(first.key, {}, 5_000)).toEqual({ kind: 'undecided' });
    await stack.untilStatus(first.id, 'cancelled');

    stack.sendWebhooksTo('http://127.0.0.1:1');
    stack.sandbox.mark(chargeIdOf(second), { status: 'successful' });
    stack.sendWebhooksTo(`${stack.api.url}/webhooks/provider`);
    expect(await checkouts.hintNow(second.key, { eventId: 'evnt_1', eventKey: 'charge.complete' })).toEqual({
      kind: 'undecided',
    });
    await stack.untilStatus(second.id, 'paid');
    const request = { key: 'a', amount: 10_000, reason: null };
    expect(await checkouts.refund(second.key, request, 5_000)).toEqual({ kind: 'undecided' });
    await stack.until(second.id, ({ refunded_amount }) => refunded_amount === 10_000);
  });

  it('does not make an open checkout a closed one for an operator, and a closed one stays closed', async () => {
    const checkouts = losing();
    const { key } = await open();
    await expect(checkouts.resolve(key, look, 5_000)).rejects.toThrow(NotAcceptedError);
    await handleOf(key.reference).terminate();
    for (const ask of [
      checkouts.resolve(key, look, 5_000),
      checkouts.cancel(key, {}, 5_000),
      checkouts.hintNow(key, { eventId: 'evnt_1', eventKey: 'charge.complete' }),
    ]) {
      expect(await ask).toEqual({ kind: 'closed' });
    }
  });
});

describe('a workflow of a checkout', () => {
  it('continues after a hint with a very long charge id', async () => {
    const { body } = await stack.create();
    const handle = handleOf(body.reference);
    await handle.signal(hint, { eventId: 'e', eventKey: 'charge.update', chargeId: `chrg_${'x'.repeat(450)}` });
    await new Promise((done) => setTimeout(done, 1_000));
    const answer = await within(8_000, handle.executeUpdate(cancel, { args: [{}] }));
    if (answer === 'no answer') await handle.terminate();
    expect(answer).toBe('cancelled');
  });

  it('continues after a signal without its argument, as the Temporal UI can send it', async () => {
    const { body } = await stack.create();
    const handle = handleOf(body.reference);
    await handle.signal('hint');
    const answer = await within(8_000, handle.executeUpdate(cancel, { args: [{}] }));
    if (answer === 'no answer') await handle.terminate();
    expect(answer).toBe('cancelled');
  });

  it('answers a repeated `after` with the same attempt, also when there are later attempts', async () => {
    const { body } = await stack.create();
    const handle = handleOf(body.reference);
    expect(await handle.executeUpdate(newAttempt, { args: [{ after: 1 }] })).toBe(2);
    expect(await handle.executeUpdate(newAttempt, { args: [{ after: 2 }] })).toBe(3);
    expect(await handle.executeUpdate(newAttempt, { args: [{ after: 1 }] })).toBe(2);
  });

  it('does not answer a newAttempt update with the old number when continue-as-new interrupts it', async () => {
    stack.sandbox.faults.add({ method: 'POST', path: '/charges/{id}/expire', action: 'status', status: 400 });
    const { id, reference } = await startDirectly(stack, {
      maxHistoryEvents: 60,
      pollIntervalMs: 50,
      lookupDelaysMs: [50, 100],
    });
    await stack.until(id, ({ qr }) => qr !== null);
    const answer = await handleOf(reference)
      .executeUpdate(newAttempt, { args: [{ after: 1 }] })
      .catch((error: unknown) => error);
    stack.sandbox.faults.clear();
    expect(answer).not.toBe(1);
  });

  it('answers every refund that is requested at the moment of the payment, and makes each one once', async () => {
    for (let round = 0; round < 8; round += 1) {
      const body = await stack.open();
      const handle = handleOf(body.reference);
      stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
      const answers = await Promise.all(
        ['a', 'b', 'c'].map(async (key) => {
          for (;;) {
            try {
              return await handle.executeUpdate(refund, {
                args: [{ key, amount: 10_000 * (round + 1), reason: null }],
              });
            } catch (error) {
              const { cause } = error as { cause?: { type?: string } };
              if (cause?.type !== 'not_paid') return error;
            }
          }
        }),
      );
      for (const answer of answers) {
        if (answer instanceof Error) expect((answer.cause as { type?: string }).type).toBe('refund_exceeds_paid');
        else expect(answer).toMatchObject({ status: 'succeeded' });
      }
      const [charge] = stack.chargesOf(body.id);
      expect(charge?.refunded_amount).toBe(
        Math.min(30_000 * (round + 1), 10_000 * (round + 1) * Math.floor(15 / (round + 1))),
      );
    }
  });
});

describe('a webhook', () => {
  it('about an unknown charge of the checkout makes the charge known, and the second payment is returned', async () => {
    const body = await stack.open();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await stack.untilStatus(body.id, 'paid');
    // A late writer, after every late-effect check.
    const post = async (path: string, form: Record<string, string>): Promise<{ id: string }> => {
      const response = await fetch(`${stack.sandboxUrl}${path}`, {
        method: 'POST',
        headers: { authorization: `Basic ${Buffer.from(`${stack.sandbox.keys.secret}:`).toString('base64')}` },
        body: new URLSearchParams(form),
      });
      return (await response.json()) as { id: string };
    };
    const charge = await post('/charges', {
      amount: '150000',
      currency: 'THB',
      'source[type]': 'wallet_mpm',
      'metadata[checkout]': body.id,
      'metadata[attempt]': '1',
    });
    stack.sandbox.mark(charge.id, { status: 'successful' });
    await vi.waitFor(
      () => {
        const second = stack.chargesOf(body.id).find(({ id }) => id === charge.id);
        expect(second).toMatchObject({ status: 'successful', refunded_amount: 150_000 });
      },
      { timeout: 90_000, interval: 200 },
    );
  });

  it('that arrives before the QR does not delay the QR while its hint is being checked', async () => {
    const slow = await Stack.start();
    try {
      slow.sandbox.faults.add([
        { method: 'POST', path: '/charges', action: 'delay', delay_ms: 1_000, times: 1 },
        { method: 'GET', path: '/charges/{id}', action: 'hang' },
      ]);
      const reference = newReference();
      const opening = slow.create({ reference });
      const handle = slow.temporal.client.workflow.getHandle(`checkout/default/${reference}`);
      await vi.waitUntil(() => slow.requests('POST /charges').length > 0, { timeout: 90_000 });
      await handle.signal(hint, { eventId: 'e', eventKey: 'charge.update', chargeId: 'chrg_test_unknown' });
      // The retrieve never ends: an answer that waits for it is a 202.
      expect(await opening).toMatchObject({ status: 201, body: { status: 'awaiting_payment' } });
    } finally {
      await slow.stop();
    }
  });
});
