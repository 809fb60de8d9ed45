import { describe, expect, it } from 'vitest';
import { ServerClock } from './server-clock.js';

const NOON = Date.parse('2026-11-24T12:00:00.000Z');
const at = (ms: number): string => new Date(NOON + ms).toISOString();

function clockAt(start: number) {
  let steady = start;
  const clock = new ServerClock(() => steady);
  return { clock, pass: (ms: number) => (steady += ms) };
}

describe('ServerClock', () => {
  it('knows no time before the first answer', () => {
    expect(clockAt(5).clock.now()).toBeNull();
  });

  it('takes the middle of the request as the time of the answer, and goes on from there', () => {
    const { clock, pass } = clockAt(1_000);
    pass(200);
    clock.learn(at(0), 1_000);
    expect(clock.now()).toBe(NOON + 100);
    pass(5_000);
    expect(clock.now()).toBe(NOON + 5_100);
  });

  it('keeps a quick answer when a slow one agrees with it', () => {
    const { clock, pass } = clockAt(0);
    pass(20);
    clock.learn(at(10), 0);
    pass(4_000);
    // The time was read at once, and the answer took four seconds.
    clock.learn(at(20), 20);
    expect(clock.now()).toBe(NOON + 4_020);
  });

  it('takes a quicker answer', () => {
    const { clock, pass } = clockAt(0);
    pass(4_000);
    clock.learn(at(0), 0);
    expect(clock.now()).toBe(NOON + 2_000);
    pass(10);
    clock.learn(at(4_005), 4_000);
    expect(clock.now()).toBe(NOON + 4_010);
  });

  it('takes a slow answer after a sleep in which its own clock stood still', () => {
    const { clock, pass } = clockAt(0);
    pass(20);
    clock.learn(at(10), 0);
    pass(1_000);
    clock.learn(at(3_600_000), 20);
    expect(clock.now()).toBe(NOON + 3_600_500);
  });

  it('is vague after a slow answer, until a quick one, or for as long as a slow line may give a better one', () => {
    const { clock, pass } = clockAt(0);
    expect(clock.isVague).toBe(false);
    pass(600);
    clock.learn(at(300), 0);
    expect(clock.isVague).toBe(true);
    pass(20);
    clock.learn(at(610), 600);
    expect(clock.isVague).toBe(false);

    const slow = clockAt(0);
    for (let tries = 0; tries < 8; tries += 1) {
      expect(slow.clock.isVague).toBe(tries > 0);
      slow.pass(600);
      slow.clock.learn(at(tries * 600 + 300), tries * 600);
    }
    expect(slow.clock.isVague).toBe(false);
  });
});
