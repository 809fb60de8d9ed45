import { randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { nameOnQueue } from '@tillflow/temporal';
import { createSandbox, type Sandbox, type SandboxOptions } from '@tillflow/sandbox';
import { startWorker, workerSettings } from '@tillflow/worker';
import { eventually } from './support/eventually.js';
import { bundleChanged } from './support/bundle.js';
import { Releases } from './support/releases.js';
import { chargeIdOf, Stack } from './support/stack.js';
import { forgetSchedules, operatorOf, tillflow, tillflowProcess } from './support/tillflow.js';
import { WorkerProcess } from './support/worker-process.js';

const SHIFTED_CLOCK = new URL('../tools/shifted-clock.mjs', import.meta.url).href;

type Finding = { readonly code: string; readonly what: string; readonly means: string; readonly remedy: string };
type Diagnosis = { readonly code: number | null; readonly findings: readonly Finding[] };

vi.setConfig({ testTimeout: 240_000 });

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start();
  await tillflow(['setup'], operatorOf(stack));
});
afterAll(async () => {
  await forgetSchedules(stack);
  await stack.stop();
});

/** With the settings of the stack's operator, but for these. */
async function examine(
  changed: Readonly<Record<string, string | undefined>> = {},
  { of = stack, inOwnProcess = false, nodeArgs = [] as readonly string[] } = {},
): Promise<Diagnosis> {
  const environment = { ...operatorOf(of), ...changed };
  const { code, out } = inOwnProcess
    ? await tillflowProcess(['doctor', '--json'], environment, nodeArgs)
    : await tillflow(['doctor', '--json'], environment);
  const { findings } = JSON.parse(out) as { findings: Finding[] };
  return { code, findings };
}

function codesOf({ findings }: Diagnosis): string[] {
  return findings.map(({ code }) => code);
}

/** A provider of its own that sends its webhooks to the stack's API, and the operator's settings for it. */
async function withProvider<T>(
  options: SandboxOptions,
  work: (sandbox: Sandbox, settings: Record<string, string>) => Promise<T>,
): Promise<T> {
  const webhookUrl = `${stack.api.url}/webhooks/provider`;
  const sandbox = createSandbox({ webhookSecrets: stack.sandbox.keys.webhookSecrets, webhookUrl, ...options });
  try {
    const { url } = await sandbox.listen();
    return await work(sandbox, {
      PROVIDER_BASE_URL: url,
      PROVIDER_SECRET_KEY: sandbox.keys.secret,
      PROVIDER_PUBLIC_KEY: sandbox.keys.public,
    });
  } finally {
    await sandbox.close();
  }
}

const secret = (text: string): string => Buffer.from(text).toString('base64');

describe('tillflow doctor', () => {
  it('finds nothing on a healthy stack, before and after a payment', async () => {
    expect(await examine()).toEqual({ code: 0, findings: [] });
    const body = await stack.open();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await stack.untilStatus(body.id, 'paid');
    expect(await examine()).toEqual({ code: 0, findings: [] });
  });

  it('warns about open ports and unencrypted connections, and still exits with 0', async () => {
    const { code, out } = await tillflow(['doctor'], { ...operatorOf(stack), METRICS_OPEN: 'true' });
    expect(code).toBe(0);
    expect(out).toMatch(/^warn +configuration/m);
    expect(out).toMatch(/^warning metrics_open: .+\n {2}means {2}.+\n {2}do {5}.+$/m);
    expect(out).toMatch(/^No problem found\.\n\d warnings\.$/m);
  });

  it('prints for each finding the problem, its consequence and the remedy', async () => {
    const { code, out } = await tillflow(['doctor'], { ...operatorOf(stack), PROVIDER_LIVEMODE: 'true' });
    expect(code).toBe(1);
    expect(out).toMatch(/^FOUND {2}keys/m);
    expect(out).toMatch(/^test_key_on_live: .+\n {2}means {2}.+\n {2}do {5}.+$/m);
    expect(out).toMatch(/^1 problem found\.$/m);
  });

  it('shows no key and no secret', async () => {
    const settings = { ...operatorOf(stack), PROVIDER_PUBLIC_KEY: stack.sandbox.keys.secret };
    const { out, err } = await tillflow(['doctor', '--json'], settings);
    const { keys } = stack.sandbox;
    for (const hidden of [keys.secret, keys.public, ...keys.webhookSecrets]) expect(out + err).not.toContain(hidden);
  });
});

describe('tillflow doctor finds', () => {
  it('a public key in PROVIDER_SECRET_KEY, and a secret key in PROVIDER_PUBLIC_KEY', async () => {
    const { keys } = stack.sandbox;
    const swapped = { PROVIDER_SECRET_KEY: keys.public, PROVIDER_PUBLIC_KEY: keys.secret };
    expect(codesOf(await examine(swapped))).toEqual(expect.arrayContaining(['secret_key_kind', 'public_key_kind']));
    expect(codesOf(await examine({ PROVIDER_PUBLIC_KEY: keys.secret }))).toEqual(['public_key_kind']);
  });

  it('keys that the provider does not know', async () => {
    expect(codesOf(await examine({ PROVIDER_SECRET_KEY: 'skey_test_other' }))).toEqual(['secret_key_refused']);
    expect(codesOf(await examine({ PROVIDER_PUBLIC_KEY: 'pkey_test_other' }))).toEqual(['public_key_refused']);
  });

  it('a test key although PROVIDER_LIVEMODE=true, and a test key at a live account', async () => {
    expect(await examine({ PROVIDER_LIVEMODE: 'true' })).toMatchObject({
      code: 1,
      findings: [{ code: 'test_key_on_live' }],
    });
    const keys = { secretKey: 'skey_test_forgotten', publicKey: 'pkey_test_forgotten' };
    await withProvider({ livemode: true, ...keys }, async (_, settings) => {
      expect(codesOf(await examine(settings))).toEqual(['test_key_on_live']);
    });
  });

  it('a live key although PROVIDER_LIVEMODE=false, two keys of different modes, and a live key with an http provider', async () => {
    await withProvider({ livemode: true }, async (sandbox, settings) => {
      expect(codesOf(await examine(settings))).toEqual(['provider_over_http']);
      const onTest = await examine({ ...settings, PROVIDER_LIVEMODE: 'false' });
      expect(codesOf(onTest)).toEqual(['live_key_on_test', 'provider_over_http']);
      const mixed = { ...settings, PROVIDER_PUBLIC_KEY: stack.sandbox.keys.public };
      expect(codesOf(await examine(mixed))).toEqual(['key_modes_differ', 'provider_over_http']);
      expect(sandbox.state().requests).toEqual([]);
    });
  });

  it('a webhook secret in the API that differs from this one', async () => {
    const other = await examine({ PROVIDER_WEBHOOK_SECRET: secret('another') });
    expect(codesOf(other)).toEqual(['webhook_secret_mismatch']);
    const halfRotated = [...stack.sandbox.keys.webhookSecrets, secret('the next')].join(',');
    const { findings } = await examine({ PROVIDER_WEBHOOK_SECRET: halfRotated });
    expect(findings).toMatchObject([{ code: 'webhook_secret_mismatch', what: expect.stringContaining('1 of 2') }]);
  });

  it("a provider that signs with another webhook secret, by the API's answer to its last delivery", async () => {
    await withProvider({ webhookSecrets: [secret('of the dashboard')] }, async (sandbox, settings) => {
      expect(codesOf(await examine(settings))).toEqual([]);
      const charged = await fetch(`${settings['PROVIDER_BASE_URL']}/charges`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${sandbox.keys.secret}:`)}` },
        body: new URLSearchParams({ amount: '150000', currency: 'THB', 'source[type]': 'wallet_mpm' }),
      });
      expect(charged.status).toBe(200);
      await sandbox.webhooks.idle();
      const { findings } = await examine(settings);
      expect(findings).toMatchObject([
        { code: 'webhook_secret_mismatch', what: expect.stringContaining('ended with 400') },
      ]);
    });
  });

  it('a webhook secret that is missing here, and a secret that only the API has', async () => {
    const untold = await examine({ PROVIDER_WEBHOOK_SECRET: undefined });
    expect(untold.findings).toMatchObject([
      { code: 'setting_missing', what: 'PROVIDER_WEBHOOK_SECRET is not set here' },
    ]);
    expect(codesOf(await examine({ PROVIDER_WEBHOOK_SECRET: 'off' }))).toEqual(['webhook_secret_mismatch']);
  });

  it("an address that answers but is not Tillflow's API", async () => {
    const elsewhere = createServer((request, reply) => {
      reply.writeHead(request.url === '/moved' ? 301 : 200, { location: '/' });
      reply.end('welcome');
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    const { port } = elsewhere.address() as AddressInfo;
    try {
      for (const path of ['moved', 'welcome']) {
        await withProvider({ webhookUrl: `http://127.0.0.1:${port}/${path}` }, async (_, settings) => {
          expect(codesOf(await examine({ ...settings, PUBLIC_URL: undefined }))).toEqual(['webhook_unreachable']);
        });
      }
    } finally {
      elsewhere.close();
    }
  });

  it('every other problem when the provider answers only some of its requests', async () => {
    await withProvider({}, async (sandbox, settings) => {
      sandbox.faults.add({ path: '/events', action: 'status', status: 503 });
      const wrong = { ...settings, PROVIDER_WEBHOOK_SECRET: secret('another') };
      expect(codesOf(await examine(wrong))).toEqual(['webhook_secret_mismatch', 'provider_unreachable']);
    });
    await withProvider({ assumptions: { supportedCurrencies: ['THB'] } }, async (sandbox, settings) => {
      sandbox.faults.add({ path: '/sources/{id}', action: 'status', status: 400 });
      expect(codesOf(await examine(settings))).toEqual(['currency_unsupported']);
    });
  });

  it('an API that takes webhooks without a signature', async () => {
    const careless = await Stack.start({ api: { PROVIDER_WEBHOOK_SECRET: 'off' } });
    try {
      await tillflow(['setup'], operatorOf(careless));
      const [known = ''] = careless.sandbox.keys.webhookSecrets;
      expect(codesOf(await examine({ PROVIDER_WEBHOOK_SECRET: known }, { of: careless }))).toEqual([
        'webhook_secret_mismatch',
      ]);
      expect(codesOf(await examine({}, { of: careless }))).toEqual([]);
    } finally {
      await forgetSchedules(careless);
      await careless.stop();
    }
  });

  it('a webhook address that is not set, is not that of the API, or does not answer', async () => {
    await withProvider({ webhookUrl: undefined }, async (_, settings) => {
      expect(codesOf(await examine(settings))).toEqual(['webhook_uri_unset']);
    });
    await withProvider({}, async (_, settings) => {
      const elsewhere = { ...settings, PUBLIC_URL: 'http://127.0.0.1:1' };
      expect(codesOf(await examine(elsewhere))).toEqual(['webhook_uri_other']);
    });
    await withProvider({ webhookUrl: 'http://127.0.0.1:1/webhooks/provider' }, async (_, settings) => {
      const dead = { ...settings, PUBLIC_URL: 'http://127.0.0.1:1' };
      expect(codesOf(await examine(dead))).toEqual(['webhook_unreachable']);
    });
  });

  it("a provider's clock that is an hour ahead", async () => {
    await withProvider({}, async (sandbox, settings) => {
      sandbox.advance(3_600);
      const { findings } = await examine(settings);
      expect(findings).toMatchObject([
        { code: 'clock_skew', what: expect.stringMatching(/^the clock of the provider is (3599|3600) s ahead/) },
      ]);
    });
  });

  it("a clock of this machine that is ten minutes behind everyone else's", async () => {
    const { findings } = await examine(
      { CLOCK_SHIFT_MS: '-600000' },
      { inOwnProcess: true, nodeArgs: ['--import', SHIFTED_CLOCK] },
    );
    const skews = findings.filter(({ code }) => code === 'clock_skew').map(({ what }) => what);
    expect(skews).toContainEqual(
      expect.stringMatching(/^the clock of this machine is (599|600|601) s behind Temporal's$/),
    );
    expect(skews.filter((what) => /^the clock of (the|worker) /.test(what))).toEqual([]);
    expect(skews).toContainEqual(expect.stringContaining('refuses a webhook that was signed just now'));
  });

  it('a namespace without the search attributes', async () => {
    const namespace = `doctor-${randomUUID()}`;
    const { workflowService } = stack.temporal.connection;
    const day = { seconds: 86_400 as unknown as never };
    await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: day });
    // The server takes a while to know its new namespace everywhere.
    const { findings } = await vi.waitFor(
      async () => {
        const found = await examine({ TEMPORAL_NAMESPACE: namespace });
        expect(found.code).toBe(1);
        return found;
      },
      { timeout: 90_000 },
    );
    const missing = findings.filter((finding) => finding.code === 'search_attribute_missing').map(({ what }) => what);
    expect(missing).toContainEqual(expect.stringContaining('CheckoutStatus'));
    expect(missing).toContainEqual(expect.stringContaining('30 days'));
  });

  it('a paused schedule, with the note of the person who paused it', async () => {
    const paused = await Stack.start();
    try {
      await tillflow(['setup'], operatorOf(paused));
      const schedule = paused.temporal.client.schedule.getHandle(nameOnQueue('reconcile-daily', paused.taskQueue));
      await schedule.pause('while the provider moves house');
      expect((await examine({}, { of: paused })).findings).toMatchObject([
        { code: 'schedule_paused', what: expect.stringContaining('while the provider moves house') },
      ]);
      await schedule.unpause();
      expect(codesOf(await examine({}, { of: paused }))).toEqual([]);
    } finally {
      await forgetSchedules(paused);
      await paused.stop();
    }
  });

  it('a payload key that is missing here, without reporting the worker as stopped', async () => {
    const key = `k1:${randomBytes(32).toString('base64')}`;
    const encrypting = await Stack.start({ shared: { PAYLOAD_KEYS: key } });
    try {
      await tillflow(['setup'], operatorOf(encrypting));
      await encrypting.create();
      expect(codesOf(await examine({}, { of: encrypting }))).toEqual([]);
      expect(codesOf(await examine({ PAYLOAD_KEYS: undefined }, { of: encrypting }))).toEqual(['payload_key_missing']);
    } finally {
      await forgetSchedules(encrypting);
      await encrypting.stop();
    }
  });

  it('that the clock of this machine is ahead of all others, without reporting the worker as stopped', async () => {
    const ahead = { CLOCK_SHIFT_MS: '200000' };
    const codes = codesOf(await examine(ahead, { inOwnProcess: true, nodeArgs: ['--import', SHIFTED_CLOCK] }));
    expect(new Set(codes)).toEqual(new Set(['clock_skew']));
  });

  it('schedules that were never set up', async () => {
    const codes = codesOf(await examine({ TEMPORAL_TASK_QUEUE: `other-${randomUUID()}` }));
    expect(new Set(codes)).toEqual(new Set(['schedule_missing', 'no_worker']));
  });

  it('that no worker runs, also while Temporal still lists a stopped one', async () => {
    const short = await Stack.start({ worker: false });
    try {
      await tillflow(['setup'], operatorOf(short));
      expect(codesOf(await examine({}, { of: short }))).toEqual(['no_worker']);
      await short.startWorker();
      const { id } = (await short.create()).body;
      await short.until(id, ({ qr }) => qr !== null);
      expect(codesOf(await examine({}, { of: short }))).toEqual([]);
      await short.stopWorker();
      const gone = await examine({}, { of: short });
      expect(gone.findings).toMatchObject([{ code: 'no_worker', what: expect.stringContaining('do not answer') }]);
    } finally {
      await forgetSchedules(short);
      await short.stop();
    }
  });

  it('a provider that does not answer, or fails', async () => {
    const down = await examine({ PROVIDER_BASE_URL: 'http://127.0.0.1:1' });
    expect(down).toMatchObject({ code: 1, findings: [{ code: 'provider_unreachable' }] });
    await withProvider({}, async (sandbox, settings) => {
      sandbox.faults.add({ path: '/account', action: 'status', status: 503 });
      expect(codesOf(await examine(settings))).toEqual(['provider_unreachable']);
    });
  });

  it('a currency in CURRENCIES that the account does not support', async () => {
    await withProvider({ assumptions: { supportedCurrencies: ['THB'] } }, async (_, settings) => {
      const { findings } = await examine(settings);
      expect(findings).toMatchObject([{ code: 'currency_unsupported', what: expect.stringContaining('SGD, MYR') }]);
      expect(codesOf(await examine({ ...settings, CURRENCIES: 'THB' }))).toEqual([]);
    });
  });

  it('an account, or requests, of another version of the API', async () => {
    await withProvider({ assumptions: { accountVersion: '2015-11-17' } }, async (_, settings) => {
      const { findings } = await examine(settings);
      expect(findings).toMatchObject([
        { code: 'version_skew', what: expect.stringContaining('older than 2017-11-02') },
      ]);
      const pinned = { ...settings, PROVIDER_API_VERSION: '2025-06-09' };
      expect(codesOf(await examine(pinned))).toEqual(['version_skew']);
    });
    expect(codesOf(await examine({ PROVIDER_API_VERSION: '2025-06-09' }))).toEqual([]);
    expect(codesOf(await examine({ PROVIDER_API_VERSION: '2019-05-29' }))).toEqual(['version_skew']);
    expect(codesOf(await examine({ PROVIDER_API_VERSION: '1999-01-01' }))).toEqual(['version_skew']);
  });

  it('missing settings', async () => {
    const { code, findings } = await examine({ PROVIDER_BASE_URL: undefined, PROVIDER_SECRET_KEY: undefined });
    expect(code).toBe(1);
    expect(findings.map(({ what }) => what)).toEqual([
      'PROVIDER_BASE_URL is not set here',
      'PROVIDER_SECRET_KEY is not set here',
    ]);
  });

  it('that Temporal cannot be reached, reports the other problems too, and exits with 3', async () => {
    const unreachable = { TEMPORAL_ADDRESS: '127.0.0.1:1', PROVIDER_LIVEMODE: 'true' };
    const { code, findings } = await examine(unreachable, { inOwnProcess: true });
    expect(code).toBe(3);
    expect(findings.map((finding) => finding.code)).toEqual(['test_key_on_live', 'temporal_unreachable']);
    const nowhere = await examine({ TEMPORAL_NAMESPACE: 'nowhere' });
    expect(nowhere).toMatchObject({ code: 3, findings: [{ code: 'temporal_unreachable' }] });
  });
});

describe.concurrent('tillflow doctor finds', () => {
  it('workers with different code on one queue', async () => {
    const mixed = await Stack.start({ worker: false });
    const older = await bundleChanged({ from: 'pollIntervalMs: 25', to: 'pollIntervalMs: 24' });
    const newer = await WorkerProcess.start(mixed.workerEnvironment());
    try {
      await tillflow(['setup'], operatorOf(mixed));
      expect(codesOf(await examine({}, { of: mixed }))).toEqual([]);
      const second = await startWorker(workerSettings(mixed.workerEnvironment()), mixed.logger, {
        bundlePath: older.path,
      });
      try {
        const both = async (): Promise<void> =>
          expect(codesOf(await examine({}, { of: mixed }))).toEqual(['version_skew']);
        await vi.waitFor(both, { timeout: 90_000 });
      } finally {
        await second.stop();
      }
    } finally {
      await newer.stop();
      await older.remove();
      await forgetSchedules(mixed);
      await mixed.stop();
    }
  });

  it('workers without a build id although WORKER_BUILD_ID is set', async () => {
    expect((await examine({ WORKER_BUILD_ID: 'b' })).findings).toMatchObject([
      { code: 'version_skew', what: expect.stringContaining('WORKER_BUILD_ID is b') },
    ]);
  });

  it('workers of a build that gets no tasks, and an expected build that is not current', async () => {
    const versioned = await Stack.start({ worker: false });
    const releases = new Releases(versioned);
    try {
      await tillflow(['setup'], operatorOf(versioned));
      await releases.start('a');
      expect(codesOf(await examine({ WORKER_BUILD_ID: 'a' }, { of: versioned }))).toEqual([]);
      expect(codesOf(await examine({ WORKER_BUILD_ID: 'b' }, { of: versioned }))).toEqual(['version_skew']);
      await releases.start('b');
      const { findings } = await examine({}, { of: versioned });
      expect(findings).toMatchObject([
        { code: 'version_skew', what: expect.stringContaining('build b gets the tasks') },
      ]);
    } finally {
      await releases.stopAll();
      await forgetSchedules(versioned);
      await versioned.stop();
    }
  });

  it('workers with build ids of which none is current, and prints the command that makes one current', async () => {
    const versioned = await Stack.start({ worker: false });
    const releases = new Releases(versioned);
    try {
      await releases.start('a', { WORKER_MAKE_CURRENT: 'false' });
      // The server lists a worker after its first poll.
      await eventually(async () => {
        const { findings } = await examine({}, { of: versioned });
        expect(findings).toContainEqual(
          expect.objectContaining({
            code: 'version_skew',
            remedy: expect.stringContaining(`--deployment-name ${releases.deployment} --build-id`),
          }),
        );
      });
    } finally {
      await releases.stopAll();
      await versioned.stop();
    }
  });
});
