import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  api,
  checkoutOf,
  json,
  KEY,
  lost,
  other,
  problem,
  refundOf,
  silent,
  truncated,
  type Reply,
} from '../test/api.js';
import { TillflowError } from './errors.js';
import { Tillflow } from './index.js';
import type { CheckoutCreateParams } from './types.js';

const SALE = { reference: 'till-7-000142', amount: 150_000, currency: 'THB' } satisfies CheckoutCreateParams;
const OPEN = checkoutOf();
const CREATING = checkoutOf({ status: 'creating', qr: null, version: 1 });
/** Answers come soon, so that a lost one is given up soon. */
const QUICK = { timeoutMs: 1_000 };

const failure = (call: Promise<unknown>): Promise<TillflowError> =>
  call.then(
    () => expect.fail('it succeeded'),
    (error: unknown) => error as TillflowError,
  );

describe('a create', () => {
  test('is one request when the answer comes, with the key and the parameters', async () => {
    const { tillflow, seen } = await api(json(201, OPEN));
    expect(await tillflow().checkouts.create(SALE)).toEqual(OPEN);
    expect(seen).toMatchObject([
      { method: 'POST', path: '/v1/checkouts', headers: { authorization: `Bearer ${KEY}` } },
    ]);
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual(SALE);
  });

  test.each<readonly [string, Reply]>([
    ['a lost answer', lost],
    ['an answer that is cut', truncated(201, OPEN)],
    ['an answer that does not come', silent],
    ['a 408', problem(408, 'request_timeout')],
    ['a 429', problem(429, 'rate_limited', { 'retry-after': '0' })],
    ['a 500', problem(500, 'internal_error')],
    ['a 503', problem(503, 'temporal_unavailable', { 'retry-after': '0' })],
    ['a 502 of a proxy', other(502, '<h1>Bad Gateway</h1>')],
    ['a page of a captive portal', other(200, '<h1>Welcome</h1>')],
    ['a redirect of a captive portal', other(302, '', { location: 'http://192.0.2.1/' })],
    ['a checkout of another reference', json(200, checkoutOf({ reference: 'other' }))],
  ])('is repeated after %s, with the same reference', async (_, reply) => {
    const { tillflow, seen } = await api(reply, json(200, OPEN));
    expect(await tillflow(QUICK).checkouts.create(SALE)).toEqual(OPEN);
    expect(seen).toHaveLength(2);
    expect(seen[1]?.body).toBe(seen[0]?.body);
  });

  test.each([
    ['invalid_request', 400],
    ['unauthorized', 401],
    ['forbidden', 403],
    ['reference_conflict', 409],
    ['amount_out_of_range', 422],
    ['not_accepting', 503],
    ['checkout_unreadable', 500],
    ['a_code_of_a_newer_api', 409],
  ])('is not repeated after %s', async (code, status) => {
    const { tillflow, seen } = await api(problem(status, code));
    const money = code === 'checkout_unreadable' ? 'unknown' : 'not_moved';
    expect(await failure(tillflow().checkouts.create(SALE))).toMatchObject({ code, status, money, problem: { code } });
    expect(seen).toHaveLength(1);
  });

  test('whose answer is 202 waits for the QR code, and repeats the request when there is none in time', async () => {
    const first = await api(json(202, CREATING, { 'retry-after': '1' }), json(200, OPEN));
    expect(await first.tillflow().checkouts.create(SALE)).toEqual(OPEN);
    expect(first.routes()).toEqual(['POST /v1/checkouts', `GET /v1/checkouts/${OPEN.id}?wait=20&after_version=1`]);

    const second = await api(json(202, CREATING), problem(404, 'not_found'), json(201, OPEN));
    expect(await second.tillflow().checkouts.create(SALE)).toEqual(OPEN);
    expect(second.routes().map((route) => route.split('?')[0])).toEqual([
      'POST /v1/checkouts',
      `GET /v1/checkouts/${OPEN.id}`,
      'POST /v1/checkouts',
    ]);
  });

  test('whose answer is 202 does not take the checkout of another amount for its own', async () => {
    const conflict = problem(409, 'reference_conflict');
    const { tillflow } = await api(json(202, CREATING), json(200, checkoutOf({ amount: 2_000 })), conflict);
    expect(await failure(tillflow().checkouts.create(SALE))).toMatchObject({ code: 'reference_conflict' });
  });

  test('of a checkout that has ended returns it, without a QR code', async () => {
    const paid = checkoutOf({ status: 'paid', qr: null });
    const { tillflow } = await api(json(200, paid));
    expect(await tillflow().checkouts.create(SALE)).toEqual(paid);
  });

  test('waits for the next QR code of a checkout whose QR code is being replaced', async () => {
    const { tillflow, seen } = await api(json(200, checkoutOf({ qr: null, version: 4 })), json(200, OPEN));
    expect(await tillflow().checkouts.create(SALE)).toEqual(OPEN);
    expect(seen[1]?.path).toContain('after_version=4');
  });

  test('honours Retry-After, and does not begin a pause that is longer than its patience', async () => {
    const { tillflow, seen } = await api(problem(503, 'overloaded', { 'retry-after': '30' }));
    const error = await failure(tillflow({ patienceMs: 5_000 }).checkouts.create(SALE));
    expect(error).toMatchObject({ code: 'overloaded', money: 'not_moved', retryAfterMs: 30_000 });
    expect(seen).toHaveLength(1);
  });

  test('honours Retry-After as a date', async () => {
    const date = new Date(Date.now() + 60_000).toUTCString();
    const { tillflow } = await api(problem(503, 'overloaded', { 'retry-after': date }));
    const { retryAfterMs } = await failure(tillflow({ patienceMs: 0 }).checkouts.create(SALE));
    expect(retryAfterMs).toBeGreaterThan(50_000);
    expect(retryAfterMs).toBeLessThanOrEqual(60_000);
  });

  test('takes Retry-After as a date by the clock of the server, whatever the time at the till is', async () => {
    const [date, until] = ['Sat, 21 Nov 2020 05:30:00 GMT', 'Sat, 21 Nov 2020 05:30:30 GMT'];
    const { tillflow } = await api(problem(503, 'overloaded', { date, 'retry-after': until }));
    const error = await failure(tillflow({ patienceMs: 0 }).checkouts.create(SALE));
    expect(error).toMatchObject({ code: 'overloaded', retryAfterMs: 30_000 });
  });

  test('follows no redirect with its key', async () => {
    const target = await api(json(201, OPEN));
    const { tillflow } = await api(other(308, '', { location: `${target.baseUrl}/v1/checkouts` }));
    expect(await failure(tillflow().checkouts.create(SALE))).toMatchObject({ code: 'unexpected_answer', status: 308 });
    expect(target.seen).toEqual([]);
  });

  test('refused by something else than Tillflow says so at once', async () => {
    const { tillflow, seen } = await api(other(404, '<h1>No such page</h1>'));
    const error = await failure(tillflow().checkouts.create(SALE));
    expect(error).toMatchObject({ code: 'unexpected_answer', status: 404, money: 'not_moved' });
    expect(error.message).toContain('Check baseUrl');
    expect(seen).toHaveLength(1);
  });
});

describe('what a failed call means for the money', () => {
  const patience = { patienceMs: 300, ...QUICK };

  test.each<readonly [string, Reply]>([
    ['no answer', lost],
    ['202', json(202, CREATING)],
    ['500', problem(500, 'internal_error')],
    ['503', problem(503, 'temporal_unavailable', { 'retry-after': '0' })],
  ])('is unknown when all answers of a create are %s, with the reference to repeat it', async (_, reply) => {
    const { tillflow } = await api(reply);
    const error = await failure(tillflow(patience).checkouts.create(SALE));
    expect(error).toMatchObject({ money: 'unknown', repeatWith: { reference: SALE.reference } });
    expect(error.message).toContain('repeat the call with the same reference (till-7-000142)');
  });

  test.each([
    ['unauthorized', 401, 'unknown'],
    ['overloaded', 503, 'unknown'],
    ['not_accepting', 503, 'unknown'],
    ['source_mismatch', 422, 'unknown'],
    ['reference_conflict', 409, 'not_moved'],
    ['amount_out_of_range', 422, 'not_moved'],
  ])('after a lost answer and %s is as clear as this refusal makes it', async (code, status, money) => {
    const { tillflow } = await api(lost, problem(status, code, { 'retry-after': '9' }));
    expect(await failure(tillflow({ patienceMs: 5_000 }).checkouts.create(SALE))).toMatchObject({ code, money });
  });

  test('of a read is that it moved none', async () => {
    const { tillflow } = await api(lost);
    const error = await failure(tillflow(patience).checkouts.retrieve(OPEN.id));
    expect(error).toMatchObject({ code: 'no_answer', money: 'not_moved', status: undefined });
    expect(error.cause).toBeInstanceOf(Error);
  });

  test('with an outcome that is pending has the newest state', async () => {
    const { tillflow } = await api(json(202, CREATING));
    const error = await failure(tillflow({ patienceMs: 0 }).checkouts.create(SALE));
    expect(error).toMatchObject({ code: 'outcome_pending', money: 'unknown', checkout: CREATING });
  });
});

describe('a computer that sleeps for an hour during a call', () => {
  // The steady clock stands still while a computer sleeps.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
  afterEach(() => void vi.useRealTimers());

  const sleeps = (then: Reply): Reply => {
    return (response, request) => {
      vi.setSystemTime(Date.now() + 3_600_000);
      then(response, request);
    };
  };
  const refund = refundOf();
  const pending = json(202, refundOf({ status: 'pending' }), {
    location: `/v1/checkouts/${OPEN.id}?wait=20&after_version=7`,
  });

  test.each<readonly [string, readonly Reply[]]>([
    ['while it waits for an answer', [sleeps(lost)]],
    ['while it waits for the outcome', [pending, sleeps(json(200, OPEN))]],
  ])('%s sends no refund when it wakes', async (_, replies) => {
    const { tillflow, seen } = await api(...replies, json(201, refund));
    const options = { idempotencyKey: refund.key, patienceMs: 60_000 };
    const error = await failure(tillflow().checkouts.refund(OPEN.id, {}, options));
    expect(error).toMatchObject({ money: 'unknown', repeatWith: { idempotencyKey: refund.key } });
    expect(seen).toHaveLength(replies.length);
  });
});

describe('a call that has ended', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  type Answering = (signal: AbortSignal) => Promise<Response>;
  const answers = (status: number, body: unknown, headers = {}): Answering => {
    return async () => Response.json(body, { status, headers });
  };
  const breaks: Answering = () => Promise.reject(new TypeError('lost'));
  const hangs: Answering = (signal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
  const busy = { code: 'rate_limited', detail: 'Too many requests' };

  /** A client without a network, because a network has timers of its own. */
  function clientOf(...replies: readonly Answering[]): Tillflow {
    let requests = 0;
    const fetch: typeof globalThis.fetch = (_, init) => {
      requests += 1;
      return (replies[Math.min(requests, replies.length) - 1] ?? hangs)(init?.signal as AbortSignal);
    };
    return new Tillflow({ baseUrl: 'https://pay.example', key: KEY, fetch });
  }

  test.each<readonly [string, readonly Answering[], string]>([
    ['with its outcome', [breaks, answers(202, CREATING), answers(200, OPEN)], OPEN.id],
    ['with a refusal', [breaks, answers(409, { code: 'reference_conflict', detail: 'Why' })], 'reference_conflict'],
    ['because it was aborted in a pause', [answers(429, busy, { 'retry-after': '30' })], 'aborted'],
    ['because it was aborted while it waited for an answer', [hangs], 'aborted'],
  ])('%s leaves no timer, and no listener on its signal', async (_, replies, ended) => {
    const abort = new AbortController();
    const call = clientOf(...replies)
      .checkouts.create(SALE, { signal: abort.signal })
      .then(
        ({ id }) => id,
        (error: unknown) => (error as TillflowError).code,
      );
    await vi.advanceTimersByTimeAsync(5_000);
    abort.abort();
    expect(await call).toBe(ended);
    expect(getEventListeners(abort.signal, 'abort')).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('leaves neither when it was a watch', async () => {
    const { signal } = new AbortController();
    for await (const { id } of clientOf(answers(200, OPEN)).checkouts.watch(OPEN.id, { signal }))
      if (id === OPEN.id) break;
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('an aborted call', () => {
  test('that sent nothing moved no money', async () => {
    const { tillflow, seen } = await api(json(201, OPEN));
    const signal = AbortSignal.abort(new Error('the till closes'));
    const error = await failure(tillflow().checkouts.create(SALE, { signal }));
    expect(error).toMatchObject({ code: 'aborted', money: 'not_moved', cause: { message: 'the till closes' } });
    expect(seen).toEqual([]);
  });

  test.each<readonly [string, Reply]>([
    ['while it waits for an answer', silent],
    ['in the pause before the next request', lost],
    [
      'while it waits for a later state',
      (response, request) => (request.method === 'POST' ? json(202, CREATING) : silent)(response, request),
    ],
  ])('%s has an unknown outcome', async (_, reply) => {
    const { tillflow } = await api(reply);
    const signal = AbortSignal.timeout(100);
    const error = await failure(tillflow().checkouts.create(SALE, { signal }));
    expect(error).toMatchObject({ code: 'aborted', money: 'unknown', repeatWith: { reference: SALE.reference } });
  });
});

describe('a TillflowError', () => {
  test('names the wrong fields in its message', async () => {
    const errors = [
      { path: 'amount', message: 'Too small' },
      { path: 'currency', message: 'Invalid' },
    ];
    const { tillflow } = await api(json(400, { code: 'invalid_request', detail: 'See errors', errors }));
    const error = await failure(tillflow().checkouts.create(SALE));
    expect(error.message).toBe('invalid_request: amount: Too small; currency: Invalid. This call moved no money.');
  });

  test('shows what happened in its message and in JSON, and never the key', async () => {
    const { tillflow } = await api(problem(409, 'reference_conflict'));
    const error = await failure(tillflow().checkouts.create(SALE));
    expect(error.message).toBe('reference_conflict: Why. This call moved no money.');
    expect(error).toBeInstanceOf(TillflowError);
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({
      name: 'TillflowError',
      message: error.message,
      code: 'reference_conflict',
      money: 'not_moved',
      problem: { request_id: 'r1', type: 'https://pay.example/errors/reference_conflict' },
    });
  });
});
