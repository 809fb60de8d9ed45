import { randomUUID } from 'node:crypto';
import { PaymentsClient } from '@tillflow/payments-client';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { TailRun } from './support/event-tail.js';
import { asOperator, dayFromNow, seedRecords } from './support/resources.js';
import { chargeIdOf, KEYS, Stack } from './support/stack.js';

/** Every operation of the reference, and those it implies. Source: reference, "Endpoints"; assumptions. */
const OPERATIONS = [
  'GET /receipts',
  'GET /receipts/{id}',
  'GET /receipts/receipts/search',
  'GET /charges/schedules',
  'GET /charges/schedules/search',
  'GET /schedules',
  'GET /schedules/{id}',
  'DELETE /schedules/{id}',
  'GET /schedules/{id}/occurrences',
  'POST /schedules',
  'GET /transfers/schedules',
  'GET /account',
  'PATCH /account',
  'PATCH /account/api_version',
  'GET /account/api_versions',
  'GET /events',
  'GET /events/{id}',
  'GET /transactions',
  'GET /transactions/{id}',
  'GET /disputes/{id}',
  'GET /disputes/{id}/documents',
  'GET /disputes/{id}/documents/{document_id}',
  'DELETE /disputes/{id}/documents/{document_id}',
  'POST /disputes/{id}/documents',
  'GET /customers/{id}',
  'GET /customers/{id}/cards',
  'GET /customers/{id}/cards/{card_id}',
  'PATCH /customers/{id}/cards/{card_id}',
  'DELETE /customers/{id}/cards/{card_id}',
  'GET /sources/{id}',
  'POST /sources',
  'GET /charges',
  'GET /charges/{id}',
  'POST /charges',
  'POST /charges/{id}/expire',
  'POST /charges/{id}/refunds',
  'GET /charges/{id}/refunds',
  'GET /charges/{id}/events',
  'POST /charges/{id}/mark_as_paid',
  'POST /charges/{id}/mark_as_failed',
];

/** More than a charge carries in itself. */
const MANY_REFUNDS = 21;

type Named = Record<string, unknown>;
type Found = { data: { id: string }[] };

/** The client's resources by their names, and the names of their methods. */
function methodsOfClient(): { resource: string; prototype: object; method: string }[] {
  const client = new PaymentsClient({ baseUrl: 'http://127.0.0.1:1', secretKey: 'skey_test_nobody' });
  return Object.entries(client).flatMap(([resource, value]) => {
    const prototype = Object.getPrototypeOf(value) as object;
    const methods = Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor');
    return methods.map((method) => ({ resource, prototype, method }));
  });
}

/** The method by which a method that iterates reads each page. */
function pageMethodOf(method: string): string {
  if (method === 'iterate') return 'list';
  return method === 'iterateSearch' ? 'search' : method.replace(/^iterate/, 'list');
}

let stack: Stack;
/** The methods that were called, as `receipts.list`. They are watched, and do what they do. */
const called = new Set<string>();

beforeAll(async () => {
  for (const { resource, prototype, method } of methodsOfClient()) {
    const watched = vi.spyOn(prototype as Record<string, (...args: unknown[]) => unknown>, method);
    watchers.push(() => {
      if (watched.mock.calls.length > 0) called.add(`${resource}.${method}`);
    });
  }
  stack = await Stack.start({
    webhookUrl: null,
    api: {
      SETTLE_DELAY_MS: '100',
      LOOK_DELAYS_MS: '50,100,200,400',
      POLL_INTERVAL_MS: '500',
      ANSWER_WITHIN_MS: '15000',
    },
  });
});
const watchers: (() => void)[] = [];

afterAll(async () => {
  vi.restoreAllMocks();
  await stack.stop();
});

/** As an operator, and it worked. */
async function expectDone<T = Named>(method: string, path: string, body?: unknown): Promise<T> {
  const headers = { 'idempotency-key': randomUUID() };
  const answer = await asOperator<T>(stack, method, path, { body, headers });
  expect({ path, ...answer }).toMatchObject({ path, status: expect.toSatisfy((status: number) => status < 300) });
  return answer.body;
}

describe("the API's routes and workflows", () => {
  it('the API creates, reads, lists and ends plans', async () => {
    const { customer } = seedRecords(stack);
    const end_date = dayFromNow(stack, 60);
    const charge = { customer, amount: 50_000, currency: 'THB' };
    const plan = await expectDone('POST', '/v1/recurring-plans', { every: 1, period: 'day', end_date, charge });
    const on = { weekdays: ['monday'] };
    await expectDone('POST', '/v1/recurring-plans', {
      every: 1,
      period: 'week',
      on,
      end_date,
      transfer: { amount: 1_000 },
    });
    for (const query of ['', '?kind=charge', '?kind=transfer', '?status=active']) {
      const { data } = await expectDone<Found>('GET', `/v1/recurring-plans${query}`);
      expect(data.length).toBeGreaterThan(0);
    }
    const path = `/v1/recurring-plans/${String(plan['id'])}`;
    await expectDone('GET', path);
    await expectDone('GET', `${path}/occurrences`);
    await expectDone('DELETE', path);
  });

  it('the API answers disputes and uploads documents', async () => {
    const { dispute } = seedRecords(stack);
    const path = `/v1/disputes/${dispute}`;
    await expectDone('GET', path);
    const form = new FormData();
    form.append('file', new Blob(['%PDF-1']), 'receipt.pdf');
    const headers = { authorization: `Bearer ${KEYS.ops}` };
    const stored = await fetch(`${stack.api.url}${path}/evidence`, { method: 'POST', headers, body: form });
    expect(stored.status).toBe(201);
    const { data } = await expectDone<Found>('GET', `${path}/evidence`);
    await expectDone('GET', `${path}/evidence/${data[0]?.id}`);
    await expectDone('DELETE', `${path}/evidence/${data[0]?.id}`);
  });

  it('the API reads customers, and reads, changes and deletes their cards', async () => {
    const { customer, card } = seedRecords(stack);
    await expectDone('GET', `/v1/customers/${customer}`);
    await expectDone('GET', `/v1/customers/${customer}/cards`);
    const path = `/v1/customers/${customer}/cards/${card}`;
    await expectDone('GET', path);
    await expectDone('PATCH', path, { city: 'Bangkok' });
    await expectDone('DELETE', path);
  });

  it('the API reads and changes the account', async () => {
    await expectDone('GET', '/v1/account');
    await expectDone('PATCH', '/v1/account', { chain_enabled: false });
    await expectDone('GET', '/v1/account/api-versions');
    await expectDone('POST', '/v1/account/api-version', { confirm: true });
  });

  it('the API creates and cancels checkouts, and marks and refunds their charges', async () => {
    const mark = (id: string, status: string) => expectDone('POST', `/v1/test-mode/charges/${id}/mark`, { status });
    stack.sandbox.faults.add({ method: 'POST', path: '/charges', action: 'commit_then_reset', times: 1 });
    const lost = await stack.open();
    expect(await mark(chargeIdOf(lost), 'failed')).toMatchObject({ status: 'failed', checkout: lost.id });
    await stack.untilStatus(lost.id, 'failed');
    const { body: cancelled } = await stack.create();
    await expectDone('POST', `/v1/checkouts/${cancelled.id}/cancel`);

    const paid = await stack.open();
    await mark(chargeIdOf(paid), 'successful');
    await stack.untilStatus(paid.id, 'paid');
    for (let n = 0; n < MANY_REFUNDS; n += 1) await stack.refundElsewhere(chargeIdOf(paid), 1);
    await expectDone('POST', `/v1/checkouts/${paid.id}/refunds`, { amount: 50_000 });
    const { data } = await expectDone<Found>('GET', `/v1/provider-events?charge=${chargeIdOf(paid)}&limit=100`);
    expect(data.length).toBeGreaterThan(MANY_REFUNDS);
  });

  it('the API reads receipts, transactions and events', async () => {
    stack.sandbox.seedRecords({ receipts: [{ number: 'R-17' }] });
    for (const path of ['/v1/receipts', '/v1/transactions', '/v1/provider-events']) {
      const { data } = await expectDone<Found>('GET', `${path}?order=reverse_chronological&limit=1`);
      await expectDone('GET', `${path}/${data[0]?.id}`);
    }
    const { data } = await expectDone<Found>('GET', '/v1/receipts?query=R-17');
    expect(data.length).toBe(1);
  });
});

it('the event tail reads events', async () => {
  const tail = await TailRun.start(stack);
  await tail.nextPass();
  const { failing = null } = await tail.memo();
  expect(failing).toBeNull();
  await tail.stop();
});

describe('the requests of this suite', () => {
  it('reached every operation of the provider', () => {
    const seen = new Set(
      (stack.sandbox.state(['requests']).requests ?? []).map(({ method, route }) => `${method} ${route}`),
    );
    expect(OPERATIONS.filter((operation) => !seen.has(operation))).toEqual([]);
  });

  it('called every method of the client', () => {
    for (const watch of watchers) watch();
    const uncalled = methodsOfClient().filter(
      ({ resource, method }) =>
        !called.has(`${resource}.${method}`) && !called.has(`${resource}.${pageMethodOf(method)}`),
    );
    expect(uncalled.map(({ resource, method }) => `${resource}.${method}`)).toEqual([]);
    expect(called.size).toBeGreaterThan(OPERATIONS.length);
  });
});
