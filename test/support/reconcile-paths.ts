import { randomUUID } from 'node:crypto';
import type { Break } from '@tillflow/domain';
import { acknowledgementId, Acknowledgements, nameOnQueue, Pauses } from '@tillflow/temporal';
import { pauseWorkflowId, type ReconcileInput, type ReconcileResult } from '@tillflow/workflows';
import { eventually } from './eventually.js';
import { chargeIdOf, type CheckoutJson, type Stack } from './stack.js';

/** A way through a reconciliation. Answers with the id of its workflow, whose history grows no more. */
export type ReconcilePath = (stack: Stack) => Promise<string>;

const HOUR_MS = 3_600_000;

/** Hours that the provider's clock must be behind: its payments are then old enough, and have room to move on. */
export const PROVIDER_BEHIND_HOURS = 10;

/**
 * Every path through the workflow, where no webhook and no poll shows a payment. The histories of all of them are
 * committed and replayed.
 */
export const RECONCILE_PATHS: Readonly<Record<string, ReconcilePath>> = {
  'reconcile-agreeing': async (stack) => {
    await payAndSignal(stack);
    return run(stack, {});
  },
  'reconcile-healing': async (stack) => {
    const missed = await pay(stack);
    const workflowId = await run(stack, {});
    await stack.untilStatus(missed.id, 'paid');
    return workflowId;
  },
  'reconcile-dry': async (stack) => {
    await pay(stack);
    return run(stack, { dry_run: true });
  },
  'reconcile-recalling': async (stack) => {
    const paid = await payAndSignal(stack);
    await stack.refundElsewhere(chargeIdOf(paid), 20_000);
    await stack.workflowOf(paid.id).signal('hint', { eventId: 'evnt_test', eventKey: 'refund.create' });
    await stack.untilStatus(paid.id, 'partially_refunded');
    return run(stack, {});
  },
  'reconcile-in-many-calls': async (stack) => {
    for (let n = 0; n < 3; n += 1) {
      await payAndSignal(stack);
      stack.sandbox.advance(7_200);
    }
    return run(stack, { policy: { chargesPerCall: 1 } });
  },
  'reconcile-empty': (stack) => run(stack, { to: Date.now() - 24 * HOUR_MS }),
  // This one stays open, for two years.
  'break-acknowledged': async (stack) => {
    const ids = { checkout_id: null, charge_id: null, refund_id: null, transaction_id: null, receipt_id: randomUUID() };
    const facts = { type: 'receipt_total', ...ids, expected: null, actual: null } as const;
    const one: Break = { ...facts, age_seconds: 0, suggested_action: '', healed: false };
    const acknowledgements = new Acknowledgements(stack.temporal, { taskQueue: stack.taskQueue, readWithinMs: 10_000 });
    await acknowledgements.add(one, { by: 'cli:operator', reason: 'known' });
    const workflowId = acknowledgementId(one);
    const hasTimer = async () =>
      (await stack.runsOfWorkflow(workflowId))[0]?.some((event) => event.timerStartedEventAttributes);
    await eventually(async () => {
      if ((await hasTimer()) !== true) throw new Error('Not yet');
    });
    return workflowId;
  },
  'reconcile-daily': async (stack) => {
    await payAndSignal(stack);
    return start(stack, []);
  },
  // Of business days since an earlier daily run, with a payment of a till of a store.
  'reconcile-business-days': async (stack) => {
    await start(stack, []);
    await payAndSignal(stack, { store: { id: 'silom' }, terminal: 'till-7' });
    return start(stack, []);
  },
  paused: async (stack) => {
    const pauses = new Pauses(stack.temporal, { taskQueue: stack.taskQueue, withinMs: 10_000 });
    const workflowId = nameOnQueue(pauseWorkflowId('default'), stack.taskQueue);
    await pauses.begin({ reason: 'the provider moves house', by: 'cli:operator', since: new Date().toISOString() });
    await eventually(async () => {
      const [events = []] = await stack.runsOfWorkflow(workflowId);
      if (!events.some((event) => event.workflowTaskCompletedEventAttributes)) throw new Error('Not yet');
    });
    await pauses.end('cli:operator');
    return workflowId;
  },
};

type Fields = Readonly<Record<string, unknown>>;

async function pay(stack: Stack, fields: Fields = {}): Promise<CheckoutJson> {
  const open = await stack.open(fields);
  stack.sandbox.mark(chargeIdOf(open), { status: 'successful' });
  return open;
}

async function payAndSignal(stack: Stack, fields: Fields = {}): Promise<CheckoutJson> {
  const { id } = await pay(stack, fields);
  await stack.workflowOf(id).signal('hint', { eventId: 'evnt_test', eventKey: 'charge.complete' });
  return stack.untilStatus(id, 'paid');
}

/** Of everything since yesterday. */
function run(stack: Stack, input: Partial<ReconcileInput>): Promise<string> {
  const now = Date.now();
  return start(stack, [{ account: 'default', from: now - 24 * HOUR_MS, to: now, dry_run: false, ...input }]);
}

async function start(stack: Stack, args: [] | [ReconcileInput]): Promise<string> {
  const { workflow } = stack.temporal.client;
  const workflowId = `reconcile/default/${randomUUID()}`;
  const options = { workflowId, taskQueue: stack.taskQueue, args };
  await workflow.execute<(input?: ReconcileInput) => Promise<ReconcileResult>>('reconcile', options);
  return workflowId;
}
