import { MockAgent, Pool } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  chargeOf,
  clientOf,
  createCharge,
  failureOf,
  type Provider,
  provider,
  refuse,
  reply,
  reset,
  retrieveCharge,
  stall,
  tcpProvider,
  virtualClock,
} from '../../test/provider.js';
import type { PaymentsClient } from '../client.js';
import { ConnectionError, RateLimitError, RequestAbortedError, ServerError, TimeoutError } from '../errors.js';

const ok = reply(200, chargeOf());
const retryIn = (value: string, status = 429) => refuse(status, 'x', 'x', { 'retry-after': value });

describe('a retry', () => {
  test('of a GET follows a 429, 5xx and a reset, until it succeeds', async () => {
    const fake = await provider(refuse(429, 'x'), refuse(500, 'x'), reply(502, '<html>'), reset, ok);
    expect(await retrieveCharge(clientOf(fake), { maxRetries: 4 })).toMatchObject({ id: 'chrg_test_1' });
    expect(fake.seen).toHaveLength(5);
  });

  test.each([0, 1, 4])('happens at most maxRetries = %i times, then the last failure is thrown', async (maxRetries) => {
    const fake = await provider(retryIn('2'));
    const error = await failureOf(createCharge(clientOf(fake), { maxRetries }));
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ outcome: 'rejected', retryable: true, retryAfterMs: 2_000 });
    expect(fake.seen).toHaveLength(maxRetries + 1);
  });

  test.each([
    [0, [100, 200, 400, 800]],
    [0.999_999, [200, 400, 800, 1600]],
  ])('waits exponentially longer; with jitter %d it waits %j ms', async (random, waits) => {
    const clock = virtualClock();
    const client = clientOf(await provider(refuse(500, 'x')), { clock, random: () => random });
    await failureOf(retrieveCharge(client, { maxRetries: 4 }));
    expect(clock.slept.map(Math.round)).toEqual(waits);
  });

  test.each([429, 503])('after a %i waits for its Retry-After, in seconds or as a date', async (status) => {
    const clock = virtualClock(Date.UTC(2025, 5, 9, 12, 0, 0));
    const fake = await provider(
      retryIn('7', status),
      retryIn(new Date(Date.UTC(2025, 5, 9, 12, 0, 18)).toUTCString(), status),
      retryIn(new Date(Date.UTC(2020, 1, 1)).toUTCString(), status),
      ok,
    );
    await retrieveCharge(clientOf(fake, { clock }));
    expect(clock.slept).toEqual([7_000, 11_000, 0]);
  });

  test.each([
    [429, 'soon'],
    [429, '1.5'],
    [429, '-3'],
    [429, ''],
    [500, '9'],
  ])('after a %i ignores the Retry-After %j', async (status, value) => {
    const clock = virtualClock();
    await retrieveCharge(clientOf(await provider(retryIn(value, status), ok), { clock }));
    expect(clock.slept).toEqual([100]);
  });
});

describe('a call that could not connect is not sent', () => {
  test('because the host name is unknown', async () => {
    const client = clientOf({ baseUrl: 'http://no-such-host.invalid' });
    const error = await failureOf(createCharge(client, { maxRetries: 0 }));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.outcome).toBe('not_sent');
  });

  test('because the handshake did not end within the time for one attempt', async () => {
    // Accepts TCP but never answers the TLS hello, so no byte of the request can leave.
    const fake = await tcpProvider(() => undefined);
    const client = clientOf({ baseUrl: fake.baseUrl.replace('http:', 'https:') });
    const error = await failureOf(createCharge(client, { timeoutMs: 80, maxRetries: 1 }));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ outcome: 'not_sent', retryable: true });
  });
});

describe('the unknown outcome of an attempt', () => {
  /** A provider that answers once with this status and then cannot be reached. */
  const reachedOnce = (method: string, path: string, status: number): PaymentsClient => {
    const dispatcher = new MockAgent();
    dispatcher.disableNetConnect();
    const pool = dispatcher.get('http://provider.test');
    pool.intercept({ path, method }).reply(status, '');
    pool.intercept({ path, method }).replyWithError(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
    return clientOf({ baseUrl: 'http://provider.test' }, { dispatcher });
  };

  test.each([
    ['a 404', refuse(404, 'not_found')],
    ['a 429', refuse(429, 'too_many')],
  ])('stays unknown when %s follows', async (_, last) => {
    const fake = await provider(reset, last);
    const error = await failureOf(retrieveCharge(clientOf(fake), { maxRetries: 1 }));
    expect(error.outcome).toBe('unknown');
    expect(error.cause).toBeInstanceOf(ConnectionError);
    expect(fake.seen).toHaveLength(2);
  });

  test('is settled when a later attempt succeeds', async () => {
    const fake = await provider(reset, ok);
    expect(await retrieveCharge(clientOf(fake))).toMatchObject({ id: 'chrg_test_1' });
  });

  test('stays unknown when the provider cannot be reached any more', async () => {
    const client = reachedOnce('GET', '/charges/chrg_test_1', 500);
    const error = await failureOf(retrieveCharge(client, { maxRetries: 1 }));
    expect(error).toMatchObject({ code: 'connection_failed', outcome: 'unknown' });
  });

  test('does not come from a 429: a POST that was refused and then not sent is not unknown', async () => {
    const error = await failureOf(createCharge(reachedOnce('POST', '/charges', 429), { maxRetries: 1 }));
    expect(error.outcome).not.toBe('unknown');
  });
});

/** A client whose process stands still for `freeze()` milliseconds between dispatch and write. */
function frozen(fake: Provider, freeze: () => number) {
  const clock = virtualClock();
  const pool = new Pool(fake.baseUrl);
  onTestFinished(() => pool.close());
  const dispatch: Pool['dispatch'] = (options, handler) => {
    clock.advance(freeze());
    return pool.dispatch(options, handler);
  };
  return { client: clientOf(fake, { clock, dispatcher: { dispatch } }), clock };
}

describe('the deadline', () => {
  test('prevents an attempt that could not be sent before it, and the error has the last failure as its cause', async () => {
    const fake = await provider(refuse(500, 'internal'));
    const clock = virtualClock();
    const error = await failureOf(retrieveCharge(clientOf(fake, { clock }), { deadlineMs: 1_000, maxRetries: 99 }));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ code: 'deadline_exceeded', outcome: 'unknown' });
    expect(error.cause).toBeInstanceOf(ServerError);
    expect(clock.monotonic()).toBeLessThanOrEqual(1_000);
    expect(fake.seen).toHaveLength(clock.slept.length + 1);
  });

  test('ends the call at once when Retry-After would pass it, and a refused call stays refused', async () => {
    const fake = await provider(retryIn('3600'));
    const clock = virtualClock();
    const error = await failureOf(createCharge(clientOf(fake, { clock }), { deadlineMs: 5_000 }));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ outcome: 'rejected', retryable: true });
    expect(error.cause).toBeInstanceOf(RateLimitError);
    expect(error.cause).toMatchObject({ retryAfterMs: 3_600_000 });
    expect(clock.slept).toEqual([]);
    expect(fake.seen).toHaveLength(1);
  });

  test('ends an attempt in flight, whose outcome is then unknown', async () => {
    const fake = await provider(stall);
    const error = await failureOf(createCharge(clientOf(fake), { timeoutMs: 60_000, deadlineMs: 60 }));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ code: 'deadline_exceeded', outcome: 'unknown', retryable: false });
    expect(fake.seen).toHaveLength(1);
  });

  test('is checked again immediately before the write: a frozen process sends nothing late', async () => {
    const fake = await provider(ok);
    const { client } = frozen(fake, () => 60_000);
    const error = await failureOf(createCharge(client, { deadlineMs: 20_000 }));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ code: 'deadline_exceeded', outcome: 'not_sent' });
    expect(fake.seen).toEqual([]);
  });

  test('still allows another attempt after a freeze used up the time of the first one', async () => {
    const fake = await provider(ok);
    let freezes = 1;
    const { client } = frozen(fake, () => (freezes-- > 0 ? 11_000 : 0));
    await createCharge(client, { timeoutMs: 10_000, deadlineMs: 30_000 });
    expect(fake.seen).toHaveLength(1);
  });
});

describe('sendBy', () => {
  test('sends nothing once it has passed', async () => {
    const fake = await provider(ok);
    const clock = virtualClock();
    for (const sendBy of [clock.now(), clock.now() - 1, Number.NaN]) {
      const error = await failureOf(createCharge(clientOf(fake, { clock }), { sendBy }));
      expect(error).toBeInstanceOf(TimeoutError);
      expect(error).toMatchObject({ code: 'send_by_passed', outcome: 'not_sent', retryable: true });
    }
    expect(fake.seen).toEqual([]);
    await createCharge(clientOf(fake, { clock }), { sendBy: clock.now() + 1 });
    expect(fake.seen).toHaveLength(1);
  });

  test('is checked immediately before the write: a frozen process sends nothing late', async () => {
    const fake = await provider(ok);
    const { client, clock } = frozen(fake, () => 2_000);
    const error = await failureOf(createCharge(client, { sendBy: clock.now() + 1_000 }));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ code: 'send_by_passed', outcome: 'not_sent' });
    expect(fake.seen).toEqual([]);
  });

  test('allows no retry after it', async () => {
    const fake = await provider(retryIn('5'));
    const clock = virtualClock();
    const error = await failureOf(createCharge(clientOf(fake, { clock }), { sendBy: clock.now() + 5_000 }));
    expect(error).toMatchObject({ code: 'send_by_passed' });
    expect(error.outcome).not.toBe('unknown');
    expect(fake.seen).toHaveLength(1);
  });
});

describe("the caller's abort", () => {
  test('an abort before sending: nothing is sent', async () => {
    const fake = await provider(ok);
    const reason = new Error('shutting down');
    const error = await failureOf(createCharge(clientOf(fake), { signal: AbortSignal.abort(reason) }));
    expect(error).toBeInstanceOf(RequestAbortedError);
    expect(error).toMatchObject({ outcome: 'not_sent', retryable: false, cause: reason });
    expect(fake.seen).toEqual([]);
  });

  test('an abort while the call waits for a connection: the call is not sent later either', async () => {
    const fake = await provider(ok);
    const abort = new AbortController();
    const client = clientOf(fake);
    const call = failureOf(createCharge(client, { signal: abort.signal }));
    abort.abort();
    expect(await call).toMatchObject({ outcome: 'not_sent' });
    await createCharge(client);
    expect(fake.seen).toHaveLength(1);
  });

  test('an abort in flight: the outcome is unknown', async () => {
    const abort = new AbortController();
    const fake = await provider(() => abort.abort());
    const error = await failureOf(createCharge(clientOf(fake), { signal: abort.signal }));
    expect(error).toBeInstanceOf(RequestAbortedError);
    expect(error.outcome).toBe('unknown');
    expect(fake.seen).toHaveLength(1);
  });

  test('an abort after the head of a refusal, before its body: the outcome is unknown', async () => {
    const abort = new AbortController();
    const fake = await provider((response) => {
      response.writeHead(400, { 'content-length': '100' });
      response.write('{', () => setTimeout(() => abort.abort(), 20));
    });
    const error = await failureOf(createCharge(clientOf(fake), { signal: abort.signal }));
    expect(error).toBeInstanceOf(RequestAbortedError);
    expect(error.outcome).toBe('unknown');
  });

  test('an abort while the call waits to retry: the call ends at once and sends no more', async () => {
    const abort = new AbortController();
    const fake = await provider((response, request) => {
      retryIn('20', 503)(response, request);
      response.on('close', () => abort.abort());
    });
    const error = await failureOf(retrieveCharge(clientOf(fake, { clock: undefined }), { signal: abort.signal }));
    expect(error).toBeInstanceOf(RequestAbortedError);
    expect(error.outcome).toBe('unknown');
    expect(fake.seen).toHaveLength(1);
  });
});
