import { randomBytes, randomUUID } from 'node:crypto';
import { decodeOptionalFailureToOptionalError } from '@tillflow/temporal/sdk-internals';
import { begin } from '@tillflow/workflows';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { PATHS } from './support/paths.js';
import { chargeIdOf, IMPATIENT, Stack, type CheckoutJson, type ProblemJson } from './support/stack.js';
import { payloadsIn, storedOf, textsIn, type Stored } from './support/stored.js';

const key = (id: string): string => `${id}:${randomBytes(32).toString('base64')}`;

/** Of Temporal's `UpdateWorkflowExecutionLifecycleStage`. */
const COMPLETED = 3;

/** Temporal's own record of a local activity: its name, its number and its times. */
const LOCAL_ACTIVITY = '.markerRecordedEventAttributes.details.data.';

const CUSTOMER = 'Somchai Jaidee';
const PERSONAL = { description: `Coffee for ${CUSTOMER}`, metadata: { phone: '+66 81 234 5678' } };

describe('with PAYLOAD_KEYS', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await Stack.start({ shared: { PAYLOAD_KEYS: key('first') }, api: { POLL_INTERVAL_MS: '1000' } });
  });
  afterAll(() => stack.stop());

  const idOf = ({ reference }: CheckoutJson): string => `checkout/default/${reference}`;
  const execution = (checkout: CheckoutJson) => ({ namespace: 'default', execution: { workflowId: idOf(checkout) } });

  /** Nothing of the checkout is in the store, while the API shows all of it. */
  async function expectHidden({ id, reference }: CheckoutJson, ...hidden: string[]): Promise<void> {
    const stored = await storedOf(stack, reference);
    const payloads = payloadsIn(stored);
    expect(payloads.length).toBeGreaterThan(20);
    const isReadable = ({ path, encoding }: Stored): boolean =>
      encoding !== 'binary/encrypted' && !path.includes(LOCAL_ACTIVITY);
    expect(payloads.filter(isReadable)).toEqual([]);
    const { body } = await stack.get(`/v1/checkouts/${id}`);
    const attempt = body.attempts[0];
    const texts = textsIn(stored);
    const ids = [reference, attempt?.charge_id, attempt?.source_id];
    for (const text of ['150000', '1,500.00', 'source_created', ...ids, ...hidden]) {
      expect(text).toBeTruthy();
      expect(texts).not.toContain(text);
    }
  }

  it('nothing of a paid checkout can be read in its history, its memo or the list', async () => {
    const body = await stack.open({ ...PERSONAL, terminal: 'till-1' });
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    const paid = await stack.untilStatus(body.id, 'paid');
    expect(paid).toMatchObject(PERSONAL);
    await expect.poll(async () => (await stack.get<{ data: unknown[] }>(listOf(body))).body.data).toHaveLength(1);
    await stack.workflowOf(body.id).executeUpdate(begin);
    await expectHidden(body, CUSTOMER, PERSONAL.metadata.phone, body.qr?.raw_data ?? '');

    const stored = await storedOf(stack, body.reference);
    const paths = payloadsIn(stored).map(({ path }) => path);
    const parts = [
      'workflowExecutionStartedEventAttributes.input.',
      'workflowExecutionStartedEventAttributes.memo.fields.intent',
      'workflowPropertiesModifiedEventAttributes.upsertedMemo.fields.state',
      'workflowExecutionUpdateAcceptedEventAttributes.acceptedRequest.input.args.',
      'workflowExecutionUpdateCompletedEventAttributes.outcome.success.',
      'activityTaskScheduledEventAttributes.input.',
      'activityTaskCompletedEventAttributes.result.',
      'markerRecordedEventAttributes.details.result.',
      'userMetadata.summary',
      'workflowExecutionInfo.memo.fields.state',
    ];
    expect(parts.filter((part) => !paths.some((path) => path.includes(part)))).toEqual([]);
  });

  it('nothing of a checkout that continued as new can be read, and its memo is kept', async () => {
    const paid = await PATHS['continued-as-new']?.(stack);
    if (paid === undefined) throw new Error('The path is gone');
    await expectHidden(paid);
    expect(paid).toMatchObject({ status: 'paid', amount: 150_000, reference: paid.reference });
  });

  it('neither a refund that no worker accepts in time nor its key can be read', async () => {
    const body = await stack.open(PERSONAL);
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await stack.untilStatus(body.id, 'paid');
    await stack.stopWorker();
    try {
      const ask = () =>
        stack.request('POST', `/v1/checkouts/${body.id}/refunds`, {
          body: { reason: `${CUSTOMER} called` },
          headers: { 'idempotency-key': 'return-slip-4711' },
        });
      const asked = await stack.withApi(IMPATIENT, ask);
      expect(asked.status).toBe(202);
      await expectHidden(body, `${CUSTOMER} called`, 'return-slip-4711');
    } finally {
      await stack.startWorker();
    }
    await stack.untilStatus(body.id, 'refunded');
  });

  it("message and stack of a failed activity are encrypted in the store, and Tillflow's programs can read them", async () => {
    const said = `${CUSTOMER} has no such charge`;
    const body = await stack.open(PERSONAL);
    stack.sandbox.faults.add({
      method: 'GET',
      // Of this checkout alone: an earlier one may still be retrieved after its webhook.
      path: `/charges/${chargeIdOf(body)}`,
      action: 'status',
      status: 404,
      body: JSON.stringify({ object: 'error', location: 'x', code: 'not_found', message: said }),
      times: 1,
    });
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await stack.untilStatus(body.id, 'paid');
    await expectHidden(body, said, 'toReadFailure');
    const events = (await stack.runsOf(body.reference)).flat();
    const failed = events.find((event) => event.markerRecordedEventAttributes?.failure);
    const failure = failed?.markerRecordedEventAttributes?.failure;
    expect(failure).toMatchObject({ message: 'Encoded failure', stackTrace: '' });
    const { loadedDataConverter } = stack.temporal.client.workflow.options;
    const error = await decodeOptionalFailureToOptionalError(loadedDataConverter, failure);
    expect(error?.message).toContain(said);
    expect(error?.stack).toContain('toReadFailure');
  });

  it('message and stack of a failure in the workflow code are encrypted, too', async () => {
    const { body } = await stack.create();
    const name = `no-update-${CUSTOMER}`;
    const { outcome } = await stack.temporal.connection.workflowService.updateWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId: idOf(body) },
      // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- the generated enum exists as a type only
      waitPolicy: { lifecycleStage: COMPLETED },
      request: { meta: { updateId: randomUUID(), identity: 'a test' }, input: { name } },
    });
    expect(outcome?.failure).toMatchObject({ message: 'Encoded failure', stackTrace: '' });
    expect(textsIn(outcome)).not.toContain(CUSTOMER);
    await expect(stack.temporal.client.workflow.getHandle(idOf(body)).executeUpdate(name)).rejects.toMatchObject({
      cause: { message: expect.stringContaining(name) as unknown },
    });
  });

  it("answers to queries are encrypted, and Tillflow's programs can read them", async () => {
    const { body } = await stack.create(PERSONAL);
    const { queryResult } = await stack.temporal.connection.workflowService.queryWorkflow({
      ...execution(body),
      query: { queryType: 'view' },
    });
    expect(payloadsIn(queryResult).map(({ encoding }) => encoding)).toEqual(['binary/encrypted']);
    const handle = stack.temporal.client.workflow.getHandle(idOf(body));
    expect(await handle.query('view')).toMatchObject({ checkout: PERSONAL });
    const { staticSummary } = (await handle.describe()) as unknown as { staticSummary: () => Promise<string> };
    expect(await staticSummary()).toBe(`THB 1,500.00 for ${body.reference}`);
  });

  it('heartbeats are encrypted', async () => {
    stack.sandbox.faults.add({ method: 'POST', path: '/charges', action: 'delay', delay_ms: 6_000, times: 1 });
    const { body, status } = await stack.withApi(IMPATIENT, () => stack.create(PERSONAL));
    expect(status).toBe(202);
    const beats = await vi.waitFor(
      async () => {
        const { pendingActivities } = await stack.temporal.connection.workflowService.describeWorkflowExecution(
          execution(body),
        );
        const [activity] = pendingActivities;
        if (!activity?.heartbeatDetails) throw new Error('No heartbeat yet');
        return payloadsIn(activity.heartbeatDetails);
      },
      { timeout: 90_000, interval: 50 },
    );
    expect(beats.map(({ encoding }) => encoding)).toEqual(['binary/encrypted']);
    await stack.until(body.id, ({ qr }) => qr !== null);
  });

  it('no program says that payloads are unencrypted', () => {
    expect(stack.logs.filter((line) => line.includes('unencrypted'))).toEqual([]);
  });
});

describe('a change of PAYLOAD_KEYS', () => {
  const [old, fresh] = [key('old'), key('new')];
  let stack: Stack;
  let early: CheckoutJson;
  let untouched: CheckoutJson;
  let late: CheckoutJson;
  beforeAll(async () => {
    stack = await Stack.start({ shared: { PAYLOAD_KEYS: old } });
    early = (await stack.create(PERSONAL)).body;
    untouched = (await stack.create(PERSONAL)).body;
    await stack.restartWith({ PAYLOAD_KEYS: `${fresh},${old}` });
    late = (await stack.create(PERSONAL)).body;
  });
  afterAll(() => stack.stop());

  it('keeps checkouts of the old key payable, readable and listed while both keys are configured', async () => {
    stack.sandbox.mark(chargeIdOf(early), { status: 'successful' });
    expect(await stack.untilStatus(early.id, 'paid')).toMatchObject(PERSONAL);
    for (const checkout of [early, late]) {
      await expect.poll(async () => (await stack.get<{ data: unknown[] }>(listOf(checkout))).body.data).toHaveLength(1);
    }
    expect(await keysOf(stack, early)).toEqual(new Set(['old', 'new']));
    expect(await keysOf(stack, untouched)).toEqual(new Set(['old']));
    expect(await keysOf(stack, late)).toEqual(new Set(['new']));
  });

  it('that removes the old key makes only its checkouts unreadable, and the log names the missing key', async () => {
    await stack.restartWith({ PAYLOAD_KEYS: fresh });
    expect((await stack.get(`/v1/checkouts/${late.id}`)).body).toMatchObject(PERSONAL);
    stack.logs.length = 0;
    const missing = 'the key \\"old\\", which PAYLOAD_KEYS does not have';
    const { body } = await stack.get<ProblemJson>(`/v1/checkouts/${untouched.id}`);
    expect(body).toMatchObject({ status: 500, code: 'checkout_unreadable' });
    expect(stack.logs.find((text) => text.includes(body.request_id) && text.includes('cause'))).toContain(missing);

    const around = (time: string, by: number): string => new Date(Date.parse(time) + by).toISOString();
    const period = `from=${around(untouched.created_at, -1_000)}&to=${around(late.created_at, 1_000)}`;
    const { status, body: list } = await stack.get<{ data: CheckoutJson[] }>(`/v1/checkouts?${period}&limit=100`);
    expect(status).toBe(200);
    expect(list.data.map(({ id }) => id)).toContain(late.id);
    expect(list.data.map(({ id }) => id)).not.toContain(untouched.id);
    const left = stack.logs.filter((text) => text.includes('a list leaves it out'));
    expect(left.find((text) => text.includes(`checkout/default/${untouched.reference}`))).toContain(missing);
  });
});

it('a checkout whose key is missing waits, and is paid when the key is back', async () => {
  const [old, fresh] = [key('old'), key('new')];
  const stack = await Stack.start({ shared: { PAYLOAD_KEYS: old } });
  try {
    const body = await stack.open(PERSONAL);
    await stack.restartWith({ PAYLOAD_KEYS: fresh });
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await vi.waitUntil(
      async () => {
        const { events } = await stack.temporal.client.workflow
          .getHandle(`checkout/default/${body.reference}`)
          .fetchHistory();
        return events?.some((event) => event.workflowTaskFailedEventAttributes) === true;
      },
      { timeout: 90_000, interval: 100 },
    );
    await stack.restartWith({ PAYLOAD_KEYS: `${fresh},${old}` });
    expect(await stack.untilStatus(body.id, 'paid')).toMatchObject(PERSONAL);
    expect(stack.requests('POST /charges').length).toBe(1);
  } finally {
    await stack.stop();
  }
});

it('encryption can be turned on while a checkout runs, and its earlier payloads stay readable', async () => {
  const stack = await Stack.start();
  try {
    expect(stack.logs.filter((line) => line.includes('unencrypted')).length).toBe(2);
    const body = await stack.open(PERSONAL);
    await stack.restartWith({ PAYLOAD_KEYS: key('first') });
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    expect(await stack.untilStatus(body.id, 'paid')).toMatchObject(PERSONAL);
    const encodings = payloadsIn(await storedOf(stack, body.reference)).map(({ encoding }) => encoding);
    expect(new Set(encodings)).toEqual(new Set(['json/plain', 'binary/encrypted']));
  } finally {
    await stack.stop();
  }
});

it('without encryption, the search of these tests finds everything of a checkout in the store', async () => {
  const stack = await Stack.start();
  try {
    const body = await stack.open(PERSONAL);
    const texts = textsIn(await storedOf(stack, body.reference));
    for (const text of [CUSTOMER, PERSONAL.metadata.phone, '150000', '1,500.00', chargeIdOf(body), body.reference]) {
      expect(texts).toContain(text);
    }
  } finally {
    await stack.stop();
  }
});

function listOf({ reference }: CheckoutJson): string {
  return `/v1/checkouts?reference=${reference}`;
}

/** The keys that its payloads are encrypted with. */
async function keysOf(stack: Stack, { reference }: CheckoutJson): Promise<Set<string | null>> {
  const payloads = payloadsIn(await storedOf(stack, reference)).filter(({ path }) => !path.includes(LOCAL_ACTIVITY));
  return new Set(payloads.map(({ keyId }) => keyId));
}
