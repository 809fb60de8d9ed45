import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HintGate } from './hint-gate.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('the gate for hints', () => {
  it('sends the first at once and the rest of a second as one at its end, and answers none before that', async () => {
    const gate = new HintGate();
    const sent: number[] = [];
    const answered: number[] = [];
    const pass = async (number: number): Promise<void> => {
      await gate.pass('chrg_1', async () => void sent.push(number));
      answered.push(number);
    };
    const all = Promise.all([pass(1), pass(2), pass(3)]);
    await vi.advanceTimersByTimeAsync(999);
    expect({ sent, answered }).toEqual({ sent: [1], answered: [1] });
    await vi.advanceTimersByTimeAsync(1);
    await all;
    expect({ sent, answered }).toEqual({ sent: [1, 2], answered: [1, 2, 3] });
  });

  it('does not hold up the hints of another charge', async () => {
    const gate = new HintGate();
    expect(await gate.pass('chrg_1', async () => {})).toBe('sent');
    expect(await gate.pass('chrg_2', async () => {})).toBe('sent');
  });

  it('is open again after a second without hints', async () => {
    const gate = new HintGate();
    await gate.pass('chrg_1', async () => {});
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await gate.pass('chrg_1', async () => {})).toBe('sent');
  });

  it('tells everyone who waited when the hint could not be made durable', async () => {
    const gate = new HintGate();
    const down = async (): Promise<never> => {
      throw new Error('Temporal is down');
    };
    const results = Promise.allSettled([
      gate.pass('chrg_1', down),
      gate.pass('chrg_1', down),
      gate.pass('chrg_1', down),
    ]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect((await results).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  });
});
