import { checkoutId, checkoutWorkflowId, DEFAULT_ACCOUNT, parseInstant } from '@tillflow/domain';
import type { Temporal } from '@tillflow/temporal';
import { AFTERCARE_WORKFLOW, searchAttributes, type CheckoutMemo } from '@tillflow/workflows';
import { print } from '../report.js';
import type { SandboxProcess } from '../sandbox-process.js';

/** Calls under way at one time. */
export const AT_ONCE = 24;
const TOLD_EVERY = 10_000;
const AMOUNT = 150_000;

/** Payments made from `from` on and before `to`, in milliseconds. */
export type Span = { readonly from: number; readonly to: number; readonly payments: number };

/**
 * Payments in both books, made one after the other as a shop's day goes: a paid charge at the provider, and what its
 * checkout has become with us. The workflow's first task is a month away, so that nothing but the books is there.
 */
export async function makePayments(
  { temporal, sandbox, taskQueue }: { temporal: Temporal; sandbox: SandboxProcess; taskQueue: string },
  payments: number,
  prefix: string,
): Promise<Span> {
  let begun = 0;
  let [from, to] = [Infinity, 0];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (begun < payments) {
        begun += 1;
        if (begun % TOLD_EVERY === 0) print(`  ${begun} of ${payments} payments`);
        const reference = `${prefix}-${begun}`;
        const paid = await payAtProvider(sandbox, checkoutId({ account: DEFAULT_ACCOUNT, reference }));
        const paidAt = parseInstant(paid.paid_at);
        [from, to] = [Math.min(from, paidAt), Math.max(to, paidAt + 1)];
        await keep(temporal, taskQueue, reference, paid);
      }
    }),
  );
  return { from, to, payments };
}

type Paid = { readonly id: string; readonly created_at: string; readonly paid_at: string };

async function payAtProvider(sandbox: SandboxProcess, checkout: string): Promise<Paid> {
  const form = new URLSearchParams({
    amount: String(AMOUNT),
    currency: 'THB',
    'source[type]': 'wallet_mpm',
    'metadata[checkout]': checkout,
    'metadata[attempt]': '1',
  });
  const { id } = JSON.parse(await sandbox.call('POST', '/charges', form.toString())) as Paid;
  return JSON.parse(await sandbox.call('POST', `/charges/${id}/mark_as_paid`)) as Paid;
}

async function keep({ client }: Temporal, taskQueue: string, reference: string, charge: Paid): Promise<void> {
  const key = { account: DEFAULT_ACCOUNT, reference };
  const { created_at, paid_at } = charge;
  const memo: CheckoutMemo = {
    intent: {
      id: checkoutId(key),
      ...key,
      amount: AMOUNT,
      currency: 'THB',
      description: null,
      metadata: {},
      terminal: null,
      expires_in: 900,
      source: null,
      created_at,
    },
    requestNonce: 'bench',
    state: {
      status: 'paid',
      attempts: [
        {
          number: 1,
          source_id: null,
          charge_id: charge.id,
          status: 'successful',
          failure_code: null,
          failure_message: null,
          created_at,
          expires_at: paid_at,
        },
      ],
      qr: null,
      paid_at,
      refunded_amount: 0,
      voidable_until: null,
      refundable_until: null,
      attention: null,
      updated_at: paid_at,
    },
    timeline: [
      { at: created_at, what: 'opened' },
      { at: created_at, what: 'charge_created', detail: charge.id },
      { at: paid_at, what: 'paid', detail: charge.id },
    ],
    version: 2,
  };
  await client.workflow.start(AFTERCARE_WORKFLOW, {
    workflowId: checkoutWorkflowId(key),
    taskQueue,
    args: [{ record: { attempts: [], charges: [] } }],
    startDelay: '30 days',
    memo,
    typedSearchAttributes: [
      { key: searchAttributes.status, value: 'paid' },
      { key: searchAttributes.reference, value: reference },
      { key: searchAttributes.currency, value: 'THB' },
      { key: searchAttributes.amount, value: AMOUNT },
      { key: searchAttributes.createdAt, value: new Date(created_at) },
      { key: searchAttributes.paidAt, value: new Date(paid_at) },
    ],
  });
}
