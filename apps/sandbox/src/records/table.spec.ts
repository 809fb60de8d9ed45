import { instant } from '@tillflow/domain';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Table, type PageQuery } from './table.js';

const createdAts = fc
  .array(fc.integer({ min: 0, max: 20 }), { maxLength: 40 })
  .map((times) => times.toSorted((a, b) => a - b).map((at, index) => ({ id: `r${index}`, createdAt: instant(at) })));
const query = fc.record<PageQuery>({
  from: fc.integer({ min: 0, max: 22 }).map(instant),
  to: fc.integer({ min: 0, max: 22 }).map(instant),
  offset: fc.integer({ min: 0, max: 45 }),
  limit: fc.integer({ min: 1, max: 10 }),
  order: fc.constantFrom('chronological', 'reverse_chronological'),
});

describe('a table', () => {
  it('answers the page that sorting and filtering everything would give', () => {
    fc.assert(
      fc.property(createdAts, query, (rows, asked) => {
        const table = new Table<(typeof rows)[number]>();
        for (const row of rows) table.put(row);
        const within = rows.filter(({ createdAt }) => createdAt >= asked.from && createdAt <= asked.to);
        if (asked.order === 'reverse_chronological') within.reverse();
        expect(table.page(asked)).toEqual({
          rows: within.slice(asked.offset, asked.offset + asked.limit),
          total: within.length,
        });
      }),
      { numRuns: 2_000 },
    );
  });

  it('keeps a changed record in its place', () => {
    const table = new Table<{ id: string; createdAt: ReturnType<typeof instant>; text: string }>();
    for (const id of ['a', 'b', 'c']) table.put({ id, createdAt: instant(1), text: 'old' });
    table.put({ id: 'b', createdAt: instant(1), text: 'new' });
    expect(table.rows.map(({ id, text }) => `${id} ${text}`)).toEqual(['a old', 'b new', 'c old']);
    expect(table.get('b')?.text).toBe('new');
    expect(table.get('d')).toBeUndefined();
  });
});
