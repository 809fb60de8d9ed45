import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { SupervisedChild } from '@tillflow/tools';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { QUICK_TAIL, TailRun } from './support/event-tail.js';
import { chargeIdOf, IMPATIENT, KEYS, newReference, SIGNING_KEY, Stack, type CheckoutJson } from './support/stack.js';
import { TraceStore, type StoredSpan } from './support/trace-store.js';
import { WorkerProcess } from './support/worker-process.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const LOADED_MODULES = new URL('./support/loaded-modules.mjs', import.meta.url).href;

/** Polls are too rare to help, so only a webhook can reveal a payment. */
const NO_POLLS = { POLL_INTERVAL_MS: '3600000' };

const named = ({ service, name }: StoredSpan): string => `${service} ${name}`;
const isAbout = ({ attributes }: StoredSpan, { id }: Pick<CheckoutJson, 'id'>): boolean =>
  attributes['tillflow.checkout.id'] === id;

/** A stack whose API and worker export every trace to a store. */
async function withTraces(
  run: (stack: Stack, store: TraceStore) => Promise<void>,
  settings: Readonly<Record<string, string>> = {},
): Promise<void> {
  const store = await TraceStore.start();
  const stack = await Stack.start({ shared: { ...store.settings, ...settings }, api: NO_POLLS });
  try {
    await run(stack, store);
  } finally {
    await stack.stop();
    await store.close();
  }
}

async function pay(stack: Stack, { body }: { readonly body: CheckoutJson }): Promise<CheckoutJson> {
  const open = await stack.until(body.id, ({ qr }) => qr !== null);
  stack.sandbox.mark(chargeIdOf(open), { status: 'successful' });
  return stack.untilStatus(body.id, 'paid');
}

describe('a trace', () => {
  let store: TraceStore;
  let stack: Stack;
  let paid: CheckoutJson;
  beforeAll(async () => {
    store = await TraceStore.start();
    stack = await Stack.start({ shared: store.settings, api: NO_POLLS });
    paid = await pay(stack, await stack.create());
  });
  afterAll(async () => {
    await stack.stop();
    await store.close();
  });

  const spanOf = (checkout: Pick<CheckoutJson, 'id'>, name: string): Promise<StoredSpan> =>
    store.until((span) => span.name === name && isAbout(span, checkout));
  const pathTo = async (checkout: Pick<CheckoutJson, 'id'>, name: string): Promise<StoredSpan[]> =>
    store.pathTo(await spanOf(checkout, name));

  it.each([
    ['createSource', 'POST /sources'],
    ['createCharge', 'POST /charges'],
  ])('leads from the POST of a checkout through the workflow and %s to the provider', async (activity, call) => {
    expect((await pathTo(paid, call)).map(named)).toEqual([
      'tillflow-api POST /v1/checkouts',
      'tillflow-api StartWorkflow:checkout',
      'tillflow-worker RunWorkflow:checkout',
      `tillflow-worker RunActivity:${activity}`,
      `tillflow-worker ${call}`,
    ]);
  });

  it('leads from a webhook to the payment that it reveals', async () => {
    const path = await pathTo(paid, 'GET /charges/{id}');
    expect(path.map(named)).toEqual([
      'tillflow-api POST /webhooks/provider',
      'tillflow-api StartWorkflowUpdate:hintNow',
      'tillflow-worker HandleUpdate:hintNow',
      'tillflow-worker RunActivity:retrieveCharge',
      'tillflow-worker GET /charges/{id}',
    ]);
    expect(path[2]?.attributes).toMatchObject({
      'tillflow.checkout.status': 'paid',
      'tillflow.charge.id': chargeIdOf(paid),
    });
  });

  it('of a webhook links to the trace of the POST', async () => {
    const [, , run] = await pathTo(paid, 'POST /charges');
    const { links, traceId } = await spanOf(paid, 'HandleUpdate:hintNow');
    expect(links).toMatchObject([{ traceId: run?.traceId, spanId: run?.spanId }]);
    expect(traceId).not.toBe(run?.traceId);
  });

  it('leads from the POST of a refund to the provider', async () => {
    const refunded = await pay(stack, await stack.create());
    const headers = { 'idempotency-key': 'return-1' };
    await stack.request('POST', `/v1/checkouts/${refunded.id}/refunds`, { body: { amount: 100 }, headers });
    expect((await pathTo(refunded, 'POST /charges/{id}/refunds')).map(named)).toEqual([
      'tillflow-api POST /v1/checkouts/:id/refunds',
      'tillflow-api StartWorkflowUpdate:refund',
      'tillflow-worker HandleUpdate:refund',
      'tillflow-worker RunActivity:createRefund',
      'tillflow-worker POST /charges/{id}/refunds',
    ]);
  });

  it("has the field's usual attributes, with the ids of checkout and charge", async () => {
    const [server, start, run, activity, call] = await pathTo(paid, 'POST /charges');
    const [checkout, charge] = [paid.id, chargeIdOf(paid)];
    const workflow = `checkout/default/${paid.reference}`;
    expect(server).toMatchObject({
      kind: 2,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/v1/checkouts',
        'http.response.status_code': 201,
        'url.scheme': 'http',
        'tillflow.checkout.id': checkout,
        'tillflow.charge.id': charge,
      },
    });
    expect(start).toMatchObject({ kind: 3, attributes: { temporalWorkflowId: workflow } });
    expect(run).toMatchObject({ kind: 1, attributes: { temporalWorkflowId: workflow, 'tillflow.charge.id': charge } });
    expect(activity).toMatchObject({
      kind: 1,
      attributes: { temporalWorkflowId: workflow, 'tillflow.checkout.id': checkout, 'tillflow.charge.id': charge },
    });
    const { hostname, port } = new URL(stack.sandboxUrl);
    expect(call).toMatchObject({
      kind: 3,
      attributes: {
        'http.request.method': 'POST',
        'url.template': '/charges',
        'server.address': hostname,
        'server.port': Number(port),
        'http.response.status_code': 200,
        'tillflow.outcome': 'done',
        'tillflow.checkout.id': checkout,
      },
    });
  });

  it('is named in the log lines of its request and of its calls', async () => {
    const [server, , , activity] = await pathTo(paid, 'POST /charges');
    const lines = stack.logs.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
    const of = (span: StoredSpan | undefined) => ({ trace_id: span?.traceId, span_id: span?.spanId });
    expect(lines).toContainEqual(expect.objectContaining({ msg: 'request', route: '/v1/checkouts', ...of(server) }));
    expect(lines).toContainEqual(
      expect.objectContaining({ msg: 'request done', activity: 'createCharge', ...of(activity) }),
    );
  });

  it('shows a failed call, and a repeated one', async () => {
    const { faults } = stack.sandbox;
    faults.add({ method: 'POST', path: '/charges', action: 'status', status: 400, times: 1 });
    const { body } = await stack.create();
    expect(await spanOf(body, 'POST /charges')).toMatchObject({
      hasFailed: true,
      attributes: { 'http.response.status_code': 400, 'error.type': '400', 'tillflow.outcome': 'rejected' },
    });
    const open = await stack.create();
    const path = `/charges/${chargeIdOf(open.body)}`;
    faults.add({ method: 'GET', path, action: 'status', status: 500, times: 1 });
    expect(await spanOf(await pay(stack, open), 'GET /charges/{id}')).toMatchObject({
      hasFailed: false,
      attributes: { 'http.request.resend_count': 1 },
    });
  });

  it('goes on when no worker is there to take the request', async () => {
    const { id } = await pay(stack, await stack.create());
    await stack.stopWorker();
    const headers = { 'idempotency-key': 'return-1' };
    await stack.withApi(IMPATIENT, async () => {
      const path = `/v1/checkouts/${id}/refunds`;
      const { status } = await stack.request('POST', path, { body: { amount: 100 }, headers });
      expect(status).toBe(202);
    });
    await stack.startWorker();
    // The server has both: the update, which it keeps in memory, and the signal that made it durable.
    const signal = await pathTo({ id }, 'HandleSignal:refundRequest');
    expect(signal.map(named)).toEqual([
      'tillflow-api POST /v1/checkouts/:id/refunds',
      'tillflow-api SignalWorkflow:refundRequest',
      'tillflow-worker HandleSignal:refundRequest',
    ]);
    const { traceId } = await spanOf({ id }, 'POST /charges/{id}/refunds');
    expect(traceId).toBe(signal[0]?.traceId);
  });

  it('of a caller with a key goes on, and that of any other caller does not', async () => {
    const traceId = randomBytes(16).toString('hex');
    const headers = { traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-01` };
    const body = { reference: newReference(), amount: 150_000, currency: 'THB' };
    const { body: sold } = await stack.request('POST', '/v1/checkouts', { body, headers });
    expect(await spanOf(sold, 'POST /charges')).toMatchObject({ traceId });
    const before = store.spans.length;
    await stack.request('POST', '/webhooks/provider', { key: null, headers, body: '{}' });
    const refused = await store.until(
      (span) => store.spans.indexOf(span) >= before && span.name === 'POST /webhooks/provider',
    );
    expect(refused.traceId).not.toBe(traceId);
    await stack.request('GET', '/v1/checkouts', { key: 'key-of-a-thief', headers });
    await spanOf((await stack.create()).body, 'POST /v1/checkouts');
    expect(store.spans.filter((span) => span.traceId === traceId && span.name.startsWith('GET'))).toEqual([]);
  });
});

describe('a payment whose webhook is lost', () => {
  it('is in the trace of the pass of the event tail that finds it', async () => {
    await withTraces(async (stack, store) => {
      const { body } = await stack.create();
      stack.sendWebhooksTo('http://127.0.0.1:9/');
      const tail = await TailRun.start(stack);
      const paid = await pay(stack, { body });
      const call = await store.until((span) => span.name === 'GET /charges/{id}' && isAbout(span, paid));
      expect((await store.pathTo(call)).map(named)).toEqual([
        'tillflow-worker RunActivity:readEvents',
        'tillflow-worker SignalWorkflow:hint',
        'tillflow-worker HandleSignal:hint',
        'tillflow-worker RunActivity:retrieveCharge',
        'tillflow-worker GET /charges/{id}',
      ]);
      await tail.stop();
    }, QUICK_TAIL);
  });
});

describe('the spans of a sale', () => {
  /** Values of a customer and a shop. */
  const SAID = {
    description: `two coffees for ${newReference()}`,
    customer: `Somchai-${newReference()}`,
    phone: '+66812345678',
    store: `Silom Road ${newReference()}`,
    reason: `spilled on ${newReference()}`,
    header: `trace-store-key-${newReference()}`,
  };

  /** A payment, a refund, a sale at the counter, and requests that are refused. @returns what no span may contain */
  async function sell(stack: Stack, store: TraceStore): Promise<string[]> {
    const fields = {
      description: SAID.description,
      metadata: { customer: SAID.customer, phone: SAID.phone },
      store: { id: 'silom', name: SAID.store },
    };
    const { qr, ...open } = (await stack.create(fields)).body;
    const image = new URL(qr?.image_url ?? '');
    await stack.request('GET', image.pathname + image.search, { key: null });
    const { payment, id } = await pay(stack, { body: { ...open, qr } });
    await stack.request('POST', `/v1/checkouts/${id}/refunds`, {
      headers: { 'idempotency-key': 'return-1' },
      body: { amount: 100, reason: SAID.reason },
    });
    const slips = Object.values(payment?.references ?? {}).flatMap((reference) => reference ?? []);
    for (const slip of slips) await stack.get(`/v1/checkouts?payment_reference=${encodeURIComponent(slip)}`);
    const { body: link } = await stack.post<{ url: string }>('/v1/counter-links', { terminal: 'till-9' });
    const token = new URL(link.url).hash.slice(1);
    const exchange = (body: object) =>
      stack.request<{ session: string }>('POST', '/v1/counter-sessions', { key: null, body });
    const { session } = (await exchange({ token })).body;
    const sale = { reference: newReference(), amount: 150_000, currency: 'THB', description: SAID.description };
    await stack.request('POST', '/v1/checkouts', { key: session, body: sale });
    await exchange({ token: `${token}x` });
    // Refused: in a body, in a query, in an address, by the provider.
    await stack.post('/v1/checkouts', { reference: SAID.phone, ...fields, amount: SAID.customer });
    await stack.get(`/v1/checkouts?status=${encodeURIComponent(SAID.customer)}&token=${token}`);
    await stack.get(`/v1/checkouts/${encodeURIComponent(SAID.phone)}`);
    await stack.get(`/v1/${token}/${session}`);
    const last = await stack.open();
    const body = JSON.stringify({ object: 'error', code: SAID.customer, message: SAID.customer });
    const path = `/charges/${chargeIdOf(last)}`;
    stack.sandbox.faults.add({ method: 'GET', path, action: 'status', status: 400, body });
    stack.sandbox.mark(chargeIdOf(last), { status: 'successful' });
    await store.until((span) => span.name === 'RunActivity:retrieveCharge' && isAbout(span, last) && span.hasFailed);
    const { keys } = stack.sandbox;
    const secrets = [keys.secret, keys.public, ...keys.webhookSecrets, ...Object.values(KEYS), SIGNING_KEY, session];
    const shown = [qr?.raw_data, qr?.download_uri, image.search.slice(1), image.searchParams.get('sig')];
    const seeded = [...Object.values(SAID), ...slips, ...secrets, ...token.split('.'), ...shown];
    return seeded.flatMap((text) => (text === null || text === undefined ? [] : [text]));
  }

  it('contain no text of a customer or a shop, no reference of a slip, no QR code, no link and no secret', async () => {
    await withTraces(
      async (stack, store) => {
        const seeded = await sell(stack, store);
        // Ids and times are left out: six digits of a slip's reference could be in one by chance.
        const said = (name: string, value: unknown) => (/(SpanId|spanId|traceId|UnixNano)$/.test(name) ? null : value);
        const exported = store.bodies.map((body) => JSON.stringify(JSON.parse(body), said)).join('\n');
        expect(store.headers[0]?.['x-key']).toBe(SAID.header);
        expect(seeded.length).toBeGreaterThan(20);
        for (const text of seeded) {
          expect(text.length).toBeGreaterThan(5);
          for (const form of [text, encodeURIComponent(text), Buffer.from(text).toString('base64')])
            expect(exported).not.toContain(form);
        }
        // An address has no query.
        expect(exported).not.toMatch(/\?\w+=/);
      },
      { OTEL_EXPORTER_OTLP_HEADERS: `x-key=${SAID.header}` },
    );
  });

  it('connect API and worker also where payloads are encrypted, and the history says no more than the trace', async () => {
    await withTraces(
      async (stack, store) => {
        const paid = await pay(stack, await stack.create());
        const call = await store.until((span) => span.name === 'GET /charges/{id}' && isAbout(span, paid));
        expect((await store.pathTo(call))[0]?.name).toBe('POST /webhooks/provider');
        const headers = (await stack.runsOf(paid.reference))
          .flat()
          .flatMap(
            ({
              workflowExecutionStartedEventAttributes: started,
              workflowExecutionUpdateAcceptedEventAttributes: accepted,
              activityTaskScheduledEventAttributes: scheduled,
            }) => Object.values((started ?? accepted?.acceptedRequest?.input ?? scheduled)?.header?.fields ?? {}),
          );
        expect(headers).toHaveLength(3);
        for (const { data } of headers)
          expect(Buffer.from(data ?? []).toString()).toMatch(/^\{"traceparent":"00-[0-9a-f]{32}-[0-9a-f]{16}-01"\}$/);
      },
      { PAYLOAD_KEYS: `k1:${randomBytes(32).toString('base64')}` },
    );
  });
});

describe('sampling', () => {
  it('is decided once: a trace that is not sampled has no span in any program, and is named in the logs of both', async () => {
    await withTraces(
      async (stack, store) => {
        const { body } = await stack.create();
        await pay(stack, { body });
        const ids = stack.logs
          .map((line) => JSON.parse(line) as { msg: string; route?: string; trace_id?: string })
          .filter(({ msg, route }) => (msg === 'request' && route === '/v1/checkouts') || route === '/charges')
          .map(({ trace_id: id }) => id);
        expect(ids).toHaveLength(2);
        expect(ids[0]).toMatch(/^[0-9a-f]{32}$/);
        expect(ids[1]).toBe(ids[0]);
        await stack.stopWorker();
        expect(store.spans).toEqual([]);
      },
      { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' },
    );
  });
});

describe('a trace store', () => {
  it('that never answers holds up no payment and no stop', async () => {
    const store = await TraceStore.start();
    store.answers = false;
    const shared = { ...store.settings, OTEL_EXPORTER_OTLP_TIMEOUT: '600000' };
    const stack = await Stack.start({ shared, api: NO_POLLS });
    try {
      await pay(stack, await stack.create());
      await expect.poll(() => store.bodies.length).toBeGreaterThan(0);
      expect((await pay(stack, await stack.create())).status).toBe('paid');
    } finally {
      // The exports are still without an answer.
      await stack.stop();
      await store.close();
    }
  });

  it('that never answers keeps no program from ending', async () => {
    const store = await TraceStore.start();
    store.answers = false;
    const stack = await Stack.start({ worker: false });
    const more = { ...store.settings, OTEL_EXPORTER_OTLP_TIMEOUT: '600000' };
    const worker = await WorkerProcess.start({ ...stack.workerEnvironment(), ...more });
    const api = new SupervisedChild(process.execPath, ['apps/api/dist/main.js'], {
      cwd: ROOT,
      env: { ...process.env, ...stack.apiEnvironment(), ...more },
    });
    try {
      await api.waitForLine(/\bapi ready/, 60_000);
      const { 1: url = '' } = /"url":"([^"]+)"/.exec(api.tail()) ?? [];
      await fetch(`${url}/v1/checkouts`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEYS.checkout}`, 'content-type': 'application/json' },
        body: JSON.stringify({ reference: newReference(), amount: 150_000, currency: 'THB' }),
      });
      for (const program of ['tillflow-api', 'tillflow-worker'])
        await store.until(({ service }) => service === program);
      process.kill(await api.pid, 'SIGTERM');
      worker.signal('SIGTERM');
      expect(await Promise.all([api.exited, worker.exited])).toEqual([0, 0]);
    } finally {
      api.killNow();
      await worker.stop();
      await stack.stop();
      await store.close();
    }
  });

  it('that is down costs nothing but a line in the log', async () => {
    const store = await TraceStore.start();
    const { settings } = store;
    await store.close();
    const shared = { ...settings, OTEL_EXPORTER_OTLP_TIMEOUT: '100' };
    const stack = await Stack.start({ shared, api: NO_POLLS });
    try {
      expect((await pay(stack, await stack.create())).status).toBe('paid');
      const lost = () => stack.logs.filter((line) => line.includes('spans were not exported'));
      // One of the API and one of the worker.
      await expect.poll(() => lost().length, { timeout: 30_000 }).toBe(2);
      expect((await pay(stack, await stack.create())).status).toBe('paid');
      expect(lost()).toHaveLength(2);
    } finally {
      await stack.stop();
    }
  });
});

describe('a program', () => {
  /** Runs a program until it is ready, and stops it. @returns the packages of OpenTelemetry that it has loaded */
  async function loadedBy(app: 'api' | 'worker', environment: Readonly<Record<string, string>>): Promise<string[]> {
    const child = new SupervisedChild(process.execPath, ['--import', LOADED_MODULES, `apps/${app}/dist/main.js`], {
      cwd: ROOT,
      env: { ...process.env, ...environment },
    });
    await child.waitForLine(new RegExp(`\\b${app} ready`), 60_000);
    await child.stop();
    const [, packages = 'null'] = /^loaded (.*)$/m.exec(child.tail()) ?? [];
    return JSON.parse(packages) as string[];
  }

  it('without traces loads nothing of OpenTelemetry', async () => {
    const store = await TraceStore.start();
    const stack = await Stack.start({ worker: false });
    const programs = { api: stack.apiEnvironment(), worker: stack.workerEnvironment() };
    const load = (app: 'api' | 'worker', more: Readonly<Record<string, string>>) =>
      loadedBy(app, { ...programs[app], ...more });
    try {
      const [apiOff, workerOff, apiOn, workerOn] = await Promise.all([
        load('api', {}),
        load('worker', {}),
        load('api', store.settings),
        load('worker', store.settings),
      ]);
      // The library of the metrics loads the interfaces, which do nothing.
      expect([apiOff, workerOff]).toEqual([['api'], ['api']]);
      expect(apiOn).toContain('sdk-trace');
      expect(workerOn).toContain('sdk-trace');
    } finally {
      await stack.stop();
      await store.close();
    }
  });
});
