import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  chargeOf,
  clientOf,
  createCharge,
  failureOf,
  provider,
  refuse,
  reply,
  retrieveCharge,
  steppedClock,
  virtualClock,
} from '../../test/provider.js';
import { ConnectionError, RequestAbortedError, TimeoutError } from '../errors.js';
import { MAX_PAUSE_MS, type Priority, READ_EVERY, RequestLimiter, type Turn } from './request-limiter.js';

const NEVER = Number.POSITIVE_INFINITY;
const anyTime = { deadline: NEVER, sendBy: NEVER, signal: undefined };
const ok = reply(200, chargeOf());

/** A limiter, and the names of the calls in the order in which they left. */
function limiterOf(requestsPerSecond: number) {
  const clock = steppedClock();
  const limiter = new RequestLimiter(requestsPerSecond, clock);
  const left: string[] = [];
  const enter = (name: string, priority: Priority = 'money', call = {}): Promise<Turn> => {
    const leave = (turn: Turn): Turn => {
      if (turn === 'granted') left.push(name);
      return turn;
    };
    const turn = limiter.tryTake() ? Promise.resolve<Turn>('granted') : limiter.wait(priority, { ...anyTime, ...call });
    return turn.then(leave);
  };
  return { clock, limiter, left, enter };
}

describe('the request limiter', () => {
  test.each([
    [5, 5],
    [1, 1],
    [0.5, 1],
    [2.5, 2],
  ])('at %d requests a second lets %d leave at once, and then the rate', async (rate, burst) => {
    const { clock, left, enter } = limiterOf(rate);
    for (let i = 0; i < 30; i++) void enter(String(i));
    await clock.advance(0);
    expect(left).toHaveLength(burst);
    await clock.advance(4_000);
    expect(left).toHaveLength(Math.floor(Math.max(rate, 1) + 4 * rate));
  });

  test('lets money calls leave before the reads that wait, each kind in the order in which it came', async () => {
    const { clock, left, enter } = limiterOf(1);
    void enter('first');
    for (const name of ['r1', 'r2']) void enter(name, 'read');
    for (const name of ['m1', 'm2']) void enter(name);
    await clock.advance(9_000);
    expect(left).toEqual(['first', 'm1', 'm2', 'r1', 'r2']);
  });

  test(`makes one request in ${READ_EVERY} a read while money calls never end`, async () => {
    const { clock, left, enter } = limiterOf(1);
    for (let i = 0; i < 40; i++) void enter('money');
    for (let i = 0; i < 3; i++) void enter('read', 'read');
    await clock.advance(30_000);
    const reads = left.flatMap((name, at) => (name === 'read' ? [at] : []));
    expect(reads).toEqual([READ_EVERY, 2 * READ_EVERY, 3 * READ_EVERY]);
  });

  test('ends a call whose time passes before the next token at once, and the others take its place', async () => {
    const { clock, left, enter } = limiterOf(1);
    void enter('first');
    const late = [enter('a', 'money', { deadline: 1_000 }), enter('b', 'money', { sendBy: clock.now() + 1_000 })];
    void enter('c', 'read');
    expect(await Promise.all(late)).toEqual(['deadline_exceeded', 'send_by_passed']);
    expect(clock.monotonic()).toBe(0);
    await clock.advance(1_000);
    expect(left).toEqual(['first', 'c']);
  });

  test('lets nothing leave late or out of order when the process stood still', async () => {
    const { clock, left, enter } = limiterOf(1);
    void enter('first');
    const late = enter('late', 'read', { deadline: 3_000 });
    void enter('waiting', 'read');
    clock.freeze(5_000);
    void enter('new', 'read');
    expect(await late).toBe('deadline_exceeded');
    await clock.advance(0);
    expect(left).toEqual(['first', 'waiting']);
    await clock.advance(1_000);
    expect(left).toEqual(['first', 'waiting', 'new']);
  });

  test('ends an aborted call at once, and leaves no timer when no call waits any more', async () => {
    const { clock, limiter, enter } = limiterOf(1);
    const abort = new AbortController();
    void enter('first');
    const waiting = enter('a', 'money', { signal: abort.signal });
    expect(clock.timers()).toBe(1);
    abort.abort();
    expect(await waiting).toBe('aborted');
    expect(clock.timers()).toBe(0);
    const other = enter('b');
    limiter.close();
    expect(await other).toBe('closed');
    expect(await limiter.wait('money', anyTime)).toBe('closed');
    expect(clock.timers()).toBe(0);
  });

  test.each([0, 5])('at %d requests a second lets nothing leave during a pause', async (rate) => {
    const { clock, limiter, left, enter } = limiterOf(rate);
    limiter.pause(3_000);
    limiter.pause(2_000);
    const hopeless = enter('hopeless', 'money', { deadline: 3_000 });
    for (let i = 0; i < 3; i++) void enter(String(i));
    await clock.advance(2_999);
    expect(left).toEqual([]);
    expect(await hopeless).toBe('deadline_exceeded');
    await clock.advance(1);
    // The calls that waited do not leave as one burst.
    expect(left).toHaveLength(1);
    await clock.advance(400);
    expect(left).toHaveLength(3);
  });

  test('without a rate lets the calls that waited for the end of a pause leave a few milliseconds apart, all within a second', async () => {
    const { clock, limiter, left, enter } = limiterOf(0);
    limiter.pause(1_000);
    for (let i = 0; i < 20; i++) void enter(String(i));
    await clock.advance(1_000);
    const counts = [left.length];
    for (let step = 0; step < 2; step++) counts.push((await clock.advance(50), left.length));
    expect(counts).toEqual([1, 11, 20]);
    expect(limiter.tryTake()).toBe(true);

    limiter.pause(1_000);
    for (let i = 0; i < 600; i++) void enter(String(i));
    await clock.advance(1_500);
    expect(left.length).toBeLessThan(20 + 400);
    await clock.advance(500);
    expect(left).toHaveLength(20 + 600);
    expect(limiter.tryTake()).toBe(true);
  });

  test('pauses for one minute at most', async () => {
    const { clock, limiter, left, enter } = limiterOf(0);
    limiter.pause(86_400_000);
    void enter('a');
    await clock.advance(MAX_PAUSE_MS);
    expect(left).toEqual(['a']);
  });

  test('needs no clock while there is neither a limit nor a pause', () => {
    const clock = { ...steppedClock(), monotonic: () => expect.fail('it read the clock') };
    expect(new RequestLimiter(0, clock).tryTake()).toBe(true);
  });
});

describe('any calls and pauses', () => {
  const limit = fc.option(fc.integer({ min: 1, max: 6_000 }), { nil: NEVER });
  const call = fc.record({ priority: fc.constantFrom<Priority>('money', 'read'), deadline: limit, sendBy: limit });
  const pause = fc.record({ pauseMs: fc.integer({ min: 0, max: 3_000 }) });
  const events = fc.array(
    fc.record({
      afterMs: fc.oneof(fc.constant(0), fc.nat(700)),
      what: fc.oneof({ weight: 9, arbitrary: call }, pause),
    }),
    { maxLength: 60 },
  );
  const rates = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.double({ min: 0.2, max: 20, noNaN: true }));

  test('never leave faster than the rate and the burst, late, in a pause, or in the wrong order', async () => {
    const property = fc.asyncProperty(rates, events, async (rate, all) => {
      const clock = steppedClock();
      const limiter = new RequestLimiter(rate, clock);
      const waiting: { id: number; priority: Priority }[] = [];
      const left: { at: number; priority: Priority }[] = [];
      let pausedUntil = 0;
      const ends: Promise<void>[] = [];
      for (const [id, { afterMs, what }] of all.entries()) {
        await clock.advance(afterMs);
        const start = clock.monotonic();
        if ('pauseMs' in what) {
          limiter.pause(what.pauseMs);
          pausedUntil = Math.max(pausedUntil, start + what.pauseMs);
          continue;
        }
        const { priority } = what;
        const limits = { deadline: start + what.deadline, sendBy: clock.now() + what.sendBy, signal: undefined };
        const entry = { id, priority };
        waiting.push(entry);
        const end = (turn: Turn): void => {
          const at = clock.monotonic();
          expect(at).toBeLessThanOrEqual(limits.deadline);
          waiting.splice(waiting.indexOf(entry), 1);
          if (turn !== 'granted') return;
          expect(at).toBeLessThan(limits.deadline);
          expect(clock.now()).toBeLessThan(limits.sendBy);
          expect(at).toBeGreaterThanOrEqual(pausedUntil);
          expect(waiting.filter((other) => other.priority === priority && other.id < id)).toEqual([]);
          if (priority === 'read' && waiting.some((other) => other.priority === 'money')) {
            expect(left.slice(1 - READ_EVERY).map((each) => each.priority)).toEqual(
              Array.from({ length: READ_EVERY - 1 }, () => 'money'),
            );
          }
          left.push({ at, priority });
        };
        const turn = limiter.tryTake() ? Promise.resolve<Turn>('granted') : limiter.wait(priority, limits);
        ends.push(turn.then(end));
      }
      await clock.advance(600_000);
      await Promise.all(ends);
      expect(clock.timers()).toBe(0);
      left.forEach(({ at: from }, first) =>
        left.slice(first).forEach(({ at: to }, count) => {
          expect(count + 1).toBeLessThanOrEqual(Math.max(1, rate) + (rate * (to - from)) / 1_000 + 1e-6);
        }),
      );
    });
    await fc.assert(property, { numRuns: 60 });
  });
});

describe('a client with requestsPerSecond', () => {
  test('takes a token for each attempt, also for a retry', async () => {
    const fake = await provider(refuse(500, 'x'), refuse(500, 'x'), ok);
    const clock = virtualClock();
    await retrieveCharge(clientOf(fake, { clock, requestsPerSecond: 1 }));
    // 100 and 200 ms before the retries; the rest is the wait for the tokens.
    expect(clock.slept).toEqual([100, 900, 200, 800]);
  });

  test('sends a POST before a GET that waits', async () => {
    const fake = await provider(ok);
    const clock = steppedClock();
    const client = clientOf(fake, { clock, requestsPerSecond: 1 });
    await retrieveCharge(client);
    const read = retrieveCharge(client);
    const created = createCharge(client);
    await clock.advance(1_000);
    await created;
    expect(fake.seen.map(({ method }) => method)).toEqual(['GET', 'POST']);
    await clock.advance(1_000);
    await read;
  });

  test('sends nothing after sendBy or the deadline, and the call says that it was not sent', async () => {
    const fake = await provider(ok);
    const clock = virtualClock();
    const client = clientOf(fake, { clock, requestsPerSecond: 0.1 });
    await createCharge(client);
    for (const [code, options] of [
      ['send_by_passed', { sendBy: clock.now() + 5_000 }],
      ['deadline_exceeded', { deadlineMs: 5_000 }],
    ] as const) {
      const error = await failureOf(createCharge(client, options));
      expect(error).toBeInstanceOf(TimeoutError);
      expect(error).toMatchObject({ code, outcome: 'not_sent', retryable: true });
    }
    expect(fake.seen).toHaveLength(1);
    expect(clock.slept).toEqual([]);
  });

  test('ends what waits when the caller aborts and when it closes, as not sent', async () => {
    const fake = await provider(ok);
    const clock = steppedClock();
    const client = clientOf(fake, { clock, requestsPerSecond: 1 });
    const abort = new AbortController();
    await createCharge(client);
    const aborted = failureOf(createCharge(client, { signal: abort.signal }));
    const waiting = failureOf(createCharge(client));
    abort.abort();
    expect(await aborted).toBeInstanceOf(RequestAbortedError);
    expect(await aborted).toMatchObject({ outcome: 'not_sent' });
    await client.close();
    expect(await waiting).toBeInstanceOf(ConnectionError);
    expect(await waiting).toMatchObject({ code: 'client_closed', outcome: 'not_sent', retryable: false });
    expect(clock.timers()).toBe(0);
    expect(fake.seen).toHaveLength(1);
  });
});

test.each(['5', new Date(Date.UTC(2025, 5, 9, 0, 0, 5)).toUTCString()])(
  'a 429 with Retry-After %s holds back every call of the client, also without requestsPerSecond',
  async (retryAfter) => {
    const fake = await provider(refuse(429, 'x', 'x', { 'retry-after': retryAfter }), ok);
    const clock = virtualClock(Date.UTC(2025, 5, 9));
    const client = clientOf(fake, { clock });
    await failureOf(retrieveCharge(client, { maxRetries: 0 }));
    const late = await failureOf(createCharge(client, { sendBy: clock.now() + 5_000 }));
    expect(late).toMatchObject({ code: 'send_by_passed', outcome: 'not_sent' });
    expect(fake.seen).toHaveLength(1);
    await createCharge(client);
    expect(clock.slept).toEqual([5_000]);
    await createCharge(client);
    expect(clock.slept).toEqual([5_000]);
  },
);
