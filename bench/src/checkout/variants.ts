import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { WithStartWorkflowOperation, type Client } from '@temporalio/client';
import { checkoutWorkflowId, DEFAULT_ACCOUNT } from '@tillflow/domain';
import { searchAttributes } from '@tillflow/workflows';
import { times } from '../processes.js';
import { idIn } from '../sandbox-process.js';
import { BASELINE_QUEUE, type Stack } from '../stack.js';
import { bare, begin, hint, twoActivities } from './baseline/workflows.js';
import { BYTES, filler, type BareInput } from './baseline/steps.js';
import { chargeOf, newReference, type CheckoutJson, type Till } from './till.js';

/** The times of one operation, in milliseconds. */
export type Sample = {
  /** Until the QR, or the answer that stands for it. */
  readonly answeredMs: number;
  /** From the webhook until the till sees the payment. Only for checkouts. */
  readonly paidMs?: number;
  readonly totalMs: number;
};

/** One kind of operation, which is repeated and measured. */
export type Variant = {
  readonly name: 'two activities' | 'provider' | 'bare shape' | 'checkout' | 'kill bill';
  /** Whether the workflow is still open after the operation. */
  readonly leavesOpen: boolean;
  /** The programs that no other variant uses. Without them, the CPU is unknown when variants take turns. */
  readonly programs?: Pick<Stack, 'usage'>;
  /** Runs one operation. @returns its times, and the id of its workflow, or null without one. */
  readonly once: (callers: number) => Promise<Sample & { readonly workflowId: string | null }>;
};

/**
 * The pause between two reads of a till that waits, in milliseconds. All callers together read at most 100 times a
 * second, so that the reads do not become the load.
 */
const pollMs = (callers: number): number => Math.max(20, 10 * callers);

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

/** The events of a paid checkout without its logic. @param waitMs how long each of its activities waits. */
export function bareVariant({ temporal }: Pick<Stack, 'temporal'>, waitMs: number): Variant {
  const { client } = temporal;
  return {
    name: 'bare shape',
    leavesOpen: true,
    once: async (callers) => {
      const workflowId = baselineId();
      const began = performance.now();
      await client.workflow.executeUpdateWithStart(begin, {
        updateId: 'begin',
        startWorkflowOperation: bareStart(workflowId, { waitMs, padding: '' }),
      });
      const answeredMs = performance.now() - began;
      const handle = client.workflow.getHandle(workflowId);
      await handle.signal(hint, filler(BYTES.hint));
      // A till reads the checkout as often, and each of its reads is such a call.
      while ((await handle.describe()).typedSearchAttributes.get(searchAttributes.status) !== 'paid') {
        await sleep(pollMs(callers));
      }
      return { answeredMs, totalMs: performance.now() - began, workflowId };
    },
  };
}

function bareStart(workflowId: string, input: BareInput): WithStartWorkflowOperation<typeof bare> {
  return new WithStartWorkflowOperation(bare, {
    workflowId,
    taskQueue: BASELINE_QUEUE,
    args: [input],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    memo: { intent: filler(BYTES.memoAtStart) },
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
export function checkoutVariant(stack: Pick<Stack, 'sandbox'>, till: Till): Variant {
  return {
    name: 'checkout',
    leavesOpen: true,
    once: async (callers) => {
      const opened = await openCheckout(till, callers);
      const paidMs = await payCheckout(stack, till, opened.checkout, callers);
      const { answeredMs, workflowId } = opened;
      return { answeredMs, paidMs, totalMs: answeredMs + paidMs, workflowId };
    },
  };
}

export type OpenedCheckout = {
  readonly checkout: CheckoutJson;
  readonly answeredMs: number;
  readonly workflowId: string;
};

/** Creates a checkout and waits for its QR. */
export async function openCheckout(till: Till, callers: number): Promise<OpenedCheckout> {
  const reference = newReference();
  const began = performance.now();
  const checkout = await till.create(reference, { pollMs: pollMs(callers) });
  const answeredMs = performance.now() - began;
  return { checkout, answeredMs, workflowId: checkoutWorkflowId({ account: DEFAULT_ACCOUNT, reference }) };
}

/** The customer pays, and the provider sends its webhook. @returns the time until the till sees it, in milliseconds. */
export async function payCheckout(
  { sandbox }: Pick<Stack, 'sandbox'>,
  till: Till,
  checkout: CheckoutJson,
  callers: number,
): Promise<number> {
  const began = performance.now();
  await sandbox.control('POST', `/charges/${chargeOf(checkout)}/mark`, { status: 'successful' });
  await till.until(checkout, ({ status }) => status === 'paid', pollMs(callers));
  return performance.now() - began;
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
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
