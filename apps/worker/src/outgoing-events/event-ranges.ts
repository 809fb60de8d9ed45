import type { EventRange } from '@tillflow/workflows';

/** The most checkouts of one part of a range, unless the part is too short to be divided. */
const MOST_LISTED = 100;
/** The same for checkouts that changed after a range. Few of them have an event in the range. */
const MOST_CHANGED = 1_000;
const SHORTEST_PART_MS = 1_000;

type Part = Pick<EventRange, 'from' | 'to'>;

/**
 * A part of a range that has few checkouts, and the rest of the range. It is the last part of a range with an end. Of one
 * without an end it is the first, because a checkout that changes meanwhile moves into a later part.
 * @param now milliseconds since 1970 UTC
 */
export async function partOf(
  range: EventRange,
  now: number,
  count: (from: number, to: number | null) => Promise<number>,
): Promise<{ readonly part: Part; readonly rest: EventRange | null }> {
  const { to } = range;
  let { from } = range;
  if (to !== null) {
    while (to - from > SHORTEST_PART_MS && (await count(from, to)) > MOST_LISTED) from = Math.ceil((from + to) / 2);
    return { part: { from, to }, rest: from <= range.from ? null : { ...range, to: from - 1 } };
  }
  let end = now;
  while (end - from > SHORTEST_PART_MS && (await count(from, end)) > MOST_CHANGED) end = Math.floor((from + end) / 2);
  // A part that reaches the present has all that is left.
  if (end >= now - SHORTEST_PART_MS) return { part: { from, to: null }, rest: null };
  return { part: { from, to: end }, rest: { ...range, from: end + 1 } };
}
