import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { WithStartWorkflowOperation, type Client } from '@temporalio/client';
import { checkoutWorkflowId, DEFAULT_ACCOUNT } from '@tillflow/domain';
import { searchAttributes } from '@tillflow/workflows';
import { times } from '../processes.js';
import { idIn } from '../sandbox-process.js';
import { BASELINE_QUEUE, type Stack } from '../stack.js';
import { bare, begin, hint, twoActivities } from './baseline/workflows.js';
import { filler, padded, type Shape, type Step } from './baseline/steps.js';
import { untilClosed } from './histories.js';
import { chargeOf, newReference, type Till } from './till.js';

/** The times of one operation, in milliseconds. */
export type Sample = {
  /** Until the QR, or the answer that stands for it. */
  readonly answeredMs: number;
  readonly totalMs: number;
};

/** One kind of operation, which is repeated and measured. */
export type Variant = {
  readonly name: 'two activities' | 'provider' | 'bare shape' | 'checkout';
  /** Whether the workflow is still open after the operation. */
  readonly leavesOpen: boolean;
  /** Runs one operation. @returns its times, and the id of its workflow, or null without one. */
  readonly once: () => Promise<Sample & { readonly workflowId: string | null }>;
};

/** The smallest workflow that can return a QR code: an update with the start, which waits for two empty activities. */
export function twoActivitiesVariant({ temporal }: Stack): Variant {
  return {
    name: 'two activities',
    leavesOpen: false,
    once: async () => {
      const workflowId = baselineId();
      const totalMs = await timeOf(() =>
        temporal.client.workflow.executeUpdateWithStart(begin, {
          startWorkflowOperation: new WithStartWorkflowOperation(twoActivities, {
            workflowId,
            taskQueue: BASELINE_QUEUE,
            workflowIdConflictPolicy: 'FAIL',
          }),
        }),
      );
      return { answeredMs: totalMs, totalMs, workflowId };
    },
  };
}

const PAYMENT = 'amount=150000&currency=THB';

/** A source and a charge at the provider, without Tillflow. */
export function providerVariant({ sandbox }: Stack): Variant {
  return {
    name: 'provider',
    leavesOpen: false,
    once: async () => {
      const totalMs = await timeOf(async () => {
        const source = idIn(await sandbox.call('POST', '/sources', `${PAYMENT}&type=wallet_mpm`));
        await sandbox.call('POST', '/charges', `${PAYMENT}&source=${source}`);
      });
      return { answeredMs: totalMs, totalMs, workflowId: null };
    },
  };
}

/** The steps of the bare shape, and the bytes of its start. */
export type BareForm = {
  readonly steps: readonly (readonly Step[])[];
  readonly inputBytes: number;
  readonly memoBytes: number;
};

/** The events of a paid checkout without its logic. @param waitMs how long each of its activities waits. */
export function bareVariant({ temporal }: Pick<Stack, 'temporal'>, form: BareForm, waitMs: number): Variant {
  const { client } = temporal;
  const shape = padded({ runs: form.steps, waitMs }, form.inputBytes);
  return {
    name: 'bare shape',
    leavesOpen: true,
    once: async () => {
      const workflowId = baselineId();
      const began = performance.now();
      await client.workflow.executeUpdateWithStart(begin, {
        updateId: 'begin',
        startWorkflowOperation: bareStart(workflowId, shape, form.memoBytes),
      });
      const answeredMs = performance.now() - began;
      const closed = handled(untilClosed(temporal, workflowId));
      const handle = client.workflow.getHandle(workflowId);
      await handle.signal(hint, 'charge.complete evnt_test_0123456789abcdefghi');
      await closed;
      await handle.describe();
      return { answeredMs, totalMs: performance.now() - began, workflowId };
    },
  };
}

function bareStart(workflowId: string, shape: Shape, memoBytes: number): WithStartWorkflowOperation<typeof bare> {
  return new WithStartWorkflowOperation(bare, {
    workflowId,
    taskQueue: BASELINE_QUEUE,
    args: [shape],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    memo: { intent: filler(memoBytes) },
    typedSearchAttributes: [
      { key: searchAttributes.status, value: 'awaiting_payment' },
      { key: searchAttributes.reference, value: workflowId },
      { key: searchAttributes.currency, value: 'THB' },
      { key: searchAttributes.amount, value: 150_000 },
      { key: searchAttributes.createdAt, value: new Date() },
      { key: searchAttributes.terminal, value: 'till-7' },
    ],
    staticSummary: 'THB 1,500.00 for a reference',
  });
}

/** A whole checkout as till and customer see it: POST, pay at once, GET until it is paid. */
export function checkoutVariant({ temporal, sandbox }: Stack, till: Till): Variant {
  return {
    name: 'checkout',
    leavesOpen: true,
    once: async () => {
      const reference = newReference();
      const workflowId = checkoutWorkflowId({ account: DEFAULT_ACCOUNT, reference });
      const began = performance.now();
      const opened = await till.create(reference);
      const answeredMs = performance.now() - began;
      // The first run of a checkout closes when it is paid, so a long poll replaces GETs with pauses in between.
      const closed = handled(untilClosed(temporal, workflowId));
      await sandbox.control('POST', `/charges/${chargeOf(opened)}/mark`, { status: 'successful' });
      await closed;
      await till.until(opened.id, ({ status }) => status === 'paid');
      return { answeredMs, totalMs: performance.now() - began, workflowId };
    },
  };
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** For a promise that is awaited later: until then, its rejection must not count as unhandled. */
function handled(promise: Promise<void>): Promise<void> {
  promise.catch(() => undefined);
  return promise;
}

const TERMINATED_AT_ONCE = 20;

/** Terminates the workflows that a round left open, so that the next round has as many open workflows as this one. */
export async function terminateAll(client: Client, workflowIds: readonly string[]): Promise<void> {
  await times(workflowIds.length, TERMINATED_AT_ONCE, async (number) => {
    const handle = client.workflow.getHandle(workflowIds[number - 1] ?? '');
    // A workflow that has closed cannot be terminated, which is as good.
    await handle.terminate().catch(() => undefined);
  });
}

function baselineId(): string {
  return `baseline/${DEFAULT_ACCOUNT}/bench-${randomUUID()}`;
}
