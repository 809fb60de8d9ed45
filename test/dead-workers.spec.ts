import { describe, expect, it } from 'vitest';
import { chargeIdOf, newReference, Stack } from './support/stack.js';
import { WorkerProcess, type SignalAt } from './support/worker-process.js';

const FAST = {
  SEND_WITHIN_MS: '1500',
  CALL_DEADLINE_MS: '1000',
  SETTLE_DELAY_MS: '100',
  LOOK_DELAYS_MS: '100,300,1000,2000',
  ANSWER_WITHIN_MS: '500',
};

const BEFORE_THE_CHARGE = { method: 'POST', path: '/charges' } as const;

/** A stack whose workers are processes; it hands them out and ends them. */
async function withProcesses(
  run: (stack: Stack, start: (signalAt?: SignalAt) => Promise<WorkerProcess>) => Promise<void>,
): Promise<void> {
  const stack = await Stack.start({ api: FAST, worker: false });
  const workers: WorkerProcess[] = [];
  try {
    await run(stack, async (signalAt) => {
      const worker = await WorkerProcess.start(stack.workerEnvironment(), signalAt);
      workers.push(worker);
      return worker;
    });
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await stack.stop();
  }
}

/** One charge, whatever happened, and a QR that can be paid. */
async function expectOneChargeAndPay(stack: Stack, id: string): Promise<void> {
  const ready = await stack.until(id, ({ qr }) => qr !== null, 90_000);
  expect(stack.chargesOf(id).map((charge) => charge.id)).toEqual([chargeIdOf(ready)]);
  stack.sandbox.mark(chargeIdOf(ready), { status: 'successful' });
  await stack.untilStatus(id, 'paid', 60_000);
  expect(stack.chargesOf(id)).toHaveLength(1);
}

describe.concurrent('a worker', { timeout: 180_000 }, () => {
  it('killed after the charge was made and before its answer came: one charge, and the QR is delivered', () =>
    withProcesses(async (stack, start) => {
      const first = await start();
      stack.sandbox.on('committed', ({ method, route }) => {
        if (method === 'POST' && route === '/charges') first.signal('SIGKILL');
      });
      const { body } = await stack.create();
      await first.exited;
      await start();
      await expectOneChargeAndPay(stack, body.id);
      expect(stack.requests('POST /charges')).toHaveLength(1);
    }));

  it('frozen after the charge was made, and thawed later: one charge, and the QR is delivered', () =>
    withProcesses(async (stack, start) => {
      const first = await start();
      const frozen = new Promise<void>((resolve) => {
        stack.sandbox.on('committed', ({ method, route }) => {
          if (method !== 'POST' || route !== '/charges') return;
          first.signal('SIGSTOP');
          resolve();
        });
      });
      const { body } = await stack.create();
      await frozen;
      await start();
      await stack.until(body.id, ({ qr }) => qr !== null, 90_000);
      first.signal('SIGCONT');
      await expectOneChargeAndPay(stack, body.id);
      expect(stack.requests('POST /charges')).toHaveLength(1);
    }));

  it('killed just before the request: the charge is made by another, once', () =>
    withProcesses(async (stack, start) => {
      const first = await start({ ...BEFORE_THE_CHARGE, moment: 'undici:request:create', signal: 'SIGKILL' });
      const { body } = await stack.create();
      await first.exited;
      expect(stack.requests('POST /charges')).toHaveLength(0);
      await start();
      await expectOneChargeAndPay(stack, body.id);
      expect(stack.requests('POST /charges')).toHaveLength(1);
    }));

  it('frozen just before the request sends nothing when it is thawed after another has made the charge', () =>
    withProcesses(async (stack, start) => {
      const first = await start({ ...BEFORE_THE_CHARGE, moment: 'undici:request:create', signal: 'SIGSTOP' });
      const { body } = await stack.create();
      await start();
      await stack.until(body.id, ({ qr }) => qr !== null, 90_000);
      first.signal('SIGCONT');
      await expectOneChargeAndPay(stack, body.id);
      expect(stack.requests('POST /charges')).toHaveLength(1);
    }));

  it('frozen in the very last moment writes too late, and the provider takes one charge for the source', () =>
    withProcesses(async (stack, start) => {
      const first = await start({ ...BEFORE_THE_CHARGE, moment: 'undici:client:sendHeaders', signal: 'SIGSTOP' });
      const { body } = await stack.create();
      await start();
      await stack.until(body.id, ({ qr }) => qr !== null, 90_000);
      first.signal('SIGCONT');
      await expectOneChargeAndPay(stack, body.id);
    }));

  it('alone, frozen just before the request and thawed: it sends nothing late, looks, and then makes the charge', () =>
    withProcesses(async (stack, start) => {
      const only = await start({ ...BEFORE_THE_CHARGE, moment: 'undici:request:create', signal: 'SIGSTOP' });
      const { status, body } = await stack.create();
      expect(status).toBe(202);
      // Longer than the send window, so that the request would be late.
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      only.signal('SIGCONT');
      await expectOneChargeAndPay(stack, body.id);
      expect(stack.requests('POST /charges')).toHaveLength(1);
    }));

  it('told to stop finishes the call in flight: the answer is not lost', () =>
    withProcesses(async (stack, start) => {
      const first = await start();
      stack.sandbox.faults.add({
        method: 'POST',
        path: '/charges',
        action: 'commit_then_delay',
        delay_ms: 700,
        times: 1,
      });
      stack.sandbox.on('committed', ({ method, route }) => {
        if (method === 'POST' && route === '/charges') first.signal('SIGTERM');
      });
      const reference = newReference();
      const { body } = await stack.create({ reference });
      expect(await first.exited).toBe(0);
      await start();
      await expectOneChargeAndPay(stack, body.id);
      const words = (await stack.timeline(body.id)).map(({ what }) => what);
      expect(words).not.toContain('outcome_unknown');
    }));
});
