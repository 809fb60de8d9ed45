import { userInfo } from 'node:os';
import { nameOnQueue } from '@tillflow/temporal';
import { decodeArrayFromPayloads } from '@tillflow/temporal/sdk-internals';
import {
  eventEndpointWorkflowId,
  refund,
  type CommandMemo,
  type ReconcileMemo,
  type Refund,
  type TimelineEntry,
} from '@tillflow/workflows';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chargePlanOf } from './support/plans.js';
import { Reconciliations, type BreakJson } from './support/reconciliations.js';
import { asOperator, seedRecords, type SeededRecords } from './support/resources.js';
import { chargeIdOf, KEYS, Stack, type Answer, type CheckoutJson } from './support/stack.js';
import { operatorOf, tillflow } from './support/tillflow.js';

/** The keys of a stack are named like their roles. */
const TILL = 'checkout';
const OPS = 'ops';
const ENDPOINTS = '/v1/event-endpoints';
const OPERATOR = `cli:${userInfo().username}`;

let stack: Stack;
let seeded: SeededRecords;
beforeAll(async () => {
  stack = await Stack.start({
    api: { LOOK_DELAYS_MS: '50,100,200,400' },
    shared: { EVENT_ENDPOINT_NETWORKS: '127.0.0.0/8' },
  });
  seeded = seedRecords(stack);
});
afterAll(() => stack.stop());

/** The entries of the timeline that say who asked. */
async function asked(id: string): Promise<string[]> {
  const timeline: TimelineEntry[] = await stack.timeline(id);
  return timeline.flatMap(({ what, by }) => (by === undefined ? [] : [`${what} by ${by}`]));
}

/** The requests of the checkout in Temporal's history: the input of its start, updates and signals. */
async function askersInHistory({ reference }: CheckoutJson): Promise<string[]> {
  return askersOf(`checkout/default/${reference}`);
}

async function askersOf(workflowId: string): Promise<string[]> {
  const { loadedDataConverter } = stack.temporal.client.workflow.options;
  const names: string[] = [];
  for (const event of (await stack.runsOfWorkflow(workflowId)).flat()) {
    const { workflowExecutionStartedEventAttributes: start, workflowExecutionSignaledEventAttributes: signal } = event;
    const update = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input;
    for (const [name, args] of [
      ['start', start?.input],
      [signal?.signalName, signal?.input],
      [update?.name, update?.args],
    ] as const) {
      const [first] = (await decodeArrayFromPayloads(loadedDataConverter, args?.payloads)) as [{ by?: string }?];
      if (first?.by !== undefined) names.push(`${name ?? ''} by ${first.by}`);
    }
  }
  return names;
}

const requestRefund = (id: string, key: string, body: object, by: string = KEYS.checkout): Promise<Answer<Refund>> =>
  stack.request('POST', `/v1/checkouts/${id}/refunds`, { body, key: by, headers: { 'idempotency-key': key } });

async function open(): Promise<CheckoutJson> {
  return (await stack.create()).body;
}

async function paid(): Promise<CheckoutJson> {
  const checkout = await open();
  stack.sandbox.mark(chargeIdOf(checkout), { status: 'successful' });
  return stack.untilStatus(checkout.id, 'paid');
}

async function memoBy(workflowId: string): Promise<string | undefined> {
  const { memo } = await stack.temporal.client.workflow.getHandle(workflowId).describe();
  // Written by this product alone.
  return (memo as unknown as CommandMemo).audit.by;
}

/** Creates an event endpoint, sends one request about it, and deletes it. @returns who asked, as its workflow has it */
async function askedAboutEndpoint(method: string, path = '', body?: unknown): Promise<string[]> {
  const url = 'http://127.0.0.1:9/';
  const created = await asOperator<{ id: string; created_by: string }>(stack, 'POST', ENDPOINTS, { body: { url } });
  const { id, created_by } = created.body;
  await asOperator(stack, method, `${ENDPOINTS}/${id}${path}`, { body });
  const workflowId = nameOnQueue(eventEndpointWorkflowId('default', Number(id.slice(5, 7))), stack.taskQueue);
  const askers = await askersOf(workflowId);
  if (method !== 'DELETE') await asOperator(stack, 'DELETE', `${ENDPOINTS}/${id}`);
  const { events } = await stack.temporal.client.workflow.getHandle(workflowId).fetchHistory();
  const { reason } = events?.at(-1)?.workflowExecutionTerminatedEventAttributes ?? {};
  return [`create by ${created_by}`, ...askers, `delete: ${reason}`];
}

/** A refund waits for a second person, who is the operator. */
async function decidedByOps(decision: 'approve' | 'reject', what: string): Promise<void> {
  const checkout = await paid();
  const request = { key: 'one', amount: 10_000, reason: null, by: 'clerk', limit: 0 };
  const workflow = stack.temporal.client.workflow.getHandle(`checkout/default/${checkout.reference}`);
  await workflow.executeUpdate(refund, { args: [request] });
  await stack.request('POST', `/v1/checkouts/${checkout.id}/refunds/one/${decision}`, { key: KEYS.ops });
  expect(await asked(checkout.id)).toEqual([`opened by ${TILL}`, 'refund_requested by clerk', `${what} by ${OPS}`]);
  expect(await askersInHistory(checkout)).toContain(`decideRefund by ${OPS}`);
}

/** Every route that moves money or changes something, and where it is written who asked. */
const ROUTES: Readonly<Record<string, () => Promise<void>>> = {
  'POST /v1/checkouts': async () => {
    const checkout = await open();
    await stack.post(`/v1/checkouts/${checkout.id}/cancel`);
    expect(await asked(checkout.id)).toContain(`opened by ${TILL}`);
    expect(await askersInHistory(checkout)).toContain(`start by ${TILL}`);
  },
  'POST /v1/checkouts/{id}/cancel': async () => {
    const checkout = await open();
    await stack.request('POST', `/v1/checkouts/${checkout.id}/cancel`, { key: KEYS.ops });
    expect(await asked(checkout.id)).toEqual([`opened by ${TILL}`, `cancel_requested by ${OPS}`]);
    expect(await askersInHistory(checkout)).toContain(`cancel by ${OPS}`);
  },
  'POST /v1/checkouts/{id}/attempts': async () => {
    const checkout = await open();
    await stack.request('POST', `/v1/checkouts/${checkout.id}/attempts`, { key: KEYS.ops, body: { after: 1 } });
    expect(await asked(checkout.id)).toEqual([`opened by ${TILL}`, `attempt_requested by ${OPS}`]);
    expect(await askersInHistory(checkout)).toContain(`newAttempt by ${OPS}`);
  },
  'POST /v1/checkouts/{id}/refunds': async () => {
    const checkout = await paid();
    await requestRefund(checkout.id, 'one', { amount: 10_000 });
    await requestRefund(checkout.id, 'two', { amount: 10_000 }, KEYS.ops);
    // Repeating a request does not change its requester.
    const { body } = await requestRefund(checkout.id, 'two', { amount: 10_000 });
    expect(body.requested_by).toBe(OPS);
    expect(await asked(checkout.id)).toEqual([
      `opened by ${TILL}`,
      `refund_requested by ${TILL}`,
      `refund_requested by ${OPS}`,
    ]);
    const { body: listed } = await stack.get<{ data: Refund[] }>(`/v1/checkouts/${checkout.id}/refunds`);
    expect(listed.data.map(({ requested_by }) => requested_by)).toEqual([TILL, OPS]);
    expect(await askersInHistory(checkout)).toEqual(expect.arrayContaining([`refund by ${TILL}`, `refund by ${OPS}`]));
  },
  'POST /v1/checkouts/{id}/refunds/{key}/approve': () => decidedByOps('approve', 'refund_approved'),
  'POST /v1/checkouts/{id}/refunds/{key}/reject': () => decidedByOps('reject', 'refund_rejected'),
  'POST /v1/reconciliations': async () => {
    const [from, to] = ['2026-01-01T00:00:00.000Z', '2026-01-01T01:00:00.000Z'];
    await asOperator(stack, 'POST', '/v1/reconciliations', { body: { from, to, dry_run: true } });
    const query = `WorkflowType = 'reconcile' AND TaskQueue = '${stack.taskQueue}'`;
    const memos: ReconcileMemo[] = [];
    await expect
      .poll(async () => {
        for await (const { memo } of stack.temporal.client.workflow.list({ query })) memos.push(memo as never);
        return memos.map(({ by }) => by);
      })
      .toContain(OPS);
  },
  'POST /v1/reconciliations/{id}/breaks/{n}/acknowledge': async () => {
    stack.sandbox.seedRecords({ receipts: [{ charge_fee: 500 }] });
    const { id } = await new Reconciliations(stack).run();
    const path = `/v1/reconciliations/${id}/breaks/1/acknowledge`;
    const { body } = await asOperator<BreakJson>(stack, 'POST', path, { body: { reason: 'known' } });
    expect(body.acknowledged).toMatchObject({ by: OPS, reason: 'known' });
  },
  'POST /v1/recurring-plans': async () => {
    const body = chargePlanOf(stack, seeded.customer);
    await asOperator(stack, 'POST', '/v1/recurring-plans', { body, headers: { 'idempotency-key': 'plan-1' } });
    const workflowIds = await commandIds();
    expect(await memoBy(workflowIds.find((id) => id.includes('create_plan')) ?? '')).toBe(OPS);
  },
  'DELETE /v1/recurring-plans/{id}': async () => {
    const [plan] = stack.sandbox.state(['schedules']).schedules ?? [];
    await asOperator(stack, 'DELETE', `/v1/recurring-plans/${plan?.id ?? ''}`);
    expect(await memoBy(`command/default/stop_plan/${plan?.id ?? ''}`)).toBe(OPS);
  },
  'POST /v1/disputes/{id}/evidence': async () => {
    const form = new FormData();
    form.append('file', new Blob(['%PDF-one']), 'receipt.pdf');
    const headers = { authorization: `Bearer ${KEYS.ops}` };
    const url = `${stack.api.url}/v1/disputes/${seeded.dispute}/evidence`;
    expect((await fetch(url, { method: 'POST', headers, body: form })).status).toBe(201);
    // Evidence passes through no workflow, so the log names the requester.
    const line = stack.logs.find((one) => one.includes('evidence uploaded')) ?? '';
    expect(line).toContain(`"by":"${OPS}"`);
  },
  'DELETE /v1/disputes/{id}/evidence/{document_id}': async () => {
    const path = `/v1/disputes/${seeded.dispute}/evidence`;
    const { body } = await asOperator<{ data: { id: string }[] }>(stack, 'GET', path);
    const id = body.data[0]?.id ?? '';
    await asOperator(stack, 'DELETE', `${path}/${id}`);
    expect(await memoBy(`command/default/delete_document/${seeded.dispute}/${id}`)).toBe(OPS);
  },
  'PATCH /v1/customers/{id}/cards/{card_id}': async () => {
    const path = `/v1/customers/${seeded.customer}/cards/${seeded.card}`;
    await asOperator(stack, 'PATCH', path, { body: { city: 'Phuket' } });
    expect(await memoBy(`command/default/update_card/${seeded.customer}/${seeded.card}`)).toBe(OPS);
  },
  'DELETE /v1/customers/{id}/cards/{card_id}': async () => {
    await asOperator(stack, 'DELETE', `/v1/customers/${seeded.customer}/cards/${seeded.card}`);
    expect(await memoBy(`command/default/remove_card/${seeded.customer}/${seeded.card}`)).toBe(OPS);
  },
  'PATCH /v1/account': async () => {
    await asOperator(stack, 'PATCH', '/v1/account', { body: { chain_enabled: true } });
    const ids = await commandIds();
    expect(await memoBy(ids.find((id) => id.includes('update_account')) ?? '')).toBe(OPS);
  },
  'POST /v1/event-endpoints': async () => {
    expect(await askedAboutEndpoint('GET')).toContain(`create by ${OPS}`);
  },
  'PATCH /v1/event-endpoints/{id}': async () => {
    expect(await askedAboutEndpoint('PATCH', '', { enabled: false })).toContain(`change by ${OPS}`);
  },
  'DELETE /v1/event-endpoints/{id}': async () => {
    expect(await askedAboutEndpoint('DELETE')).toContain(`delete: Deleted by ${OPS}`);
  },
  'POST /v1/event-endpoints/{id}/rotate-secret': async () => {
    expect(await askedAboutEndpoint('POST', '/rotate-secret')).toContain(`change by ${OPS}`);
  },
  'POST /v1/event-endpoints/{id}/test': async () => {
    expect(await askedAboutEndpoint('POST', '/test')).toContain(`test by ${OPS}`);
  },
  'POST /v1/event-endpoints/{id}/replay': async () => {
    const range = { from: '2026-01-01T00:00:00.000Z', to: '2026-01-01T01:00:00.000Z' };
    expect(await askedAboutEndpoint('POST', '/replay', range)).toContain(`replay by ${OPS}`);
  },
  'POST /v1/counter-links': async () => {
    const { body } = await stack.post<{ created_by: string }>('/v1/counter-links', { terminal: 'till-7' });
    expect(body.created_by).toBe(TILL);
  },
  'DELETE /v1/counter-links/{id}': async () => {
    const { body } = await stack.post<{ id: string }>('/v1/counter-links', { terminal: 'till-7' });
    await stack.request('DELETE', `/v1/counter-links/${body.id}`);
    const [run = []] = await stack.runsOfWorkflow(`counter-link/default/${body.id}@${stack.taskQueue}`);
    expect(run.at(-1)?.workflowExecutionTerminatedEventAttributes?.reason).toBe(`Revoked by ${TILL}`);
  },
  'POST /v1/account/api-version': async () => {
    await asOperator(stack, 'POST', '/v1/account/api-version', { body: { confirm: true } });
    const ids = await commandIds();
    expect(await memoBy(ids.find((id) => id.includes('upgrade_api_version')) ?? '')).toBe(OPS);
  },
};

/** No caller changes anything by these: a webhook comes, a charge in test mode is marked, a session is signed. */
const WITHOUT_ASKER = new Set([
  'POST /webhooks/provider',
  'POST /webhooks/provider/{account}',
  'POST /v1/test-mode/charges/{id}/mark',
  'POST /v1/counter-sessions',
]);

/** Ids of this stack's commands. */
async function commandIds(): Promise<string[]> {
  const query = `WorkflowType = 'command' AND TaskQueue = '${stack.taskQueue}'`;
  const ids: string[] = [];
  for await (const { workflowId } of stack.temporal.client.workflow.list({ query })) ids.push(workflowId);
  return ids;
}

describe('the requester is recorded', () => {
  it('and this suite has a test for every route that moves money or changes something', async () => {
    const response = await fetch(`${stack.api.url}/openapi.json`);
    const { paths } = (await response.json()) as { paths: Record<string, Record<string, unknown>> };
    const routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const changing = routes.filter((route) => !route.startsWith('GET ') && !WITHOUT_ASKER.has(route));
    expect(Object.keys(ROUTES).toSorted()).toEqual(changing.toSorted());
  });

  it.each(Object.keys(ROUTES))('for %s', async (route) => {
    expect.hasAssertions();
    await ROUTES[route]?.();
  });

  it('for a request that no worker answers in time: the durable signal carries the requester', async () => {
    const slow = await Stack.start({ worker: false, api: { ANSWER_WITHIN_MS: '300' } });
    try {
      const { body } = await slow.create();
      await slow.post(`/v1/checkouts/${body.id}/cancel`);
      await slow.startWorker();
      await slow.untilStatus(body.id, 'cancelled');
      expect(await slow.timeline(body.id)).toContainEqual(
        expect.objectContaining({ what: 'cancel_requested', by: TILL }),
      );
    } finally {
      await slow.stop();
    }
  });

  it('for a cancellation in Temporal, and for a late payment that Tillflow returns automatically', async () => {
    const cancelled = await open();
    await stack.workflowOf(cancelled.id).cancel();
    await stack.untilStatus(cancelled.id, 'cancelled');
    expect(await asked(cancelled.id)).toContain('cancel_requested by temporal:cancel');

    stack.sandbox.mark(chargeIdOf(cancelled), { status: 'successful', force: true });
    await stack.untilStatus(cancelled.id, 'refunded');
    expect(await asked(cancelled.id)).toContain('refund_requested by auto:late_payment');
    const { body } = await stack.get<{ data: Refund[] }>(`/v1/checkouts/${cancelled.id}/refunds`);
    expect(body.data).toMatchObject([{ key: expect.stringMatching(/^auto:/), requested_by: 'auto:late_payment' }]);
  });

  it('for a retrieve that a reconciliation causes', async () => {
    const checkout = await open();
    await stack.workflowOf(checkout.id).signal('hint', { eventId: 'rec_1', eventKey: 'reconciliation' });
    await stack.post(`/v1/checkouts/${checkout.id}/cancel`);
    expect(await asked(checkout.id)).toContain('reconciliation by auto:reconciliation');
  });

  it('as unknown for a refund that was made elsewhere', async () => {
    const checkout = await paid();
    await stack.refundElsewhere(chargeIdOf(checkout), 700);
    await tillflow(['resolve', checkout.id, '--look', '--reason', 'the customer called'], operatorOf(stack));
    const { body } = await stack.get<{ data: Refund[] }>(`/v1/checkouts/${checkout.id}/refunds`);
    expect(body.data).toMatchObject([{ amount: 700, requested_by: null }]);
  });
});

describe('the command line', () => {
  it('records the user of the machine as requester, and shows the requester of each entry', async () => {
    const checkout = await paid();
    const environment = operatorOf(stack);
    await tillflow(['refund', checkout.id, '--key', 'k', '--amount', '500.00'], environment);
    await tillflow(['resolve', checkout.id, '--look', '--reason', 'the monthly check'], environment);
    expect(await asked(checkout.id)).toEqual([
      `opened by ${TILL}`,
      `refund_requested by ${OPERATOR}`,
      `resolve by ${OPERATOR}`,
    ]);
    const { out } = await tillflow(['show', checkout.id], environment);
    expect(out).toMatch(new RegExp(String.raw`opened +by ${TILL}\n`));
    expect(out).toMatch(new RegExp(String.raw`refund +succeeded +THB 500\.00 +rfnd_\w+ +key k +by ${OPERATOR}\n`));
    expect(out).toMatch(new RegExp(String.raw`resolve +look: the monthly check, by ${OPERATOR}\n`));
    const json = await tillflow(['show', checkout.id, '--json'], environment);
    expect(json.out).not.toContain('nonce');
  });
});

it('a message sent by hand may contain no requester or a wrong one', async () => {
  const checkout = await open();
  await stack.workflowOf(checkout.id).executeUpdate('newAttempt', { args: [{ after: 1, by: { name: 'x' } }] });
  await stack.workflowOf(checkout.id).signal('cancelRequest');
  await stack.untilStatus(checkout.id, 'cancelled');
  expect(await asked(checkout.id)).toEqual([`opened by ${TILL}`]);
});
