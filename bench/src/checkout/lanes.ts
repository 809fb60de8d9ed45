import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { WithStartWorkflowOperation, type Client } from '@temporalio/client';
import { checkoutWorkflowId, DEFAULT_ACCOUNT } from '@tillflow/domain';
import { searchAttributes } from '@tillflow/workflows';
import type { ApiClient } from './api-client.js';
import { begin, bare, hint, noop, twoActivities } from './floors/workflows.js';
import { filler, padded, type Shape, type Step } from './floors/steps.js';
import { untilClosed } from './histories.js';
import { FLOOR_QUEUE, type BenchStack } from './stack.js';
import { chargeOf, newReference, openCheckout, untilCheckout } from './till.js';

/** What one operation took, in ms. */
export type Sample = {
  /** Until the QR, or what stands for it; of a lane without one, the whole. */
  readonly answeredMs: number;
  /** From the mark of the charge, or from the signal that stands for it, to the first read that shows it paid. */
  readonly paidMs: number | null;
  readonly totalMs: number;
};

/** One kind of operation, done again and again. */
export type Lane = {
  readonly name: string;
  /** Its workflow is open when the operation is done. */
  readonly leavesOpen: boolean;
  /** One operation. @returns what it took, and its workflow, which may still be open; null for none. */
  readonly once: () => Promise<Sample & { readonly workflowId: string | null }>;
};

export function noopLane({ temporal }: BenchStack): Lane {
  return {
    name: 'no-op',
    leavesOpen: false,
    once: async () => {
      const workflowId = floorId();
      const began = performance.now();
      await temporal.client.workflow.execute(noop, { workflowId, taskQueue: FLOOR_QUEUE });
      const totalMs = performance.now() - began;
      return { answeredMs: totalMs, paidMs: null, totalMs, workflowId };
    },
  };
}

export function twoActivitiesLane({ temporal }: BenchStack): Lane {
  return {
    name: 'two activities',
    leavesOpen: false,
    once: async () => {
      const workflowId = floorId();
      const began = performance.now();
      await temporal.client.workflow.executeUpdateWithStart(begin, {
        startWorkflowOperation: new WithStartWorkflowOperation(twoActivities, {
          workflowId,
          taskQueue: FLOOR_QUEUE,
          workflowIdConflictPolicy: 'FAIL',
        }),
      });
      const totalMs = performance.now() - began;
      return { answeredMs: totalMs, paidMs: null, totalMs, workflowId };
    },
  };
}

const PAYMENT = 'amount=150000&currency=THB';

/** A source and a charge at the provider itself, as the worker makes them: what no product can do without. */
export function providerLane({ sandbox }: BenchStack): Lane {
  return {
    name: 'provider',
    leavesOpen: false,
    once: async () => {
      const began = performance.now();
      const { id } = JSON.parse(await sandbox.call('POST', '/sources', `${PAYMENT}&type=wallet_mpm`)) as { id: string };
      await sandbox.call('POST', '/charges', `${PAYMENT}&source=${id}`);
      const totalMs = performance.now() - began;
      return { answeredMs: totalMs, paidMs: null, totalMs, workflowId: null };
    },
  };
}

/** What the bare shape does, and how large its start is. */
export type BareForm = {
  readonly steps: readonly (readonly Step[])[];
  readonly inputBytes: number;
  readonly memoBytes: number;
};

/** @param waitMs what the provider would take for each call. */
export function bareLane({ temporal }: BenchStack, form: BareForm, waitMs: number): Lane {
  const { client } = temporal;
  const shape = padded({ runs: form.steps, waitMs }, form.inputBytes);
  return {
    name: 'bare shape',
    leavesOpen: true,
    once: async () => {
      const workflowId = floorId();
      const began = performance.now();
      await client.workflow.executeUpdateWithStart(begin, {
        updateId: 'begin',
        startWorkflowOperation: bareStart(workflowId, shape, form.memoBytes),
      });
      const answeredMs = performance.now() - began;
      const closed = watched(untilClosed(temporal, workflowId));
      const signalled = performance.now();
      const handle = client.workflow.getHandle(workflowId);
      await handle.signal(hint, 'charge.complete evnt_test_0123456789abcdefghi');
      await closed;
      await handle.describe();
      const end = performance.now();
      return { answeredMs, paidMs: end - signalled, totalMs: end - began, workflowId };
    },
  };
}

function bareStart(workflowId: string, shape: Shape, memoBytes: number): WithStartWorkflowOperation<typeof bare> {
  return new WithStartWorkflowOperation(bare, {
    workflowId,
    taskQueue: FLOOR_QUEUE,
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

/** A whole checkout as a till and a customer see it: POST, pay at once, read until it is paid. */
export function checkoutLane({ temporal, sandbox }: BenchStack, api: ApiClient): Lane {
  return {
    name: 'checkout',
    leavesOpen: true,
    once: async () => {
      const reference = newReference();
      const workflowId = checkoutWorkflowId({ account: DEFAULT_ACCOUNT, reference });
      const began = performance.now();
      const opened = await openCheckout(api, reference);
      const answeredMs = performance.now() - began;
      // The server tells when the run of the checkout closes, which it does when paid: no one has to ask in between.
      const closed = watched(untilClosed(temporal, workflowId));
      const marked = performance.now();
      await sandbox.control('POST', `/charges/${chargeOf(opened)}/mark`, { status: 'successful' });
      await closed;
      await untilCheckout(api, opened.id, ({ status }) => status === 'paid');
      const end = performance.now();
      return { answeredMs, paidMs: end - marked, totalMs: end - began, workflowId };
    },
  };
}

/** Waited for later: what fails before must not leave its own failure without a listener. */
function watched(promise: Promise<void>): Promise<void> {
  promise.catch(() => undefined);
  return promise;
}

/** Ends what a round left open, so that the next is measured among as many open ones as this. What has closed stays so. */
export async function terminateAll(client: Client, workflowIds: readonly string[]): Promise<void> {
  const queue = [...workflowIds];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
        await client.workflow
          .getHandle(id)
          .terminate()
          .catch(() => undefined);
      }
    }),
  );
}

const AT_ONCE = 20;

function floorId(): string {
  return `floor/${DEFAULT_ACCOUNT}/bench-${randomUUID()}`;
}
