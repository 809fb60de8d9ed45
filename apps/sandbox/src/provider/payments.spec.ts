import { describe, expect, it } from 'vitest';
import type { ChargeJson, EventJson, SourceJson } from '../index.js';
import { NEW_CHARGE, openSandbox, THB, type Bench } from '../../test/harness.js';

const AT = '2026-03-10T09:00:00.000Z';
const open = (): Promise<Bench> => openSandbox({ seed: 's', now: AT, frozen: true });
const eventKeys = ({ sandbox }: Bench): string[] => sandbox.state().events.map(({ key }) => key);

describe('a source', () => {
  it.each<[string, Record<string, string | number>, string]>([
    ['of an empty amount', { ...THB, type: 'wallet_mpm', amount: '' }, 'bad_request'],
    ['of a padded amount', { ...THB, type: 'wallet_mpm', amount: ' 2000' }, 'bad_request'],
    ['of a huge amount', { ...THB, type: 'wallet_mpm', amount: '99999999999999999999' }, 'bad_request'],
    ['of a currency in small letters', { ...THB, type: 'wallet_mpm', currency: 'thb' }, 'bad_request'],
    [
      'with a flag that is not true or false',
      { ...THB, type: 'wallet_mpm', zero_interest_installments: '1' },
      'bad_request',
    ],
    ['with an address part that is an object', { ...THB, type: 'wallet_mpm', 'billing[city][x]': '1' }, 'bad_request'],
  ])('%s is refused and not stored', async (_case, form, code) => {
    const bench = await open();
    expect(await bench.call('POST', '/sources', { form })).toMatchObject({
      status: 400,
      body: { object: 'error', code },
    });
    expect(bench.sandbox.state().sources).toEqual([]);
  });
});

describe('a charge', () => {
  it('created with an existing source completes it, and the source follows the charge', async () => {
    const bench = await open();
    const source = (await bench.call<SourceJson>('POST', '/sources', { form: { ...THB, type: 'wallet_mpm' } })).body;
    const charge = (await bench.call<ChargeJson>('POST', '/charges', { form: { ...THB, source: source.id } })).body;
    expect(charge.source?.id).toBe(source.id);
    const read = async () => (await bench.call<SourceJson>('GET', `/sources/${source.id}`)).body;
    expect((await read()).charge_status).toBe('pending');
    expect((await read()).scannable_code).toEqual(charge.source?.scannable_code);
    bench.sandbox.mark(charge.id, { status: 'successful' });
    expect((await read()).charge_status).toBe('successful');
  });

  it('is the only charge of its source', async () => {
    const bench = await open();
    const source = (await bench.call<SourceJson>('POST', '/sources', { form: { ...THB, type: 'wallet_mpm' } })).body;
    await bench.call('POST', '/charges', { form: { ...THB, source: source.id } });
    const second = await bench.call('POST', '/charges', { form: { ...THB, source: source.id } });
    expect(second).toMatchObject({ status: 400, body: { code: 'invalid_charge' } });
    expect(bench.sandbox.state().charges).toHaveLength(1);
  });

  it.each<[string, Record<string, string | number>, string]>([
    ['a past expiry', { ...THB, expires_at: '2026-03-10T09:00:00Z' }, 'bad_request'],
    ['an expiry without a zone', { ...THB, expires_at: '2026-03-10T10:00:00' }, 'bad_request'],
    ['a return address of another scheme', { ...THB, return_uri: 'javascript:alert(1)' }, 'bad_request'],
  ])('with %s is refused, and the source stays unused', async (_case, form, code) => {
    const bench = await open();
    const source = (await bench.call<SourceJson>('POST', '/sources', { form: { ...THB, type: 'wallet_mpm' } })).body;
    const before = bench.sandbox.state(['sources', 'charges', 'events']);
    const reply = await bench.call('POST', '/charges', { form: { source: source.id, ...form } });
    expect(reply).toMatchObject({ status: 400, body: { code } });
    expect(bench.sandbox.state(['sources', 'charges', 'events'])).toEqual(before);
  });

  it.each<[string, Record<string, string | number>, number, string]>([
    ['with an unknown source', { source: 'src_test_unknown' }, 404, 'not_found'],
    ['with a source without a type', { 'source[amount]': 150_000 }, 400, 'bad_request'],
    [
      'with a source of another amount',
      { 'source[type]': 'wallet_mpm', 'source[amount]': 2_000 },
      400,
      'invalid_charge',
    ],
    [
      'with a source of another currency',
      { 'source[type]': 'wallet_mpm', 'source[currency]': 'SGD' },
      400,
      'invalid_charge',
    ],
  ])('%s is refused and creates nothing', async (_case, fields, status, code) => {
    const bench = await open();
    const form = { ...THB, ...fields };
    expect(await bench.call('POST', '/charges', { form })).toMatchObject({ status, body: { code } });
    expect(bench.sandbox.state(['sources', 'charges', 'events'])).toMatchObject({
      sources: [],
      charges: [],
      events: [],
    });
  });

  it('becomes successful when it is paid, with a credit and an event', async () => {
    const bench = await open();
    const { id } = (await bench.call<ChargeJson>('POST', '/charges', { form: NEW_CHARGE })).body;
    bench.sandbox.advance(60);
    const { status, body } = await bench.call<ChargeJson>('POST', `/charges/${id}/mark_as_paid`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      status: 'successful',
      paid: true,
      authorized: true,
      failure_code: null,
      failure_message: null,
      expired: false,
      paid_at: '2026-03-10T09:01:00.000Z',
      authorized_at: '2026-03-10T09:01:00.000Z',
      refundable: true,
      partially_refundable: true,
      can_perform_void: true,
      source: { charge_status: 'successful' },
    });
    const { transactions, events } = bench.sandbox.state();
    const credit = { id: body.transaction, amount: 147_352, direction: 'credit', key: 'charge.capture', origin: id };
    expect(transactions).toMatchObject([{ ...credit, transferable_at: '2026-03-17T09:01:00.000Z' }]);
    expect(eventKeys(bench)).toEqual(['charge.create', 'charge.complete']);
    expect(events[1]?.data).toEqual(body);
    expect(events[0]?.data).toMatchObject({ status: 'pending', source: { charge_status: 'pending' } });
  });

  it('keeps the distance of a future expires_at when the sandbox clock is ahead of the caller', async () => {
    const bench = await openSandbox();
    bench.sandbox.setNow('2999-01-01T00:00:00Z');
    const asked = Date.now() + 900_000;
    const form = { ...NEW_CHARGE, expires_at: new Date(asked).toISOString() };
    const { body } = await bench.call<ChargeJson>('POST', '/charges', { form });
    const [from, to] = [Date.parse(body.created_at), Date.parse(body.expires_at)];
    expect(to - from).toBeGreaterThan(800_000);
    expect(to - from).toBeLessThanOrEqual(900_000);
    bench.sandbox.advance(901);
    expect((await bench.call<ChargeJson>('GET', `/charges/${body.id}`)).body.status).toBe('expired');
  });

  it('may become failed with payment_expired instead of expired', async () => {
    const bench = await openSandbox({ now: AT, frozen: true, assumptions: { unpaidBecomes: 'failed' } });
    const { id } = (await bench.call<ChargeJson>('POST', '/charges', { form: NEW_CHARGE })).body;
    bench.sandbox.advance(24 * 3_600);
    expect((await bench.call<ChargeJson>('GET', `/charges/${id}`)).body).toMatchObject({
      status: 'failed',
      failure_code: 'payment_expired',
      failure_message: 'Payment expired.',
    });
  });

  it.each([
    ['successful', 'invalid_charge'],
    ['failed', 'invalid_charge'],
    ['expired', 'expired_charge'],
  ] as const)('that is %s can no longer be expired, paid or failed', async (end, code) => {
    const bench = await open();
    const { id } = (await bench.call<ChargeJson>('POST', '/charges', { form: NEW_CHARGE })).body;
    if (end === 'expired') bench.sandbox.advance(24 * 3_600);
    else bench.sandbox.mark(id, { status: end });
    const before = bench.sandbox.state(['charges', 'events', 'transactions']);
    expect(await bench.call('POST', `/charges/${id}/expire`)).toMatchObject({
      status: 400,
      body: { code: 'failed_expire' },
    });
    expect(await bench.call('POST', `/charges/${id}/mark_as_paid`)).toMatchObject({ status: 400, body: { code } });
    expect(await bench.call('POST', `/charges/${id}/mark_as_failed`)).toMatchObject({ status: 400, body: { code } });
    expect(bench.sandbox.state(['charges', 'events', 'transactions'])).toEqual(before);
  });

  it('in live mode cannot be marked, and its ids carry no test marker', async () => {
    const bench = await openSandbox({ livemode: true });
    const { body } = await bench.call<ChargeJson>('POST', '/charges', { form: NEW_CHARGE });
    expect(body).toMatchObject({ livemode: true, id: expect.stringMatching(/^chrg_[0-9a-z]{19}$/) });
    for (const action of ['mark_as_paid', 'mark_as_failed']) {
      const reply = await bench.call('POST', `/charges/${body.id}/${action}`);
      expect(reply).toMatchObject({ status: 400, body: { code: 'invalid_charge' } });
    }
    expect((await bench.call<ChargeJson>('GET', `/charges/${body.id}`)).body.status).toBe('pending');
  });

  it('has its own events and those of its refunds', async () => {
    const bench = await open();
    const first = (await bench.call<ChargeJson>('POST', '/charges', { form: NEW_CHARGE })).body;
    await bench.call('POST', '/charges', { form: NEW_CHARGE });
    bench.sandbox.mark(first.id, { status: 'successful' });
    await bench.call('POST', `/charges/${first.id}/refunds`, { form: { amount: 1 } });
    const { body } = await bench.call<{ data: EventJson[]; total: number; location: string }>(
      'GET',
      `/charges/${first.id}/events`,
    );
    expect(body.data.map(({ key }) => key)).toEqual(['charge.create', 'charge.complete', 'refund.create']);
    expect(body).toMatchObject({ total: 3, location: `/charges/${first.id}/events` });
  });
});
