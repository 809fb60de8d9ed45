import { randomUUID } from 'node:crypto';
import type { WorkflowOptions } from '@temporalio/client';
import { checkoutStart } from '@tillflow/temporal';
import {
  backfill,
  begin,
  decideRefund,
  dismissNotice,
  refund as refundUpdate,
  resolve,
  type CheckoutInput,
  type CheckoutIntent,
  type Resolution,
} from '@tillflow/workflows';
import { sampleIntent } from '@tillflow/workflows/testing';
import { vi } from 'vitest';
import { SHORT_LIVED, TailRun } from './event-tail.js';
import { ALWAYS_VOIDABLE_MINUTES, chargeIdOf, newReference, type CheckoutJson, type Stack } from './stack.js';

/** One path through a checkout: the function causes it, and returns the checkout at its end. */
export type Path = (stack: Stack) => Promise<CheckoutJson>;

const lose = (stack: Stack, path: string, action: 'reset_before' | 'commit_then_reset'): void =>
  stack.sandbox.faults.add({ method: 'POST', path, action, times: 1 });

/** Every path through the checkout workflow. The histories of all of them are committed and replayed. */
export const PATHS: Readonly<Record<string, Path>> = {
  'paid-by-webhook': async (stack) => {
    const body = await stack.open({ description: 'Coffee', metadata: { order: '7' }, terminal: 'till-1' });
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    return stack.untilStatus(body.id, 'paid');
  },
  'paid-by-poll': async (stack) => {
    const body = await stack.open();
    stack.sandbox.webhooks.clear();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    const paid = await stack.untilStatus(body.id, 'paid');
    stack.sendWebhooksTo(`${stack.api.url}/webhooks/provider`);
    return paid;
  },
  'paid-after-a-retrieve-that-failed': async (stack) => {
    const body = await stack.open();
    const path = `/charges/${chargeIdOf(body)}`;
    stack.sandbox.faults.add({ method: 'GET', path, action: 'status', status: 404, times: 1 });
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    return stack.untilStatus(body.id, 'paid');
  },
  'paid-at-a-slow-provider': async (stack) => {
    stack.sandbox.faults.add({ method: 'POST', path: '/sources', action: 'delay', delay_ms: 6_000, times: 1 });
    const open = await stack.open();
    stack.sandbox.mark(chargeIdOf(open), { status: 'successful' });
    return stack.untilStatus(open.id, 'paid');
  },
  'begun-with-an-update': async (stack) => {
    const { id } = await startDirectly(stack, {});
    await stack.workflowOf(id).executeUpdate(begin);
    return stack.until(id, ({ qr }) => qr !== null);
  },
  failed: async (stack) => {
    const body = await stack.open();
    stack.sandbox.mark(chargeIdOf(body), { status: 'failed', failure_code: 'insufficient_fund' });
    return stack.untilStatus(body.id, 'failed');
  },
  expired: async (stack) => {
    const { body } = await stack.create({ expires_in: 5 });
    return stack.untilStatus(body.id, 'expired');
  },
  cancelled: async (stack) => {
    const { body } = await stack.create();
    return (await stack.post(`/v1/checkouts/${body.id}/cancel`)).body;
  },
  'cancel-refused-then-paid': async (stack) => {
    const body = await stack.open();
    const expires = stack.requests('POST /charges/{id}/expire').length;
    stack.sandbox.faults.add({ method: 'POST', path: '/charges/{id}/expire', action: 'status', status: 400 });
    const cancel = stack.post(`/v1/checkouts/${body.id}/cancel`);
    await vi.waitUntil(() => stack.requests('POST /charges/{id}/expire').length > expires, { timeout: 90_000 });
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    stack.sandbox.faults.clear();
    await cancel;
    return stack.untilStatus(body.id, 'paid');
  },
  'refused-by-the-provider': async (stack) => {
    stack.sandbox.faults.add({ method: 'POST', path: '/charges', action: 'status', status: 400, times: 1 });
    return (await stack.create()).body;
  },
  'charge-found-after-a-lost-answer': async (stack) => {
    lose(stack, '/charges', 'commit_then_reset');
    return (await stack.create()).body;
  },
  'charge-repeated-after-a-lost-request': async (stack) => {
    lose(stack, '/charges', 'reset_before');
    return (await stack.create()).body;
  },
  'source-repeated-after-a-lost-answer': async (stack) => {
    lose(stack, '/sources', 'commit_then_reset');
    return (await stack.create()).body;
  },
  'paid-after-it-was-reported-cancelled': async (stack) => {
    const body = await stack.open();
    await stack.post(`/v1/checkouts/${body.id}/cancel`);
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful', force: true });
    return stack.untilStatus(body.id, 'refunded');
  },
  'paid-then-voided': async (stack) => {
    const paid = await payNew(stack);
    await refund(stack, paid);
    return stack.untilStatus(paid.id, 'refunded');
  },
  'paid-then-refunded-in-parts': async (stack) => {
    const paid = await payNew(stack);
    await Promise.all([refund(stack, paid, 50_000), refund(stack, paid, 60_000)]);
    await refund(stack, paid);
    return stack.untilStatus(paid.id, 'refunded');
  },
  'refund-found-after-a-lost-answer': async (stack) => {
    const paid = await payNew(stack);
    lose(stack, '/charges/{id}/refunds', 'commit_then_reset');
    await refund(stack, paid, 50_000);
    return stack.untilStatus(paid.id, 'partially_refunded');
  },
  'refund-repeated-after-a-lost-request': async (stack) => {
    const paid = await payNew(stack);
    lose(stack, '/charges/{id}/refunds', 'reset_before');
    await refund(stack, paid, 50_000);
    return stack.untilStatus(paid.id, 'partially_refunded');
  },
  'void-refused-then-refunded': async (stack) => {
    const paid = await payNew(stack);
    const { faults } = stack.sandbox;
    faults.add({ method: 'POST', path: '/charges/{id}/refunds', action: 'status', status: 400, times: 1 });
    await refund(stack, paid);
    return stack.untilStatus(paid.id, 'refunded');
  },
  'refund-approved': async (stack) => {
    const paid = await payNew(stack);
    await decided(stack, paid, 'approve');
    return stack.untilStatus(paid.id, 'partially_refunded');
  },
  'refund-not-approved': async (stack) => {
    const paid = await payNew(stack);
    await decided(stack, paid, 'reject');
    await refund(stack, paid, 1);
    return stack.untilStatus(paid.id, 'partially_refunded');
  },
  'refunded-elsewhere': async (stack) => {
    const paid = await payNew(stack);
    await stack.refundElsewhere(chargeIdOf(paid), 20_000);
    await resolveBy(stack, paid, { action: 'look', reason: 'a person saw it' });
    return stack.untilStatus(paid.id, 'partially_refunded');
  },
  'second-attempt-paid': async (stack) => {
    const { body } = await stack.create();
    const { body: again } = await stack.post(`/v1/checkouts/${body.id}/attempts`, { after: 1 });
    stack.sandbox.mark(again.attempts[1]?.charge_id ?? '', { status: 'successful' });
    return stack.untilStatus(body.id, 'paid');
  },
  'attempt-after-a-failed-one': async (stack) => {
    const body = await stack.open();
    stack.sandbox.mark(chargeIdOf(body), { status: 'failed' });
    await stack.untilStatus(body.id, 'failed');
    await stack.post(`/v1/checkouts/${body.id}/attempts`, { after: 1 });
    return stack.untilStatus(body.id, 'awaiting_payment');
  },
  'paid-twice': async (stack) => {
    const body = await stack.open();
    const { body: again } = await stack.post(`/v1/checkouts/${body.id}/attempts`, { after: 1 });
    stack.sandbox.mark(again.attempts[1]?.charge_id ?? '', { status: 'successful' });
    await stack.untilStatus(body.id, 'paid');
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful', force: true });
    await vi.waitUntil(() => stack.chargesOf(body.id)[0]?.refunded_amount === 150_000, { timeout: 90_000 });
    return stack.until(body.id, ({ attention }) => attention === null);
  },
  'old-attempt-paid': async (stack) => {
    const body = await stack.open();
    await stack.post(`/v1/checkouts/${body.id}/attempts`, { after: 1 });
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful', force: true });
    await stack.untilStatus(body.id, 'paid');
    return stack.until(body.id, ({ attempts }) => attempts[1]?.status === 'expired');
  },
  'unknown-charge-adopted': async (stack) => {
    const body = await unknownCharge(stack);
    const [charge] = stack.chargesOf(body.id);
    await resolveBy(stack, body, { action: 'adopt', id: charge?.id ?? '', reason: 'seen in the dashboard' });
    stack.sandbox.faults.clear();
    return stack.untilStatus(body.id, 'awaiting_payment');
  },
  'unknown-charge-abandoned': async (stack) => {
    const body = await unknownCharge(stack);
    await resolveBy(stack, body, { action: 'abandon', reason: 'the customer left' });
    stack.sandbox.faults.clear();
    return stack.untilStatus(body.id, 'expired');
  },
  'closed-unpaid': async (stack) => {
    const { id } = await startDirectly(stack, { unpaidGraceMs: 200 });
    const open = await stack.until(id, ({ qr }) => qr !== null);
    stack.sandbox.mark(chargeIdOf(open), { status: 'failed' });
    const failed = await stack.untilStatus(id, 'failed');
    await stack.temporal.client.workflow.getHandle(`checkout/default/${open.reference}`).result();
    return failed;
  },
  'closed-then-paid': async (stack) => {
    const { id, reference } = await startDirectly(stack, { unpaidGraceMs: 200 });
    const open = await stack.until(id, ({ qr }) => qr !== null);
    stack.sandbox.mark(chargeIdOf(open), { status: 'failed' });
    await stack.temporal.client.workflow.getHandle(`checkout/default/${reference}`).result();
    stack.sandbox.mark(chargeIdOf(open), { status: 'successful', force: true });
    const tail = await TailRun.start(stack);
    const refunded = await stack.untilStatus(id, 'refunded');
    await tail.stop();
    return refunded;
  },
  'aftercare-continued-as-new': (stack) => refundedInAftercare(stack, {}),
  'aftercare-of-a-store': (stack) => {
    const store = { id: 'silom', name: 'Silom branch' };
    return refundedInAftercare(stack, { store, terminal: 'till-7', metadata: { order: '7' } });
  },
  'continued-as-new': async (stack) => {
    const { id, reference } = await startDirectly(stack, { maxHistoryEvents: 40, pollIntervalMs: 50 });
    const first = await stack.until(id, ({ qr }) => qr !== null);
    await stack.untilNextRun(reference);
    stack.sandbox.mark(chargeIdOf(first), { status: 'successful' });
    return stack.untilStatus(id, 'paid');
  },
};

/** Every path through the event tail. Answers with the tail, which is still running. */
export const TAIL_PATHS: Readonly<Record<string, (stack: Stack) => Promise<TailRun>>> = {
  'event-tail': async (stack) => {
    const checkout = await stack.open();
    const tail = await TailRun.start(stack);
    stack.sandbox.webhooks.clear();
    stack.sandbox.mark(chargeIdOf(checkout), { status: 'successful' });
    await stack.untilStatus(checkout.id, 'paid');
    stack.sendWebhooksTo(`${stack.api.url}/webhooks/provider`);
    const { disputes } = stack.sandbox.seedRecords({ disputes: [{}] });
    await vi.waitUntil(async () => ((await tail.memo()).notices ?? []).length === 1, { timeout: 90_000 });
    await tail.handle.signal(dismissNotice, { id: `dispute_opened:${disputes[0] ?? ''}`, reason: 'seen' });
    await tail.handle.executeUpdate(backfill, { args: [{ from: '2000-01-01T00:00:00Z' }] });
    await tail.nextPass();
    return tail;
  },
  'event-tail-failing': async (stack) => {
    stack.sandbox.faults.add({ method: 'GET', path: '/events', action: 'status', status: 401, times: 1 });
    const tail = await TailRun.start(stack);
    await tail.nextPass();
    return tail;
  },
  'event-tail-continued-as-new': async (stack) => {
    const tail = await TailRun.start(stack, SHORT_LIVED);
    await stack.untilNextRunOfWorkflow(tail.workflowId);
    await tail.nextPass();
    return tail;
  },
};

async function payNew(stack: Stack): Promise<CheckoutJson> {
  const body = await stack.open();
  stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
  return stack.untilStatus(body.id, 'paid');
}

/** Paid, and refunded in parts until it has continued as aftercare. */
async function refundedInAftercare(stack: Stack, ordered: Ordered): Promise<CheckoutJson> {
  const { id, reference } = await startDirectly(stack, { maxHistoryEvents: 40 }, ordered);
  const open = await stack.until(id, ({ qr }) => qr !== null);
  stack.sandbox.mark(chargeIdOf(open), { status: 'successful' });
  const paid = await stack.untilStatus(id, 'paid');
  const next = stack.untilNextRun(reference);
  for (const amount of [1, 2, 3, 4]) await refund(stack, paid, amount);
  await next;
  return stack.until(id, ({ refunded_amount, payment }) => refunded_amount === 10 && payment !== null);
}

/** A refund above the limit of its requester waits, until a second person decides. */
async function decided(stack: Stack, { reference }: CheckoutJson, decision: 'approve' | 'reject'): Promise<void> {
  const workflow = stack.temporal.client.workflow.getHandle(`checkout/default/${reference}`);
  const request = { key: 'one', amount: 50_000, reason: null, by: 'clerk', limit: 49_999 };
  await workflow.executeUpdate(refundUpdate, { args: [request] });
  await workflow.executeUpdate(decideRefund, { args: [{ key: 'one', decision, reason: null, by: 'manager' }] });
}

function refund(stack: Stack, { id }: CheckoutJson, amount?: number) {
  const headers = { 'idempotency-key': randomUUID() };
  return stack.request('POST', `/v1/checkouts/${id}/refunds`, {
    body: amount === undefined ? {} : { amount },
    headers,
  });
}

/** As an operator does. */
async function resolveBy(stack: Stack, { reference }: CheckoutJson, resolution: Resolution): Promise<void> {
  const handle = stack.temporal.client.workflow.getHandle(`checkout/default/${reference}`);
  await handle.executeUpdate(resolve, { args: [resolution] });
}

/** A checkout whose charge was made, whose answer was lost, and which the provider does not list. */
async function unknownCharge(stack: Stack) {
  lose(stack, '/charges', 'commit_then_reset');
  stack.sandbox.faults.add({ method: 'GET', path: '/charges', action: 'status', status: 500 });
  const { body } = await stack.create();
  await vi.waitUntil(() => stack.chargesOf(body.id).length === 1, { timeout: 90_000 });
  return body;
}

type Ordered = Pick<Partial<CheckoutIntent>, 'metadata' | 'store' | 'terminal'>;

/** Starts a checkout without the API, with times and limits that no setting of the API offers. */
export async function startDirectly(
  stack: Stack,
  policy: CheckoutInput['policy'],
  ordered: Ordered = {},
  options: Pick<WorkflowOptions, 'workflowTaskTimeout'> = {},
): Promise<{ id: string; reference: string }> {
  const reference = newReference();
  const intent = sampleIntent({ reference, created_at: new Date().toISOString(), ...ordered });
  await stack.temporal.client.workflow.start('checkout', {
    ...checkoutStart({ intent, requestNonce: 'a test' }, stack.taskQueue),
    ...options,
    args: [{ policy: { voidDateOffsetMinutes: ALWAYS_VOIDABLE_MINUTES, ...policy } } satisfies CheckoutInput],
  });
  return { id: intent.id, reference };
}
