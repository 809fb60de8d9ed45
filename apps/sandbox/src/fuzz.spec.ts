import { connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChargeJson } from './index.js';
import { NEW_CHARGE, openSandbox, type Bench } from '../test/harness.js';

const RUNS = 400;

async function openWithCharges(): Promise<Bench & { ids: string[] }> {
  const bench = await openSandbox({ seed: 'fuzz', now: '2026-03-10T09:00:00Z', frozen: true });
  const ids: string[] = [];
  for (let i = 0; i < 3; i += 1)
    ids.push((await bench.call<ChargeJson>('POST', '/charges', { form: NEW_CHARGE })).body.id);
  bench.sandbox.mark(ids[0] ?? '', { status: 'successful' });
  bench.sandbox.mark(ids[1] ?? '', { status: 'failed' });
  return { ...bench, ids };
}

/** Everything but the requests, which are noted whether refused or not. */
const books = ({ sandbox }: Bench): unknown => {
  const { requests: _requests, requests_forgotten: _forgotten, ...rest } = sandbox.state();
  return rest;
};

const method = fc.constantFrom('GET', 'POST', 'PATCH', 'DELETE', 'PUT', 'OPTIONS');
const name = fc.constantFrom(
  'amount',
  'currency',
  'source',
  'source[type]',
  'type',
  'metadata',
  'metadata[a]',
  'expires_at',
  'void',
  'webhook_uri',
  'webhook_endpoints[]',
  'items[][name]',
  'limit',
  'from',
  'decision',
  'status',
  '__proto__',
  'a[',
  '',
  'failure_code',
);
const value = fc.oneof(
  fc.constantFrom(
    '150000',
    '0',
    '-1',
    '1e9',
    'THB',
    'SGD',
    'wallet_mpm',
    'true',
    'null',
    '',
    '2026-13-45',
    '2027-01-01T00:00:00Z',
  ),
  fc.string(),
);
const encoded = fc
  .array(fc.tuple(name, value), { maxLength: 6 })
  .map((fields) => fields.map(([key, text]) => `${encodeURIComponent(key)}=${encodeURIComponent(text)}`).join('&'));
const form = fc.oneof(
  encoded,
  fc.string().map((text) => text.replaceAll('\0', '')),
  fc.constant(undefined),
);
const segment = fc.oneof(
  fc.constantFrom(
    'charges',
    'sources',
    'events',
    'account',
    'refunds',
    'expire',
    'mark_as_paid',
    'transactions',
    'schedules',
  ),
  fc.constantFrom('{id}', '%', '%00', '%2f', '..', '', '__proto__', 'wallet', 'qr', 'dashboard', 'x'.repeat(200)),
);
const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => `/${segments.join('/')}`);

describe('any request', () => {
  it('is answered below 500, and changes nothing when it is refused', async () => {
    const bench = await openWithCharges();
    await fc.assert(
      fc.asyncProperty(method, path, encoded, form, fc.nat(2), async (verb, template, query, body, which) => {
        const before = books(bench);
        const target = `${template.replaceAll('{id}', bench.ids[which] ?? '')}?${query}`;
        const sent = verb === 'GET' || body === undefined ? {} : { form: body };
        const { status } = await bench.call(verb, target, sent);
        expect(status).toBeLessThan(500);
        if (status >= 400) expect(books(bench)).toEqual(before);
      }),
      { numRuns: RUNS },
    );
  });

  it('to create is answered 200 or 400 and adds exactly one charge or none', async () => {
    const bench = await openSandbox({ now: '2026-03-10T09:00:00Z', frozen: true });
    const fields = fc.record(
      {
        amount: fc.oneof(fc.integer(), fc.constantFrom('150000', '2000', 'x', '')),
        currency: fc.constantFrom('THB', 'SGD', 'MYR', 'thb', 'USD', ''),
        'source[type]': fc.constantFrom('wallet_mpm', 'wallet_mpm', 'card'),
        expires_at: fc.oneof(
          fc.string(),
          fc.constantFrom('2026-03-11T00:00:00Z', '2020-01-01T00:00:00Z', '9999-12-31T23:59:59Z'),
        ),
        'metadata[a]': fc.string(),
        description: fc.string(),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fields, async (fieldsGiven) => {
        const before = bench.sandbox.state(['charges']).charges?.length ?? 0;
        const { status } = await bench.call('POST', '/charges', { form: fieldsGiven as Record<string, string> });
        const added = (bench.sandbox.state(['charges']).charges?.length ?? 0) - before;
        expect([status, added]).toEqual(added === 1 ? [200, 1] : [400, 0]);
      }),
      { numRuns: RUNS },
    );
  });

  it('to a control route is answered below 500', async () => {
    const bench = await openWithCharges();
    const route = fc.constantFrom(
      '/reset',
      '/clock',
      '/faults',
      '/webhooks',
      '/seed',
      `/charges/${bench.ids[2]}/mark`,
      '/state',
      '/x%',
    );
    const json = fc.oneof(
      fc.json(),
      fc.string(),
      fc
        .record(
          {
            advance: fc.anything(),
            now: fc.anything(),
            url: fc.anything(),
            drop: fc.anything(),
            seed: fc.anything(),
            action: fc.constantFrom('status', 'x'),
            times: fc.constant(1),
            path: fc.constant('/never'),
            status: fc.anything(),
          },
          { requiredKeys: [] },
        )
        .map((record) =>
          JSON.stringify(record, (_key, each: unknown) => (typeof each === 'bigint' ? Number(each) : each)),
        ),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('GET', 'POST', 'DELETE'), route, json, async (verb, target, body) => {
        const { status } = await bench.control(verb, target, verb === 'POST' ? body : undefined);
        expect(status).toBeLessThan(500);
      }),
      { numRuns: RUNS },
    );
  });

  it('that is no HTTP is refused without harm', async () => {
    const bench = await openSandbox();
    for (const bytes of [
      'nonsense\r\n\r\n',
      'GET\r\n\r\n',
      '\0\0\0\r\n\r\n',
      'POST /charges HTTP/1.1\r\nContent-Length: x\r\n\r\n',
    ]) {
      const answer = await new Promise<string>((resolve) => {
        const socket = connect(Number(new URL(bench.url).port), '127.0.0.1', () => socket.write(bytes));
        let text = '';
        socket.on('data', (chunk) => (text += chunk.toString()));
        socket.on('error', () => resolve(text));
        socket.on('close', () => resolve(text));
      });
      expect(answer).toContain('400 Bad Request');
    }
    expect((await bench.call('GET', '/account')).status).toBe(200);
  });
});
