/** A time or a duration of Temporal's. */
type TemporalTime = { readonly seconds?: unknown; readonly nanos?: number | null };

/**
 * Whole milliseconds, as a workflow has them; 0 for an absent time. The parts are added after the rounding, because a sum
 * of both can round up to the next millisecond.
 */
export function millisecondsOf(time: TemporalTime | null | undefined): number {
  return Number(time?.seconds ?? 0) * 1_000 + Math.floor((time?.nanos ?? 0) / 1_000_000);
}
