import type { RoutedEvent } from '@tillflow/domain';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HintGate, mergedEvent } from './hint-gate.js';

const merge = (earlier: string, later: string): string => `${earlier}+${later}`;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('the gate for hints', () => {
  it('sends the first hint at once and merges the rest of the second into one, which it answers together', async () => {
    const gate = new HintGate(merge);
    const sent: string[] = [];
    const answered: string[] = [];
    const pass = async (event: string): Promise<void> => {
      await gate.pass('checkout', event, async (merged) => void sent.push(merged));
      answered.push(event);
    };
    const all = Promise.all([pass('1'), pass('2'), pass('3')]);
    await vi.advanceTimersByTimeAsync(999);
    expect({ sent, answered }).toEqual({ sent: ['1'], answered: ['1'] });
    await vi.advanceTimersByTimeAsync(1);
    await all;
    expect({ sent, answered }).toEqual({ sent: ['1', '2+3'], answered: ['1', '2', '3'] });
  });

  it('does not delay hints of another subject', async () => {
    const gate = new HintGate(merge);
    expect(await gate.pass('one', 'a', async () => {})).toBe('sent');
    expect(await gate.pass('other', 'b', async () => {})).toBe('sent');
  });

  it('sends at once again after a second without hints', async () => {
    const gate = new HintGate(merge);
    await gate.pass('checkout', 'a', async () => {});
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await gate.pass('checkout', 'b', async () => {})).toBe('sent');
  });

  it('passes the failure to every waiting caller when a hint cannot be stored', async () => {
    const gate = new HintGate(merge);
    const down = async (): Promise<never> => {
      throw new Error('Temporal is down');
    };
    const results = Promise.allSettled([
      gate.pass('checkout', 'a', down),
      gate.pass('checkout', 'a', down),
      gate.pass('checkout', 'a', down),
    ]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect((await results).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  });
});

describe('a merged event', () => {
  const event = (chargeId: string | null, key = 'charge.update'): RoutedEvent => ({
    id: `evnt ${chargeId}`,
    key,
    subject: chargeId ?? '',
    checkout: { account: 'default', reference: 'a' },
    transactionId: null,
    chargeId,
    showsMetadata: true,
  });

  it('of one charge names that charge', () => {
    expect(mergedEvent(event('chrg_1', 'charge.update'), event('chrg_1', 'refund.create'))).toEqual(
      event('chrg_1', 'refund.create'),
    );
  });

  it('of two charges names all charges, and is not a payment, which a paid checkout would ignore', () => {
    const merged = mergedEvent(event('chrg_1', 'charge.complete'), event('chrg_2', 'charge.complete'));
    expect(merged).toMatchObject({ chargeId: null, key: 'several events' });
    expect(mergedEvent(merged, event('chrg_2', 'charge.complete'))).toMatchObject({
      chargeId: null,
      key: 'several events',
    });
  });
});
