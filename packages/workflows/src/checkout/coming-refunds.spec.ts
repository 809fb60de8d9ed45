import { describe, expect, it } from 'vitest';
import { ComingRefunds } from './coming-refunds.js';

const request = (key: string) => ({ key, amount: 10_000, reason: null });

describe('refund requests on their way', () => {
  it('the end of one refund request does not hide another request with the same key', () => {
    const coming = new ComingRefunds();
    const [first, second] = [request('a'), request('a')];
    coming.add(first);
    coming.add(second);
    coming.end(first);
    expect(coming.hasKeyOf(request('a'))).toBe(true);
    coming.end(second);
    expect(coming.hasKeyOf(request('a'))).toBe(false);
  });

  it('a refund request on its way is not one with another key', () => {
    const coming = new ComingRefunds();
    coming.add(request('a'));
    expect(coming.hasKeyOf(request('b'))).toBe(false);
  });
});
