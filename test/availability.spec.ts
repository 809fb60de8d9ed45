import { randomBytes } from 'node:crypto';
import { Pauses } from '@tillflow/temporal';
import { findEventTail } from '@tillflow/workflows';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { CutLine } from '@tillflow/tools';
import { TailRun } from './support/event-tail.js';
import {
  chargeIdOf,
  KEYS,
  newReference,
  Stack,
  type Answer,
  type CheckoutJson,
  type ProblemJson,
} from './support/stack.js';
import { operatorOf, tillflow } from './support/tillflow.js';
import { payloadsIn, textsIn } from './support/stored.js';
import { withStack } from './support/with-stack.js';

type Availability = {
  accepting: boolean;
  reason: string | null;
  since: string | null;
  provider: { status: 'ok' | 'failing' | 'unknown'; since: string | null };
  currencies: { currency: string; minimum: number; maximum: number }[];
};

const REASON = 'the provider moves house';
const SLOW = { timeout: 300_000 };

const newKey = (): string => `k${Date.now()}:${randomBytes(32).toString('base64')}`;

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start({ shared: { PAYLOAD_KEYS: newKey() } });
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
  await expect.poll(async () => (await available()).body.reason).toBe(REASON);
}

async function resumed(): Promise<void> {
  expect(await operate('resume')).toMatchObject({ code: 0, json: { changed: true } });
  await expect.poll(async () => (await available()).body.reason).toBeNull();
}

async function opened(fields: Readonly<Record<string, unknown>> = {}): Promise<CheckoutJson> {
  const { body } = await stack.create(fields);
  return stack.until(body.id, ({ qr }) => qr !== null);
}

function expectNotAccepting({ status, body, headers }: Answer<unknown>): void {
  expect({ status, body }).toMatchObject({
    status: 503,
    body: { code: 'not_accepting', detail: expect.stringContaining(REASON) },
  });
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

  it('shows an outage of the provider and its end, and a checkout is still tried during the outage', SLOW, async () => {
    const patient = { timeout: 60_000, interval: 500 };
    await expect.poll(async () => (await available()).body.provider.status, patient).toBe('ok');
    stack.sandbox.faults.add({ action: 'status', status: 503 });
    try {
      await expect.poll(async () => (await available()).body.provider.status, patient).toBe('failing');
      const { body } = await available();
      expect(body).toMatchObject({ accepting: false, since: body.provider.since });
      expect(body.reason).toContain('provider');
      stack.sandbox.faults.clear();
      // The provider stays failing, but it carries out the calls of a checkout.
      stack.sandbox.faults.add({ method: 'GET', path: '/account', action: 'status', status: 500 });
      expect((await opened()).status).toBe('awaiting_payment');
      expect((await available()).body.provider).toEqual(body.provider);
    } finally {
      stack.sandbox.faults.clear();
    }
    await expect
      .poll(async () => (await available()).body, patient)
      .toMatchObject({
        accepting: true,
        provider: { status: 'ok', since: expect.any(String) },
      });
  });

  it('shows since when the event tail fails, when the process has just begun to look', SLOW, async () => {
    const patient = { timeout: 60_000, interval: 500 };
    stack.sandbox.faults.add({ action: 'status', status: 503 });
    const tail = await TailRun.start(stack);
    try {
      const failingSince = async () =>
        (await findEventTail(stack.temporal.client.workflow, stack.taskQueue))?.memo.failing?.since;
      await expect.poll(failingSince, patient).toEqual(expect.any(String));
      const since = await failingSince();
      await stack.withApi({}, async () => {
        await expect.poll(async () => (await available()).body.provider.status, patient).toBe('failing');
        expect((await available()).body.provider).toEqual({ status: 'failing', since });
      });
    } finally {
      stack.sandbox.faults.clear();
      await tail.stop();
    }
  });

  it('does not call the provider for a checkout', () =>
    // A stack of its own: no other test asks for its availability.
    withStack({ worker: true }, async (quiet) => {
      await quiet.until((await quiet.create()).body.id, ({ qr }) => qr !== null);
      const before = quiet.requests('GET /account').length;
      await quiet.until((await quiet.create()).body.id, ({ qr }) => qr !== null);
      expect(quiet.requests('GET /account')).toHaveLength(before);
    }));
});

describe('while payments are paused', SLOW, () => {
  // After a test that failed in between.
  afterEach(async () => void (await operate('resume')));

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
    expect(await stack.create({ reference: open.reference, amount, currency })).toMatchObject({
      status: 200,
      body: { id: open.id },
    });
    expect(await stack.create({ reference: open.reference, amount: amount + 1 })).toMatchObject({ status: 409 });
    expect(await stack.create({ reference, amount: 1 })).toMatchObject({ status: 422 });
    const repeated = await stack.post(`/v1/checkouts/${other.id}/attempts`, { after: 1 });
    expect(repeated).toMatchObject({ status: 201, body: { attempts: [{}, { number: 2 }] } });
    const late = await stack.post<ProblemJson>(`/v1/checkouts/${paid.id}/attempts`, { after: 1 });
    expect(late).toMatchObject({ status: 409, body: { code: 'already_paid' } });
    expect(stack.sandbox.state()).toMatchObject({
      sources: { length: sources.length },
      charges: { length: charges.length },
    });

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
    expect(await operate('pause', '--reason', REASON, '--dry-run')).toMatchObject({
      code: 0,
      json: { changed: false },
    });
    expect((await available()).body.accepting).toBe(true);
    await paused();
    const { body } = await available();
    expect(body).toMatchObject({ accepting: false, reason: REASON, since: expect.stringMatching(/Z$/) });
    expect(await operate('pause', '--reason', 'another')).toMatchObject({
      code: 0,
      json: { changed: false, paused: { reason: REASON, by: expect.stringMatching(/^cli:/), since: body.since } },
    });
    expect(await operate('resume', '--dry-run')).toMatchObject({
      code: 0,
      json: { changed: false, ended: { reason: REASON } },
    });
    const { json } = await operate('doctor');
    expect(json['findings']).toContainEqual(
      expect.objectContaining({ code: 'payments_paused', what: expect.stringContaining(REASON) }),
    );
    await resumed();
  });

  it('pause, answer and resume need no worker, and nothing of the reason can be read in the store', async () => {
    await stack.stopWorker();
    try {
      await paused();
      expectNotAccepting(await stack.create());
      const { client, connection } = stack.temporal;
      const execution = { workflowId: `pause/default@${stack.taskQueue}` };
      const { events } = await client.workflow.getHandle(execution.workflowId).fetchHistory();
      const described = await client.workflowService.describeWorkflowExecution({ namespace: 'default', execution });
      const stored = [events, described];
      expect(textsIn(stored)).not.toContain(REASON);
      expect(new Set(payloadsIn(stored).map(({ encoding }) => encoding))).toEqual(new Set(['binary/encrypted']));
      await stack.withApi({ PAYLOAD_KEYS: newKey() }, async () => {
        const { accepting, reason } = (await available()).body;
        expect({ accepting, reason }).toEqual({ accepting: false, reason: expect.stringContaining('PAYLOAD_KEYS') });
      });
      const others = new Pauses({ client, connection }, { taskQueue: 'another', withinMs: 10_000 });
      expect(await others.read()).toBeNull();
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
        const seen = async () => {
          expect((await available()).body).toMatchObject({ accepting: false, reason: REASON });
          return stack.logs.some((text) => text.includes('the last known one stays in force'));
        };
        await expect.poll(seen).toBe(true);
        expect(await seen()).toBe(true);
        line.mend();
      });
    } finally {
      line.close();
    }
    await resumed();
  });
});
