import { checkoutId, DEFAULT_ACCOUNT, parseInstant } from '@tillflow/domain';
import { checkoutStart, type Temporal } from '@tillflow/temporal';
import { AFTERCARE_WORKFLOW, type AftercareInput, type CheckoutMemo } from '@tillflow/workflows';
import { AMOUNT, sampleIntent } from '@tillflow/workflows/testing';
import { times } from './processes.js';
import { print } from './report.js';
import type { SandboxProcess } from './sandbox-process.js';
import { TASK_QUEUE, type Engine } from './stack.js';

/** Payments that are made at one time. */
const AT_ONCE = 24;
const PRINTED_EVERY = 10_000;
/** The payments are spread over this many stores and tills. */
export const TILLS = 200;
const TILLS_OF_A_STORE = 10;

/** Payments that were made at or after `from` and before `to`, in milliseconds. */
export type Window = { readonly from: number; readonly to: number; readonly payments: number };

/**
 * Makes payments directly: a paid charge at the provider, and the workflow that its checkout would have become. The
 * first task of the workflow is a month away, so that it does nothing.
 */
export async function makePayments({ temporal, sandbox }: Engine, payments: number, prefix: string): Promise<Window> {
  let [from, to] = [Infinity, 0];
  await times(payments, AT_ONCE, async (number) => {
    if (number % PRINTED_EVERY === 0) print(`  ${number} of ${payments} payments`);
    const reference = `${prefix}-${number}`;
    const charge = await payAtProvider(sandbox, checkoutId({ account: DEFAULT_ACCOUNT, reference }));
    const paidAt = parseInstant(charge.paid_at);
    [from, to] = [Math.min(from, paidAt), Math.max(to, paidAt + 1)];
    await startAftercare(temporal, reference, number % TILLS, charge);
  });
  return { from, to, payments };
}

type PaidCharge = { readonly id: string; readonly created_at: string; readonly paid_at: string };

async function payAtProvider(sandbox: SandboxProcess, checkout: string): Promise<PaidCharge> {
  const form = new URLSearchParams({
    amount: String(AMOUNT),
    currency: 'THB',
    'source[type]': 'wallet_mpm',
    'metadata[checkout]': checkout,
    'metadata[attempt]': '1',
  });
  const { id } = JSON.parse(await sandbox.call('POST', '/charges', form.toString())) as PaidCharge;
  return JSON.parse(await sandbox.call('POST', `/charges/${id}/mark_as_paid`)) as PaidCharge;
}

async function startAftercare(
  { client }: Temporal,
  reference: string,
  till: number,
  charge: PaidCharge,
): Promise<void> {
  const { id: charge_id, created_at, paid_at } = charge;
  const memo: CheckoutMemo = {
    intent: sampleIntent({ reference, created_at, terminal: `till-${till}`, store: { id: storeOf(till), name: null } }),
    requestNonce: 'bench',
    state: {
      status: 'paid',
      attempts: [
        {
          number: 1,
          source_id: null,
          charge_id,
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
      { at: created_at, what: 'charge_created', detail: charge_id },
      { at: paid_at, what: 'paid', detail: charge_id },
    ],
    version: 2,
  };
  await client.workflow.start(AFTERCARE_WORKFLOW, {
    ...checkoutStart(memo, TASK_QUEUE),
    args: [{ state: { attempts: { list: [] }, charges: { all: [] } } } satisfies AftercareInput],
    startDelay: '30 days',
  });
}

function storeOf(till: number): string {
  return `store-${Math.floor(till / TILLS_OF_A_STORE)}`;
}
