import type { EventRange } from '@tillflow/workflows';
import { expect, it } from 'vitest';
import { partOf } from './event-ranges.js';

const HOUR = 3_600_000;
const events = { from: 0, to: HOUR };

/** Lists a range to its end. `changed` has when each checkout changed last. @returns what each part has */
async function list(changed: ReadonlyMap<string, number>, range: EventRange, meanwhile = (): number => 2 * HOUR) {
  const parts: string[][] = [];
  let now = 2 * HOUR;
  const within = (from: number, to: number | null): string[] =>
    [...changed].flatMap(([name, at]) => (at >= from && (to === null || at <= to) ? [name] : []));
  for (let left: EventRange | null = range; left !== null;) {
    const { part, rest } = await partOf(left, now, async (from, to) => within(from, to).length);
    parts.push(within(part.from, part.to));
    if (parts.length === 100) return parts;
    left = rest;
    now = meanwhile();
  }
  return parts;
}

const checkouts = (count: number): Map<string, number> =>
  new Map(Array.from({ length: count }, (_, index) => [`c${index}`, (index * HOUR) / count]));

it('a range with an end is listed in small parts, the newest first, and each checkout once', async () => {
  const all = checkouts(1_000);
  const parts = await list(all, { from: 0, to: HOUR, events });
  expect(parts[0]).toContain('c999');
  expect(Math.max(...parts.map(({ length }) => length))).toBeLessThanOrEqual(100);
  expect(parts.flat().toSorted()).toEqual([...all.keys()].toSorted());
});

it('a range without an end also has the checkouts that change while it is listed', async () => {
  const all = checkouts(10_000);
  let now = 2 * HOUR;
  const parts = await list(all, { from: 0, to: null, events }, () => {
    // After each part, every tenth checkout changes, old and new ones.
    const waiting = [...all].filter(([, at]) => at < 2 * HOUR);
    for (const [name] of waiting.filter((_, index) => index % 10 === 0)) all.set(name, (now += 2));
    return now;
  });
  expect(parts.length).toBeGreaterThan(5);
  expect([...new Set(parts.flat())].toSorted()).toEqual([...all.keys()].toSorted());
});

it('the list of a range without an end finishes, although two hundred checkouts change each second', async () => {
  const all = checkouts(5_000);
  let now = 2 * HOUR;
  const parts = await list(all, { from: 0, to: null, events }, () => {
    for (let index = 0; index < 400; index += 1) all.set(`new ${now}`, (now += 5));
    return now;
  });
  expect(parts.length).toBeLessThan(100);
});
