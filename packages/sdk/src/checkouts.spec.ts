import { describe, expect, test } from 'vitest';
import { api, checkoutOf, json, lost, problem, refundOf } from '../test/api.js';
import { NotPaidError, NotRefundedError } from './errors.js';
import type { Attempt, Checkout, Refund } from './types.js';

const ID = 'chk_default_till-7-000142';
const OPEN = checkoutOf();

function withAttempts(count: number, fields: Partial<Checkout> = {}): Checkout {
  const [attempt] = OPEN.attempts as [Attempt];
  return checkoutOf({
    attempts: Array.from({ length: count }, (_, index) => ({ ...attempt, number: index + 1 })),
    ...fields,
  });
}

describe('a cancel', () => {
  test('ends with the checkout that accepts no payment any more', async () => {
    const cancelled = checkoutOf({ status: 'cancelled', qr: null, version: 3 });
    const { tillflow, routes } = await api(json(202, checkoutOf({ qr: null })), json(200, cancelled));
    expect(await tillflow().checkouts.cancel(ID)).toEqual(cancelled);
    expect(routes()).toEqual([`POST /v1/checkouts/${ID}/cancel`, `GET /v1/checkouts/${ID}?wait=20&after_version=2`]);
  });

  test.each([
    ['paid', 'paid'],
    ['partially_refunded', 'paid'],
    // It came too late, and Tillflow has returned it, or is returning it.
    ['refunded', 'returned'],
    ['expired', 'unknown'],
  ] as const)('that comes after the payment reads what became of it: %s', async (status, money) => {
    const checkout = checkoutOf({ status, qr: null, version: 3 });
    const open = json(202, checkoutOf({ qr: null }));
    const { tillflow, routes } = await api(open, open, problem(409, 'already_paid'), json(200, checkout));
    await expect(tillflow().checkouts.cancel(ID)).rejects.toMatchObject({ code: 'already_paid', money, checkout });
    expect(routes().at(-1)).toBe(`GET /v1/checkouts/${ID}`);
  });
});

describe('a new attempt', () => {
  test('replaces the newest attempt when no number is given, and is repeated with the same number', async () => {
    const second = withAttempts(2, { version: 5 });
    const { tillflow, seen } = await api(json(200, withAttempts(1)), lost, json(201, second));
    expect(await tillflow().checkouts.newAttempt(ID)).toEqual(second);
    expect(seen.map(({ method, body }) => `${method} ${body}`)).toEqual([
      'GET ',
      'POST {"after":1}',
      'POST {"after":1}',
    ]);
  });

  test('with a number is one request', async () => {
    const { tillflow, seen } = await api(json(201, withAttempts(4)));
    await tillflow().checkouts.newAttempt(ID, { after: 3 });
    expect(seen.map(({ body }) => body)).toEqual(['{"after":3}']);
  });

  test('is not there as long as the checkout shows only the attempts before', async () => {
    const expired = withAttempts(1, { status: 'expired', qr: null });
    const creating = withAttempts(2, { status: 'creating', qr: null });
    const second = withAttempts(2);
    const { tillflow, seen } = await api(
      json(202, expired),
      json(200, expired),
      json(202, creating),
      json(200, second),
    );
    expect(await tillflow().checkouts.newAttempt(ID, { after: 1 })).toEqual(second);
    expect(seen).toHaveLength(4);
  });

  test.each([
    ['failed', 'checkout_failed', 'not_moved'],
    ['expired', 'checkout_expired', 'not_moved'],
    ['paid', 'already_paid', 'paid'],
    ['partially_refunded', 'already_paid', 'paid'],
    ['refunded', 'already_paid', 'returned'],
  ] as const)('whose checkout is %s, without a QR code, is an error: %s', async (status, code, money) => {
    // The provider refused the new charge, or the customer has paid since the first request.
    const ended = withAttempts(2, { status, qr: null, version: 5 });
    for (const replies of [[json(201, ended)], [json(202, withAttempts(1)), json(200, ended)]]) {
      const { tillflow } = await api(...replies);
      const error: unknown = await tillflow()
        .checkouts.newAttempt(ID, { after: 1 })
        .catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code, money, checkout: ended });
      expect(error instanceof NotPaidError).toBe(money === 'not_moved');
    }
  });

  test('of a paid checkout says that the customer has paid, when the checkout still shows it', async () => {
    const paid = json(200, checkoutOf({ status: 'paid', qr: null }));
    const { tillflow, routes } = await api(problem(409, 'already_paid'), paid);
    const call = tillflow().checkouts.newAttempt(ID, { after: 1 });
    await expect(call).rejects.toMatchObject({ code: 'already_paid', money: 'paid' });
    expect(routes()).toEqual([`POST /v1/checkouts/${ID}/attempts`, `GET /v1/checkouts/${ID}`]);
    const lostRead = await api(problem(409, 'already_paid'), lost);
    const again = lostRead.tillflow({ patienceMs: 0 }).checkouts.newAttempt(ID, { after: 1 });
    await expect(again).rejects.toMatchObject({ code: 'already_paid', money: 'unknown', repeatWith: { after: 1 } });
    expect(lostRead.routes()).toEqual([`POST /v1/checkouts/${ID}/attempts`, `GET /v1/checkouts/${ID}`]);
  });
});

describe('a refund', () => {
  const refund = refundOf();
  const withKey = { idempotencyKey: refund.key };

  test.each(['', 'return-17\n', 'คืน-17', 'x'.repeat(129), null, 17, ['return-17']])(
    'with the key %j is refused before it is sent',
    async (key) => {
      const { tillflow, seen } = await api(json(201, refund));
      const call = tillflow().checkouts.refund(ID, {}, { idempotencyKey: key as string });
      await expect(call).rejects.toMatchObject({ code: 'invalid_argument', money: 'not_moved' });
      expect(seen).toEqual([]);
    },
  );

  test('is repeated with the key of the caller until the provider has decided', async () => {
    const pending = json(202, refundOf({ status: 'pending' }), {
      location: `/v1/checkouts/${ID}?wait=20&after_version=7`,
    });
    const { tillflow, seen, routes } = await api(lost, pending, json(200, OPEN), json(200, refund));
    expect(await tillflow().checkouts.refund(ID, { amount: 50_000 }, withKey)).toEqual(refund);
    const [post, get] = [`POST /v1/checkouts/${ID}/refunds`, `GET /v1/checkouts/${ID}?wait=20&after_version=7`];
    expect(routes()).toEqual([post, post, get, post]);
    const keys = seen.flatMap(({ headers }) => headers['idempotency-key'] ?? []);
    expect(keys).toEqual([refund.key, refund.key, refund.key]);
  });

  test('without a key gets one of its own, which is the same in each repeated request', async () => {
    const { tillflow, seen } = await api(lost, lost, (response, { headers }) =>
      json(201, refundOf({ key: String(headers['idempotency-key']) }))(response, seen[0] as never),
    );
    const { checkouts } = tillflow();
    const first = await checkouts.refund(ID);
    const second = await checkouts.refund(ID);
    const keys = seen.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toEqual([first.key, first.key, first.key, second.key]);
    expect(first.key).toMatch(/^[0-9a-f]{32}$/);
    expect(second.key).not.toBe(first.key);
  });

  test('whose outcome is unknown names its key', async () => {
    const { tillflow } = await api(lost);
    const call = tillflow({ patienceMs: 0 }).checkouts.refund(ID);
    const repeatWith = { idempotencyKey: expect.stringMatching(/^[0-9a-f]{32}$/) as string };
    await expect(call).rejects.toMatchObject({ code: 'no_answer', money: 'unknown', repeatWith });
  });

  test('that the provider refused is an error, and moved no money', async () => {
    const rejected = refundOf({ status: 'rejected', failure_code: 'insufficient_balance' });
    const { tillflow } = await api(json(201, rejected));
    const error: unknown = await tillflow()
      .checkouts.refund(ID, {}, withKey)
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NotRefundedError);
    expect(error).toMatchObject({ code: 'refund_rejected', money: 'not_moved', refund: rejected });
  });

  test('that an operator gave up is an error, and may have moved money', async () => {
    const abandoned = refundOf({ status: 'rejected', failure_code: 'abandoned' });
    const { tillflow } = await api(json(201, abandoned));
    await expect(tillflow().checkouts.refund(ID, {}, withKey)).rejects.toMatchObject({
      code: 'refund_rejected',
      money: 'unknown',
      message: expect.stringContaining('it may have been made') as string,
    });
  });

  test('that another person must approve is an error, and is not repeated', async () => {
    const waiting = refundOf({ status: 'needs_approval' as Refund['status'] });
    const { tillflow, seen } = await api(json(202, waiting));
    const call = tillflow().checkouts.refund(ID, {}, withKey);
    await expect(call).rejects.toMatchObject({
      code: 'refund_needs_approval',
      money: 'unknown',
      message: expect.stringContaining('No money has moved yet.') as unknown,
      refund: waiting,
    });
    expect(seen).toHaveLength(1);
  });

  test('of more than is left is refused', async () => {
    const { tillflow } = await api(problem(422, 'refund_exceeds_paid'));
    const call = tillflow().checkouts.refund(ID, { amount: 1 }, withKey);
    await expect(call).rejects.toMatchObject({ code: 'refund_exceeds_paid', money: 'not_moved' });
  });
});

describe('a list', () => {
  const page = (ids: readonly string[], next_cursor: string | null) =>
    json(200, { data: ids.map((id) => checkoutOf({ id })), next_cursor });

  test('sends its filters and leaves out what is undefined', async () => {
    const { tillflow, routes } = await api(page(['a'], null));
    const { data, next_cursor } = await tillflow().checkouts.list({
      status: 'paid',
      limit: 2,
      store: undefined,
    } as never);
    expect([data.length, next_cursor]).toEqual([1, null]);
    await tillflow().checkouts.list();
    expect(routes()).toEqual(['GET /v1/checkouts?status=paid&limit=2', 'GET /v1/checkouts']);
  });

  test('is iterated over all of its pages, an empty one too, and no page is read before the loop needs it', async () => {
    const { tillflow, seen, routes } = await api(page(['a', 'b'], 'x=1'), page([], 'y'), page(['c'], null));
    const ids: string[] = [];
    for await (const { id } of tillflow().checkouts.iterate({ terminal: 'till 7' })) {
      ids.push(id);
      if (id === 'b') expect(seen).toHaveLength(1);
    }
    expect(ids).toEqual(['a', 'b', 'c']);
    const path = 'GET /v1/checkouts?terminal=till+7';
    expect(routes()).toEqual([path, `${path}&cursor=x%3D1`, `${path}&cursor=y`]);
  });

  test.each([{ data: [] }, { data: [], next_cursor: 1 }])('that is not of Tillflow is not read: %j', async (page) => {
    const { tillflow } = await api(json(200, page));
    const { checkouts } = tillflow({ patienceMs: 0 });
    const notRead = { code: 'no_answer', money: 'not_moved' };
    await expect(checkouts.iterate().next()).rejects.toMatchObject(notRead);
    await expect(checkouts.listRefunds(ID)).rejects.toMatchObject(notRead);
  });

  test('of refunds is one page', async () => {
    const { tillflow, routes } = await api(json(200, { data: [refundOf()], next_cursor: null }));
    expect((await tillflow().checkouts.listRefunds(ID)).data).toEqual([refundOf()]);
    expect(routes()).toEqual([`GET /v1/checkouts/${ID}/refunds`]);
  });
});

describe('a receipt', () => {
  test('is its values by default, and a page or text where that is asked for', async () => {
    const { tillflow, seen, routes } = await api((response, { headers }) => {
      const { accept = '' } = headers;
      response.setHeader('content-type', `${accept}; charset=utf-8`);
      response.end(accept === 'application/json' ? '{"kind":"payment"}' : 'the receipt');
    });
    const { checkouts } = tillflow();
    expect(await checkouts.receipt(ID)).toEqual({ kind: 'payment' });
    expect(await checkouts.receipt(ID, { format: 'text', language: 'th' })).toBe('the receipt');
    expect(await checkouts.receipt(ID, { format: 'html', refund: 'a/b' })).toBe('the receipt');
    expect(seen[1]?.headers['accept-language']).toBe('th');
    const path = `GET /v1/checkouts/${ID}/receipt`;
    expect(routes()).toEqual([path, path, `${path}?refund=a%2Fb`]);
  });

  test('does not exist before the payment', async () => {
    const { tillflow } = await api(problem(409, 'not_paid'));
    await expect(tillflow().checkouts.receipt(ID)).rejects.toMatchObject({ code: 'not_paid' });
  });
});

describe('an id', () => {
  test.each(['', '.', '..'])('that would name another route is refused before anything is sent: "%s"', async (id) => {
    const { tillflow, seen } = await api(json(200, OPEN));
    const { checkouts } = tillflow();
    const refused = { code: 'invalid_argument', money: 'not_moved' };
    await expect(checkouts.retrieve(id)).rejects.toMatchObject(refused);
    await expect(checkouts.refund(id)).rejects.toMatchObject(refused);
    await expect(checkouts.untilPaid(id)).rejects.toMatchObject(refused);
    expect(() => checkouts.watch(id)).toThrow(expect.objectContaining(refused));
    expect(seen).toEqual([]);
  });

  test('is one part of the path', async () => {
    const { tillflow, routes } = await api(problem(404, 'not_found'));
    await expect(tillflow().checkouts.retrieve('a/../b?c')).rejects.toMatchObject({ code: 'not_found' });
    expect(routes()).toEqual(['GET /v1/checkouts/a%2F..%2Fb%3Fc']);
  });
});
