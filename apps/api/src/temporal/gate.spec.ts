import { hadNoEffect } from '@tillflow/temporal';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { CallerGoneError, Gate, OverloadedError, type Leave } from './gate.js';

/** Work that runs until the test ends it. */
function held(): { work: () => Promise<void>; end: () => void; isSent: () => boolean } {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((end) => {
    resolve = end;
  });
  let sent = false;
  return {
    work: () => {
      sent = true;
      return promise;
    },
    end: () => resolve(),
    isSent: () => sent,
  };
}

const PATIENT = { withinMs: 10_000 };

it('the gate limits the calls in progress, and the others follow in their order', async () => {
  const gate = new Gate(2);
  const calls = Array.from({ length: 5 }, held);
  const passes = calls.map(({ work }) => gate.pass(PATIENT, work));
  await vi.waitFor(() => expect(calls.map(({ isSent }) => isSent())).toEqual([true, true, false, false, false]));
  expect(gate).toMatchObject({ busy: 2, waiting: 3 });
  calls[1]?.end();
  await vi.waitFor(() => expect(calls.map(({ isSent }) => isSent())).toEqual([true, true, true, false, false]));
  for (const { end } of calls) end();
  await Promise.all(passes);
  expect(gate).toMatchObject({ busy: 0, waiting: 0 });
});

it('the gate refuses a call that cannot run in time at once, and never sends it', async () => {
  const gate = new Gate(1);
  for (let calls = 0; calls < 40; calls += 1) {
    await gate.pass(PATIENT, () => new Promise((resolve) => setTimeout(resolve, 5)));
  }
  const first = held();
  const pass = gate.pass(PATIENT, first.work);
  const refused = held();
  const error: unknown = await gate.pass({ withinMs: 4 }, refused.work).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(OverloadedError);
  expect(hadNoEffect(error)).toBe(true);
  first.end();
  await pass;
  expect(refused.isSent()).toBe(false);
});

it('the gate refuses a call whose time ends while it waits, and never sends it', async () => {
  const gate = new Gate(1);
  const first = held();
  const pass = gate.pass(PATIENT, first.work);
  const late = held();
  await expect(gate.pass({ withinMs: 20 }, late.work)).rejects.toThrow(OverloadedError);
  first.end();
  await pass;
  expect(late.isSent()).toBe(false);
  expect(gate).toMatchObject({ busy: 0, waiting: 0 });
});

it('the gate drops the call of a caller who disconnects, and gives its place to the next one', async () => {
  const gate = new Gate(1);
  const [first, left, next] = [held(), held(), held()];
  const leaving = new AbortController();
  const passes = [
    gate.pass(PATIENT, first.work),
    gate.pass({ ...PATIENT, gone: leaving.signal }, left.work).catch((error: unknown) => error),
    gate.pass(PATIENT, next.work),
  ];
  first.end();
  leaving.abort();
  next.end();
  const [, error] = await Promise.all(passes);
  // Whether it left before or after the place was free: the place is not lost.
  expect(error === undefined || error instanceof CallerGoneError).toBe(true);
  left.end();
  await vi.waitFor(() => expect(gate).toMatchObject({ busy: 0, waiting: 0 }));
});

it('the gate never sends the call of a caller who left while it waited', async () => {
  const gate = new Gate(1);
  const [first, left, next] = [held(), held(), held()];
  const leaving = new AbortController();
  const pass = gate.pass(PATIENT, first.work);
  const refused = gate.pass({ ...PATIENT, gone: leaving.signal }, left.work);
  const last = gate.pass(PATIENT, next.work);
  leaving.abort();
  await expect(refused).rejects.toThrow(CallerGoneError);
  expect(gate).toMatchObject({ busy: 1, waiting: 1 });
  first.end();
  next.end();
  await Promise.all([pass, last]);
  expect([left.isSent(), next.isSent()]).toEqual([false, true]);
});

it('a failed call frees its place in the gate', async () => {
  const gate = new Gate(1);
  await expect(gate.pass(PATIENT, () => Promise.reject(new Error('down')))).rejects.toThrow('down');
  expect(await gate.pass(PATIENT, () => Promise.resolve(1))).toBe(1);
});

it('a failed call keeps its place in the gate while Temporal still works on it', async () => {
  const gate = new Gate(1);
  const slow = held();
  const next = held();
  await expect(gate.pass(PATIENT, () => Promise.reject(new Error('slow')), slow.work)).rejects.toThrow('slow');
  const pass = gate.pass(PATIENT, next.work);
  expect(gate).toMatchObject({ busy: 1, waiting: 1 });
  slow.end();
  await vi.waitFor(() => expect(next.isSent()).toBe(true));
  next.end();
  await pass;
});

it('a call that leaves the gate before it is done gives its place to the next one, once', async () => {
  const gate = new Gate(1);
  const [first, next] = [held(), held()];
  let leave: Leave = () => {};
  const pass = gate.pass(PATIENT, (frees) => {
    leave = frees;
    return first.work();
  });
  const following = gate.pass(PATIENT, next.work);
  expect(gate).toMatchObject({ busy: 1, waiting: 1 });
  leave();
  await vi.waitFor(() => expect(next.isSent()).toBe(true));
  leave();
  first.end();
  await pass;
  expect(gate).toMatchObject({ busy: 1, waiting: 0 });
  next.end();
  await following;
  expect(gate.busy).toBe(0);
});

it('the gate takes the callers in turns, so that a long line of one delays no other', async () => {
  const gate = new Gate(1);
  const first = held();
  const passes = [gate.pass(PATIENT, first.work)];
  const order: string[] = [];
  for (const caller of ['a', 'a', 'a', 'b', 'b', 'c']) {
    passes.push(gate.pass({ ...PATIENT, caller }, async () => void order.push(caller)));
  }
  first.end();
  await Promise.all(passes);
  expect(order).toEqual(['a', 'b', 'c', 'a', 'b', 'a']);
});

it('the gate keeps the order of one caller', async () => {
  const gate = new Gate(1);
  const first = held();
  const order: number[] = [];
  const passes = [gate.pass(PATIENT, first.work)];
  for (const turn of [1, 2, 3]) passes.push(gate.pass({ ...PATIENT, caller: 'a' }, async () => void order.push(turn)));
  first.end();
  await Promise.all(passes);
  expect(order).toEqual([1, 2, 3]);
});

/** A full gate with one place, whose calls take a second each. */
async function slowGate(): Promise<{ gate: Gate; end: () => void }> {
  vi.useFakeTimers();
  const random = xoroshiro128plus(1);
  const gate = new Gate(1, (least, most) => uniformInt(random, least, most));
  const work = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1_000));
  for (let calls = 0; calls < 60; calls += 1) {
    const pass = gate.pass(PATIENT, work);
    await vi.advanceTimersByTimeAsync(1_000);
    await pass;
  }
  const last = held();
  void gate.pass(PATIENT, last.work);
  return { gate, end: last.end };
}

const nothing = (): Promise<void> => Promise.resolve();

describe('a gate whose calls take a second', () => {
  afterEach(() => void vi.useRealTimers());

  it('queues what it can serve in time, and refuses the next call before it has waited', async () => {
    const { gate } = await slowGate();
    const refusals: number[] = [];
    for (let call = 0; call < 5; call += 1) {
      gate.pass({ withinMs: 3_500, caller: 'a' }, nothing).catch(() => refusals.push(call));
    }
    await vi.advanceTimersByTimeAsync(0);
    expect(refusals).toEqual([2, 3, 4]);
    expect(gate).toMatchObject({ waiting: 2, refused: 3 });
  });

  it('counts a call that leaves early without the time that it was elsewhere', async () => {
    const { gate, end } = await slowGate();
    end();
    await vi.advanceTimersByTimeAsync(0);
    const atProvider = (leave: Leave): Promise<void> =>
      new Promise((resolve) => setTimeout(() => resolve(leave(1_000)), 1_000));
    for (let calls = 0; calls < 60; calls += 1) {
      const pass = gate.pass(PATIENT, atProvider);
      await vi.advanceTimersByTimeAsync(1_000);
      await pass;
    }
    const busy = held();
    void gate.pass(PATIENT, busy.work);
    let refused = 0;
    for (let call = 0; call < 5; call += 1) gate.pass({ withinMs: 500 }, nothing).catch(() => (refused += 1));
    await vi.advanceTimersByTimeAsync(0);
    expect(refused).toBe(0);
    busy.end();
  });

  it('lets a call of another caller in, and refuses the last of the long line for it', async () => {
    const { gate } = await slowGate();
    const refused: string[] = [];
    for (const caller of ['a', 'a', 'b']) {
      gate.pass({ withinMs: 3_500, caller }, nothing).catch(() => refused.push(caller));
    }
    await vi.advanceTimersByTimeAsync(0);
    expect(refused).toEqual(['a']);
    expect(gate.waiting).toBe(2);
  });

  it('refuses early when none of its calls has ended for a while', async () => {
    const { gate, end } = await slowGate();
    const refused = vi.fn<() => void>();
    // Eight times longer than usual, and each further second tells that the calls have become slower.
    await vi.advanceTimersByTimeAsync(24_000);
    gate.pass({ withinMs: 3_500 }, nothing).catch(refused);
    await vi.advanceTimersByTimeAsync(0);
    expect(refused).toHaveBeenCalledTimes(1);
    end();
  });

  /** Passes calls that end at once, and notes in which order they ran or were refused. */
  function noted(gate: Gate): { order: string[]; pass: (about: string, patience?: object) => Promise<unknown> } {
    const order: string[] = [];
    const pass = (about: string, patience = {}): Promise<unknown> =>
      gate
        .pass({ withinMs: 3_500, about, ...patience }, async () => void order.push(about))
        .catch(() => order.push(`${about} refused`));
    return { order, pass };
  }

  it('takes a call that it refused before the calls that came later', async () => {
    const { gate, end } = await slowGate();
    const { order, pass } = noted(gate);
    const leaving = new AbortController();
    const passes = [pass('first', { gone: leaving.signal }), pass('second'), pass('third')];
    await vi.advanceTimersByTimeAsync(1);
    expect(order).toEqual(['third refused']);
    leaving.abort();
    passes.push(pass('fourth'), pass('third'));
    await vi.advanceTimersByTimeAsync(1);
    end();
    await Promise.all(passes);
    expect(order).toEqual(['third refused', 'first refused', 'fourth refused', 'second', 'third']);
  });

  it('forgets a refused call that does not come again for a minute', async () => {
    const { gate, end } = await slowGate();
    const { order, pass } = noted(gate);
    await pass('old', { withinMs: 1 });
    await vi.advanceTimersByTimeAsync(60_001);
    await pass('another', { withinMs: 1 });
    const passes = [pass('later', { withinMs: 600_000 }), pass('old', { withinMs: 600_000 })];
    end();
    await Promise.all(passes);
    expect(order).toEqual(['old refused', 'another refused', 'later', 'old']);
  });

  it('tells each call that it refuses to come again shortly before its turn', async () => {
    const { gate, end } = await slowGate();
    // With the call in progress, two calls of a second each fit into 3.5 s.
    const passes = ['first', 'second'].map((about) => gate.pass({ withinMs: 3_500, about }, nothing));
    const seconds: number[] = [];
    for (let refused = 0; refused < 12; refused += 1) {
      await gate
        .pass({ withinMs: 3_500, about: `refused ${refused}` }, nothing)
        .catch((error: OverloadedError) => seconds.push(error.retryAfterSeconds));
    }
    const turns = seconds.map((_, refused) => 3 + refused);
    expect(seconds).toHaveLength(12);
    for (const [refused, turn] of turns.entries()) {
      expect(seconds[refused]).toBeGreaterThanOrEqual(Math.min(turn - 2, 11));
      expect(seconds[refused]).toBeLessThanOrEqual(Math.min(turn, 12));
    }
    end();
    await Promise.all(passes);
  });

  it('serves every caller that comes again, although others come all the time', async () => {
    const { gate, end } = await slowGate();
    end();
    const [callers, milliseconds] = [20, 300_000];
    const until = performance.now() + milliseconds;
    const work = (): Promise<void> => sleep(1_000);
    let longestMs = 0;
    const served = async (about: string): Promise<void> => {
      for (;;) {
        const refusal = await gate.pass({ withinMs: 3_500, about }, work).catch((error: OverloadedError) => error);
        if (refusal === undefined) return;
        await sleep(1_000 * refusal.retryAfterSeconds);
      }
    };
    const call = async (caller: number): Promise<void> => {
      for (let calls = 0; performance.now() < until; calls += 1) {
        const startedAt = performance.now();
        await served(`${caller} ${calls}`);
        longestMs = Math.max(longestMs, performance.now() - startedAt);
      }
    };
    const all = Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
    await vi.advanceTimersByTimeAsync(milliseconds + 120_000);
    await all;
    expect(gate.refused).toBeGreaterThan(callers);
    // In turns, each call takes as many seconds as there are callers.
    expect(longestMs).toBeLessThan(2.5 * callers * 1_000);
  });
});

const sleep = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));
