import { setTimeout as sleep } from 'node:timers/promises';
import type { Payload } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import { BUNDLE_PATH, checkoutSinks, workflowSpans } from '@tillflow/worker';
import { cancel, hint, refundRequest, view, type Outcome } from '@tillflow/workflows';
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

/** The input of a checkout: a worker reads it when it carries out the first task, and each time when it repeats it. */
const isInput = ({ data }: Payload): boolean => Buffer.from(data ?? []).includes('"policy"');

/** A worker without CPU: it reads its first tasks late, and its calls get no answer. */
async function slowWorker(stack: Stack, slowTasks: number): Promise<{ stop(): Promise<void> }> {
  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  let readsAt = 0;
  let slowSoFar = 0;
  const worker = await Worker.create({
    connection,
    taskQueue: stack.taskQueue,
    ...REPLAY,
    dataConverter: {
      payloadCodecs: [
        {
          encode: (payloads) => Promise.resolve(payloads),
          async decode(payloads) {
            if (slowSoFar < slowTasks && payloads.some(isInput)) {
              slowSoFar += 1;
              readsAt = Date.now() + SLOW_MS;
            }
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
    expect(await onAnotherWorker({ slowTasks: 1, hasMessage: false })).toMatchObject({ charges: 1 });
  });

  it.each([
    ['and got a message meanwhile', 1],
    ['and got a message meanwhile, and whose second task was renewed, too,', 2],
  ])('%s continues on another worker as it was', FULL, async (_, slowTasks) => {
    const { charges, before, after } = await onAnotherWorker({ slowTasks, hasMessage: true });
    expect(before.map(({ what }) => what)).toContain('webhook');
    expect(after).toEqual(before);
    expect(charges).toBe(1);
  });

  it('and that is cancelled meanwhile replays as it was', FULL, async () => {
    const stack = await Stack.start({ worker: false, api: { ANSWER_WITHIN_MS: '500' } });
    try {
      const worker = await slowWorker(stack, 1);
      const { id, reference } = (await stack.create()).body;
      const workflow = stack.workflowOf(id);
      await sleep(SLOW_MS + 1_500);
      expect(await workflow.executeUpdate(cancel, { args: [{ by: 'the test' }] })).toBe('cancelled');
      const { events } = await workflow.fetchHistory();
      expect(events?.filter((one) => one.workflowTaskFailedEventAttributes).length).toBe(1);
      await Worker.runReplayHistory(REPLAY, { events }, reference);
      await worker.stop();
    } finally {
      await stack.stop();
    }
  });
});

it('several refunds that are requested at once replay as they were made', async () => {
  const stack = await Stack.start();
  try {
    const body = await stack.open();
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

/**
 * A slow worker begins a checkout, and another one continues it. @returns the charges, and the timeline that the slow worker
 * wrote, as it was before the other worker, and as the other worker shows it
 */
async function onAnotherWorker({ slowTasks, hasMessage }: { slowTasks: number; hasMessage: boolean }) {
  const stack = await Stack.start({ worker: false, api: { ANSWER_WITHIN_MS: '500' } });
  try {
    const worker = await slowWorker(stack, slowTasks);
    const { id } = (await stack.create()).body;
    const workflow = stack.workflowOf(id);
    if (hasMessage) {
      await sleep(SLOW_MS + 1_500);
      await workflow.signal(hint, { eventId: 'evnt_test_none', eventKey: 'charge.complete' });
    }
    await eventually(async () => {
      // The call after the local one is stored, and so is the message.
      const { events } = await workflow.fetchHistory();
      expect(events?.some((one) => one.activityTaskScheduledEventAttributes)).toBe(true);
      const noted = (await stack.memoOf(id)).timeline?.map(({ what }) => what);
      expect(noted?.includes('webhook') ?? false).toBe(hasMessage);
    });
    await worker.stop();
    const { timeline: before = [] } = await stack.memoOf(id);
    await stack.startWorker();
    await stack.untilStatus(id, 'awaiting_payment');
    const { timeline } = await workflow.query(view);
    return { charges: stack.chargesOf(id).length, before, after: timeline.slice(0, before.length) };
  } finally {
    await stack.stop();
  }
}
