import { randomBytes } from 'node:crypto';
import { Pauses } from '@tillflow/temporal';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { CutLine } from './support/cut-line.js';
import { chargeIdOf, KEYS, newReference, Stack, type Answer, type CheckoutJson, type ProblemJson } from './support/stack.js';
import { operatorOf, tillflow } from './support/tillflow.js';
import { payloadsIn, textsIn } from './support/stored.js';

type Availability = {
  accepting: boolean;
  reason: string | null;
  since: string | null;
  provider: { status: 'ok' | 'failing' | 'unknown'; since: string | null };
  currencies: { currency: string; minimum: number; maximum: number }[];
};

const REASON = 'the provider moves house';

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start({ shared: { PAYLOAD_KEYS: `k1:${randomBytes(32).toString('base64')}` } });
});
afterAll(() => stack.stop());

const available = () => stack.get<Availability>('/v1/availability');
const operate = async (...args: string[]) => {
  const { code, out } = await tillflow([...args, '--json'], operatorOf(stack));
  return { code, json: JSON.parse(out) as Record<string, unknown> };
};

/** Pauses, and waits until the API knows. */
async function paused(): Promise<void> {
  expect(await operate('pause', '--reason', REASON)).toMatchObject({ code: 0, json: { changed: true } });
  await expect.poll(async () => (await available()).body.accepting).toBe(false);
}

async function resumed(): Promise<void> {
  expect(await operate('resume')).toMatchObject({ code: 0, json: { changed: true } });
  await expect.poll(async () => (await available()).body.accepting).toBe(true);
}

async function opened(fields: Readonly<Record<string, unknown>> = {}): Promise<CheckoutJson> {
  const { body } = await stack.create(fields);
  return stack.until(body.id, ({ qr }) => qr !== null);
}

function expectNotAccepting({ status, body, headers }: Answer<unknown>): void {
  expect({ status, body }).toMatchObject({ status: 503, body: { code: 'not_accepting', detail: expect.stringContaining(REASON) } });
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
}

describe('GET /v1/availability', () => {
  it('answers every key, with the limits of each currency', async () => {
    const { status, body } = await available();
    expect({ status, body }).toMatchObject({ status: 200, body: { accepting: true, reason: null, since: null } });
    expect(body.currencies).toEqual([
      { currency: 'THB', minimum: 2_000, maximum: 15_000_000 },
      { currency: 'SGD', minimum: 100, maximum: 2_000_000 },
      { currency: 'MYR', minimum: 100, maximum: 3_000_000 },
    ]);
    expect((await stack.request('GET', '/v1/availability', { key: KEYS.ops })).status).toBe(200);
    expect((await stack.request('GET', '/v1/availability', { key: null })).status).toBe(401);
    const { body: narrow } = await stack.withApi({ CURRENCIES: 'SGD' }, available);
    expect(narrow.currencies.map(({ currency }) => currency)).toEqual(['SGD']);
  });

  it('shows the provider as ok, as failing during an outage, and as ok after it', { timeout: 120_000 }, async () => {
    const patient = { timeout: 60_000, interval: 500 };
    await expect.poll(async () => (await available()).body.provider.status, patient).toBe('ok');
    stack.sandbox.faults.add({ action: 'status', status: 503 });
    try {
      await expect.poll(async () => (await available()).body.provider.status, patient).toBe('failing');
      const { body } = await available();
      expect(body).toMatchObject({ accepting: false, since: body.provider.since });
      expect(body.reason).toContain('provider');
    } finally {
      stack.sandbox.faults.clear();
    }
    await expect.poll(async () => (await available()).body, patient).toMatchObject({
      accepting: true,
      provider: { status: 'ok', since: expect.any(String) },
    });
  });

  it('does not make the API refuse a checkout while the provider is failing: it may still succeed', { timeout: 120_000 }, async () => {
    const fault = { method: 'GET', path: '/account', action: 'status', status: 500 } as const;
    stack.sandbox.faults.add(fault);
    try {
      await expect.poll(async () => (await available()).body.accepting, { timeout: 60_000, interval: 500 }).toBe(false);
      expect((await opened()).status).toBe('awaiting_payment');
    } finally {
      stack.sandbox.faults.clear();
    }
  });

  it('does not call the provider for a checkout', async () => {
    await stack.withApi({}, async () => {
      const before = stack.requests('GET /account').length;
      await opened();
      expect(stack.requests('GET /account')).toHaveLength(before);
    });
  });
});

describe('while payments are paused', { timeout: 120_000 }, () => {
  it('new checkouts and attempts get 503, nothing reaches the provider, and everything else continues', async () => {
    const [open, other, paid] = [await opened(), await opened(), await opened()];
    stack.sandbox.mark(chargeIdOf(paid), { status: 'successful' });
    await stack.untilStatus(paid.id, 'paid');
    const { body: second } = await stack.post(`/v1/checkouts/${other.id}/attempts`, { after: 1 });
    expect(second.attempts).toHaveLength(2);
    await paused();
    const { sources, charges } = stack.sandbox.state();

    const reference = newReference();
    expectNotAccepting(await stack.create({ reference }));
    expectNotAccepting(await stack.create({ reference }));
    expectNotAccepting(await stack.post(`/v1/checkouts/${open.id}/attempts`, { after: 1 }));
    expectNotAccepting(await stack.post(`/v1/checkouts/${open.id}/attempts`, {}));
    expect((await stack.get<ProblemJson>(`/v1/checkouts/chk_default_${reference}`)).status).toBe(404);

    const { amount, currency } = open;
    expect(await stack.create({ reference: open.reference, amount, currency })).toMatchObject({ status: 200, body: { id: open.id } });
    expect(await stack.create({ reference: open.reference, amount: amount + 1 })).toMatchObject({ status: 409 });
    expect(await stack.create({ reference, amount: 1 })).toMatchObject({ status: 422 });
    const repeated = await stack.post(`/v1/checkouts/${other.id}/attempts`, { after: 1 });
    expect(repeated).toMatchObject({ status: 201, body: { attempts: [{}, { number: 2 }] } });
    const late = await stack.post<ProblemJson>(`/v1/checkouts/${paid.id}/attempts`, { after: 1 });
    expect(late).toMatchObject({ status: 409, body: { code: 'already_paid' } });
    expect(stack.sandbox.state()).toMatchObject({ sources: { length: sources.length }, charges: { length: charges.length } });

    stack.sandbox.mark(chargeIdOf(open), { status: 'successful' });
    await stack.untilStatus(open.id, 'paid');
    expect((await stack.post(`/v1/checkouts/${other.id}/cancel`)).status).toBe(200);
    const refund = { body: {}, headers: { 'idempotency-key': 'return-1' } };
    expect((await stack.request('POST', `/v1/checkouts/${paid.id}/refunds`, refund)).status).toBe(201);

    await resumed();
    expect((await opened({ reference })).status).toBe('awaiting_payment');
  });

  it('the answer says why and since when, a second pause changes nothing, and the doctor reports it', async () => {
    expect(await operate('resume')).toMatchObject({ code: 0, json: { changed: false, ended: null } });
    expect(await operate('pause', '--reason', REASON, '--dry-run')).toMatchObject({ code: 0, json: { changed: false } });
    expect((await available()).body.accepting).toBe(true);
    await paused();
    const { body } = await available();
    expect(body).toMatchObject({ accepting: false, reason: REASON, since: expect.stringMatching(/Z$/) });
    expect(await operate('pause', '--reason', 'another')).toMatchObject({
      code: 0,
      json: { changed: false, paused: { reason: REASON, by: expect.stringMatching(/^cli:/), since: body.since } },
    });
    expect(await operate('resume', '--dry-run')).toMatchObject({ code: 0, json: { changed: false, ended: { reason: REASON } } });
    const { json } = await operate('doctor');
    expect(json['findings']).toContainEqual(
      expect.objectContaining({ code: 'payments_paused', what: expect.stringContaining(REASON) }),
    );
    await resumed();
  });

  it('the reason is encrypted in the store, and a program without the key still sees the pause', async () => {
    await paused();
    const { client, connection } = stack.temporal;
    const workflowId = `pause/default@${stack.taskQueue}`;
    const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
    const described = await client.workflowService.describeWorkflowExecution({ namespace: 'default', execution: { workflowId } });
    const stored = JSON.stringify([events, described]);
    expect(stored).not.toContain(Buffer.from(REASON).toString('base64').slice(4, 20));
    await stack.withApi({ PAYLOAD_KEYS: `k2:${randomBytes(32).toString('base64')}` }, async () => {
      expect((await available()).body).toMatchObject({ accepting: false, reason: expect.stringContaining('PAYLOAD_KEYS') });
    });
    expect(await new Pauses({ client, connection }, { taskQueue: 'another', withinMs: 10_000 }).read()).toBeNull();
    await resumed();
  });

  it('pause, answer and resume need no worker', async () => {
    await stack.stopWorker();
    try {
      await paused();
      expectNotAccepting(await stack.create());
      await resumed();
    } finally {
      await stack.startWorker();
    }
    expect((await opened()).status).toBe('awaiting_payment');
  });

  it('an API that Temporal no longer answers keeps the last answer', async () => {
    const line = await CutLine.to(inject('temporalAddress'));
    try {
      await stack.withApi({ TEMPORAL_ADDRESS: line.address }, async () => {
        await paused();
        line.freeze();
        expect((await available()).body).toMatchObject({ accepting: false, reason: REASON });
        line.mend();
      });
    } finally {
      line.close();
    }
    await resumed();
  });
});
