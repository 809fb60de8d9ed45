import { request } from 'node:http';
import { createSandbox, type ChargeJson, type Sandbox, type SandboxOptions } from '@tillflow/sandbox';
import { describe, expect, it, onTestFinished } from 'vitest';

type Headers = Readonly<Record<string, string>>;
type Reply = { readonly status: number; readonly text: string; readonly headers: Readonly<Record<string, unknown>> };

const JSON_TYPE = { 'content-type': 'application/json' } as const;

type Bench = {
  readonly sandbox: Sandbox;
  readonly url: string;
  /** Its listening port. */
  readonly port: string;
  readonly send: (method: string, path: string, headers?: Headers, body?: string) => Promise<Reply>;
  readonly charge: () => Promise<ChargeJson>;
};

async function open(options: SandboxOptions = {}): Promise<Bench> {
  const sandbox = createSandbox({ frozen: true, ...options });
  const { url } = await sandbox.listen();
  onTestFinished(async () => await sandbox.close());
  // `fetch` sets Host and the content type as it likes.
  const send: Bench['send'] = async (method, path, headers = {}, body = '') =>
    await new Promise((resolve, reject) => {
      const length = { 'content-length': String(Buffer.byteLength(body)) };
      const sent = request(url + path, { method, headers: { ...headers, ...length } }, (reply) => {
        let text = '';
        reply.setEncoding('utf8');
        reply.on('data', (chunk: string) => (text += chunk));
        reply.on('end', () => resolve({ status: reply.statusCode ?? 0, text, headers: reply.headers }));
      });
      sent.on('error', reject);
      sent.end(body);
    });
  const charge = async (): Promise<ChargeJson> => {
    const headers = {
      authorization: `Basic ${btoa(`${sandbox.keys.secret}:`)}`,
      'content-type': 'application/x-www-form-urlencoded',
    };
    const made = await send('POST', '/charges', headers, 'amount=150000&currency=THB&source[type]=wallet_mpm');
    return JSON.parse(made.text) as ChargeJson;
  };
  return { sandbox, url, port: new URL(url).port, send, charge };
}

/** Every control route, with a body that it takes. */
const CONTROL_ROUTES = (charge: string): readonly (readonly [string, string, string?])[] => [
  ['GET', '/health'],
  ['GET', '/state'],
  ['GET', '/log'],
  ['GET', '/clock'],
  ['GET', '/faults'],
  ['GET', '/webhooks'],
  ['GET', '/rate-limit'],
  ['POST', `/charges/${charge}/mark`, '{"status":"successful"}'],
  ['POST', '/clock', '{"advance":86400}'],
  ['POST', '/faults', '[{"action":"hang"}]'],
  ['DELETE', '/faults'],
  ['POST', '/webhooks', '{"url":"http://evil.example/"}'],
  ['DELETE', '/webhooks'],
  ['POST', '/webhooks/rotate', '{"secret":"ZXZpbA=="}'],
  ['DELETE', '/webhooks/rotate'],
  ['POST', '/rate-limit', '{"burst":1,"per_second":1}'],
  ['DELETE', '/rate-limit'],
  ['POST', '/seed', '{"customers":[{}]}'],
  ['POST', '/reset', '{}'],
];

/** Requests by which a page of another site could change something. */
function changeable({ sandbox }: Bench): unknown {
  const { charges, customers, faults, account, frozen } = sandbox.state();
  return { charges, customers, faults, account, frozen, rate: sandbox.rateLimit };
}

const FOREIGN: readonly (readonly [string, Headers])[] = [
  ['a Host name that is rebound to this machine', { host: 'evil.example' }],
  ['a Host name that begins like an own one', { host: 'localhost.evil.example:4010' }],
  ['a Host that is another address', { host: '192.0.2.7' }],
  ['a Host that no address has', { host: 'local host' }],
  ['the Origin of another site', { origin: 'https://evil.example' }],
  ['the Origin of another program on this machine', { origin: 'http://127.0.0.1:1' }],
  ['the Origin of a sandboxed frame', { origin: 'null' }],
  ['a browser that says cross-site', { 'sec-fetch-site': 'cross-site' }],
  ['a browser that says same-site', { 'sec-fetch-site': 'same-site' }],
  ['an Origin that contradicts the browser', { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' }],
];

describe("the sandbox's control routes", () => {
  it.each(FOREIGN)('refuse a request with %s, and nothing changes', async (_case, headers) => {
    const bench = await open();
    const { id } = await bench.charge();
    const before = changeable(bench);
    for (const [method, path, body] of CONTROL_ROUTES(id)) {
      const reply = await bench.send(method, `/__sandbox${path}`, { ...JSON_TYPE, ...headers }, body);
      expect({ path, status: reply.status }).toEqual({ path, status: 403 });
      expect(reply.text).not.toContain(id);
      expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
    }
    expect(changeable(bench)).toEqual(before);
  });

  it.each([
    ['a form', 'application/x-www-form-urlencoded'],
    ['a file form', 'multipart/form-data; boundary=x'],
    ['text', 'text/plain;charset=UTF-8'],
    ['something that only begins like JSON', 'application/jsonp'],
    ['a list of types', 'text/plain, application/json'],
  ])('refuse a body of %s even when no header shows that a browser sent it', async (_case, type) => {
    const bench = await open();
    const { id } = await bench.charge();
    const before = changeable(bench);
    for (const [method, path, body] of CONTROL_ROUTES(id)) {
      if (method !== 'POST') continue;
      expect((await bench.send(method, `/__sandbox${path}`, { 'content-type': type }, body)).status).toBe(415);
    }
    expect(changeable(bench)).toEqual(before);
  });

  it('refuse a POST without a content type, with and without a body', async () => {
    const bench = await open();
    const { id } = await bench.charge();
    const mark = `/__sandbox/charges/${id}/mark`;
    expect((await bench.send('POST', mark, {}, '{"status":"successful"}')).status).toBe(415);
    expect((await bench.send('POST', '/__sandbox/reset')).status).toBe(415);
    expect(bench.sandbox.state().charges).toMatchObject([{ id, status: 'pending' }]);
  });

  it('refuse a preflight request of a page of another site', async () => {
    const bench = await open();
    const asking = { origin: 'https://evil.example', 'access-control-request-method': 'DELETE' };
    const reply = await bench.send('OPTIONS', '/__sandbox/faults', asking);
    expect(reply.status).toBe(403);
    expect(Object.keys(reply.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it.each(['localhost', '127.0.0.1', '127.0.0.53', '[::1]', 'LOCALHOST', 'localhost.'])(
    'accept every call with the Host %s',
    async (host) => {
      const bench = await open();
      for (const port of [`:${bench.port}`, ':8080', '']) {
        const { id } = await bench.charge();
        for (const [method, path, body] of CONTROL_ROUTES(id)) {
          const headers = { host: host + port, ...(method === 'POST' && JSON_TYPE) };
          expect((await bench.send(method, `/__sandbox${path}`, headers, body)).status).toBe(200);
        }
      }
    },
  );

  it('accept the content type JSON with a character set, also for a request without a body', async () => {
    const bench = await open();
    await bench.charge();
    const type = { 'content-type': 'Application/JSON; charset=utf-8' };
    expect((await bench.send('POST', '/__sandbox/reset', type)).status).toBe(200);
    expect(bench.sandbox.state().charges).toEqual([]);
  });

  it('accept the hosts in the settings: one without a port at any port, one with a port only at that port', async () => {
    const bench = await open({ allowedHosts: ['sandbox', 'pay.example:8443'] });
    const status = async (host: string) => (await bench.send('GET', '/__sandbox/health', { host })).status;
    expect(await status('sandbox:4010')).toBe(200);
    expect(await status('SANDBOX')).toBe(200);
    expect(await status('pay.example:8443')).toBe(200);
    expect(await status('pay.example')).toBe(403);
    expect(await status('other.sandbox:4010')).toBe(403);
  });

  it('accept the host of SANDBOX_PUBLIC_URL', async () => {
    const bench = await open({ publicUrl: 'https://pay.example' });
    expect((await bench.send('GET', '/__sandbox/health', { host: 'pay.example' })).status).toBe(200);
  });

  it('answer with no secret, whatever was set or sent', async () => {
    const given = ['Z2l2ZW4gc2VjcmV0', 'cm90YXRlZCBzZWNyZXQ='] as const;
    const bench = await open();
    const { id } = await bench.charge();
    const { secret, public: open_, webhookSecrets } = bench.sandbox.keys;
    const answers = [
      await bench.send(
        'POST',
        '/__sandbox/webhooks',
        JSON_TYPE,
        `{"url":"http://127.0.0.1:1/","secret":"${given[0]}"}`,
      ),
      await bench.send('POST', '/__sandbox/webhooks/rotate', JSON_TYPE, `{"secret":"${given[1]}"}`),
      await bench.send('DELETE', '/__sandbox/webhooks/rotate'),
    ];
    await bench.send('GET', '/account', { authorization: `Basic ${btoa(`${open_}:`)}` });
    for (const [method, path, body] of CONTROL_ROUTES(id)) {
      answers.push(await bench.send(method, `/__sandbox${path}`, JSON_TYPE, body));
    }
    for (const { status, text } of answers) {
      expect(status).toBe(200);
      for (const value of [secret, open_, ...webhookSecrets, ...given]) expect(text).not.toContain(value);
    }
  });

  it('answer with a seed from which the keys cannot be derived', async () => {
    const bench = await open();
    const { seed } = JSON.parse((await bench.send('GET', '/__sandbox/state?only=account')).text) as { seed: string };
    const again = createSandbox({ seed }).keys;
    expect(again.secret).not.toBe(bench.sandbox.keys.secret);
    expect(again.webhookSecrets).not.toEqual(bench.sandbox.keys.webhookSecrets);
  });
});

describe("the sandbox's pages", () => {
  it.each([
    ['the list of charges', () => '/dashboard'],
    ['a charge', (id: string) => `/dashboard/charges/${id}`],
  ])('refuse to show %s to a Host name that is rebound to this machine', async (_page, pathOf) => {
    const bench = await open();
    const { id } = await bench.charge();
    const reply = await bench.send('GET', pathOf(id), { host: 'evil.example' });
    expect(reply.status).toBe(403);
    expect(reply.text).not.toContain(id);
  });

  it.each(FOREIGN)('refuse a form with %s', async (_case, headers) => {
    const bench = await open();
    const made = await bench.charge();
    const wallet = new URL(made.source?.scannable_code?.raw_data ?? '').pathname;
    const forms: readonly (readonly [string, string])[] = [
      [`/dashboard/charges/${made.id}`, 'status=successful'],
      [wallet, 'decision=confirm'],
      [`/dashboard/charges/${made.id}/refunds`, 'void=true'],
    ];
    const before = changeable(bench);
    for (const [path, form] of forms) {
      const type = { 'content-type': 'application/x-www-form-urlencoded' };
      expect((await bench.send('POST', path, { ...type, ...headers }, form)).status).toBe(403);
    }
    expect(changeable(bench)).toEqual(before);
  });

  it('serve the QR image for any Host name, because tills show it', async () => {
    const bench = await open();
    const image = (await bench.charge()).source?.scannable_code?.image?.download_uri ?? '';
    expect((await bench.send('GET', new URL(image).pathname, { host: 'till.example' })).status).toBe(200);
  });
});
