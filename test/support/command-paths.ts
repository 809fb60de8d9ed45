import { createHash, randomUUID } from 'node:crypto';
import { resolvePlan, type Resolution } from '@tillflow/workflows';
import { vi } from 'vitest';
import { chargePlanOf, loseCreate, transferPlanOf, withLateFirst } from './plans.js';
import { asOperator, seedRecords } from './resources.js';
import type { Stack } from './stack.js';

/** One path through a command: the function causes it, and returns the id of the workflow. */
export type CommandPath = (stack: Stack) => Promise<string>;

/** Every path through the command workflow. The histories of all of them are committed and replayed. */
export const COMMAND_PATHS: Readonly<Record<string, CommandPath>> = {
  'plan-made': (stack) => create(stack, chargePlan(stack)),
  'plan-refused': (stack) =>
    create(stack, { ...chargePlan(stack), charge: { ...chargePlan(stack).charge, amount: 1 } }),
  'plan-found-after-a-lost-answer': (stack) => {
    loseCreate(stack, 'commit_then_reset');
    return create(stack, chargePlan(stack));
  },
  'plan-repeated-after-a-lost-request': (stack) => {
    loseCreate(stack, 'reset_before');
    return create(stack, transferPlanOf(stack, 111_111));
  },
  'plan-whose-first-request-came-late': (stack) =>
    withLateFirst(stack, chargePlan(stack), (body) => create(stack, body)),
  'plan-that-two-records-match': (stack) =>
    withLateFirst(stack, transferPlanOf(stack, 222_222), (body) => create(stack, body)),
  'plan-found-after-a-repeat': (stack) => {
    loseCreate(stack, 'reset_before');
    loseCreate(stack, 'commit_then_reset');
    return create(stack, chargePlan(stack));
  },
  'plan-found-by-its-key-after-an-earlier-run': async (stack) => {
    const [key, body] = [randomUUID(), chargePlan(stack)];
    loseCreate(stack, 'commit_then_reset');
    const off = stack.sandbox.on('committed', ({ method, route }) => {
      if (method !== 'POST' || route !== '/schedules') return;
      stack.sandbox.faults.add({ method: 'GET', path: '/charges/schedules', action: 'status', status: 500 });
    });
    const workflowId = await create(stack, body, key);
    off();
    await stack.temporal.client.workflow.getHandle(workflowId).terminate();
    stack.sandbox.faults.clear();
    return create(stack, body, key);
  },
  'plan-made-in-its-turn': async (stack) => {
    const body = transferPlanOf(stack, 333_333);
    const [, second] = await Promise.all([create(stack, body), create(stack, body)]);
    await stack.temporal.client.workflow.getHandle(second).result();
    return second;
  },
  // The turn itself, which equal plans wait for.
  'plan-turn': async (stack) => {
    const command = await create(stack, transferPlanOf(stack, 666_666));
    const [events = []] = await stack.runsOfWorkflow(command);
    const begun = events.find((event) => event.startChildWorkflowExecutionInitiatedEventAttributes);
    const turn = begun?.startChildWorkflowExecutionInitiatedEventAttributes?.workflowId ?? '';
    await stack.temporal.client.workflow.getHandle(turn).result();
    return turn;
  },
  'plan-made-otherwise-and-adopted': async (stack) => {
    const asked = transferPlanOf(stack, 444_444);
    const { end_date: end_on, every, period } = asked;
    const otherwise = { object: 'schedule', id: 'schd_test_other', every, period, end_on, transfer: { amount: 1 } };
    stack.sandbox.faults.add({
      method: 'POST',
      path: '/schedules',
      action: 'garbage_body',
      body: JSON.stringify(otherwise),
      times: 1,
    });
    const workflowId = await create(stack, asked);
    await decide(stack, workflowId, { action: 'look', reason: 'is it there?' });
    return workflowId;
  },
  'plan-abandoned-by-a-person': async (stack) => {
    const workflowId = await withLateFirst(stack, transferPlanOf(stack, 555_555), (body) => create(stack, body));
    await decide(stack, workflowId, { action: 'abandon', reason: 'both were ended' });
    return workflowId;
  },
  'plan-stopped': async (stack) => {
    const answer = await asOperator<{ id: string }>(stack, 'POST', '/v1/recurring-plans', {
      body: chargePlan(stack),
      headers: { 'idempotency-key': randomUUID() },
    });
    await asOperator(stack, 'DELETE', `/v1/recurring-plans/${answer.body.id}`);
    return `command/default/stop_plan/${answer.body.id}`;
  },
  'card-changed': (stack) => changeCard(stack, () => undefined),
  'card-changed-after-lost-answers': (stack) =>
    changeCard(stack, () => {
      stack.sandbox.faults.add({ method: 'PATCH', path: CARD, action: 'commit_then_status', status: 502, times: 6 });
    }),
  'card-not-changed-because-it-was-refused': (stack) =>
    changeCard(stack, () => {
      stack.sandbox.faults.add({ method: 'PATCH', path: CARD, action: 'status', status: 400, times: 1 });
    }),
  'card-change-of-unknown-outcome': (stack) =>
    changeCard(stack, () => {
      stack.sandbox.faults.add({ method: 'PATCH', path: CARD, action: 'hang', times: 15 });
    }),
  'card-changed-as-promised': async (stack) => {
    // No worker takes it while the caller waits; then the provider is busy for a while.
    await stack.stopWorker();
    return changeCard(
      stack,
      () => undefined,
      async () => {
        stack.sandbox.faults.add({ method: 'PATCH', path: CARD, action: 'status', status: 429, times: 8 });
        await stack.startWorker();
      },
    );
  },
  'card-removed-after-a-lost-answer': async (stack) => {
    const { customer, card } = seedRecords(stack);
    stack.sandbox.faults.add({ method: 'DELETE', path: CARD, action: 'commit_then_reset', times: 4 });
    await asOperator(stack, 'DELETE', `/v1/customers/${customer}/cards/${card}`);
    stack.sandbox.faults.clear();
    return `command/default/remove_card/${customer}/${card}`;
  },
  'account-changed': async (stack) => {
    await asOperator(stack, 'PATCH', '/v1/account', { body: { chain_enabled: true } });
    return 'command/default/update_account';
  },
  'version-upgraded': async (stack) => {
    await asOperator(stack, 'POST', '/v1/account/api-version', { body: { confirm: true } });
    return 'command/default/upgrade_api_version';
  },
  'document-deleted': async (stack) => {
    const { disputes } = stack.sandbox.seedRecords({ disputes: [{ documents: [{ file: btoa('%PDF-1') }] }] });
    const [document] = stack.sandbox.state(['documents']).documents?.slice(-1) ?? [];
    await asOperator(stack, 'DELETE', `/v1/disputes/${disputes[0]}/evidence/${document?.id}`);
    return `command/default/delete_document/${disputes[0]}/${document?.id}`;
  },
};

const CARD = '/customers/{id}/cards/{card_id}';

function chargePlan(stack: Stack) {
  return chargePlanOf(stack, seedRecords(stack).customer);
}

/** As an operator does, once there is something to decide. */
async function decide(stack: Stack, workflowId: string, resolution: Resolution): Promise<void> {
  const workflow = stack.temporal.client.workflow.getHandle(workflowId);
  await vi.waitFor(() => workflow.executeUpdate(resolvePlan, { args: [resolution] }), {
    timeout: 30_000,
    interval: 500,
  });
  await workflow.result().catch(() => undefined);
}

async function create(stack: Stack, body: object, key: string = randomUUID()): Promise<string> {
  await asOperator(stack, 'POST', '/v1/recurring-plans', { body, headers: { 'idempotency-key': key } });
  return `command/default/create_plan/${createHash('sha256').update(key).digest('hex').slice(0, 32)}`;
}

/**
 * @param breakIt what goes wrong with the change, until it has ended
 * @param afterwards what happens once it was answered
 */
async function changeCard(
  stack: Stack,
  breakIt: () => void,
  afterwards: () => Promise<void> = () => Promise.resolve(),
): Promise<string> {
  const { customer, card } = seedRecords(stack);
  breakIt();
  await asOperator(stack, 'PATCH', `/v1/customers/${customer}/cards/${card}`, { body: { city: 'Trang' } });
  await afterwards();
  const workflowId = `command/default/update_card/${customer}/${card}`;
  // A failure is an end too: the history is what counts.
  await stack.temporal.client.workflow
    .getHandle(workflowId)
    .result()
    .catch(() => undefined);
  stack.sandbox.faults.clear();
  return workflowId;
}
