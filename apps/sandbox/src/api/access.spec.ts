import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { AccountJson, SourceJson } from '../index.js';
import { basic, NEW_CHARGE, openSandbox, THB } from '../../test/harness.js';

const SOURCE = { ...THB, type: 'wallet_mpm' };

describe('a key', () => {
  it('that is public creates and reads sources', async () => {
    const { call, sandbox } = await openSandbox();
    const key = sandbox.keys.public;
    const made = await call<SourceJson>('POST', '/sources', { form: SOURCE, key });
    expect(made.status).toBe(200);
    expect((await call('GET', `/sources/${made.body.id}`, { key })).status).toBe(200);
  });

  it.each([
    ['POST', '/charges'],
    ['GET', '/nowhere'],
  ])('that is public, missing, unknown or empty is refused at %s %s', async (method, path) => {
    const { call, sandbox } = await openSandbox();
    for (const key of [sandbox.keys.public, null, 'skey_test_unknown', '']) {
      const reply = await call(method, path, { key, form: method === 'POST' ? NEW_CHARGE : undefined });
      expect(reply).toMatchObject({ status: 401, body: { object: 'error', code: 'authentication_failure' } });
      expect(reply.headers.get('www-authenticate')).toContain('Basic');
    }
    expect(sandbox.state()).toMatchObject({ charges: [], sources: [], events: [] });
    expect(sandbox.state().requests.map(({ key }) => key)).toEqual(['public', 'none', 'wrong', 'wrong']);
  });

  it.each([
    ['a password', (secret: string) => basic(secret, 'x')],
    ['another scheme', (secret: string) => `Bearer ${secret}`],
    ['no encoding', (secret: string) => `Basic ${secret}:`],
    ['no colon', (secret: string) => `Basic ${btoa(secret)}`],
  ])('sent with %s is refused', async (_case, authorization) => {
    const { call, sandbox } = await openSandbox();
    const headers = { authorization: authorization(sandbox.keys.secret) };
    expect((await call('GET', '/account', { key: null, headers })).status).toBe(401);
  });

  it('is derived from the seed, or set by an option', async () => {
    const made = await openSandbox({ seed: 'x' });
    expect(made.sandbox.keys.secret).toMatch(/^skey_test_[0-9a-z]{19}$/);
    expect(made.sandbox.keys.public).toMatch(/^pkey_test_[0-9a-z]{19}$/);
    expect((await openSandbox({ seed: 'x' })).sandbox.keys).toEqual(made.sandbox.keys);
    const given = await openSandbox({ secretKey: 'skey_test_a', publicKey: 'pkey_test_b' });
    expect((await given.call('GET', '/account', { key: 'skey_test_a' })).status).toBe(200);
  });
});

describe('a request', () => {
  it('gets a request id in its answer, also after a refusal', async () => {
    const { call, sandbox } = await openSandbox();
    const replies = [
      await call('GET', '/account'),
      await call('GET', '/nowhere'),
      await call('GET', '/account', { key: null }),
    ];
    const ids = replies.map(({ headers }) => headers.get('x-request-id'));
    expect(ids).toEqual(sandbox.state().requests.map(({ id }) => id));
    expect(new Set(ids).size).toBe(3);
  });

  it.each([
    ['GET', '/nowhere'],
    ['GET', '/'.repeat(3)],
    ['GET', '/charges/'],
    ['DELETE', '/charges'],
    ['PUT', '/account'],
    ['GET', '/sources'],
    ['GET', '/receipts/search'],
    ['GET', '/schedules/search'],
    ['GET', '/transfers'],
    ['GET', '/download/x/y.png'],
    ['GET', '/charges/..%2fx'],
    ['GET', '/sources/__proto__'],
    ['GET', '/events/constructor'],
    ['GET', '/transactions/trxn_test_x'],
    ['GET', '/charges/a/refunds/b'],
  ])('to %s %s is 404', async (method, path) => {
    const { call } = await openSandbox();
    const reply = await call(method, path);
    expect(reply).toMatchObject({ status: 404, body: { object: 'error', code: 'not_found' } });
    expect(reply.body.message).not.toBe('');
  });

  it.each([
    ['a path', '/charges/%zz', {}],
    ['a query', '/charges?limit=%', {}],
    ['a form', '/charges', { form: 'amount=%' }],
  ])('with malformed percent-encoding in %s is refused', async (_case, path, options) => {
    const { call } = await openSandbox();
    const method = 'form' in options ? 'POST' : 'GET';
    expect(await call(method, path, options)).toMatchObject({ status: 400, body: { code: 'bad_request' } });
  });

  it.each([
    ['JSON', 'application/json', '{"amount":150000}'],
    ['a text', 'text/plain', 'amount=1'],
    ['no type', '', 'amount=1'],
  ])('whose body is %s is refused', async (_case, type, form) => {
    const { call, sandbox } = await openSandbox();
    const reply = await call('POST', '/charges', { form, headers: { 'content-type': type } });
    expect(reply).toMatchObject({ status: 400, body: { code: 'bad_request' } });
    expect(sandbox.state().requests[0]?.form).toBeNull();
  });

  it('may name the character set of its form', async () => {
    const { call } = await openSandbox();
    const headers = { 'content-type': 'Application/X-WWW-Form-Urlencoded; charset=UTF-8' };
    expect((await call('POST', '/charges', { form: NEW_CHARGE, headers })).status).toBe(200);
  });

  it('whose body is too large is refused, and the connection goes on', async () => {
    const { call, sandbox } = await openSandbox();
    const form = `description=${'x'.repeat(70_000)}&amount=150000&currency=THB&source[type]=wallet_mpm`;
    const reply = await call('POST', '/charges', { form });
    expect(reply).toMatchObject({ status: 400, body: { code: 'bad_request', message: 'The body is too large.' } });
    expect((await call('GET', '/account')).status).toBe(200);
    expect(sandbox.state()).toMatchObject({ charges: [], requests: [{ form: null }, { form: {} }] });
  });

  it.each(['2014-07-27', '2015-11-17', '2017-11-02', '2019-05-29', '2025-05-27', '2025-06-09'])(
    'may name the version %s',
    async (version) => {
      const { call } = await openSandbox();
      expect((await call('GET', '/account', { headers: { 'Api-Version': version } })).status).toBe(200);
    },
  );

  it('that names an unknown version is refused and changes nothing', async () => {
    const { call, sandbox } = await openSandbox();
    const reply = await call('POST', '/charges', { form: NEW_CHARGE, headers: { 'Api-Version': '2025-06-10' } });
    expect(reply).toMatchObject({ status: 400, body: { code: 'bad_request' } });
    expect(sandbox.state().charges).toEqual([]);
  });

  it('that breaks off in its body changes nothing', async () => {
    const { url, sandbox, call } = await openSandbox();
    await new Promise<void>((resolve) => {
      const broken = request(`${url}/charges`, {
        method: 'POST',
        headers: { authorization: basic(sandbox.keys.secret), 'content-length': 1_000 },
      });
      broken.on('error', () => resolve());
      broken.write('amount=150000&currency=THB&source[type]=wallet_mpm', () => broken.destroy());
    });
    expect((await call('GET', '/account')).status).toBe(200);
    expect(sandbox.state().charges).toEqual([]);
  });
});

describe('HEAD', () => {
  it.each(['/account', '/charges', '/__sandbox/state', '/dashboard'])(
    'of %s answers as GET does, without a body',
    async (path) => {
      const { call } = await openSandbox({ frozen: true });
      const [got, headed] = [await call('GET', path), await call('HEAD', path)];
      expect([headed.status, headed.text]).toEqual([200, '']);
      expect(headed.headers.get('content-type')).toBe(got.headers.get('content-type'));
    },
  );

  it('of an unknown path or without a key is refused as GET is', async () => {
    const { call } = await openSandbox();
    expect((await call('HEAD', '/charges/x')).status).toBe(404);
    expect((await call('HEAD', '/account', { key: null })).status).toBe(401);
  });
});

describe('OPTIONS', () => {
  it.each([
    ['/charges', 'POST, GET, HEAD, OPTIONS'],
    ['/charges/x', 'GET, HEAD, OPTIONS'],
    ['/schedules/x', 'GET, DELETE, HEAD, OPTIONS'],
    ['/__sandbox/faults', 'GET, POST, DELETE, HEAD, OPTIONS'],
  ])('of %s says %s, without a key', async (path, allow) => {
    const { call } = await openSandbox();
    const reply = await call('OPTIONS', path, { key: null });
    expect([reply.status, reply.text]).toEqual([204, '']);
    expect(reply.headers.get('allow')?.split(', ').toSorted()).toEqual(allow.split(', ').toSorted());
  });

  it('of an unknown path is 404', async () => {
    const { call } = await openSandbox();
    expect(await call('OPTIONS', '/nowhere')).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect((await call('OPTIONS', '/charges/%zz')).status).toBe(400);
  });

  it('lets a page of any origin use what the public key opens, and nothing else', async () => {
    const { call, sandbox } = await openSandbox();
    const ask = async (path: string) =>
      (await call('OPTIONS', path, { key: null, headers: { 'access-control-request-method': 'POST' } })).headers;
    expect((await ask('/sources')).get('access-control-allow-origin')).toBe('*');
    expect((await ask('/sources')).get('access-control-allow-headers')).toContain('Authorization');
    expect((await ask('/charges')).get('access-control-allow-origin')).toBeNull();
    const made = await call('POST', '/sources', { form: SOURCE, key: sandbox.keys.public });
    expect(made.headers.get('access-control-allow-origin')).toBe('*');
    expect((await call('GET', '/charges')).headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('an answer', () => {
  it("has the sandbox's time in its Date header", async () => {
    const { call } = await openSandbox({ now: '2027-06-01T16:14:59.999Z', frozen: true });
    const { headers } = await call('GET', '/account');
    expect(headers.get('date')).toBe('Tue, 01 Jun 2027 16:14:59 GMT');
  });
});

describe('the account', () => {
  it('changes the given fields, keeps the others, and clears an address with the empty string', async () => {
    const { call } = await openSandbox();
    const form = {
      chain_enabled: true,
      webhook_uri: 'http://127.0.0.1:1/hook',
      chain_return_uri: 'https://shop.example',
      'metadata_export_keys[charge][]': 'order',
    };
    const written = {
      chain_enabled: true,
      webhook_uri: form.webhook_uri,
      chain_return_uri: form.chain_return_uri,
    };
    expect((await call<AccountJson>('PATCH', '/account', { form })).body).toMatchObject({
      ...written,
      metadata_export_keys: { charge: ['order'] },
    });
    const { body } = await call<AccountJson>('PATCH', '/account', { form: { webhook_uri: '' } });
    expect(body).toMatchObject({ ...written, webhook_uri: null });
  });

  it.each([
    ['chain_enabled', '1'],
    ['webhook_uri', 'ftp://a.example'],
    ['webhook_uri', 'nowhere'],
    ['metadata_export_keys', 'x'],
  ])('refuses %s=%s and does not change', async (name, value) => {
    const { call, sandbox } = await openSandbox();
    const before = sandbox.state(['account']).account;
    const form = { zero_interest_installments: true, [name]: value };
    expect(await call('PATCH', '/account', { form })).toMatchObject({ status: 400, body: { code: 'bad_request' } });
    expect(sandbox.state(['account']).account).toEqual(before);
  });

  it('moves to the newest version and lists all versions', async () => {
    const { call } = await openSandbox({ assumptions: { accountVersion: '2019-05-29' } });
    expect((await call<AccountJson>('GET', '/account')).body.api_version).toBe('2019-05-29');
    expect((await call<AccountJson>('PATCH', '/account/api_version')).body.api_version).toBe('2025-06-09');
    const { body } = await call<AccountJson & { versions: string[] }>('GET', '/account/api_versions');
    expect(body).toMatchObject({ object: 'account', api_version: '2025-06-09' });
    expect(body.versions).toHaveLength(6);
  });
});

describe('a list', () => {
  it.each(['limit=0', 'limit[]=1', 'offset=1.5', 'to=2026-03-10'])('refuses %s', async (query) => {
    const { call } = await openSandbox();
    for (const path of ['/charges', '/events', '/transactions']) {
      expect(await call('GET', `${path}?${query}`)).toMatchObject({ status: 400, body: { code: 'bad_request' } });
    }
  });
});
