import { instant, parseInstant, plus, type Instant } from '@tillflow/domain';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Clock } from './clock.js';

const START = parseInstant('2026-03-10T09:00:00Z');
const frozen = (): Clock => new Clock({ startAt: START, frozen: true });

afterEach(() => {
  vi.useRealTimers();
});

describe('the clock', () => {
  it('runs due timers in order of time, then of creation, each at its own instant', () => {
    const delays = fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 60 });
    fc.assert(
      fc.property(delays, fc.integer({ min: 0, max: 60 }), (waits, advance) => {
        const clock = frozen();
        const ran: { index: number; wait: number; now: Instant }[] = [];
        waits.forEach((wait, index) => clock.at(plus(START, wait), () => ran.push({ index, wait, now: clock.now() })));
        clock.moveTo(plus(START, advance));
        const due = waits
          .map((wait, index) => ({ index, wait, now: plus(START, wait) }))
          .filter(({ wait }) => wait <= advance);
        expect(ran).toEqual(due.toSorted((a, b) => a.wait - b.wait || a.index - b.index));
        expect(clock.now()).toBe(plus(START, advance));
      }),
    );
  });

  it('runs a timer that another timer sets within the same move', () => {
    const clock = frozen();
    const ran: number[] = [];
    clock.at(plus(START, 10), () => {
      ran.push(clock.now() - START);
      clock.at(plus(START, 20), () => ran.push(clock.now() - START));
    });
    clock.moveTo(plus(START, 30));
    expect(ran).toEqual([10, 20]);
  });

  it('never goes backwards', () => {
    const clock = frozen();
    expect(() => clock.moveTo(instant(START - 1))).toThrow('backwards');
    expect(clock.now()).toBe(START);
  });

  it('runs with wall time from the instant that was set, and not while it is frozen', () => {
    vi.useFakeTimers({ now: Date.UTC(2030, 0, 1) });
    const clock = new Clock({ startAt: START });
    vi.setSystemTime(Date.UTC(2030, 0, 1) + 5_000);
    expect(clock.tick()).toBe(START + 5_000);
    clock.freeze(true);
    vi.setSystemTime(Date.UTC(2030, 0, 1) + 60_000);
    expect(clock.tick()).toBe(START + 5_000);
    clock.freeze(false);
    vi.setSystemTime(Date.UTC(2030, 0, 1) + 61_000);
    expect(clock.tick()).toBe(START + 6_000);
  });

  it('does not go back when the machine sets its clock back', () => {
    vi.useFakeTimers({ now: 1_000_000 });
    const clock = new Clock({ startAt: START });
    vi.setSystemTime(1_005_000);
    expect(clock.tick()).toBe(START + 5_000);
    vi.setSystemTime(1_000_500);
    expect(clock.tick()).toBe(START + 5_000);
  });

  it('runs due timers without a request, also after the longest Node.js timer', () => {
    vi.useFakeTimers({ now: START });
    const clock = new Clock();
    const ran: string[] = [];
    const days = 60 * 24 * 60 * 60 * 1_000;
    clock.at(plus(START, days), () => ran.push('far'));
    clock.at(plus(START, 1_000), () => ran.push('near'));
    vi.advanceTimersByTime(1_000);
    expect(ran).toEqual(['near']);
    vi.advanceTimersByTime(days);
    expect(ran).toEqual(['near', 'far']);
  });

  it('has no timers after a reset', () => {
    const clock = frozen();
    clock.at(plus(START, 1), () => expect.unreachable());
    clock.moveTo(START);
    clock.reset();
    clock.moveTo(plus(START, 10));
    expect(clock.now()).toBe(START + 10);
  });
});
