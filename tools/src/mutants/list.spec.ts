import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { MUTANTS } from './list.js';
import { FIXED } from './simulated.js';

const ROOT = new URL('../../../', import.meta.url);

describe('the list of mutants', () => {
  it('the list of mutants has at least 40 with different ids', () => {
    expect(new Set(MUTANTS.map(({ id }) => id)).size).toBe(MUTANTS.length);
    expect(MUTANTS.length).toBeGreaterThanOrEqual(40);
  });

  it.each([...MUTANTS, ...FIXED])(
    'the mutant $id changes text that $file contains exactly once',
    ({ file, from, to }) => {
      expect(readFileSync(new URL(file, ROOT), 'utf8').split(from)).toHaveLength(2);
      expect(to).not.toBe(from);
    },
  );
});
