import type { RoutedEvent } from '@tillflow/domain';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HintGate, mergedNews } from './hint-gate.js';

const merge = (earlier: string, later: string): string => `${earlier}+${later}`;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('the gate for hints', () => {
  it('sends the first at once and the rest of a second as one at its end, and answers none before that', async () => {
    const gate = new HintGate(merge);
    const sent: string[] = [];
    const answered: string[] = [];
    const pass = async (news: string): Promise<void> => {
      await gate.pass('checkout', news, async (merged) => void sent.push(merged));
      answered.push(news);
    };
    const all = Promise.all([pass('1'), pass('2'), pass('3')]);
    await vi.advanceTimersByTimeAsync(999);
    expect({ sent, answered }).toEqual({ sent: ['1'], answered: ['1'] });
    await vi.advanceTimersByTimeAsync(1);
    await all;
    expect({ sent, answered }).toEqual({ sent: ['1', '2+3'], answered: ['1', '2', '3'] });
  });

  it('does not hold up the hints of another subject', async () => {
    const gate = new HintGate(merge);
    expect(await gate.pass('one', 'a', async () => {})).toBe('sent');
    expect(await gate.pass('other', 'b', async () => {})).toBe('sent');
  });

  it('is open again after a second without hints', async () => {
    const gate = new HintGate(merge);
    await gate.pass('checkout', 'a', async () => {});
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await gate.pass('checkout', 'b', async () => {})).toBe('sent');
  });

  it('tells everyone who waited when the hint could not be made durable', async () => {
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

describe('news of two events', () => {
  const event = (chargeId: string | null, key = 'charge.update'): RoutedEvent => ({
    id: `evnt ${chargeId}`,
    key,
    subject: chargeId ?? '',
    checkout: { account: 'default', reference: 'a' },
    chargeId,
    showsMetadata: true,
  });

  it('of one charge is news of that charge', () => {
    expect(mergedNews(event('chrg_1', 'charge.update'), event('chrg_1', 'refund.create'))).toEqual(
      event('chrg_1', 'refund.create'),
    );
  });

  it('of two charges is news of all of them, and not of a payment, which a paid checkout leaves unread', () => {
    const merged = mergedNews(event('chrg_1', 'charge.complete'), event('chrg_2', 'charge.complete'));
    expect(merged).toMatchObject({ chargeId: null, key: 'several events' });
    expect(mergedNews(merged, event('chrg_2', 'charge.complete'))).toMatchObject({
      chargeId: null,
      key: 'several events',
    });
  });
});
