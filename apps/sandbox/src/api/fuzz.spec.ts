import { isFull, MORE } from '../../../../test/support/full.js';
import { connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChargeJson } from '../index.js';
import { NEW_CHARGE, openSandbox, type Bench } from '../../test/harness.js';

const RUNS = isFull ? 400 : 100;
const words = (text: string): string[] => text.split(/\s+/);

type Form = Record<string, string | number>;

async function openWithCharges(): Promise<Bench & { ids: string[] }> {
  const bench = await openSandbox({ seed: 'fuzz', now: '2026-03-10T09:00:00Z', frozen: true });
  const ids: string[] = [];
  const seeded = bench.sandbox.seedRecords({
    cards: [{}],
    disputes: [{}, { status: 'won' }],
    schedules: [{ start_date: '2026-05-01' }],
    receipts: [{}],
  });
  for (let i = 0; i < 3; i += 1)
    ids.push((await bench.call<ChargeJson>('POST', '/charges', { form: NEW_CHARGE })).body.id);
  bench.sandbox.mark(ids[0] ?? '', { status: 'successful' });
  bench.sandbox.mark(ids[1] ?? '', { status: 'failed' });
  return { ...bench, ids: [...ids, ...Object.values(seeded).flat()] };
}

/** Everything but the requests, which are noted whether refused or not. */
const records = ({ sandbox }: Bench): unknown => {
  const { requests: _requests, requests_forgotten: _forgotten, ...rest } = sandbox.state();
  return rest;
};

const method = fc.constantFrom('GET', 'POST', 'PATCH', 'DELETE', 'PUT', 'OPTIONS', 'HEAD');
const name = fc.constantFrom(
  '',
  ...words(`amount currency source source[type] type metadata metadata[a] expires_at void webhook_uri
    webhook_endpoints[] items[][name] limit from decision status __proto__ a[ failure_code scope page
    query filters[amount] filters[created] filters[x][y] every period end_date start_date on[weekdays][]
    on[days_of_month][] on[weekday_of_month] charge[amount] charge[customer] transfer[amount]
    transfer[percentage_of_balance] file kind expiration_month`),
);
const value = fc.oneof(
  fc.constantFrom(
    '',
    ...words(`150000 0 -1 1e9 THB SGD wallet_mpm true null 2026-13-45 2027-01-01T00:00:00Z 2027-01-01 1 day week
    month monday last_friday data:image/png;base64,iVBORw0KGgo=`),
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
    ...words(`charges sources events account refunds expire mark_as_paid transactions schedules receipts search
    transfers disputes documents customers cards occurrences download`),
  ),
  fc.constantFrom('', 'x'.repeat(200), ...words('{id} {id} % %00 %2f .. __proto__ wallet qr dashboard')),
);
const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => `/${segments.join('/')}`);

describe('any request', MORE, () => {
  it('is answered below 500, and changes nothing when it is refused', async () => {
    const bench = await openWithCharges();
    await fc.assert(
      fc.asyncProperty(method, path, encoded, form, fc.nat(9), async (verb, template, query, body, which) => {
        const before = records(bench);
        const target = `${template.replaceAll('{id}', bench.ids[which % bench.ids.length] ?? '')}?${query}`;
        const sent = verb === 'GET' || verb === 'HEAD' || body === undefined ? {} : { form: body };
        const { status } = await bench.call(verb, target, sent);
        expect(status).toBeLessThan(500);
        if (status >= 400) expect(records(bench)).toEqual(before);
      }),
      { numRuns: RUNS },
    );
  });

  it('to create a charge is answered 200 or 400 and adds exactly one charge or none', async () => {
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

  it('to create a schedule is answered 200 or refused, and adds exactly one or none', async () => {
    const bench = await openSandbox({ now: '2026-03-10T09:00:00Z', frozen: true });
    const { customers } = bench.sandbox.seedRecords({ customers: [{ cards: [{}] }] });
    const date = fc.constantFrom('2026-04-01', '2099-12-31', '2026-02-30', '');
    const period = fc.record({
      every: fc.oneof(fc.integer({ min: -1, max: 20 }), fc.integer({ min: 1, max: 12 }), fc.string()),
      start_date: date,
      end_date: date,
    });
    const on = fc.constantFrom<Form>(
      { period: 'day' },
      { period: 'week', 'on[weekdays][]': 'monday' },
      { period: 'week', 'on[weekdays][]': 'x' },
      { period: 'month', 'on[days_of_month][]': 31 },
      { period: 'month', 'on[weekday_of_month]': 'last_sunday' },
      { period: 'month', 'on[weekday_of_month]': '5th_monday' },
    );
    const work = fc.constantFrom<Form>(
      { 'charge[customer]': customers[0] ?? '', 'charge[amount]': 150_000 },
      { 'charge[customer]': 'x', 'charge[amount]': 150_000 },
      { 'transfer[amount]': 5 },
      { 'transfer[amount]': -5 },
      {},
    );
    const fields = fc.tuple(period, on, work).map((parts): Form => Object.assign({}, ...parts));
    const valid: Form = {
      every: 1,
      period: 'day',
      start_date: '2026-04-01',
      end_date: '2099-12-31',
      'charge[customer]': customers[0] ?? '',
      'charge[amount]': 150_000,
    };
    let made = 0;
    await fc.assert(
      fc.asyncProperty(fields, async (fieldsGiven) => {
        const before = bench.sandbox.state(['schedules']).schedules?.length ?? 0;
        const { status } = await bench.call('POST', '/schedules', { form: fieldsGiven });
        const added = (bench.sandbox.state(['schedules']).schedules?.length ?? 0) - before;
        expect([200, 400, 404]).toContain(status);
        expect(added).toBe(status === 200 ? 1 : 0);
        made += added;
      }),
      { numRuns: RUNS, examples: [[valid]] },
    );
    expect(made).toBeGreaterThan(0);
  });

  it('to upload any bytes is answered below 500, and stores only documents', async () => {
    const bench = await openSandbox();
    const { disputes } = bench.sandbox.seedRecords({ disputes: [{}] });
    const line = fc.constantFrom(
      '--XX',
      '--XX--',
      '',
      'Content-Disposition: form-data; name="file"; filename="a.png"',
      'Content-Disposition: form-data; name="kind"',
      'Content-Disposition: form-data; name="file[]"; filename*=UTF-8\'\'%zz',
      'GIF89a',
    );
    const bytes = fc.array(fc.oneof(line, fc.string()), { maxLength: 12 }).map((lines) => lines.join('\r\n'));
    await fc.assert(
      fc.asyncProperty(bytes, async (body) => {
        const headers = { 'content-type': 'multipart/form-data; boundary=XX' };
        const reply = await bench.call('POST', `/disputes/${disputes[0]}/documents`, { form: body, headers });
        expect(reply.status).toBe(400);
      }),
      { numRuns: RUNS },
    );
    expect(bench.sandbox.state().documents).toEqual([]);
  });

  it('to a control route is answered below 500', async () => {
    const bench = await openWithCharges();
    const route = fc.constantFrom(
      '/reset',
      '/clock',
      '/faults',
      '/webhooks',
      '/seed',
      '/rate-limit',
      '/webhooks/rotate',
      '/log',
      `/disputes/${bench.ids[5]}`,
      '/cards/x',
      '/events/x/resend',
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

  it('that is not HTTP is refused, and the server continues', async () => {
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
