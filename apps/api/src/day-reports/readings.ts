import { setTimeout as sleep } from 'node:timers/promises';

type Reading<T> = { readonly result: Promise<T>; isLate: boolean };

/**
 * Reads that may take longer than a request. Requests for the same subject share one, and it goes on without them: a
 * result that came too late for a request waits for the next one.
 */
export class Readings<T extends object> {
  readonly #readings = new Map<string, Reading<T>>();
  #underWay = 0;

  constructor(
    private readonly options: {
      /** How long a late result waits, in milliseconds. */
      readonly keepMs: number;
      /** The limit of reads at a time. */
      readonly atOnce: number;
    },
  ) {}

  /**
   * @returns null when the result is not there within `withinMs` milliseconds; `full` when too many others are read,
   * and this read does not begin
   */
  async read(subject: string, begin: () => Promise<T>, withinMs: number): Promise<T | null | 'full'> {
    const present = this.#readings.get(subject);
    if (present === undefined && this.#underWay >= this.options.atOnce) return 'full';
    const reading = present ?? this.#begin(subject, begin());
    const here = new AbortController();
    const late = sleep(withinMs, null, { signal: here.signal }).catch(() => null);
    try {
      const result = await Promise.race([reading.result, late]);
      if (result === null) reading.isLate = true;
      return result;
    } finally {
      here.abort();
    }
  }

  #begin(subject: string, result: Promise<T>): Reading<T> {
    const reading: Reading<T> = { result, isLate: false };
    this.#readings.set(subject, reading);
    this.#underWay += 1;
    const forget = (): void => void this.#readings.delete(subject);
    const keep = (): void => {
      this.#underWay -= 1;
      if (reading.isLate) setTimeout(forget, this.options.keepMs).unref();
      else forget();
    };
    const fail = (): void => {
      this.#underWay -= 1;
      forget();
    };
    // A request that waits reports the failure.
    result.then(keep, fail);
    return reading;
  }
}
