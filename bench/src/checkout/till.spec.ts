import { describe, expect, it } from 'vitest';
import { hasWait } from './till.js';

const described = (...names: string[]) => ({
  paths: { '/v1/checkouts/{id}': { get: { parameters: names.map((name) => ({ name })) } } },
});

describe('a till', () => {
  it('waits only at an API that describes the parameter', () => {
    expect(hasWait(described('id', 'wait', 'after_version'))).toBe(true);
    expect(hasWait(described('id'))).toBe(false);
    expect(hasWait({})).toBe(false);
  });
});
