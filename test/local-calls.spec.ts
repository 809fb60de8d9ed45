import { setTimeout as sleep } from 'node:timers/promises';
import { NativeConnection, Worker } from '@temporalio/worker';
import { BUNDLE_PATH, checkoutSinks, workflowSpans } from '@tillflow/worker';
import { hint, refundRequest, type Outcome } from '@tillflow/workflows';
import { describe, expect, inject, it } from 'vitest';
import { eventually } from './support/eventually.js';
import { FULL } from './support/full.js';
import { chargeIdOf, Stack } from './support/stack.js';

/** The worker needs so long until its workflow code runs, and the local call as long again. Temporal renews a task after 8 s. */
const SLOW_MS = 4_300;

const REPLAY = {
  workflowBundle: { codePath: BUNDLE_PATH },
  sinks: { ...checkoutSinks('default'), ...workflowSpans(undefined) },
};

const UNKNOWN: Outcome<never> = { kind: 'unknown', code: 'deadline_exceeded', message: 'no answer' };

/** A worker without CPU: it reads its first task late, and its calls get no answer. */
async function slowWorker(stack: Stack): Promise<{ stop(): Promise<void> }> {
  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  let readsAt = 0;
  const worker = await Worker.create({
    connection,
    taskQueue: stack.taskQueue,
    ...REPLAY,
    dataConverter: {
      payloadCodecs: [
        {
          encode: (payloads) => Promise.resolve(payloads),
          async decode(payloads) {
            if (readsAt === 0) readsAt = Date.now() + SLOW_MS;
            await sleep(Math.max(0, readsAt - Date.now()));
            return payloads;
          },
        },
      ],
    },
    activities: {
      async createSource(): Promise<Outcome<never>> {
        await sleep(SLOW_MS);
        return UNKNOWN;
      },
    },
  });
  const running = worker.run();
  return {
    async stop() {
      worker.shutdown();
      await running;
      await connection.close();
    },
  };
}

describe.concurrent('a checkout whose first task was renewed during its local call', () => {
  it('continues on another worker', FULL, async () => {
    expect(await chargesOnAnotherWorker(() => Promise.resolve())).toBe(1);
  });

  it('and got a message meanwhile, continues on another worker', FULL, async () => {
    const charges = await chargesOnAnotherWorker(async (stack, id) => {
      await sleep(SLOW_MS + 1_500);
      await stack.workflowOf(id).signal(hint, { eventId: 'evnt_test_none', eventKey: 'charge.complete' });
    });
    expect(charges).toBe(1);
  });
});

it('several refunds that are requested at once replay as they were made', async () => {
  const stack = await Stack.start();
  try {
    const { body } = await stack.create();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await stack.untilStatus(body.id, 'paid');
    await stack.stopWorker();
    const workflow = stack.workflowOf(body.id);
    const keys = ['a', 'b', 'c', 'd'];
    for (const key of keys) await workflow.signal(refundRequest, { key, amount: 10_000, reason: null });
    await stack.startWorker();
    await stack.until(body.id, ({ refunded_amount }) => refunded_amount === keys.length * 10_000);
    await Worker.runReplayHistory(REPLAY, await workflow.fetchHistory(), body.reference);
  } finally {
    await stack.stop();
  }
});

/** The charges of a checkout once its QR code is there. @param meanwhile happens during its first task */
async function chargesOnAnotherWorker(meanwhile: (stack: Stack, id: string) => Promise<void>): Promise<number> {
  const stack = await Stack.start({ worker: false, api: { ANSWER_WITHIN_MS: '500' } });
  try {
    const worker = await slowWorker(stack);
    const { id } = (await stack.create()).body;
    await meanwhile(stack, id);
    const types = async (): Promise<string[]> => {
      const { events } = await stack.workflowOf(id).fetchHistory();
      return (events ?? []).map(({ eventType }) => String(eventType));
    };
    // The call after the local one is stored.
    await eventually(async () => expect((await types()).length).toBeGreaterThan(10));
    await worker.stop();
    await stack.startWorker();
    await stack.untilStatus(id, 'awaiting_payment');
    return stack.chargesOf(id).length;
  } finally {
    await stack.stop();
  }
}
