import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { apiKeys, findKey, mayActAs } from './api-keys.js';

const hash = (key: string): string => createHash('sha256').update(key).digest('hex');

describe('API keys', () => {
  it('match only their own token', () => {
    const keys = apiKeys.parse(`till:checkout:${hash('one')}, ops:ops:${hash('two').toUpperCase()}`);
    expect(findKey(keys, 'one')).toMatchObject({ name: 'till', role: 'checkout' });
    expect(findKey(keys, 'two')).toMatchObject({ name: 'ops', role: 'ops' });
    expect(findKey(keys, 'three')).toBeNull();
    expect(findKey(keys, hash('one'))).toBeNull();
  });

  it('with the role ops may do what checkout may, but not the other way round', () => {
    expect(mayActAs('ops', 'checkout')).toBe(true);
    expect(mayActAs('checkout', 'checkout')).toBe(true);
    expect(mayActAs('checkout', 'ops')).toBe(false);
  });

  it.each(['', 'till', `till:admin:${hash('one')}`, 'till:checkout:abc', `a:ops:${hash('x')},a:ops:${hash('y')}`])(
    'are refused when they read "%s", without repeating a hash',
    (text) => {
      const result = apiKeys.safeParse(text);
      expect(result.success).toBe(false);
      expect(result.error?.message).not.toMatch(/[0-9a-f]{64}/);
    },
  );
});
