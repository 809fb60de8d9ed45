import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { activePollers, describeTaskQueue } from '@tillflow/temporal';
import { freePorts } from '@tillflow/tools';
import { FULL } from './support/full.js';
import { FAST } from './support/money-calls.js';
import { chargeIdOf, Stack } from './support/stack.js';
import { operatorOf, tillflow } from './support/tillflow.js';
import { WorkerProcess, type SignalAt } from './support/worker-process.js';

const SHIFTED_CLOCK = new URL('../tools/shifted-clock.mjs', import.meta.url).href;
const TEN_MINUTES_MS = 600_000;
const BOUND_RAISED = { MAX_CLOCK_OFFSET_MS: '3600000' };

/** The settings of a worker whose clock is this far ahead of all other clocks. */
function shifted(stack: Stack, ms: number): Record<string, string> {
  return { ...stack.workerEnvironment(), NODE_OPTIONS: `--import=${SHIFTED_CLOCK}`, CLOCK_SHIFT_MS: String(ms) };
}

/** A stack whose only worker is a process with another clock. */
async function withShiftedWorker(
  shiftMs: number,
  environment: Readonly<Record<string, string>>,
  work: (stack: Stack, worker: WorkerProcess) => Promise<void>,
  signalAt?: SignalAt,
): Promise<void> {
  const stack = await Stack.start({ ...FAST, worker: false });
  const worker = await WorkerProcess.start({ ...shifted(stack, shiftMs), ...environment }, signalAt);
  try {
    await work(stack, worker);
  } finally {
    await worker.stop();
    await stack.stop();
  }
}

describe('a worker whose clock is set wrong while it runs, and right again', () => {
  it('takes no work while its clock is wrong, and continues without a restart when the clock is right', async () => {
    const stack = await Stack.start({ ...FAST, worker: false });
    const [port = 0] = await freePorts(1);
    const environment = { CLOCK_SHIFTED_LATER: 'true', WORKER_HEALTH_PORT: String(port) };
    const worker = await WorkerProcess.start({ ...shifted(stack, TEN_MINUTES_MS), ...environment });
    const ready = async () => {
      const response = await fetch(`http://127.0.0.1:${port}/health/ready`);
      return { status: response.status, body: await response.json() };
    };
    try {
      expect(await ready()).toMatchObject({ status: 200, body: { status: 'ok' } });
      worker.signal('SIGUSR2');
      await worker.line('600 s ahead');
      expect(await ready()).toMatchObject({ status: 503, body: { status: 'not_ready', reason: 'clock_wrong' } });
      const { id } = (await stack.begin()).body;
      expect((await stack.get(`/v1/checkouts/${id}`)).body.status).toBe('creating');
      expect(stack.requests('POST /sources')).toEqual([]);
      worker.signal('SIGUSR2');
      await worker.line('correct again');
      await stack.until(id, ({ qr }) => qr !== null);
      expect(await ready()).toMatchObject({ status: 200 });
      worker.signal('SIGTERM');
      expect(await worker.exited).toBe(0);
    } finally {
      await worker.stop();
      await stack.stop();
    }
  });
});

describe.concurrent.each([
  ['ahead', TEN_MINUTES_MS, {}],
  ['behind', -TEN_MINUTES_MS, FULL],
] as const)('a worker whose clock is ten minutes %s', (side, shiftMs, options) => {
  it('still sends its calls, so a checkout is charged, paid and refunded', () =>
    withShiftedWorker(shiftMs, BOUND_RAISED, async (stack) => {
      const ready = await stack.open();
      stack.sandbox.mark(chargeIdOf(ready), { status: 'successful' });
      await stack.untilStatus(ready.id, 'paid');
      await stack.request('POST', `/v1/checkouts/${ready.id}/refunds`, { headers: { 'idempotency-key': 'k' } });
      await stack.untilStatus(ready.id, 'refunded');
      expect(stack.requests('POST /charges')).toHaveLength(1);
    }));

  it('does not send a call after its send_by, because it was frozen for longer than the call may wait', options, () =>
    withShiftedWorker(
      shiftMs,
      BOUND_RAISED,
      async (stack, worker) => {
        const { id } = (await stack.begin()).body;
        await worker.signalled;
        await sleep(Number(FAST.api.SEND_WITHIN_MS) + 100);
        worker.signal('SIGCONT');
        await stack.until(id, ({ qr }) => qr !== null);
        expect(await stack.activityResultsOf(id)).toContainEqual(expect.stringContaining('send_by_passed'));
        expect(stack.requests('POST /charges')).toHaveLength(1);
      },
      { moment: 'call:begun', activity: 'createCharge', signal: 'SIGSTOP' },
    ),
  );

  it(
    'takes no work with the default MAX_CLOCK_OFFSET_MS, and reports why in its health, in its log and to tillflow doctor',
    options,
    async () => {
      const stack = await Stack.start({ worker: false });
      const [port = 0] = await freePorts(1);
      const worker = WorkerProcess.run({ ...shifted(stack, shiftMs), WORKER_HEALTH_PORT: String(port) });
      const health = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
      try {
        const { id } = (await stack.begin()).body;
        const said = await worker.line(`600 s ${side}`);
        expect(said).toContain('MAX_CLOCK_OFFSET_MS');
        expect((await health('/health/live')).status).toBe(200);
        const ready = await health('/health/ready');
        expect(ready.status).toBe(503);
        const { clock } = (await ready.json()) as { clock: { temporal_offset_ms: number; max_offset_ms: number } };
        expect(Math.round(clock.temporal_offset_ms / 1_000)).toBe(shiftMs / 1_000);
        expect(clock.max_offset_ms).toBe(30_000);
        // The two clocks are not read at the same moment.
        expect(await (await health('/metrics')).text()).toMatch(
          /^tillflow_worker_clock_offset_seconds\{of="temporal"\} -?(600(\.0\d+)?|599\.\d+)$/m,
        );

        const queue = await describeTaskQueue(stack.temporal, stack.taskQueue, 'activities');
        expect(activePollers(queue, Date.now())).toEqual([]);
        expect(stack.requests('POST /sources')).toEqual([]);
        expect((await stack.get(`/v1/checkouts/${id}`)).body.status).toBe('creating');

        const { out } = await tillflow(['doctor', '--json'], operatorOf(stack));
        const { findings } = JSON.parse(out) as { findings: { code: string; what: string }[] };
        expect(findings).toContainEqual(
          expect.objectContaining({
            code: 'clock_skew',
            what: expect.stringMatching(new RegExp(`^the clock of worker \\S+ is (599|600|601) s ${side}`)),
          }),
        );
        expect(findings).toContainEqual(expect.objectContaining({ code: 'no_worker' }));
      } finally {
        await worker.stop();
        await stack.stop();
      }
    },
  );
});
