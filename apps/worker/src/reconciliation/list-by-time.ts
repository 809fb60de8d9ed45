import { formatInstant, plus, type Instant } from '@tillflow/domain';
import { instantOf } from '../activities/charge-facts.js';

type Listed = { readonly id: string; readonly created_at?: string | null | undefined };

/** After so many records the list is begun anew at the time it has come to: a deep offset is slow, and forgets nothing. */
const RECORDS_AT_ONCE = 1_000;
/** It begins a little earlier, so that records made in the same second are not lost. */
const OVERLAP_MS = 1_000;

/**
 * Every record of a list between two times, each once, however many there are: what is remembered of those that were
 * given is a thousand ids, not all.
 * @param list reads the list between two ISO 8601 times, the oldest first
 */
export async function* inTime<T extends Listed>(
  list: (bounds: { readonly from: string; readonly to: string }) => AsyncIterable<T>,
  from: Instant,
  to: Instant,
): AsyncGenerator<T, void, undefined> {
  let given = new Map<string, Instant | null>();
  for (let begin: Instant | null = from; begin !== null;) {
    const bounds = { from: formatInstant(begin), to: formatInstant(to) };
    const earliest: Instant = plus(begin, OVERLAP_MS);
    begin = null;
    let read = 0;
    for await (const record of list(bounds)) {
      const at = instantOf(record.created_at);
      read += 1;
      if (!given.has(record.id)) {
        given.set(record.id, at);
        yield record;
      }
      if (read < RECORDS_AT_ONCE || at === null || at <= earliest) continue;
      begin = plus(at, -OVERLAP_MS);
      break;
    }
    const next = begin ?? to;
    given = new Map([...given].filter(([, at]) => at === null || at >= next));
  }
}
