import { describe, expect, it } from 'vitest';
import type { DeliveryRecord } from './activities.js';
import { emptyEndpoint, Endpoint, type Waiting } from './endpoint.js';
import { DEFAULT_ENDPOINT_POLICY, type DueEvent, type EventRange } from './messages.js';

const NOW = 1_790_000_000_000;
const MINUTE = 60_000;

const paid = (checkout: string, version = 2, at = NOW): DueEvent => ({ checkout, event: 'paid', version, at });
const refunded = (checkout: string, version = 3, at = NOW): DueEvent => ({ checkout, event: 'refunded', version, at });
const newEndpoint = (): Endpoint => new Endpoint(emptyEndpoint(), DEFAULT_ENDPOINT_POLICY);

/** The records of deliveries that all have this answer. @param next when it is tried again; undefined: accepted */
const recordsOf = (taken: readonly Waiting[], status: number, next?: number | null): DeliveryRecord[] =>
  taken.flatMap(({ checkout, events, tries }) =>
    events.slice(0, next === undefined ? events.length : 1).map(({ event, version }) => {
      const record = { id: `evt_${checkout}_${version}`, checkout, event, version, at: NOW, ms: 1, status, tries };
      return next === undefined ? record : Object.assign(record, { next });
    }),
  );

/** Takes what is due, and applies this answer to each. */
function answer(endpoint: Endpoint, now: number, status: number, next?: number | null): Waiting[] {
  const taken = endpoint.take(now);
  endpoint.apply(now, taken, recordsOf(taken, status, next));
  return taken;
}

const names = (taken: readonly Waiting[]): string[] => taken.map(({ checkout }) => checkout);

describe('An endpoint', () => {
  it('takes each event once, and no checkout twice at a time', () => {
    const endpoint = newEndpoint();
    endpoint.add(NOW, [paid('a'), paid('b')]);
    const taken = endpoint.take(NOW);
    expect(names(taken)).toEqual(['b', 'a']);
    endpoint.add(NOW, [refunded('a')]);
    expect(endpoint.take(NOW)).toEqual([]);
    endpoint.apply(NOW, taken, recordsOf(taken, 200));
    expect(endpoint.take(NOW)).toMatchObject([{ checkout: 'a', events: [{ event: 'refunded' }] }]);
  });

  it('keeps the newest event of each kind, in the order of their versions', () => {
    const endpoint = newEndpoint();
    endpoint.add(NOW, [refunded('a', 3), paid('a', 2), refunded('a', 4)]);
    expect(endpoint.take(NOW)[0]?.events.map(({ event, version }) => [event, version])).toEqual([
      ['paid', 2],
      ['refunded', 4],
    ]);
  });

  it('tries a failed delivery again at its time, together with a newer event at once', () => {
    const endpoint = newEndpoint();
    endpoint.add(NOW, [paid('a')]);
    answer(endpoint, NOW, 500, NOW + 5_000);
    expect([endpoint.take(NOW), endpoint.dueAt]).toEqual([[], NOW + 5_000]);
    endpoint.add(NOW + 1_000, [refunded('a')]);
    expect(endpoint.take(NOW + 1_000)).toMatchObject([
      { tries: 1, events: [{ event: 'paid' }, { event: 'refunded' }] },
    ]);
  });

  it('delivers an event that was not in a batch with a record', () => {
    const endpoint = newEndpoint();
    endpoint.add(NOW, [paid('a')]);
    const taken = endpoint.take(NOW);
    endpoint.apply(NOW, taken, []);
    expect(names(endpoint.take(NOW))).toEqual(['a']);
  });

  it('sends what waits after its last try as soon as another delivery is accepted', () => {
    const endpoint = newEndpoint();
    endpoint.add(NOW, [paid('a')]);
    answer(endpoint, NOW, 500, null);
    expect(endpoint.take(NOW + 1e12)).toEqual([]);
    endpoint.add(NOW, [paid('b')]);
    answer(endpoint, NOW, 200);
    expect(names(endpoint.take(NOW))).toEqual(['a']);
  });

  it('tries one delivery at a time while it is down, ever later, and all of them when it is back', () => {
    const endpoint = newEndpoint();
    endpoint.add(
      NOW,
      Array.from({ length: 12 }, (_, index) => paid(`c${index}`)),
    );
    answer(endpoint, NOW, 500, NOW + 5 * MINUTE);
    expect([endpoint.isDown, endpoint.take(NOW + 1)]).toEqual([true, []]);
    let now = NOW;
    const pauses = [1, 2, 3, 4, 5, 6].map(() => {
      const before = now;
      now = endpoint.dueAt ?? 0;
      expect(names(answer(endpoint, now, 500, now))).toEqual(['c11']);
      return (now - before) / 1_000;
    });
    expect(pauses).toEqual([5, 10, 20, 40, 60, 60]);
    expect(names(answer(endpoint, now + MINUTE, 200))).toEqual(['c11']);
    const taken = endpoint.take(now + MINUTE);
    expect(names(taken)).toEqual(Array.from({ length: 11 }, (_, index) => `c${10 - index}`));
    // The deliveries that found out whether it is back were no tries.
    expect(new Set(taken.map(({ tries }) => tries))).toEqual(new Set([1]));
  });

  it('that is down gets no delivery before the time of its Retry-After', () => {
    const endpoint = newEndpoint();
    endpoint.add(
      NOW,
      Array.from({ length: 12 }, (_, index) => paid(`c${index}`)),
    );
    const taken = endpoint.take(NOW);
    const records = recordsOf(taken, 503, NOW + 5_000).map((record) =>
      Object.assign(record, { notBefore: NOW + 10 * MINUTE }),
    );
    endpoint.apply(NOW, taken, records);
    expect(endpoint.dueAt).toBe(NOW + 10 * MINUTE);
  });

  it('is disabled by 410, and after five days without an accepted delivery', () => {
    const gone = newEndpoint();
    gone.add(NOW, [paid('a')]);
    answer(gone, NOW, 410, null);
    expect(gone.state.disabled).toMatchObject({ because: 'gone', since: NOW });

    const failing = newEndpoint();
    failing.add(NOW, [paid('a')]);
    answer(failing, NOW, 500, null);
    const fiveDays = NOW + 5 * 86_400_000;
    expect(failing.dueAt).toBe(fiveDays);
    failing.disableIfFailing(fiveDays - 1);
    expect(failing.state.disabled).toBeNull();
    failing.disableIfFailing(fiveDays);
    expect(failing.state.disabled).toMatchObject({ because: 'failing', since: fiveDays });
    expect(failing.take(fiveDays)).toEqual([]);
  });

  it('that accepts a delivery is not disabled for what it refused before', () => {
    const endpoint = newEndpoint();
    endpoint.add(NOW, [paid('a')]);
    answer(endpoint, NOW, 500, NOW + 5_000);
    answer(endpoint, NOW + 5_000, 200);
    endpoint.disableIfFailing(NOW + 6 * 86_400_000);
    expect(endpoint.state.disabled).toBeNull();
  });

  it('takes the newest of what waits first', () => {
    const endpoint = newEndpoint();
    endpoint.add(
      NOW,
      Array.from({ length: 60 }, (_, index) => paid(`c${index}`)),
    );
    expect(names(endpoint.take(NOW))).toEqual(Array.from({ length: 50 }, (_, index) => `c${59 - index}`));
    expect(names(endpoint.take(NOW))).toEqual(Array.from({ length: 10 }, (_, index) => `c${9 - index}`));
  });

  it('whose address or secret is replaced tries at once what waits', () => {
    const endpoint = newEndpoint();
    endpoint.add(NOW, [paid('a')]);
    answer(endpoint, NOW, 500, NOW + 5 * MINUTE);
    endpoint.retry(NOW + 1);
    expect(names(endpoint.take(NOW + 1))).toEqual(['a']);
  });

  it('that is enabled again sends what waited, and lists what happened meanwhile', () => {
    const endpoint = newEndpoint();
    endpoint.add(NOW, [paid('a')]);
    endpoint.disable(NOW, 'requested');
    // It happened before, and the feed found it later.
    endpoint.add(NOW + 1, [paid('b', 2, NOW - 6 * MINUTE)]);
    endpoint.enable(NOW + MINUTE, 0);
    expect(names(endpoint.take(NOW + MINUTE))).toEqual(['a']);
    const range = endpoint.nextRange;
    const time = { from: NOW - 6 * MINUTE, to: NOW + MINUTE };
    expect(range).toEqual({ ...time, events: time });
    if (range === null) return;
    const rest = { ...range, to: NOW + 1 };
    endpoint.listed(NOW + MINUTE, range, [paid('b')], rest);
    expect(names(endpoint.take(NOW + MINUTE))).toEqual(['b']);
    expect(endpoint.nextRange).toEqual(rest);
  });

  it('that is enabled again lists nothing from before its beginning', () => {
    const endpoint = newEndpoint();
    endpoint.disable(NOW, 'requested');
    endpoint.enable(NOW + MINUTE, NOW - 1_000);
    expect(endpoint.nextRange).toMatchObject({ from: NOW - 1_000 });
  });

  it('that has listed a time lists the checkouts that changed after it, to their end', () => {
    const endpoint = newEndpoint();
    const events = { from: NOW - 3_000, to: NOW - 2_000 };
    endpoint.list(NOW, events);
    const list = (due: DueEvent[], rest: EventRange | null): void => {
      const range = endpoint.nextRange;
      if (range !== null) endpoint.listed(NOW, range, due, rest);
    };
    list([], null);
    const changed = { from: NOW - 12_000, to: null, events };
    expect(endpoint.state.ranges).toEqual([changed]);
    const rest = { ...changed, from: NOW };
    list([paid('a', 2, NOW - 2_500)], rest);
    expect(endpoint.state.ranges).toEqual([rest]);
    list([], null);
    expect(endpoint.state.ranges).toEqual([]);
    expect(names(endpoint.take(NOW))).toEqual(['a']);
  });

  it('that refuses events is not down: others are delivered at once, and refused ones at their times', () => {
    const endpoint = newEndpoint();
    endpoint.add(
      NOW,
      Array.from({ length: 20 }, (_, index) => paid(`c${index}`)),
    );
    answer(endpoint, NOW, 422, NOW + 5 * MINUTE);
    expect(endpoint.isDown).toBe(false);
    endpoint.add(NOW + 1, [paid('good')]);
    expect(names(answer(endpoint, NOW + 1, 200))).toEqual(['good']);
    expect(endpoint.dueAt).toBe(NOW + 5 * MINUTE);
    expect(endpoint.state.failingSince).toBeNull();
  });

  it('that was down and refuses an event is back, and what waits keeps its time', () => {
    const endpoint = newEndpoint();
    endpoint.add(
      NOW,
      Array.from({ length: 12 }, (_, index) => paid(`c${index}`)),
    );
    answer(endpoint, NOW, 503, NOW + 5 * MINUTE);
    const now = endpoint.dueAt ?? 0;
    expect(names(answer(endpoint, now, 404, now + 10 * MINUTE))).toEqual(['c11']);
    expect([endpoint.isDown, endpoint.take(now), endpoint.dueAt]).toEqual([false, [], NOW + 5 * MINUTE]);
    expect(names(endpoint.take(NOW + 5 * MINUTE))).toHaveLength(11);
  });

  it('that refuses some events of a time in which it is down does not try everything again', () => {
    const endpoint = newEndpoint();
    endpoint.add(
      NOW,
      Array.from({ length: 100 }, (_, index) => paid(`c${index}`)),
    );
    const [first, second] = [endpoint.take(NOW), endpoint.take(NOW)];
    endpoint.apply(NOW, first, recordsOf(first, 503, NOW + 5 * MINUTE));
    endpoint.apply(NOW, second, recordsOf(second, 422, NOW + 5 * MINUTE));
    expect([endpoint.isDown, endpoint.take(NOW)]).toEqual([true, []]);
  });

  it('that refused everything and accepts an event again tries all the others at once', () => {
    const endpoint = newEndpoint();
    endpoint.add(
      NOW,
      Array.from({ length: 12 }, (_, index) => paid(`c${index}`)),
    );
    answer(endpoint, NOW, 401, NOW + 60 * MINUTE);
    endpoint.add(NOW + 20 * MINUTE, [paid('d')]);
    expect(names(answer(endpoint, NOW + 20 * MINUTE, 200))).toEqual(['d']);
    expect(endpoint.take(NOW + 20 * MINUTE)).toHaveLength(12);
  });

  it('tries an event that waits no sooner when the feed finds it again', () => {
    const endpoint = newEndpoint();
    endpoint.add(NOW, [paid('a')]);
    answer(endpoint, NOW, 500, NOW + 5 * MINUTE);
    endpoint.add(NOW + 1, [paid('a')]);
    expect(endpoint.take(NOW + 1)).toEqual([]);
  });

  it('that is disabled while a time is listed lists it again when it is enabled', () => {
    const endpoint = newEndpoint();
    endpoint.list(NOW, { from: NOW - 9, to: NOW - 8 });
    const range = endpoint.nextRange;
    endpoint.disable(NOW, 'requested');
    if (range !== null) endpoint.listed(NOW, range, [paid('a', 2, NOW - 9)], null);
    endpoint.enable(NOW, NOW);
    expect(endpoint.state.ranges).toMatchObject([{ from: NOW - 9 }, { from: NOW }]);
  });

  it('that refuses the same few events again and again has not refused everything', () => {
    const endpoint = newEndpoint();
    endpoint.add(NOW, [paid('a')]);
    for (let tries = 0; tries < 12; tries += 1) answer(endpoint, NOW + tries * MINUTE, 422, NOW + (tries + 1) * MINUTE);
    endpoint.add(NOW + 11 * MINUTE, [paid('b')]);
    expect(names(answer(endpoint, NOW + 11 * MINUTE, 200))).toEqual(['b']);
    expect(endpoint.dueAt).toBe(NOW + 12 * MINUTE);
  });

  it('lists a time once when the message with it comes twice', () => {
    const endpoint = newEndpoint();
    endpoint.list(NOW, { from: NOW - 9, to: NOW - 8 });
    endpoint.list(NOW, { from: NOW - 9, to: NOW - 7 });
    expect(endpoint.state.ranges).toMatchObject([{ from: NOW - 9, to: NOW - 7 }]);
  });

  it('that refused hundreds of events still lists a time, and forgets none of what it refused', () => {
    const endpoint = newEndpoint();
    for (let index = 0; index < 1_200; index += 1) {
      endpoint.add(NOW, [paid(`c${index}`, 2, NOW + index)]);
      answer(endpoint, NOW, 422, index % 2 === 0 ? null : NOW + 5 * MINUTE);
    }
    endpoint.list(NOW, { from: NOW - 9, to: NOW - 8 });
    expect(endpoint.nextRange).toMatchObject({ from: NOW - 9 });
    expect(endpoint.state.waiting.length).toBeLessThanOrEqual(1_000);
    endpoint.replay(NOW, { from: NOW - 7, to: NOW - 6 });
    expect(endpoint.state.ranges.map(({ from }) => from)).toEqual([NOW - 9, NOW - 7, NOW]);
    expect(endpoint.take(NOW)).toHaveLength(50);
  });

  it('tries an event after its last try again when its checkout has a newer one', () => {
    const endpoint = newEndpoint();
    endpoint.add(NOW, [paid('a')]);
    answer(endpoint, NOW, 422, null);
    endpoint.add(NOW, [refunded('a')]);
    expect(names(endpoint.take(NOW))).toEqual(['a']);
  });

  it('gets no second try of an event before its Retry-After, also after it has accepted another event', () => {
    const endpoint = newEndpoint();
    endpoint.add(NOW, [paid('a')]);
    const taken = endpoint.take(NOW);
    const later = { notBefore: NOW + 60 * MINUTE };
    endpoint.apply(
      NOW,
      taken,
      recordsOf(taken, 503, null).map((record) => Object.assign(record, later)),
    );
    endpoint.add(NOW, [paid('b')]);
    answer(endpoint, NOW, 200);
    expect(endpoint.dueAt).toBe(NOW + 60 * MINUTE);
    endpoint.replay(NOW, { from: NOW, to: NOW });
    expect(names(endpoint.take(NOW))).toEqual(['a']);
  });

  it('replaces the oldest waiting events by one time range when too many wait', () => {
    const endpoint = newEndpoint();
    for (let index = 0; index < 3_000; index += 1) endpoint.add(NOW + index, [paid(`c${index}`, 2, NOW + index)]);
    const { waiting, ranges } = endpoint.state;
    expect(waiting.length).toBeLessThanOrEqual(1_000);
    const time = { from: NOW, to: (waiting[0]?.events[0]?.at ?? 0) - 1 };
    expect(ranges).toEqual([{ ...time, events: time, isOverflow: true }]);
  });

  it('replaces them also when thousands come at once', () => {
    const endpoint = newEndpoint();
    endpoint.add(
      NOW,
      Array.from({ length: 7_000 }, (_, index) => paid(`c${index}`, 2, NOW + index)),
    );
    expect(endpoint.state.waiting).toHaveLength(500);
    expect(endpoint.nextRange).toBeNull();
    expect(endpoint.state.ranges).toMatchObject([{ from: NOW, to: NOW + 6_499 }]);
  });

  it('does not let an older event of a kind replace a newer one', () => {
    const endpoint = newEndpoint();
    endpoint.add(NOW, [refunded('a', 4)]);
    endpoint.add(NOW, [refunded('a', 3)]);
    expect(endpoint.take(NOW)[0]?.events).toMatchObject([{ version: 4 }]);
  });

  it('ignores a delivery that cannot be sent: it is neither a failure nor a sign of life', () => {
    const endpoint = newEndpoint();
    endpoint.add(NOW, [paid('a'), paid('b')]);
    answer(endpoint, NOW, 500, NOW + 5_000);
    const taken = endpoint.take(NOW + 5_000);
    endpoint.apply(
      NOW + 5_000,
      taken,
      recordsOf(taken, 0).map((record) => Object.assign(record, { status: null, isUnsendable: true })),
    );
    expect(endpoint.state).toMatchObject({ waiting: [], failures: 2, failingSince: NOW });
  });

  it('tries what waits after its last try at most every ten minutes', () => {
    const endpoint = newEndpoint();
    endpoint.add(NOW, [paid('a')]);
    answer(endpoint, NOW, 500, null);
    for (const minute of [0, 5, 9, 10]) {
      endpoint.add(NOW + minute * MINUTE, [paid(`b${minute}`)]);
      answer(endpoint, NOW + minute * MINUTE, 200);
      const retried = names(endpoint.take(NOW + minute * MINUTE));
      expect([minute, retried]).toEqual([minute, minute === 0 || minute === 10 ? ['a'] : []]);
      if (retried.length > 0) endpoint.apply(NOW + minute * MINUTE, [], []);
      if (minute === 0) {
        const taken = endpoint.state.waiting.map((one) => Object.assign({}, one));
        endpoint.apply(NOW, taken, recordsOf(taken, 500, null));
      }
    }
  });

  it('that Tillflow disabled is noticed once, and again later when that was not possible', () => {
    const endpoint = newEndpoint();
    endpoint.disable(NOW, 'gone');
    expect([endpoint.isNoticeDue(NOW), endpoint.dueAt]).toEqual([true, NOW]);
    endpoint.noticed(NOW, false);
    expect([endpoint.isNoticeDue(NOW), endpoint.dueAt]).toEqual([false, NOW + 10 * MINUTE]);
    endpoint.noticed(NOW + 10 * MINUTE, true);
    expect([endpoint.isNoticeDue(NOW + 1e9), endpoint.dueAt]).toEqual([false, null]);
  });

  it('is not down because of twelve events that it can never accept, and each of them keeps its schedule', () => {
    const endpoint = newEndpoint();
    const poison = Array.from({ length: 12 }, (_, index) => paid(`poison${index}`));
    endpoint.add(NOW, poison);
    const tried = new Map(poison.map(({ checkout }) => [checkout, 0]));
    let good = 0;
    const delays: number[] = [];
    // Another event every three seconds for an hour.
    for (let now = NOW; now < NOW + 60 * MINUTE; now += 1_000) {
      if ((now - NOW) % 3_000 === 0) endpoint.add(now, [paid(`good${(good += 1)}`, 2, now)]);
      const taken = endpoint.take(now);
      const records = taken.flatMap((one) => {
        const tries = tried.get(one.checkout);
        if (tries === undefined) delays.push(now - (one.events[0]?.at ?? 0));
        else tried.set(one.checkout, tries + 1);
        const delayMs = DEFAULT_ENDPOINT_POLICY.retryDelaysMs[one.tries] ?? 0;
        return tries === undefined ? recordsOf([one], 200) : recordsOf([one], 500, now + delayMs);
      });
      endpoint.apply(now, taken, records);
    }
    expect(delays).toHaveLength(good);
    // Ten first tries in a row look like a receiver that is down. Further tries do not.
    expect(Math.max(...delays.slice(0, 3))).toBeLessThanOrEqual(5_000);
    expect(Math.max(...delays.slice(3))).toBe(0);
    // At once, after 5 s, 5 min, 30 min, and once when it was back: one of them also found that out.
    expect(Math.max(...tried.values())).toBeLessThanOrEqual(6);
  });

  it('that is down again within ten minutes does not try everything again at once', () => {
    const endpoint = newEndpoint();
    const fail = (now: number, name: string): void => {
      endpoint.add(
        now,
        Array.from({ length: 10 }, (_, index) => paid(`${name}${index}`)),
      );
      answer(endpoint, now, 500, now + 60 * MINUTE);
      expect(endpoint.isDown).toBe(true);
    };
    fail(NOW, 'a');
    const back = NOW + MINUTE;
    answer(endpoint, back, 200);
    expect(answer(endpoint, back, 500, back + 60 * MINUTE)).toHaveLength(9);
    fail(back + 1, 'b');
    endpoint.add(back + 2, [paid('c'), refunded('c'), paid('probe')]);
    answer(endpoint, back + MINUTE, 200);
    expect(endpoint.isDown).toBe(false);
    expect(endpoint.take(back + MINUTE)).toMatchObject([{ checkout: 'c', events: [{ event: 'refunded' }] }]);
  });

  it('sends a newer event at once that was found while an older one was in flight and failed', () => {
    for (const next of [NOW + 600 * MINUTE, null]) {
      const endpoint = newEndpoint();
      endpoint.add(NOW, [paid('a')]);
      const taken = endpoint.take(NOW);
      endpoint.add(NOW + 1, [refunded('a')]);
      endpoint.apply(NOW + 2, taken, recordsOf(taken, 500, next));
      expect(names(endpoint.take(NOW + 2))).toEqual(['a']);
    }
  });

  it('waits with a newer event as long as the receiver asked for when the older one failed', () => {
    const endpoint = newEndpoint();
    endpoint.add(NOW, [paid('a')]);
    const taken = endpoint.take(NOW);
    endpoint.add(NOW + 1, [refunded('a')]);
    const records = recordsOf(taken, 503, NOW + 600 * MINUTE);
    endpoint.apply(
      NOW + 2,
      taken,
      records.map((record) => Object.assign(record, { notBefore: NOW + MINUTE })),
    );
    expect(endpoint.dueAt).toBe(NOW + MINUTE);
  });

  it.each<[name: string, wait: (endpoint: Endpoint) => void]>([
    [
      'waited while the endpoint was down',
      (endpoint) => {
        const others = Array.from({ length: 10 }, (_, index) => paid(`other${index}`));
        endpoint.add(NOW, others);
        answer(endpoint, NOW, 500, NOW + 5 * MINUTE);
        endpoint.add(NOW, [paid('a'), refunded('a'), paid('probe')]);
        answer(endpoint, NOW + MINUTE, 200);
      },
    ],
    [
      'finds out whether a receiver is back',
      (endpoint) => {
        endpoint.add(
          NOW,
          Array.from({ length: 10 }, (_, index) => paid(`other${index}`)),
        );
        answer(endpoint, NOW, 500, NOW + 5 * MINUTE);
        endpoint.add(NOW, [paid('a'), refunded('a')]);
      },
    ],
    [
      'waited after its last try',
      (endpoint) => {
        endpoint.add(NOW, [paid('a'), refunded('a')]);
        answer(endpoint, NOW, 500, null);
        endpoint.add(NOW, [paid('b')]);
        answer(endpoint, NOW, 200);
      },
    ],
    [
      'got a newer event after its last try',
      (endpoint) => {
        endpoint.add(NOW, [paid('a')]);
        answer(endpoint, NOW, 500, null);
        endpoint.add(NOW, [refunded('a')]);
      },
    ],
    [
      'is in a time range that is listed',
      (endpoint) => {
        endpoint.list(NOW, { from: NOW - 9, to: NOW });
        const range = endpoint.nextRange;
        if (range !== null) endpoint.listed(NOW, range, [paid('a'), refunded('a'), paid('b')], null);
      },
    ],
    [
      'waited while the endpoint was disabled',
      (endpoint) => {
        endpoint.add(NOW, [paid('a'), refunded('a')]);
        endpoint.disable(NOW, 'requested');
        endpoint.enable(NOW + MINUTE, 0);
      },
    ],
  ])('sends only the newest event of a checkout that %s', (_, wait) => {
    const endpoint = newEndpoint();
    wait(endpoint);
    const taken = endpoint.take(NOW + MINUTE).find(({ checkout }) => checkout === 'a');
    expect(taken?.events).toMatchObject([{ event: 'refunded', version: 3 }]);
    endpoint.apply(NOW + MINUTE, [], []);
    if (taken !== undefined) endpoint.apply(NOW + MINUTE, [taken], recordsOf([taken], 200));
    expect(endpoint.state.waiting.map(({ checkout }) => checkout)).not.toContain('a');
  });

  describe('that answers a test', () => {
    const record = { id: 'evt_1', checkout: null, event: 'test', version: 0, at: NOW, ms: 1, tries: 0 } as const;

    it('with 2xx accepts a delivery: it is not failing, and what waits is sent', () => {
      const endpoint = newEndpoint();
      endpoint.add(NOW, [paid('a')]);
      answer(endpoint, NOW, 500, null);
      endpoint.tested(NOW + MINUTE, { ...record, status: 204 });
      expect(endpoint.state.failingSince).toBeNull();
      expect(names(endpoint.take(NOW + MINUTE))).toEqual(['a']);
    });

    it('with 410 is disabled', () => {
      const endpoint = newEndpoint();
      endpoint.tested(NOW, { ...record, status: 410, next: null });
      expect(endpoint.state.disabled).toMatchObject({ because: 'gone' });
    });

    it('a test of an endpoint that is disabled leaves it disabled', () => {
      const endpoint = newEndpoint();
      endpoint.disable(NOW, 'requested');
      endpoint.tested(NOW, { ...record, status: 204 });
      expect(endpoint.state.disabled).toMatchObject({ because: 'requested' });
    });
  });

  it('counts no try, no failure and no time of failing when Tillflow could not send an event', () => {
    const endpoint = newEndpoint();
    endpoint.add(
      NOW,
      Array.from({ length: 20 }, (_, index) => paid(`c${index}`)),
    );
    const taken = endpoint.take(NOW);
    const records = recordsOf(taken, 0, NOW + 10 * MINUTE).map((record) =>
      Object.assign(record, { status: null, error: 'no key', isOurFailure: true }),
    );
    endpoint.apply(NOW, taken, records);
    expect(endpoint.state).toMatchObject({ failures: 0, unaccepted: 0, failingSince: null, failure: null });
    expect([endpoint.take(NOW), endpoint.dueAt]).toEqual([[], NOW + 10 * MINUTE]);
    expect(endpoint.take(NOW + 10 * MINUTE).map(({ tries }) => tries)).toEqual(Array(20).fill(0));
  });

  it('that is down tries another event when Tillflow could not send the one that finds out whether it is back', () => {
    const endpoint = newEndpoint();
    endpoint.add(
      NOW,
      Array.from({ length: 12 }, (_, index) => paid(`c${index}`)),
    );
    answer(endpoint, NOW, 500, NOW + 5 * MINUTE);
    const now = endpoint.dueAt ?? 0;
    const taken = endpoint.take(now);
    const records = recordsOf(taken, 0, now + 10 * MINUTE).map((record) =>
      Object.assign(record, { status: null, isOurFailure: true }),
    );
    endpoint.apply(now, taken, records);
    expect([endpoint.isDown, endpoint.take(now)]).toEqual([true, []]);
    expect(names(endpoint.take(endpoint.dueAt ?? 0))).toEqual(['c10']);
  });

  it('that is disabled gets a replayed time when it is enabled', () => {
    const endpoint = newEndpoint();
    endpoint.disable(NOW, 'requested');
    endpoint.replay(NOW, { from: NOW - 60 * MINUTE, to: NOW - 50 * MINUTE });
    expect(endpoint.nextRange).toBeNull();
    endpoint.enable(NOW + 1, 0);
    expect(endpoint.state.ranges).toMatchObject([{ from: NOW - 60 * MINUTE }, { from: NOW - 5 * MINUTE }]);
  });

  it('lists the newest part of a time in pages, one at a time', () => {
    const endpoint = newEndpoint();
    endpoint.list(NOW, { from: 0, to: NOW });
    const range = endpoint.nextRange;
    const due = Array.from({ length: 251 }, (_, index) => paid(`c${index}`));
    if (range !== null) endpoint.listed(NOW, range, due, { ...range, to: NOW - 1 });
    // The next page waits until most of this one is delivered.
    expect(endpoint.nextRange).toBeNull();
    answer(endpoint, NOW, 200);
    expect(endpoint.nextRange).toMatchObject({ to: NOW - 1 });
  });

  it('that a person disabled needs no notice', () => {
    const endpoint = newEndpoint();
    endpoint.disable(NOW, 'requested');
    expect(endpoint.isNoticeDue(NOW)).toBe(false);
  });
});
