import { resolve } from '@tillflow/workflows';
import { describe, expect, it, vi } from 'vitest';
import { eventually } from './support/eventually.js';
import { expectRecords } from './support/records.js';
import { FULL } from './support/full.js';
import {
  expectRightEnd,
  FAST,
  isDoneAndLost,
  MONEY_CALLS,
  ONE_OF_EACH,
  rows,
  strike,
  type Lost,
  type MoneyCall,
} from './support/money-calls.js';
import { chargeIdOf, newReference, type Stack } from './support/stack.js';
import { withStack } from './support/with-stack.js';
import type { SignalAt, WorkerProcess } from './support/worker-process.js';

/** A slow call is answered well within these times. */
const PATIENT = { SEND_WITHIN_MS: '1500', CALL_DEADLINE_MS: '1000', ANSWER_WITHIN_MS: '500' };
const ENOUGH_MS = 300_000;
const SEND_WITHIN_MS = Number(FAST.api.SEND_WITHIN_MS);

/** One charge, whatever happened, and a QR that can be paid. */
async function expectOneChargeAndPay(stack: Stack, id: string): Promise<void> {
  const ready = await stack.until(id, ({ qr }) => qr !== null, 90_000);
  expect(stack.chargesOf(id).map((charge) => charge.id)).toEqual([chargeIdOf(ready)]);
  stack.sandbox.mark(chargeIdOf(ready), { status: 'successful' });
  await stack.untilStatus(id, 'paid', 60_000);
  expect(stack.chargesOf(id)).toHaveLength(1);
}

/**
 * Keeps only the thawed worker and gives it work. When it has done that, it has also written everything that it still
 * had to write.
 */
async function thaw(stack: Stack, worker: WorkerProcess, id: string): Promise<void> {
  await stack.stopWorker();
  worker.signal('SIGCONT');
  // The server refuses updates of a workflow while its tasks time out, as those that the frozen worker took did.
  await eventually(() =>
    stack.workflowOf(id).executeUpdate(resolve, { args: [{ action: 'look', reason: 'after the thaw' }] }),
  );
}

describe.concurrent.each(MONEY_CALLS)('when the answer to $name is lost', { timeout: ENOUGH_MS }, (call) => {
  const expectEndAfterKill = (fault: Lost): Promise<void> =>
    withStack(FAST, async (stack, start) => {
      const victim = await start();
      const id = await call.prepare(stack);
      const struck = strike(stack, call, fault, () => victim.signal('SIGKILL'));
      await call.provoke(stack, id);
      await struck;
      await victim.exited;
      await stack.startWorker();
      await expectRightEnd(stack, call, id);
    });

  const expectEndAfterFreeze = (fault: Lost): Promise<void> =>
    withStack(FAST, async (stack, start) => {
      const victim = await start();
      const id = await call.prepare(stack);
      const struck = strike(stack, call, fault, () => victim.signal('SIGSTOP'));
      await call.provoke(stack, id);
      await struck;
      await stack.startWorker();
      await expectRightEnd(stack, call, id);
      await thaw(stack, victim, id);
      await expectRecords(stack, id, call.expected);
    });

  const [tested, others] = [ONE_OF_EACH.filter(isDoneAndLost), ONE_OF_EACH.filter((fault) => !isDoneAndLost(fault))];
  it.each(rows(tested))(
    'by %s and the worker is killed, the call takes effect once, the checkout ends as it should, and no attention remains',
    (_, fault) => expectEndAfterKill(fault),
  );
  it.each(rows(others))(
    'by %s and the worker is killed, the call takes effect once, the checkout ends as it should, and no attention remains',
    FULL,
    (_, fault) => expectEndAfterKill(fault),
  );
  it.each(rows(tested))(
    'by %s and the worker is frozen and later thawed, the call takes effect once, the checkout ends as it should, and no attention remains',
    (_, fault) => expectEndAfterFreeze(fault),
  );
  it.each(rows(others))(
    'by %s and the worker is frozen and later thawed, the call takes effect once, the checkout ends as it should, and no attention remains',
    FULL,
    (_, fault) => expectEndAfterFreeze(fault),
  );
});

/**
 * `pnpm test` interrupts only this call at every moment. The tests above interrupt each call after the provider has
 * carried it out.
 */
const isTestedCall = ({ name }: MoneyCall): boolean => name === 'the create of a charge';

describe.concurrent.each([
  { calls: MONEY_CALLS.filter(isTestedCall), options: {} },
  { calls: MONEY_CALLS.filter((call) => !isTestedCall(call)), options: FULL },
])('a worker that is killed or frozen', ({ calls, options }) => {
  describe.each(calls)('before it sends $name', { timeout: ENOUGH_MS, ...options }, (call) => {
    const { route } = call;
    const requests = (stack: Stack): number => stack.requests(`POST ${route}`).length;
    /** The request is made and not yet written: the client checks send_by once more after this. */
    const beforeSending = { moment: 'undici:request:create', method: 'POST', route } as const;

    it('can be killed: another worker makes the call, once', () =>
      withStack(FAST, async (stack, start) => {
        const victim = await start({ ...beforeSending, signal: 'SIGKILL' });
        const id = await call.prepare(stack);
        await call.provoke(stack, id);
        await victim.exited;
        expect(requests(stack)).toBe(0);
        await stack.startWorker();
        await expectRightEnd(stack, call, id);
        expect(requests(stack)).toBe(1);
      }));

    /** A local call sends no heartbeat by which its beginning could be seen. */
    const begun: SignalAt =
      call.isLocal === true
        ? { ...beforeSending, signal: 'SIGSTOP' }
        : { moment: 'call:begun', activity: call.activity, signal: 'SIGSTOP' };
    // Three limits stop it: send_by, the call's deadline, and the activity's timeout.
    const expectNothingAfterThaw = (signalAt: SignalAt): Promise<void> =>
      withStack(FAST, async (stack, start) => {
        const victim = await start(signalAt);
        const id = await call.prepare(stack);
        await call.provoke(stack, id);
        await victim.signalled;
        await stack.startWorker();
        await expectRightEnd(stack, call, id);
        await thaw(stack, victim, id);
        await expectRecords(stack, id, call.expected);
        expect(requests(stack)).toBe(1);
      });
    it('can be frozen when the request was made: another worker makes the call, and the first one sends nothing after it thaws', () =>
      expectNothingAfterThaw({ ...beforeSending, signal: 'SIGSTOP' }));
    it(
      'can be frozen when the call was taken on: another worker makes the call, and the first one sends nothing after it thaws',
      FULL,
      () => expectNothingAfterThaw(begun),
    );

    it('sends nothing when it thaws after send_by and before its heartbeat timeout, without any other worker', () =>
      withStack({ api: { ...FAST.api, HEARTBEAT_TIMEOUT_MS: '6000' } }, async (stack, start) => {
        const only = await start(begun);
        const id = await call.prepare(stack);
        await call.provoke(stack, id);
        await only.signalled;
        await new Promise((resolve) => setTimeout(resolve, SEND_WITHIN_MS + 100));
        only.signal('SIGCONT');
        await expectRightEnd(stack, call, id);
        expect(requests(stack)).toBe(1);
        // The limit of a local call ends before send_by.
        const notSent = call.isLocal === true ? 'Nothing was sent' : 'send_by_passed';
        expect(await stack.activityResultsOf(id)).toContainEqual(expect.stringContaining(notSent));
      }));

    it(
      'sends nothing late when it thaws after Temporal has given the call up, looks the call up, and makes it once, without any other worker',
      FULL,
      () =>
        withStack(FAST, async (stack, start) => {
          const only = await start({ ...beforeSending, signal: 'SIGSTOP' });
          const id = await call.prepare(stack);
          await call.provoke(stack, id);
          await only.signalled;
          await stack.untilCallTimedOut(id);
          only.signal('SIGCONT');
          await expectRightEnd(stack, call, id);
          expect(requests(stack)).toBe(1);
        }),
    );
  });
});

describe.concurrent('a worker that retrieves a paid charge within a workflow task', { timeout: ENOUGH_MS }, () => {
  const expectPaid = (signal: 'SIGKILL' | 'SIGSTOP'): Promise<void> =>
    withStack({ api: { ...FAST.api, POLL_INTERVAL_MS: '3600000' } }, async (stack, start) => {
      const call = MONEY_CALLS.find(isTestedCall);
      if (call === undefined) throw new Error('No call creates a charge');
      const victim = await start();
      const id = await call.prepare(stack);
      await call.provoke(stack, id);
      await stack.until(id, ({ qr }) => qr !== null);
      const answered = new Promise<void>((resolve) => {
        const end = stack.sandbox.on('response', ({ method, route }) => {
          if (method !== 'GET' || route !== '/charges/{id}') return;
          end();
          victim.signal(signal);
          resolve();
        });
      });
      await call.finish(stack, id);
      await answered;
      await stack.startWorker();
      await stack.untilStatus(id, 'paid', 90_000);
      if (signal === 'SIGSTOP') await thaw(stack, victim, id);
      await expectRecords(stack, id, call.expected);
    });

  it('can be killed: another worker sees the payment', () => expectPaid('SIGKILL'));
  it('can be frozen: another worker sees the payment, and the first one changes nothing when it thaws', () =>
    expectPaid('SIGSTOP'));
});

describe.concurrent('in the last moment before a worker sends', { timeout: ENOUGH_MS }, () => {
  const expectOneEffect = (call: MoneyCall): Promise<void> =>
    withStack(FAST, async (stack, start) => {
      const { route } = call;
      const victim = await start({
        moment: 'undici:client:sendHeaders',
        method: 'POST',
        route,
        signal: 'SIGSTOP',
      });
      const id = await call.prepare(stack);
      await call.provoke(stack, id);
      await victim.signalled;
      await stack.startWorker();
      await expectRightEnd(stack, call, id);
      const moved = () => {
        const { refunds, transactions } = stack.sandbox.state();
        return { refunds, transactions, charges: stack.chargesOf(id).map((one) => `${one.id} ${one.status}`) };
      };
      const before = moved();
      const sent = stack.requests(`POST ${route}`).length;
      await thaw(stack, victim, id);
      await vi.waitUntil(() => stack.requests(`POST ${route}`).length === sent + 1, { timeout: 90_000 });
      expect(moved()).toEqual(before);
    });

  const refusable = MONEY_CALLS.filter(({ name }) => name !== 'a refund');
  it.each(refusable.filter(isTestedCall))(
    '$name, the worker freezes and sends late: the call takes effect once',
    (call) => expectOneEffect(call),
  );
  it.each(refusable.filter((call) => !isTestedCall(call)))(
    '$name, the worker freezes and sends late: the call takes effect once',
    FULL,
    (call) => expectOneEffect(call),
  );
});

describe('a worker that receives SIGTERM', { timeout: ENOUGH_MS }, () => {
  it('finishes the call in flight: the answer is not lost', () =>
    withStack({ api: PATIENT }, async (stack, start) => {
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
