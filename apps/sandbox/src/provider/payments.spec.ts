import { describe, expect, it } from 'vitest';
import type { ChargeJson, EventJson, SourceJson } from '../index.js';
import { NEW_CHARGE, openSandbox, THB, type Bench } from '../../test/harness.js';

const AT = '2026-03-10T09:00:00.000Z';
const open = (): Promise<Bench> => openSandbox({ seed: 's', now: AT, frozen: true });
const eventKeys = ({ sandbox }: Bench): string[] => sandbox.state().events.map(({ key }) => key);

describe('a source', () => {
  it('has every documented field, is offline, and is unknown until a charge uses it', async () => {
    const bench = await open();
    const { status, body } = await bench.call<SourceJson>('POST', '/sources', { form: { ...THB, type: 'wallet_mpm' } });
    expect(status).toBe(200);
    expect(body).toEqual({
      object: 'source',
      id: expect.stringMatching(/^src_test_[0-9a-z]{19}$/),
      livemode: false,
      location: `/sources/${body.id}`,
      ...THB,
      created_at: AT,
      flow: 'offline',
      type: 'wallet_mpm',
      charge_status: 'unknown',
      items: [],
      discounts: [],
      ...nulls('barcode bank email installment_term ip absorption_type name mobile_number phone_number platform_type'),
      ...nulls('scannable_code qr_settings billing shipping references provider_references store_id store_name'),
      ...nulls('terminal_id zero_interest_installments receipt_amount promotion_code supplier_id'),
    });
    expect((await bench.call('GET', `/sources/${body.id}`)).body).toEqual(body);
  });

  it('echoes what the merchant sends along, with its types', async () => {
    const bench = await open();
    const form = {
      ...THB,
      type: 'wallet_mpm',
      name: 'Till 7',
      store_id: '9',
      zero_interest_installments: true,
      installment_term: 3,
      'billing[city]': 'Bangkok',
      'items[][name]': 'Tea',
      'qr_settings[image_type]': 'svg',
    };
    expect((await bench.call<SourceJson>('POST', '/sources', { form })).body).toMatchObject({
      name: 'Till 7',
      store_id: '9',
      zero_interest_installments: true,
      installment_term: 3,
      billing: { city: 'Bangkok' },
      items: [{ name: 'Tea' }],
      qr_settings: { image_type: 'svg' },
    });
  });

  it.each<[string, Record<string, string | number>, string]>([
    ['without an amount', { currency: 'THB', type: 'wallet_mpm' }, 'bad_request'],
    ['without a currency', { amount: 2000, type: 'wallet_mpm' }, 'bad_request'],
    ['without a type', { ...THB }, 'bad_request'],
    ['of another type', { ...THB, type: 'card' }, 'bad_request'],
    ['of an empty amount', { ...THB, type: 'wallet_mpm', amount: '' }, 'bad_request'],
    ['of a fraction', { ...THB, type: 'wallet_mpm', amount: '2000.5' }, 'bad_request'],
    ['of an exponent', { ...THB, type: 'wallet_mpm', amount: '2e4' }, 'bad_request'],
    ['of a padded amount', { ...THB, type: 'wallet_mpm', amount: ' 2000' }, 'bad_request'],
    ['of a huge amount', { ...THB, type: 'wallet_mpm', amount: '99999999999999999999' }, 'bad_request'],
    ['of a text as amount', { ...THB, type: 'wallet_mpm', amount: 'many' }, 'bad_request'],
    ['of a list as amount', { currency: 'THB', type: 'wallet_mpm', 'amount[]': 2000 }, 'bad_request'],
    ['of an unknown currency', { ...THB, type: 'wallet_mpm', currency: 'USD' }, 'bad_request'],
    ['of a currency in small letters', { ...THB, type: 'wallet_mpm', currency: 'thb' }, 'bad_request'],
    ['with a flag that is none', { ...THB, type: 'wallet_mpm', zero_interest_installments: '1' }, 'bad_request'],
    ['with an address that is a text', { ...THB, type: 'wallet_mpm', billing: 'Bangkok' }, 'bad_request'],
    ['with an address part that is an object', { ...THB, type: 'wallet_mpm', 'billing[city][x]': '1' }, 'bad_request'],
    ['with items that are no list', { ...THB, type: 'wallet_mpm', 'items[name]': '1' }, 'bad_request'],
    ['below the least amount', { ...THB, type: 'wallet_mpm', amount: 1999 }, 'invalid_amount'],
    ['of a negative amount', { ...THB, type: 'wallet_mpm', amount: -2000 }, 'invalid_amount'],
    ['above the greatest amount', { ...THB, type: 'wallet_mpm', amount: 15_000_001 }, 'invalid_amount'],
    ['below the least of its currency', { amount: 99, currency: 'SGD', type: 'wallet_mpm' }, 'invalid_amount'],
    [
      'above the greatest of its currency',
      { amount: 3_000_001, currency: 'MYR', type: 'wallet_mpm' },
      'invalid_amount',
    ],
  ])('%s is refused and not kept', async (_case, form, code) => {
    const bench = await open();
    expect(await bench.call('POST', '/sources', { form })).toMatchObject({
      status: 400,
      body: { object: 'error', code },
    });
    expect(bench.sandbox.state().sources).toEqual([]);
  });

  it.each([
    ['THB', 2_000, 15_000_000],
    ['SGD', 100, 2_000_000],
    ['MYR', 100, 3_000_000],
  ])('in %s may be of %i and of %i', async (currency, min, max) => {
    const bench = await open();
    for (const amount of [min, max]) {
      const form = { amount, currency, type: 'wallet_mpm' };
      expect((await bench.call('POST', '/sources', { form })).status).toBe(200);
    }
  });
});

describe('a charge', () => {
  it('made with its source has every documented field and a QR code', async () => {
    const bench = await open();
    const { status, body } = await bench.call<ChargeJson>('POST', '/charges', {
      form: { ...NEW_CHARGE, description: 'Tea', 'metadata[order]': '7', return_uri: 'https://shop.example/back' },
    });
    expect(status).toBe(200);
    const token = body.source?.scannable_code?.raw_data.split('/').at(-1) ?? '';
    expect(token).toMatch(/^[0-9a-z]{24}$/);
    expect(body).toEqual({
      object: 'charge',
      id: expect.stringMatching(/^chrg_test_[0-9a-z]{19}$/),
      location: `/charges/${body.id}`,
      ...THB,
      funding_amount: 150_000,
      funding_currency: 'THB',
      fee: 2_475,
      fee_vat: 173,
      net: 147_352,
      interest: 0,
      interest_vat: 0,
      refunded_amount: 0,
      transaction_fees: { fee_flat: '0.0', fee_rate: '1.65', vat_rate: '7.0' },
      platform_fee: { fixed: null, amount: null, percentage: null },
      refunds: {
        object: 'list',
        data: [],
        limit: 20,
        offset: 0,
        total: 0,
        order: 'chronological',
        location: `/charges/${body.id}/refunds`,
        from: '1970-01-01T00:00:00.000Z',
        to: AT,
      },
      description: 'Tea',
      metadata: { order: '7' },
      source: {
        ...body.source,
        charge_status: 'pending',
        amount: 150_000,
        currency: 'THB',
        flow: 'offline',
        scannable_code: {
          object: 'barcode',
          type: 'qr',
          image: {
            object: 'document',
            livemode: false,
            id: expect.stringMatching(/^docu_test_[0-9a-z]{19}$/),
            deleted: false,
            filename: 'qrcode.svg',
            location: expect.stringMatching(new RegExp(`^/charges/${body.id}/documents/docu_test_`)),
            kind: 'qr',
            download_uri: `${bench.url}/qr/${token}.svg`,
            created_at: AT,
          },
          raw_data: `${bench.url}/wallet/${token}`,
        },
      },
      status: 'pending',
      return_uri: 'https://shop.example/back',
      created_at: AT,
      expires_at: '2026-03-11T09:00:00.000Z',
      capture: true,
      ...falses('zero_interest_installments authorized capturable disputable livemode refundable partially_refundable'),
      ...falses('reversed reversible voided paid expired can_perform_void'),
      ...nulls(
        'acquirer_reference_number ip link card schedule linked_account customer dispute transaction approval_code',
      ),
      ...nulls(
        'failure_code failure_message authorize_uri paid_at authorized_at expired_at reversed_at branch terminal device',
      ),
    });
    expect((await bench.call('GET', `/charges/${body.id}`)).body).toEqual(body);
    expect((await bench.call('GET', `/sources/${body.source?.id}`)).body).toEqual(body.source);
    expect(eventKeys(bench)).toEqual(['charge.create']);
  });

  it('made with an existing source fills it, and the source follows the charge', async () => {
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

  it('is the only one of its source', async () => {
    const bench = await open();
    const source = (await bench.call<SourceJson>('POST', '/sources', { form: { ...THB, type: 'wallet_mpm' } })).body;
    await bench.call('POST', '/charges', { form: { ...THB, source: source.id } });
    const second = await bench.call('POST', '/charges', { form: { ...THB, source: source.id } });
    expect(second).toMatchObject({ status: 400, body: { code: 'invalid_charge' } });
    expect(bench.sandbox.state().charges).toHaveLength(1);
  });

  it.each<[string, Record<string, string | number>, string]>([
    ['another amount than its source', { amount: 150_001, currency: 'THB' }, 'invalid_charge'],
    ['another currency than its source', { amount: 150_000, currency: 'SGD' }, 'invalid_charge'],
    ['no amount', { currency: 'THB' }, 'bad_request'],
    ['no currency', { amount: 150_000 }, 'bad_request'],
    ['an amount below the limit', { ...THB, amount: 1 }, 'invalid_amount'],
    ['metadata that is a text', { ...THB, metadata: 'x' }, 'bad_request'],
    ['a list as description', { ...THB, 'description[]': 'x' }, 'bad_request'],
    ['a past expiry', { ...THB, expires_at: '2026-03-10T09:00:00Z' }, 'bad_request'],
    ['an expiry without a zone', { ...THB, expires_at: '2026-03-10T10:00:00' }, 'bad_request'],
    ['an expiry that is no date', { ...THB, expires_at: '2026-02-30T10:00:00Z' }, 'bad_request'],
    ['a return address of another scheme', { ...THB, return_uri: 'javascript:alert(1)' }, 'bad_request'],
    ['a webhook endpoint that is no address', { ...THB, 'webhook_endpoints[]': 'here' }, 'bad_request'],
    ['one webhook endpoint instead of a list', { ...THB, webhook_endpoints: 'https://a.example' }, 'bad_request'],
  ])('with %s is refused, and the source stays unused', async (_case, form, code) => {
    const bench = await open();
    const source = (await bench.call<SourceJson>('POST', '/sources', { form: { ...THB, type: 'wallet_mpm' } })).body;
    const before = bench.sandbox.state(['sources', 'charges', 'events']);
    const reply = await bench.call('POST', '/charges', { form: { source: source.id, ...form } });
    expect(reply).toMatchObject({ status: 400, body: { code } });
    expect(bench.sandbox.state(['sources', 'charges', 'events'])).toEqual(before);
  });

  it.each<[string, Record<string, string | number>, number, string]>([
    ['without a source', {}, 400, 'bad_request'],
    ['with an unknown source', { source: 'src_test_nobody' }, 404, 'not_found'],
    ['with a source list', { 'source[]': 'x' }, 400, 'bad_request'],
    ['with a source without a type', { 'source[amount]': 150_000 }, 400, 'bad_request'],
    ['with a source of another type', { 'source[type]': 'card' }, 400, 'bad_request'],
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
    [
      'with three webhook endpoints',
      { 'source[type]': 'wallet_mpm', 'webhook_endpoints[]': 'https://a.example' },
      400,
      'bad_request',
    ],
  ])('%s is refused and leaves nothing', async (_case, fields, status, code) => {
    const bench = await open();
    const endpoint = '&webhook_endpoints[]=https://a.example';
    const text = Object.entries({ ...THB, ...fields }).map(([name, value]) => `${name}=${value}`);
    const form = text.join('&') + ('webhook_endpoints[]' in fields ? endpoint + endpoint : '');
    expect(await bench.call('POST', '/charges', { form })).toMatchObject({ status, body: { code } });
    expect(bench.sandbox.state(['sources', 'charges', 'events'])).toMatchObject({
      sources: [],
      charges: [],
      events: [],
    });
  });

  it.each([
    [2_000, 33, 2],
    [150_000, 2_475, 173],
    [3_000, 50, 4],
    [10_000, 165, 12],
    [15_000_000, 247_500, 17_325],
  ])('of %i has a fee of %i and VAT of %i, each rounded half up', async (amount, fee, fee_vat) => {
    const bench = await open();
    const { body } = await bench.call<ChargeJson>('POST', '/charges', { form: { ...NEW_CHARGE, amount } });
    expect(body).toMatchObject({ fee, fee_vat, net: amount - fee - fee_vat });
  });

  it('becomes successful when it is paid: money is booked, and the event carries it', async () => {
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
    expect(transactions).toEqual([
      {
        object: 'transaction',
        id: body.transaction,
        livemode: false,
        location: `/transactions/${body.transaction}`,
        currency: 'THB',
        amount: 147_352,
        direction: 'credit',
        key: 'charge.capture',
        origin: id,
        created_at: '2026-03-10T09:01:00.000Z',
        transferable_at: '2026-03-17T09:01:00.000Z',
      },
    ]);
    expect(eventKeys(bench)).toEqual(['charge.create', 'charge.complete']);
    expect(events[1]?.data).toEqual(body);
    expect(events[0]?.data).toMatchObject({ status: 'pending', source: { charge_status: 'pending' } });
  });

  it.each([
    [{}, 'payment_rejected', 'Payment rejected by the issuer.'],
    [{ failure_code: 'payment_expired' }, 'payment_expired', 'Payment expired.'],
    [
      { failure_code: 'insufficient_fund' },
      'insufficient_fund',
      'Insufficient funds in the account, or the payment method reached its limit.',
    ],
    [{ failure_code: 'failed_processing' }, 'failed_processing', 'General payment processing failure.'],
  ])('marked as failed with %j tells why', async (form, failure_code, failure_message) => {
    const bench = await open();
    const { id } = (await bench.call<ChargeJson>('POST', '/charges', { form: NEW_CHARGE })).body;
    const { body } = await bench.call<ChargeJson>('POST', `/charges/${id}/mark_as_failed`, { form });
    expect(body).toMatchObject({
      status: 'failed',
      failure_code,
      failure_message,
      paid: false,
      authorized: false,
      paid_at: null,
      refundable: false,
      can_perform_void: false,
      transaction: null,
      source: { charge_status: 'failed' },
    });
    expect(eventKeys(bench)).toEqual(['charge.create', 'charge.complete']);
    expect(bench.sandbox.state().transactions).toEqual([]);
  });

  it('is expired by hand', async () => {
    const bench = await open();
    const { id } = (await bench.call<ChargeJson>('POST', '/charges', { form: NEW_CHARGE })).body;
    const { body } = await bench.call<ChargeJson>('POST', `/charges/${id}/expire`);
    expect(body).toMatchObject({
      status: 'expired',
      expired: true,
      expired_at: AT,
      paid: false,
      failure_code: null,
      source: { charge_status: 'expired' },
    });
    expect(eventKeys(bench)).toEqual(['charge.create', 'charge.expire']);
  });

  it('takes an expires_at of a caller whose clock did not leap along as that much time from now', async () => {
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

  it('expires by the clock at its very expires_at, a millisecond before that it is pending', async () => {
    const bench = await open();
    const form = { ...NEW_CHARGE, expires_at: '2026-03-10T16:10:00.500+07:00' };
    const { id, expires_at } = (await bench.call<ChargeJson>('POST', '/charges', { form })).body;
    expect(expires_at).toBe('2026-03-10T09:10:00.500Z');
    bench.sandbox.setNow('2026-03-10T09:10:00.499Z');
    expect((await bench.call<ChargeJson>('GET', `/charges/${id}`)).body.status).toBe('pending');
    bench.sandbox.setNow('2026-03-11T00:00:00Z');
    expect((await bench.call<ChargeJson>('GET', `/charges/${id}`)).body).toMatchObject({
      status: 'expired',
      expired: true,
      expired_at: expires_at,
      failure_code: null,
      source: { charge_status: 'expired' },
    });
    expect(bench.sandbox.state().events.at(-1)).toMatchObject({ key: 'charge.expire', created_at: expires_at });
  });

  it('may be seen as failed with payment_expired instead', async () => {
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

  it('that does not exist is not found by any operation', async () => {
    const bench = await open();
    const id = 'chrg_test_nobody';
    const operations = ['expire', 'mark_as_paid', 'mark_as_failed', 'refunds'].map(
      (name) => ['POST', `/${name}`] as const,
    );
    for (const [method, path] of [...operations, ['GET', ''], ['GET', '/refunds'], ['GET', '/events']] as const) {
      const reply = await bench.call(method, `/charges/${id}${path}`, {
        form: method === 'POST' ? { amount: 1 } : undefined,
      });
      expect(reply).toMatchObject({ status: 404, body: { object: 'error', code: 'not_found' } });
    }
  });

  it('has its own events, with those of its refunds', async () => {
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

function nulls(names: string): Record<string, null> {
  return Object.fromEntries(names.split(' ').map((name) => [name, null]));
}

function falses(names: string): Record<string, false> {
  return Object.fromEntries(names.split(' ').map((name) => [name, false]));
}
