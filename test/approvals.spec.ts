import { run } from '@tillflow/cli';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import { decideRefund, refund, refundRequest, type Refund, type RefundDecision } from '@tillflow/workflows';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from './support/eventually.js';
import { KeysFile, tokenOf, type KeyEntry, type Scope } from './support/keys-file.js';
import { chargeIdOf, newReference, Stack, type CheckoutJson, type ProblemJson } from './support/stack.js';
import { operatorOf } from './support/tillflow.js';
import { fastForward } from './support/time.js';

const SHOP: readonly Scope[] = ['checkouts:read', 'checkouts:write', 'refunds:write'];
const LIMIT = 50_000;
const entries: readonly KeyEntry[] = [
  { name: 'clerk', scopes: [...SHOP, 'refunds:approve'], refund_limit: LIMIT },
  { name: 'manager', scopes: ['refunds:approve'] },
  { name: 'reader', scopes: SHOP },
  { name: 'office', scopes: ['ops'] },
  { name: 'elsewhere', scopes: [...SHOP, 'refunds:approve'], stores: ['siam'] },
];

const keys = new KeysFile();
let stack: Stack;
beforeAll(async () => {
  keys.write(entries);
  stack = await Stack.start({ shared: { KEYS_FILE: keys.path }, api: { POLL_INTERVAL_MS: '86400000' } });
});
afterAll(async () => {
  await stack.stop();
  keys.remove();
});

const as = <T = Refund>(name: string, method: string, path: string, body?: unknown, headers = {}) =>
  stack.request<T>(method, path, { key: tokenOf(name), body, headers });

const ask = <T = Refund>(name: string, { id }: CheckoutJson, key: string, amount = LIMIT + 1) =>
  as<T>(name, 'POST', `/v1/checkouts/${id}/refunds`, { amount, reason: 'cold' }, { 'idempotency-key': key });

const decide = <T = Refund>(name: string, { id }: CheckoutJson, key: string, how: 'approve' | 'reject') =>
  as<T>(name, 'POST', `/v1/checkouts/${id}/refunds/${key}/${how}`, { reason: 'I have seen it' });

async function paid(): Promise<CheckoutJson> {
  const body = { reference: newReference(), amount: 150_000, currency: 'THB' };
  const { body: checkout } = await as<CheckoutJson>('clerk', 'POST', '/v1/checkouts', body);
  stack.sandbox.mark(chargeIdOf(checkout), { status: 'successful' });
  return stack.untilStatus(checkout.id, 'paid');
}

const workflowOf = ({ reference }: CheckoutJson) =>
  stack.temporal.client.workflow.getHandle(`checkout/default/${reference}`);

/** The amounts that the provider has refunded. */
const refunded = (checkout: CheckoutJson) =>
  stack.sandbox
    .state()
    .refunds.filter(({ charge }) => charge === chargeIdOf(checkout))
    .map(({ amount }) => amount);

describe('a refund above the limit of its key', () => {
  it('waits for a second person, and is made once another key approves it', async () => {
    const checkout = await paid();
    const asked = await ask('clerk', checkout, 'one');
    expect(asked).toMatchObject({ status: 202, body: { status: 'needs_approval', requested_by: 'clerk' } });
    expect(asked.headers.get('location')).toContain('after_version=');
    expect(Date.parse(asked.body.approval_until ?? '')).toBeGreaterThan(Date.now() + 23 * 3_600_000);
    expect(await ask('clerk', checkout, 'one')).toMatchObject({ status: 202, body: { status: 'needs_approval' } });
    const shown = await stack.get(`/v1/checkouts/${checkout.id}`);
    expect(shown.body.attention).toMatchObject({ code: 'approval_needed' });
    expect(refunded(checkout)).toEqual([]);

    const approved = await decide('manager', checkout, 'one', 'approve');
    expect(approved).toMatchObject({ status: 200, body: { status: 'succeeded', approved_by: 'manager' } });
    expect(await decide('manager', checkout, 'one', 'approve')).toMatchObject({ status: 200, body: approved.body });
    expect(await ask('clerk', checkout, 'one')).toMatchObject({ status: 200, body: { status: 'succeeded' } });
    expect(refunded(checkout)).toEqual([LIMIT + 1]);
    const { body } = await as<{ data: { what: string; by?: string; detail?: string }[] }>(
      'clerk',
      'GET',
      `/v1/checkouts/${checkout.id}/timeline`,
    );
    expect(body.data).toContainEqual(
      expect.objectContaining({ what: 'refund_approved', by: 'manager', detail: 'one: I have seen it' }),
    );
  });

  it('is never made after another key has rejected it', async () => {
    const checkout = await paid();
    await ask('clerk', checkout, 'one');
    expect(await decide('manager', checkout, 'one', 'reject')).toMatchObject({
      status: 200,
      body: { status: 'rejected', failure_code: 'not_approved' },
    });
    expect(await decide<ProblemJson>('manager', checkout, 'one', 'approve')).toMatchObject({
      status: 409,
      body: { code: 'refund_decided' },
    });
    expect(await ask('clerk', checkout, 'one')).toMatchObject({ status: 200, body: { status: 'rejected' } });
    expect(refunded(checkout)).toEqual([]);
  });

  it('cannot be decided by its own key, by one without the scope, or by one of another store', async () => {
    const checkout = await paid();
    await ask('clerk', checkout, 'one');
    for (const how of ['approve', 'reject'] as const) {
      expect(await decide<ProblemJson>('clerk', checkout, 'one', how)).toMatchObject({
        status: 403,
        body: { code: 'second_person_required' },
      });
      expect((await decide('reader', checkout, 'one', how)).status).toBe(403);
      expect((await decide('elsewhere', checkout, 'one', how)).status).toBe(404);
      expect((await decide('manager', checkout, 'two', how)).status).toBe(404);
    }
    expect(refunded(checkout)).toEqual([]);
  });

  it('is listed for operators, who can approve it', async () => {
    const checkout = await paid();
    await ask('clerk', checkout, 'one');
    const tillflow = async (...args: string[]) => {
      const { exit, out } = await run(['approvals', ...args, '--json'], operatorOf(stack));
      return { exit, json: JSON.parse(out) as { data: { reference: string; key: string }[] } };
    };
    await eventually(async () => {
      const { json } = await tillflow();
      expect(json.data).toContainEqual(expect.objectContaining({ reference: checkout.reference, key: 'one' }));
    });
    const one = [checkout.reference, '--key', 'one', '--reason', 'seen'];
    expect(await tillflow('--approve', ...one, '--dry-run')).toMatchObject({ exit: 0, json: { decision: 'approve' } });
    expect(await tillflow('--approve', ...one)).toMatchObject({ exit: 0, json: { outcome: 'succeeded' } });
    expect(await tillflow('--reject', ...one)).toMatchObject({ exit: 1, json: { code: 'refund_decided' } });
    expect((await tillflow('--approve', ...one, '--dry-run')).exit).toBe(1);
    expect((await tillflow('--approve', checkout.reference)).exit).toBe(2);
    expect(refunded(checkout)).toEqual([LIMIT + 1]);
  });

  it('that the provider refuses after its approval ends the command with 1', async () => {
    const checkout = await paid();
    await ask('clerk', checkout, 'one');
    const path = '/charges/{id}/refunds';
    stack.sandbox.faults.add({ method: 'POST', path, action: 'status', status: 400, code: 'failed_refund', times: 1 });
    const approve = ['approvals', '--approve', checkout.reference, '--key', 'one'];
    const { exit, out } = await run(approve, operatorOf(stack));
    expect([exit, out]).toEqual([1, expect.stringMatching(/is rejected \(failed_refund\)/)]);
    expect(refunded(checkout)).toEqual([]);
  });
});

it('a refund of a checkout that has closed waits for no one, and its end is no fault of Temporal', async () => {
  const checkout = await paid();
  await ask('clerk', checkout, 'one');
  await workflowOf(checkout).terminate('a test');
  for (const how of ['approve', 'reject'] as const) {
    expect(await decide<ProblemJson>('manager', checkout, 'one', how)).toMatchObject({
      status: 409,
      body: { code: 'refund_decided', detail: 'The refund does not wait for approval: the checkout has closed' },
    });
  }
});

it('a refund that no one approves is rejected after 24 hours, by a checkout that has continued as aftercare', async () => {
  const checkout = await paid();
  await ask('clerk', checkout, 'one');
  await fastForward(stack, checkout.reference, 31 * 3_600_000);
  await eventually(async () => {
    const { body } = await as<{ data: Refund[] }>('clerk', 'GET', `/v1/checkouts/${checkout.id}/refunds`);
    expect(body.data).toMatchObject([{ status: 'rejected', failure_code: 'approval_expired' }]);
  });
  expect((await workflowOf(checkout).describe()).type).toBe('aftercare');
  expect((await decide('manager', checkout, 'one', 'approve')).status).toBe(409);
  expect((await ask('clerk', checkout, 'two')).body.status).toBe('needs_approval');
  expect(refunded(checkout)).toEqual([]);
});

describe('the limit of a key', () => {
  it('counts every refund of the key on the checkout', async () => {
    const checkout = await paid();
    expect((await ask('clerk', checkout, 'a', 30_000)).status).toBe(201);
    expect((await ask('clerk', checkout, 'b', 20_001)).body.status).toBe('needs_approval');
    expect((await ask('clerk', checkout, 'c', 20_000)).status).toBe(201);
    expect(refunded(checkout)).toEqual([30_000, 20_000]);
  });

  it.each([
    ['by the limited key', 'clerk'],
    ['by a name that is no key', 'anyone'],
    ['by a key of another store', 'elsewhere'],
    ['by a key without the scope', 'manager'],
    ['without a name', undefined],
  ])('binds an update and a signal that bypass the API (%s)', async (_, by) => {
    const checkout = await paid();
    const request = { amount: LIMIT + 1, reason: null, by };
    const updated = await workflowOf(checkout).executeUpdate(refund, { args: [{ ...request, key: 'update' }] });
    expect(updated.status).toBe('needs_approval');
    await workflowOf(checkout).signal(refundRequest, { ...request, key: 'signal' });
    await eventually(async () => {
      const { body } = await as<{ data: Refund[] }>('clerk', 'GET', `/v1/checkouts/${checkout.id}/refunds`);
      expect(body.data.map(({ key, status }) => [key, status])).toEqual([
        ['update', 'needs_approval'],
        ['signal', 'needs_approval'],
      ]);
    });
    for (const approver of [by, 'reader', 'unknown', undefined]) {
      const decision = { key: 'update', decision: 'approve', reason: null, by: approver } as const;
      const deciding = workflowOf(checkout).executeUpdate(decideRefund, { args: [decision] });
      if (by !== 'manager' || approver !== 'manager') await expect(deciding).rejects.toThrow(WorkflowUpdateFailedError);
      else await deciding.catch(() => undefined);
    }
    expect(refunded(checkout)).toEqual([]);
  });

  it('holds for messages of any form, and none of them stops the checkout', async () => {
    const checkout = await paid();
    const workflow = workflowOf(checkout);
    const request = { key: 'odd', amount: LIMIT + 1, reason: null, by: 'clerk', limit: { THB: 'x' } };
    expect(await workflow.executeUpdate('refund', { args: [request] })).toMatchObject({ status: 'needs_approval' });
    await workflow.signal('refundRequest');
    await workflow.signal('refundRequest', null);
    for (const odd of [
      [],
      [null],
      [{ key: 'odd', decision: 'Approve', by: 'boss' }],
      [{ key: 7, decision: 'reject' }],
    ]) {
      await expect(workflow.executeUpdate(decideRefund, { args: odd as unknown as [RefundDecision] })).rejects.toThrow(
        WorkflowUpdateFailedError,
      );
    }
    expect((await decide('manager', checkout, 'odd', 'approve')).body.status).toBe('succeeded');
  });

  it('is the one of the file as it is now', async () => {
    const checkout = await paid();
    keys.write([{ name: 'clerk', scopes: SHOP, refund_limit: { THB: 10 } }, ...entries.slice(1)]);
    await eventually(async () => {
      const { body } = await as<{ refund_limit: unknown }>('clerk', 'GET', '/v1/me');
      expect(body.refund_limit).toEqual({ THB: 10 });
    });
    expect((await ask('clerk', checkout, 'a', 11)).body.status).toBe('needs_approval');
    keys.write(entries);
    await eventually(async () => {
      const { body } = await as<{ refund_limit: unknown }>('clerk', 'GET', '/v1/me');
      expect(body.refund_limit).toBe(LIMIT);
    });
  });
});

describe('the audit', () => {
  const since = new Date().toISOString();

  it('has each request with its key, address and outcome, in the log and for operators', async () => {
    const checkout = await paid();
    await ask('clerk', checkout, 'one');
    await decide('clerk', checkout, 'one', 'approve');
    await decide('manager', checkout, 'one', 'reject');
    const target = { id: checkout.id };
    const one = { ...target, key: 'one' };
    const lines = stack.logs
      .filter((line) => line.includes('"audit"') && line.includes(checkout.id))
      .map((line) => (JSON.parse(line) as { audit: unknown }).audit);
    expect(lines).toEqual([
      { by: 'clerk', origin: '127.0.0.1', operation: 'createRefund', target, outcome: 'pending', status: 202 },
      { by: 'clerk', origin: '127.0.0.1', operation: 'approveRefund', target: one, outcome: 'refused', status: 403 },
      { by: 'manager', origin: '127.0.0.1', operation: 'rejectRefund', target: one, outcome: 'done', status: 200 },
    ]);
    const audit = async (...args: string[]) => {
      const to = new Date(Date.now() + 60_000).toISOString();
      const { exit, out } = await run(['audit', '--from', since, '--to', to, '--json', ...args], operatorOf(stack));
      expect(exit).toBe(0);
      const { data } = JSON.parse(out) as { data: { target: string }[] };
      return data.filter((record) => record.target === checkout.id);
    };
    const common = { origin: '127.0.0.1', target: checkout.id };
    await eventually(async () => {
      expect(await audit()).toMatchObject([
        { ...common, by: 'clerk', what: 'opened', outcome: 'paid' },
        { ...common, by: 'clerk', what: 'refund_requested', outcome: 'rejected' },
        { ...common, by: 'manager', what: 'refund_rejected', outcome: 'done', detail: 'one: not_approved' },
      ]);
    });
    expect(await audit('--key', 'manager')).toMatchObject([{ by: 'manager', what: 'refund_rejected' }]);
    expect(await audit('--key', 'reader')).toEqual([]);
    expect((await run(['audit', '--from', since], operatorOf(stack))).exit).toBe(2);
  });

  it('has what was created, changed and ended beside the checkouts', async () => {
    const begin = new Date().toISOString();
    const { body: link } = await as<{ id: string }>('clerk', 'POST', '/v1/counter-links', { terminal: 'till-7' });
    await as('clerk', 'DELETE', `/v1/counter-links/${link.id}`);
    const { body: endpoint } = await as<{ id: string }>('office', 'POST', '/v1/event-endpoints', {
      url: 'https://orders.invalid/secret-path',
    });
    const path = `/v1/event-endpoints/${endpoint.id}`;
    await as('office', 'PATCH', path, { description: 'orders', enabled: false });
    await as('office', 'POST', `${path}/rotate-secret`);
    await as('office', 'DELETE', path);
    expect((await run(['pause', '--reason', 'a move'], operatorOf(stack))).exit).toBe(0);
    expect((await run(['resume'], operatorOf(stack))).exit).toBe(0);
    const here = expect.stringMatching(/^cli:/) as unknown;
    const paused = { by: here, target: 'all checkouts' };
    const expected = [
      { by: 'clerk', target: link.id, what: 'create_counter_link', detail: 'till-7' },
      { by: 'clerk', target: link.id, what: 'revoke_counter_link' },
      { by: 'office', target: endpoint.id, what: 'create_endpoint', detail: 'https://orders.invalid' },
      { by: 'office', origin: '127.0.0.1', what: 'change_endpoint', detail: 'description, disabled' },
      { by: 'office', origin: '127.0.0.1', what: 'change_endpoint', detail: 'secret' },
      { by: 'office', target: endpoint.id, what: 'delete_endpoint' },
      { ...paused, what: 'pause', detail: 'a move' },
      { ...paused, what: 'resume' },
    ];
    await eventually(async () => {
      const to = new Date(Date.now() + 60_000).toISOString();
      const { out } = await run(['audit', '--from', begin, '--to', to, '--json'], operatorOf(stack));
      expect((JSON.parse(out) as { data: unknown }).data).toMatchObject(expected);
    });
  });
});
