import {
  addDays,
  businessDay,
  businessDayOf,
  instant,
  lastEndedDay,
  type BusinessDayRule,
  type Instant,
} from '@tillflow/domain';

/** The longest window of a run. */
const MOST_DAYS = 31;

/**
 * Whole business days: the last one whose payments are all old enough, and the days before it, from the first one
 * that no daily run has compared to its end. A change of the zone or of the start compares some hours twice.
 * @param oldEnough payments before this are old enough
 * @param lastDaily until when the daily runs before a time have compared payments, in milliseconds; null for none
 */
export async function dailyWindow(
  oldEnough: Instant,
  rule: BusinessDayRule,
  lastDaily: (before: number) => Promise<number | null>,
): Promise<{ readonly from: Instant; readonly to: Instant }> {
  const last = lastEndedDay(oldEnough, rule);
  const comparedUntil = await lastDaily(last.to);
  if (comparedUntil === null || comparedUntil >= last.from) return { from: last.from, to: last.to };
  const earliest = businessDay(addDays(last.date, 1 - MOST_DAYS), rule).from;
  const from = businessDayOf(instant(comparedUntil), rule).from;
  return { from: instant(Math.max(from, earliest)), to: last.to };
}
