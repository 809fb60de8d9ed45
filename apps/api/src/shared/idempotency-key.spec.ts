import { expect, it } from 'vitest';
import { Problem } from '../problems/problem.js';
import { idempotencyKey } from './idempotency-key.js';

function codeOf(header: string | undefined): string {
  try {
    return idempotencyKey(header);
  } catch (error) {
    return error instanceof Problem ? error.code : 'not a problem';
  }
}

it.each(['a', 'auto', 'Auto:x', '"quoted"', '~!', 'k'.repeat(128)])(
  'the Idempotency-Key %s is accepted unchanged',
  (key) => {
    expect(idempotencyKey(key)).toBe(key);
  },
);

it.each([undefined, ''])('a missing Idempotency-Key (%j) is idempotency_key_required', (header) => {
  expect(codeOf(header)).toBe('idempotency_key_required');
});

it.each(['k'.repeat(129), 'a b', 'a, b', 'ä', 'a\u007f', 'a\tb', 'auto:chrg_1'])(
  'the Idempotency-Key %j is refused',
  (header) => {
    expect(codeOf(header)).toBe('invalid_request');
  },
);
