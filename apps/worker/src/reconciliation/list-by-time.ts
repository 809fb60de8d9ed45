import { formatInstant, plus, type Instant } from '@tillflow/domain';
import { instantOf } from '../activities/charge-facts.js';

type Listed = { readonly id: string; readonly created_at?: string | null | undefined };

/** After this many records, the list is requested again from the time it has reached: a deep offset is slow. */
const RECORDS_PER_LIST = 1_000;
/** The next list begins this much earlier, so that no record of the same second is missed. In milliseconds. */
const OVERLAP_MS = 1_000;

/**
 * Every record between two times, each once. It stores the ids of about a thousand records, not of all.
 * @param list reads the list between two ISO 8601 times, the oldest first
 */
export async function* listByTime<T extends Listed>(
  list: (bounds: { readonly from: string; readonly to: string }) => AsyncIterable<T>,
  from: Instant,
  to: Instant,
): AsyncGenerator<T, void, undefined> {
  let yielded = new Map<string, Instant | null>();
  for (let begin: Instant | null = from; begin !== null;) {
    const bounds = { from: formatInstant(begin), to: formatInstant(to) };
    const earliest: Instant = plus(begin, OVERLAP_MS);
    begin = null;
    let read = 0;
    for await (const record of list(bounds)) {
      const at = instantOf(record.created_at);
      read += 1;
      if (!yielded.has(record.id)) {
        yielded.set(record.id, at);
        yield record;
      }
      if (read < RECORDS_PER_LIST || at === null || at <= earliest) continue;
      begin = plus(at, -OVERLAP_MS);
      break;
    }
    const next = begin ?? to;
    yielded = new Map([...yielded].filter(([, at]) => at === null || at >= next));
  }
}
