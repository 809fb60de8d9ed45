import { notSent, UnexpectedResponseError } from '../errors.js';

/** A list that ignores its paging parameters would be read for ever. */
const MAX_PAGES_WITHOUT_NEWS = 20;

/**
 * Records that are read page by page while they are taken, each record once. Breaking out of `for await` sends nothing
 * more. A second `for await` reads anew, within the same bounds. Records that are removed meanwhile let others slip
 * past the page: who removes while reading takes `toArray` first.
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
   * The records as an array, in order: the first `limit` of them, or all when there is none, which must fit in memory.
   * @throws {InvalidRequestError} `invalid_parameter` for a limit that is no whole number from 0 on
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
  let pagesWithoutNews = 0;
  for await (const page of pages) {
    const before = seen.size;
    for (const record of page) {
      if (seen.has(record.id)) continue;
      seen.add(record.id);
      yield record;
    }
    pagesWithoutNews = seen.size === before ? pagesWithoutNews + 1 : 0;
    if (pagesWithoutNews >= MAX_PAGES_WITHOUT_NEWS) throw doesNotAdvance();
  }
}

function doesNotAdvance(): UnexpectedResponseError {
  return new UnexpectedResponseError(`The list repeats itself: ${MAX_PAGES_WITHOUT_NEWS} pages brought nothing new.`, {
    code: 'list_does_not_advance',
    outcome: 'unknown',
    retryable: false,
  });
}
