import { describe, expect, test } from 'vitest';
import { InvalidRequestError } from '../errors.js';
import { Listing } from './listing.js';

const ids = (from: number, to: number): { id: string }[] =>
  Array.from({ length: to - from }, (_, index) => ({ id: `r${from + index}` }));

/** A listing of 25 records in pages of 10, and how many pages were read. */
function listing(): { all: Listing<{ id: string }>; read: () => number } {
  let pages = 0;
  const all = new Listing(async function* inTens() {
    for (let from = 0; from < 25; from += 10) {
      pages += 1;
      yield ids(from, Math.min(from + 10, 25));
    }
  });
  return { all, read: () => pages };
}

describe('toArray', () => {
  test('gives every record, in order', async () => {
    const { all } = listing();
    expect(await all.toArray()).toEqual(ids(0, 25));
  });

  test.each([
    [0, 0],
    [1, 1],
    [10, 1],
    [11, 2],
    [20, 2],
    [25, 3],
    [1_000, 3],
  ])('with the limit %i reads no further than it must: %i pages', async (limit, pages) => {
    const { all, read } = listing();
    expect(await all.toArray({ limit })).toEqual(ids(0, Math.min(limit, 25)));
    expect(read()).toBe(pages);
  });

  test.each([-1, 1.5, Number.NaN, Number.NEGATIVE_INFINITY, '3' as unknown as number])(
    'refuses the limit %s and reads nothing',
    async (limit) => {
      const { all, read } = listing();
      const refusal = all.toArray({ limit });
      await expect(refusal).rejects.toBeInstanceOf(InvalidRequestError);
      await expect(refusal).rejects.toMatchObject({ code: 'invalid_parameter', outcome: 'not_sent' });
      expect(read()).toBe(0);
    },
  );
});

describe('for await', () => {
  test('reads nothing before the first record is asked for, and nothing ahead', async () => {
    const { all, read } = listing();
    expect(read()).toBe(0);
    const seen: string[] = [];
    for await (const { id } of all) {
      seen.push(`${id} of page ${read()}`);
      if (seen.length === 11) break;
    }
    expect(seen.at(0)).toBe('r0 of page 1');
    expect(seen.at(9)).toBe('r9 of page 1');
    expect(seen.at(10)).toBe('r10 of page 2');
    expect(read()).toBe(2);
  });

  test('begins anew each time', async () => {
    const { all, read } = listing();
    for await (const { id } of all) if (id === 'r3') break;
    expect(await all.toArray()).toEqual(ids(0, 25));
    expect(read()).toBe(4);
  });

  test('an error of a page comes out, after the records before it', async () => {
    const all = new Listing(async function* broken() {
      yield ids(0, 2);
      throw new Error('the second page broke');
    });
    const seen: string[] = [];
    const reading = (async () => {
      for await (const { id } of all) seen.push(id);
    })();
    await expect(reading).rejects.toThrow('the second page broke');
    expect(seen).toEqual(['r0', 'r1']);
  });
});
