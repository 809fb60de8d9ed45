import { setTimeout as sleep } from 'node:timers/promises';

type Reading<T> = { readonly result: Promise<T>; isLate: boolean };

/**
 * Reads that may take longer than a request. Requests for the same subject share one. It continues
 * after a request has timed out, and the next request gets its result.
 */
export class Readings<T extends object> {
  readonly #readings = new Map<string, Reading<T>>();
  #underWay = 0;
  #waiting: (() => void)[] = [];

  constructor(
    private readonly options: {
      /** How long a late result waits, in milliseconds. */
      readonly keepMs: number;
      /** How long any other result also answers later requests, in milliseconds. Absent: not at all. */
      readonly freshMs?: number;
      /** The limit of reads at a time. */
      readonly atOnce: number;
    },
  ) {}

  /**
   * @returns null when the result is not there within `withinMs` milliseconds; `full` when too many others are read all
   * that time, and this read does not begin
   */
  async read(subject: string, begin: () => Promise<T>, withinMs: number): Promise<T | null | 'full'> {
    const here = new AbortController();
    const late = sleep(withinMs, null, { signal: here.signal }).catch(() => null);
    try {
      // While this request waits, another one may begin its read.
      while (!this.#readings.has(subject) && this.#underWay >= this.options.atOnce) {
        if ((await Promise.race([this.#anyEnd(), late])) === null) return 'full';
      }
      const reading = this.#readings.get(subject) ?? this.#begin(subject, begin());
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
    const end = (keepMs: number): void => {
      this.#underWay -= 1;
      const forget = (): void => void this.#readings.delete(subject);
      if (keepMs > 0) setTimeout(forget, keepMs).unref();
      else forget();
      for (const tell of this.#waiting.splice(0)) tell();
    };
    const { keepMs, freshMs = 0 } = this.options;
    // A request that waits reports the failure.
    result.then(
      () => end(reading.isLate ? keepMs : freshMs),
      () => end(0),
    );
    return reading;
  }

  #anyEnd(): Promise<true> {
    return new Promise((resolve) => this.#waiting.push(() => resolve(true)));
  }
}
