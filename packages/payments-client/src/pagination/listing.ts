import { notSent, UnexpectedResponseError } from '../errors.js';

/** Without this limit a list that ignores its paging parameters would be read for ever. */
const MAX_REPEATED_PAGES = 20;

/**
 * The records of a list, each once. Pages are read while you take records from them. Breaking out of `for await` sends
 * nothing more. A second `for await` reads the list again, within the same bounds. Removing records while reading makes
 * others slip past the page: to remove records, take `toArray` first.
 */
export class Listing<T extends { id: string }> implements AsyncIterable<T> {
  readonly #pages: () => AsyncIterable<readonly T[]>;

  /** @param pages one pass over the pages; nothing is read ahead */
  constructor(pages: () => AsyncIterable<readonly T[]>) {
    this.#pages = pages;
  }

  [Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    return eachOnce(this.#pages());
  }

  /**
   * The first `limit` records as an array, in order; without a limit all of them, which must fit in memory.
   * @throws {InvalidRequestError} `invalid_parameter` for a limit that is not a whole number, 0 or more
   */
  async toArray({ limit = Number.POSITIVE_INFINITY }: { limit?: number | undefined } = {}): Promise<T[]> {
    if (limit !== Number.POSITIVE_INFINITY && !(Number.isInteger(limit) && limit >= 0)) {
      throw notSent('invalid_parameter', 'The limit must be a whole number, 0 or more');
    }
    const records: T[] = [];
    if (limit === 0) return records;
    for await (const record of this) {
      records.push(record);
      if (records.length >= limit) break;
    }
    return records;
  }
}

async function* eachOnce<T extends { id: string }>(
  pages: AsyncIterable<readonly T[]>,
): AsyncGenerator<T, void, undefined> {
  const seen = new Set<string>();
  let repeatedPages = 0;
  for await (const page of pages) {
    const before = seen.size;
    for (const record of page) {
      if (seen.has(record.id)) continue;
      seen.add(record.id);
      yield record;
    }
    repeatedPages = seen.size === before ? repeatedPages + 1 : 0;
    if (repeatedPages >= MAX_REPEATED_PAGES) throw doesNotAdvance();
  }
}

function doesNotAdvance(): UnexpectedResponseError {
  return new UnexpectedResponseError(
    `The list repeats itself: ${MAX_REPEATED_PAGES} pages in a row contained no new record.`,
    {
      code: 'list_does_not_advance',
      outcome: 'unknown',
      retryable: false,
    },
  );
}
