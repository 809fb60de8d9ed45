import { describe, expect, it } from 'vitest';
import { Faults } from './faults.js';
import type { Fault } from './plan.js';
import { ApiError, createSandbox, type ChargeJson, type FaultPlan, type SourceJson } from '../index.js';
import { Random } from '../random.js';
import { NEW_CHARGE, openReceiver, openSandbox, THB, type Bench } from '../../test/harness.js';

/** What a caller sees of a request: its status, or that the connection broke. */
async function outcome(bench: Bench, method = 'POST', path = '/charges'): Promise<number | 'broken'> {
  try {
    return (await bench.call(method, path, method === 'POST' ? { form: NEW_CHARGE } : {})).status;
  } catch {
    return 'broken';
  }
}

const hitBy = async (...faults: Fault[]): Promise<Bench> => {
  const bench = await openSandbox();
  bench.sandbox.faults.add(faults);
  return bench;
};

describe('a fault', () => {
  it.each<[Fault['action'], number | 'broken', number]>([
    ['status', 500, 0],
    ['reset_before', 'broken', 0],
    ['commit_then_reset', 'broken', 1],
    ['commit_then_status', 500, 1],
    ['garbage_body', 200, 1],
    ['delay', 200, 1],
    ['commit_then_delay', 200, 1],
  ])('%s is seen as %s and leaves %i charges', async (action, seen, charges) => {
    const bench = await hitBy({ action, method: 'POST', path: '/charges', times: 1, delay_ms: 1 });
    expect(await outcome(bench)).toBe(seen);
    const { charges: booked, events, requests } = bench.sandbox.state();
    expect([booked.length, events.length]).toEqual([charges, charges]);
    expect(requests).toMatchObject([{ fault: action, status: seen === 'broken' ? null : seen }]);
    expect(await outcome(bench)).toBe(200);
  });

  it.each<[Fault['action'], number]>([
    ['hang', 0],
    ['commit_then_hang', 1],
  ])('%s never answers, leaves %i charges, and ends with a reset', async (action, charges) => {
    const bench = await hitBy({ action, path: '/charges' });
    const held = new Promise<void>((resolve) => bench.sandbox.on('response', () => resolve()));
    const seen = outcome(bench);
    await held;
    expect(bench.sandbox.state().charges).toHaveLength(charges);
    expect(bench.sandbox.state().requests).toMatchObject([{ fault: action, status: null }]);
    bench.sandbox.reset();
    expect(await seen).toBe('broken');
  });

  it('of garbage sends a body that is not JSON, or the given body', async () => {
    const bench = await hitBy(
      { action: 'garbage_body', times: 1 },
      { action: 'garbage_body', body: '<html>', times: 1 },
    );
    const replies = [await bench.call('GET', '/account'), await bench.call('GET', '/account')];
    expect(() => replies[0]?.body).toThrow(SyntaxError);
    expect(replies[1]?.text).toBe('<html>');
  });

  it('answers with the given status, code, body and Retry-After', async () => {
    const bench = await hitBy(
      { action: 'status', status: 429, retry_after: 7, times: 1 },
      { action: 'status', status: 400, code: 'failed_expire', times: 1 },
      { action: 'status', status: 502, body: '<h1>Bad gateway</h1>', times: 1 },
    );
    const limited = await bench.call('GET', '/account');
    expect(limited).toMatchObject({ status: 429, body: { object: 'error', code: 'too_many_requests' } });
    expect(limited.headers.get('retry-after')).toBe('7');
    expect(await bench.call('GET', '/account')).toMatchObject({ status: 400, body: { code: 'failed_expire' } });
    const gateway = await bench.call('GET', '/account');
    expect([gateway.status, gateway.text]).toEqual([502, '<h1>Bad gateway</h1>']);
    expect(gateway.headers.get('content-type')).toContain('text/html');
    expect((await bench.call('GET', '/account')).status).toBe(200);
  });

  it('after the work also hides a refusal', async () => {
    const bench = await hitBy({ action: 'commit_then_status', status: 502 });
    expect((await bench.call('POST', '/charges', { form: { ...NEW_CHARGE, amount: 1 } })).status).toBe(502);
    expect(bench.sandbox.state().charges).toEqual([]);
  });

  it('on a create does not hit a retrieval, and the reverse', async () => {
    const bench = await hitBy({ action: 'reset_before', path: '/charges' });
    expect(await outcome(bench)).toBe('broken');
    expect(await outcome(bench, 'GET', '/charges/chrg_test_x')).toBe(404);
    bench.sandbox.faults.clear();
    bench.sandbox.faults.add({ action: 'reset_before', path: '/charges/{id}' });
    expect(await outcome(bench)).toBe(200);
    expect(await outcome(bench, 'GET', '/charges/chrg_test_x')).toBe('broken');
    expect(await outcome(bench, 'GET', '/charges/chrg_test_x/refunds')).toBe(404);
  });

  it.each<[Fault['action'], number]>([
    ['delay', 0],
    ['commit_then_delay', 1],
  ])('%s has %i charges while it waits, and ends with a reset', async (action, charges) => {
    const bench = await hitBy({ action, path: '/charges', delay_ms: 600_000 });
    let committed = 0;
    bench.sandbox.on('committed', () => (committed += 1));
    const waiting = new Promise<void>((resolve) => bench.sandbox.on('request', () => setImmediate(resolve)));
    const seen = outcome(bench);
    await waiting;
    expect(bench.sandbox.state().charges).toHaveLength(charges);
    bench.sandbox.reset();
    expect(await seen).toBe('broken');
    expect([bench.sandbox.state().charges.length, committed]).toEqual([0, charges]);
  });

  it('does not prevent the sandbox from closing', async () => {
    const bench = await hitBy({ action: 'hang', times: 1 }, { action: 'delay', delay_ms: 600_000 });
    const both = Promise.all([outcome(bench), outcome(bench)]);
    await new Promise<void>((resolve) => {
      let arrived = 0;
      bench.sandbox.on('request', () => (arrived += 1) === 2 && setImmediate(resolve));
    });
    await bench.sandbox.close();
    expect(await both).toEqual(['broken', 'broken']);
  });

  it('never hits control routes and pages', async () => {
    const bench = await hitBy({ action: 'status', status: 500 }, { action: 'status', status: 500, path: '*' });
    expect((await bench.control('GET', '/state')).status).toBe(200);
    expect((await fetch(`${bench.url}/dashboard`)).status).toBe(200);
    expect(await outcome(bench)).toBe(500);
  });

  it('on a source leaves a source that a charge can still use', async () => {
    const bench = await hitBy({ action: 'commit_then_reset', path: '/sources' });
    await expect(bench.call('POST', '/sources', { form: { ...THB, type: 'wallet_mpm' } })).rejects.toThrow(
      'fetch failed',
    );
    const [source] = bench.sandbox.state().sources;
    const charge = await bench.call<ChargeJson>('POST', '/charges', { form: { ...THB, source: source?.id ?? '' } });
    expect(charge.status).toBe(200);
    expect((await bench.call<SourceJson>('GET', `/sources/${source?.id}`)).body.charge_status).toBe('pending');
  });
});

describe('replaced records', () => {
  it('replace a record in a list and alone, and leave all others unchanged', async () => {
    const bench = await openSandbox();
    const [first, second] = [
      await bench.call<ChargeJson>('POST', '/charges', { form: NEW_CHARGE }),
      await bench.call<ChargeJson>('POST', '/charges', { form: NEW_CHARGE }),
    ];
    const { id } = first.body;
    bench.sandbox.faults.add({ action: 'replace_records', path: '/charges*', records: { [id]: { id, amount: null } } });
    const list = await bench.call<{ data: unknown[]; total: number }>('GET', '/charges');
    expect(list).toMatchObject({
      status: 200,
      body: { total: 2, data: [{ id, amount: null }, { id: second.body.id }] },
    });
    expect(list.body.data[0]).toEqual({ id, amount: null });
    expect((await bench.call('GET', `/charges/${id}`)).body).toEqual({ id, amount: null });
    expect((await bench.call('GET', `/charges/${second.body.id}`)).body).toMatchObject({ amount: second.body.amount });
    expect((await bench.call('GET', '/charges/chrg_test_x')).status).toBe(404);
  });

  it('may be any JSON', async () => {
    const bench = await openSandbox();
    const { id } = (await bench.call<ChargeJson>('POST', '/charges', { form: NEW_CHARGE })).body;
    await bench.control('POST', '/faults', [{ action: 'replace_records', path: '/charges', records: { [id]: null } }]);
    expect((await bench.call('GET', '/charges')).body).toMatchObject({ data: [null] });
  });
});

describe('a truncated body', () => {
  it('ends in the middle of an answer whose work is done', async () => {
    const bench = await hitBy({ action: 'truncated_body', path: '/charges', times: 1 });
    expect(await outcome(bench)).toBe('broken');
    expect(bench.sandbox.state()).toMatchObject({
      charges: [{}],
      requests: [{ fault: 'truncated_body', status: 200 }],
    });
    expect(await outcome(bench)).toBe(200);
  });
});

describe('a customer who is confirming', () => {
  const review = async () => {
    const bench = await openSandbox({ now: '2026-03-10T09:00:00Z', frozen: true });
    const { id } = (await bench.call<ChargeJson>('POST', '/charges', { form: NEW_CHARGE })).body;
    const mark = async (status: string) => await bench.control<ChargeJson>('POST', `/charges/${id}/mark`, { status });
    const expire = async () => await bench.call<ChargeJson>('POST', `/charges/${id}/expire`);
    expect((await mark('confirming')).body).toMatchObject({ id, status: 'pending', expired: false });
    return { ...bench, id, mark, expire };
  };

  it('prevents the merchant from expiring the charge, which shows as pending', async () => {
    const { expire, call, id, sandbox } = await review();
    expect(await expire()).toMatchObject({ status: 400, body: { code: 'failed_expire' } });
    expect((await call<ChargeJson>('GET', `/charges/${id}`)).body.status).toBe('pending');
    expect(sandbox.state().events).toHaveLength(1);
  });

  it('may pay, refuse or go back', async () => {
    for (const [status, expired] of [
      ['successful', 400],
      ['failed', 400],
      ['pending', 200],
    ] as const) {
      const { mark, expire } = await review();
      expect((await mark(status)).body.status).toBe(status);
      expect((await expire()).status).toBe(expired);
    }
  });

  it('cannot stop the expiry by time, and cannot review an expired charge', async () => {
    const { sandbox, call, id, mark } = await review();
    sandbox.advance(24 * 3_600);
    expect((await call<ChargeJson>('GET', `/charges/${id}`)).body.status).toBe('expired');
    expect(await mark('confirming')).toMatchObject({ status: 400 });
  });
});

describe('a rate limit', () => {
  it('refuses further requests until the clock refills the bucket', async () => {
    const bench = await openSandbox({ frozen: true });
    await bench.control('POST', '/rate-limit', { burst: 2, per_second: 0.5 });
    const ask = async () => await bench.call('GET', '/account');
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 200]);
    const refused = await ask();
    expect(refused).toMatchObject({ status: 429, body: { code: 'too_many_requests' } });
    expect(refused.headers.get('retry-after')).toBe('2');
    bench.sandbox.advance(1.999);
    expect((await ask()).status).toBe(429);
    bench.sandbox.advance(0.001);
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 429]);
    bench.sandbox.advance(3_600);
    expect([(await ask()).status, (await ask()).status, (await ask()).status]).toEqual([200, 200, 429]);
    expect((await bench.control('DELETE', '/rate-limit')).body).toEqual({ rate_limit: null });
    expect((await ask()).status).toBe(200);
  });

  it('does no work, sends Retry-After only if set, and ignores requests without a valid key', async () => {
    const rateLimit = { burst: 1, per_second: 1, retry_after: false };
    const bench = await openSandbox({ frozen: true, assumptions: { rateLimit } });
    for (let i = 0; i < 3; i += 1) expect((await bench.call('GET', '/account', { key: null })).status).toBe(401);
    expect([await outcome(bench), await outcome(bench)]).toEqual([200, 429]);
    expect((await bench.call('GET', '/account')).headers.get('retry-after')).toBeNull();
    expect(bench.sandbox.state().charges).toHaveLength(1);
    bench.sandbox.reset();
    expect([await outcome(bench), await outcome(bench)]).toEqual([200, 429]);
  });

  it.each([[{}], [{ burst: 0, per_second: 1 }], [{ burst: 1, per_second: 0 }], [{ burst: 1.5, per_second: 1 }]])(
    'of %j is refused',
    async (body) => {
      const bench = await openSandbox();
      expect((await bench.control('POST', '/rate-limit', body)).status).toBe(400);
      expect(bench.sandbox.rateLimit).toBeNull();
    },
  );
});

describe('a fault plan', () => {
  const plan: FaultPlan = {
    name: 'a bad day',
    faults: [{ action: 'status', path: '/charges', status: 503, times: 1 }],
    webhooks: { drop: 1 },
    rate_limit: { burst: 100, per_second: 10 },
  };

  it('applies at the start and again after a reset', async () => {
    const bench = await openSandbox({ faultPlan: plan });
    for (let i = 0; i < 2; i += 1) {
      expect([await outcome(bench), await outcome(bench)]).toEqual([503, 200]);
      expect(bench.sandbox.webhooks.settings()).toMatchObject({ drop: 1, duplicate: 0 });
      expect(bench.sandbox.rateLimit).toEqual({ burst: 100, per_second: 10, retry_after: true });
      bench.sandbox.reset();
    }
  });

  it('can be posted, and keeps the settings that it does not name', async () => {
    const bench = await openSandbox();
    expect((await bench.control('POST', '/faults', plan)).body).toMatchObject([{ id: 1, action: 'status' }]);
    expect((await bench.control('POST', '/faults', { rate_limit: null })).body).toHaveLength(1);
    expect(bench.sandbox.rateLimit).toBeNull();
    expect(bench.sandbox.webhooks.settings().drop).toBe(1);
  });

  it.each([
    [{}],
    [{ name: 'x' }],
    [{ ...plan, faults: [{ action: 'explode' }] }],
    [{ ...plan, webhooks: { drop: 2 } }],
    [{ ...plan, webhooks: { url: 'http://a.example' } }],
    [{ ...plan, rate_limit: {} }],
    [{ ...plan, extra: 1 }],
  ])('of %j is refused as a whole', async (body) => {
    const bench = await openSandbox();
    expect(await bench.control('POST', '/faults', body)).toMatchObject({ status: 400, body: { code: 'bad_request' } });
    expect([bench.sandbox.faults.list(), bench.sandbox.rateLimit]).toEqual([[], null]);
    expect(bench.sandbox.webhooks.settings().drop).toBe(0);
    expect(() => createSandbox({ faultPlan: body as FaultPlan })).toThrow(ApiError);
  });
});

describe('the fault log', () => {
  it('shows which fault hit which request', async () => {
    const bench = await openSandbox({ frozen: true, now: '2026-03-10T09:00:00Z' });
    bench.sandbox.faults.add([
      { action: 'delay', path: '/nowhere' },
      { action: 'commit_then_status', path: '/charges', status: 502, after: 1, times: 1 },
    ]);
    for (let i = 0; i < 3; i += 1) await outcome(bench);
    await outcome(bench, 'GET', '/account');
    const [, struck] = bench.sandbox.state().requests;
    expect((await bench.control('GET', '/log')).body).toEqual([
      {
        kind: 'request',
        at: '2026-03-10T09:00:00.000Z',
        request: struck?.id,
        method: 'POST',
        route: '/charges',
        path: '/charges',
        fault: { id: 2, action: 'commit_then_status' },
        status: 502,
      },
    ]);
    expect(struck).toMatchObject({ fault: 'commit_then_status', fault_id: 2 });
  });

  it('shows which webhooks a fault hit, and which fault', async () => {
    const bench = await openSandbox({ frozen: true });
    const { url } = await openReceiver();
    bench.sandbox.webhooks.configure({ url, drop: 1 });
    await outcome(bench);
    bench.sandbox.webhooks.configure({ corrupt_signature: 1, duplicate: 1, delay_ms: 1 });
    await outcome(bench);
    bench.sandbox.advance(1);
    await bench.sandbox.webhooks.idle();
    const { events } = bench.sandbox.state();
    const log = bench.sandbox.faultLog().map((entry) => (entry.kind === 'webhook' ? [entry.event, entry.faults] : []));
    expect(log).toHaveLength(3);
    expect(log).toEqual(
      expect.arrayContaining([
        [events[0]?.id, ['drop']],
        [events[1]?.id, ['corrupt_signature', 'delay_ms']],
        [events[1]?.id, ['duplicate', 'corrupt_signature', 'delay_ms']],
      ]),
    );
  });
});

describe('the choice of a fault', () => {
  const strikes = (fault: Omit<Fault, 'action'>, targets: readonly [string, string | null, string][]): boolean[] => {
    const faults = new Faults();
    faults.add([{ action: 'hang', ...fault }], new Random('s'));
    return targets.map(([method, route, path]) => faults.strike({ method, route, path }) !== null);
  };

  it.each<[Omit<Fault, 'action'>, string, string | null, string, boolean]>([
    [{}, 'GET', null, '/nowhere', true],
    [{ method: 'post' }, 'POST', '/charges', '/charges', true],
    [{ method: 'POST' }, 'GET', '/charges', '/charges', false],
    [{ path: '/charges' }, 'GET', '/charges/{id}', '/charges/chrg_1', false],
    [{ path: '/charges/{id}' }, 'GET', '/charges/{id}', '/charges/chrg_1', true],
    [{ path: '/charges/{charge_id}/refunds' }, 'GET', '/charges/{id}/refunds', '/charges/chrg_1/refunds', true],
    [{ path: '/charges/:id/expire' }, 'POST', '/charges/{id}/expire', '/charges/chrg_1/expire', true],
    [{ path: '/charges/{id}' }, 'GET', '/charges/schedules', '/charges/schedules', false],
    [{ path: '/charges/chrg_1' }, 'GET', '/charges/{id}', '/charges/chrg_1', true],
    [{ path: '/charges/chrg_2' }, 'GET', '/charges/{id}', '/charges/chrg_1', false],
    [{ path: '/charges*' }, 'GET', '/charges/{id}', '/charges/chrg_1', true],
    [{ path: '/charges/*/expire' }, 'POST', '/charges/{id}/expire', '/charges/chrg_1/expire', true],
    [{ path: '/charges/*/expire' }, 'POST', '/charges/{id}/refunds', '/charges/chrg_1/refunds', false],
    [{ path: '*/refunds' }, 'POST', '/charges/{id}/refunds', '/charges/chrg_1/refunds', true],
    [{ path: '/charges/{id}/*' }, 'POST', '/charges/{id}/refunds', '/charges/chrg_1/refunds', true],
    [{ path: '*' }, 'POST', null, '/nowhere', true],
    [{ path: '/c.arges*' }, 'GET', '/charges', '/charges', false],
  ])('%j on %s %s (%s) is %s', (fault, method, route, path, struck) => {
    expect(strikes(fault, [[method, route, path]])).toEqual([struck]);
  });

  const five = Array.from({ length: 5 }, () => ['GET', null, '/'] as [string, null, string]);

  it('respects times and after', () => {
    expect(strikes({ times: 2 }, five)).toEqual([true, true, false, false, false]);
    expect(strikes({ after: 3 }, five)).toEqual([false, false, false, true, true]);
    expect(strikes({ times: 1, after: 1 }, five)).toEqual([false, true, false, false, false]);
  });

  it('with a probability repeats with the seed and comes near its rate', () => {
    const many = Array.from({ length: 2_000 }, (): [string, null, string] => ['GET', null, '/']);
    const once = strikes({ probability: 0.3 }, many);
    expect(strikes({ probability: 0.3 }, many)).toEqual(once);
    expect(once.filter(Boolean).length / many.length).toBeCloseTo(0.3, 1);
    expect(strikes({ probability: 0 }, five)).not.toContain(true);
    expect(strikes({ probability: 1 }, five)).not.toContain(false);
  });

  it('takes the next fault when the first does not hit', () => {
    const faults = new Faults();
    faults.add([{ action: 'hang', times: 1 }, { action: 'reset_before' }], new Random('s'));
    const actions = five.map(([method, route, path]) => faults.strike({ method, route, path })?.action);
    expect(actions.slice(0, 3)).toEqual(['hang', 'reset_before', 'reset_before']);
    expect(faults.list()).toMatchObject([
      { id: 1, matched: 1, struck: 1 },
      { id: 2, matched: 4, struck: 4 },
    ]);
  });
});
