import type { EventRange } from '@tillflow/workflows';

/** So many checkouts of a time range are listed at one time, when it is long enough to be divided. */
const MOST_LISTED = 100;
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
  if ((await count(from, null)) <= MOST_LISTED) return { part: { from, to }, rest: null };
  let end = Math.max(now, from + SHORTEST_PART_MS);
  while (end - from > SHORTEST_PART_MS && (await count(from, end)) > MOST_LISTED) end = Math.floor((from + end) / 2);
  return { part: { from, to: end }, rest: { ...range, from: end + 1 } };
}
