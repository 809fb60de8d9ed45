import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { describe, expect, inject, it } from 'vitest';
import { CutLine } from '@tillflow/tools';
import { chargeIdOf, KEYS, Stack } from './support/stack.js';
import { WorkerProcess } from './support/worker-process.js';

type Line = Readonly<Record<string, unknown>> & { readonly msg: string };

/** Values of a caller that must not be in a log. */
const SAID = {
  description: `two coffees for ${randomUUID()}`,
  customer: `Somchai ${randomUUID()}`,
  reason: `spilled on ${randomUUID()}`,
};

async function paidAndRefunded(stack: Stack) {
  const { body, headers } = await stack.create({
    description: SAID.description,
    metadata: { customer: SAID.customer },
    terminal: 'till-9',
  });
  const open = await stack.until(body.id, (checkout) => checkout.qr !== null);
  const { qr } = open;
  await stack.request('GET', new URL(qr?.image_url ?? '').pathname + new URL(qr?.image_url ?? '').search, {
    key: null,
  });
  stack.sandbox.mark(chargeIdOf(open), { status: 'successful' });
  await stack.untilStatus(body.id, 'paid');
  await stack.request('POST', `/v1/checkouts/${body.id}/refunds`, {
    headers: { 'idempotency-key': 'k' },
    body: { amount: 50_000, reason: SAID.reason },
  });
  await stack.untilStatus(body.id, 'partially_refunded');
  // Refused ones are logged too.
  await stack.post('/v1/checkouts', { reference: 'x', description: SAID.description, amount: 'x' });
  await stack.request('POST', '/webhooks/provider', { key: null, body: JSON.stringify({ note: SAID.customer }) });
  await stack.request('GET', '/v1/checkouts', { key: 'key-of-a-thief' });
  return { checkout: body, qr, requestId: headers.get('x-request-id'), tokens: await soldAtCounter(stack) };
}

/** A sale with a session of the counter, and requests that are refused. @returns what whoever has it could sell with */
async function soldAtCounter(stack: Stack): Promise<string[]> {
  const { body: link } = await stack.post<{ url: string }>('/v1/counter-links', { terminal: 'till-9' });
  const token = new URL(link.url).hash.slice(1);
  const exchange = (body: object) =>
    stack.request<{ session: string }>('POST', '/v1/counter-sessions', { key: null, body });
  const { session } = (await exchange({ token })).body;
  const sale = { reference: randomUUID(), amount: 150_000, currency: 'THB', description: SAID.description };
  expect((await stack.request('POST', '/v1/checkouts', { key: session, body: sale })).status).toBe(201);
  await stack.request('GET', '/v1/transactions', { key: session });
  await stack.request('GET', `/v1/checkouts?token=${token}&session=${session}`, { key: session });
  await stack.request('GET', `/v1/${session}/${token}`, { key: `${session}x` });
  await exchange({ token: `${token}x` });
  await exchange({ token, session });
  return [token, session];
}

it('the logs of a payment and its refund contain no text of the customer, no key, no token and no QR content', async () => {
  const stack = await Stack.start();
  try {
    const { qr, tokens } = await paidAndRefunded(stack);
    const logs = stack.logs.join('');
    const { keys } = stack.sandbox;
    const own = [keys.secret, keys.public, ...keys.webhookSecrets, ...Object.values(KEYS)];
    const secrets = [...own, 'key-of-a-thief', ...tokens, ...tokens.flatMap((token) => token.split('.'))];
    const encoded = [...secrets, ...Object.values(SAID)].map((text) => Buffer.from(text).toString('base64'));
    const shown = [qr?.raw_data, qr?.download_uri, qr?.image_url, new URL(qr?.image_url ?? '').search];
    for (const word of [...Object.values(SAID), ...secrets, ...encoded, ...shown]) {
      expect(word).toBeTruthy();
      expect(logs).not.toContain(word);
    }
    expect(stack.logs.length).toBeGreaterThan(10);
  } finally {
    await stack.stop();
  }
});

it("the logs connect a request with its workflow, its activity and the provider's request id", async () => {
  const stack = await Stack.start();
  try {
    const { checkout, requestId } = await paidAndRefunded(stack);
    const lines = stack.logs.map((line) => JSON.parse(line) as Line);
    const workflow = `checkout/default/${checkout.reference}`;
    expect(lines).toContainEqual(
      expect.objectContaining({
        msg: 'request',
        request_id: requestId,
        workflow_id: workflow,
        route: '/v1/checkouts',
        key: 'checkout',
        method: 'POST',
      }),
    );
    const { requests } = stack.sandbox.state();
    for (const [activity, route] of [
      ['createCharge', '/charges'],
      ['createRefund', '/charges/{id}/refunds'],
    ] as const) {
      const line = lines.find((one) => one['activity'] === activity && one['method'] === 'POST');
      expect(line).toMatchObject({
        level: 30,
        msg: 'request done',
        workflow_id: workflow,
        route,
        outcome: 'done',
        attempt: 1,
      });
      expect(line?.['run_id']).toMatch(/^[0-9a-f-]{36}$/);
      expect(requests).toContainEqual(expect.objectContaining({ method: 'POST', route, id: line?.['requestId'] }));
    }
    // A line about one request never names the workflow of another.
    const refused = lines.filter(({ msg, status }) => msg === 'request' && status === 400);
    expect(refused.length).toBeGreaterThan(0);
    for (const line of refused) expect(line['workflow_id']).toBeUndefined();
  } finally {
    await stack.stop();
  }
});

it('every line of a worker is JSON, also while the provider fails and Temporal cannot be reached', async () => {
  const stack = await Stack.start({ worker: false });
  const line = await CutLine.to(inject('temporalAddress'));
  line.cut();
  const environment = { ...stack.workerEnvironment(), TEMPORAL_ADDRESS: line.address, LOG_LEVEL: 'info' };
  const worker = WorkerProcess.run(environment);
  try {
    await worker.line('Cannot reach Temporal');
    line.mend();
    await worker.line('worker ready');
    stack.sandbox.faults.add({ method: 'POST', path: '/charges', action: 'commit_then_reset', times: 1 });
    stack.sandbox.faults.add({ method: 'GET', path: '/charges', action: 'garbage_body', times: 1 });
    await stack.create();
    await worker.line('outcome unknown');
    line.cut();
    // This line comes from the native part of Temporal's library.
    await worker.line('"sdkComponent":"core"');
    line.mend();
    worker.signal('SIGTERM');
    expect(await worker.exited).toBe(0);
    const entries = worker.lines.map((text) => JSON.parse(text) as Line);
    expect(entries.length).toBeGreaterThan(5);
    for (const entry of entries) {
      expect(entry).toMatchObject({ name: 'worker', level: expect.any(Number), time: expect.any(Number) });
      expect(entry.msg).toEqual(expect.any(String));
    }
  } finally {
    await worker.stop();
    line.close();
    await stack.stop();
  }
}, 90_000);

describe('the log of a program', () => {
  const TELEMETRY = new URL('../packages/telemetry/dist/index.js', import.meta.url).href;
  const program = (rest: string) => {
    const code = `const { programLogger } = await import('${TELEMETRY}');
      const logger = programLogger('program', 'info');
      for (let n = 1; n <= 300; n += 1) logger.info({ n }, 'line');
      ${rest}`;
    return spawn(process.execPath, ['--input-type=module', '--eval', code], { stdio: ['ignore', 'pipe', 'ignore'] });
  };

  it.each([
    ['comes to its end', '', 0],
    ['exits', 'process.exit(3);', 3],
    ['fails', "setImmediate(() => { throw new Error('a defect'); });", 1],
  ])('is complete when the program %s', async (_, rest, code) => {
    const child = program(rest);
    let out = '';
    child.stdout.on('data', (chunk: Buffer) => void (out += chunk.toString()));
    const [exit] = (await once(child, 'close')) as [number];
    expect(exit).toBe(code);
    const lines = out.trimEnd().split('\n');
    const numbers = lines.map((line) => (JSON.parse(line) as { n: number }).n);
    // A batch that the system is still writing when the program stops can come after the batches that follow it.
    expect(code === 0 ? numbers : numbers.toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 300 }, (_none, index) => index + 1),
    );
  });

  it('is written while the program runs, also when a batch is not full', async () => {
    const child = program("setTimeout(() => logger.info({ n: 'late' }, 'line'), 50); setInterval(() => {}, 1_000);");
    let out = '';
    child.stdout.on('data', (chunk: Buffer) => void (out += chunk.toString()));
    try {
      await expect.poll(() => out).toContain('"n":"late"');
    } finally {
      child.kill('SIGKILL');
    }
  });
});
