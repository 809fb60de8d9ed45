import { setTimeout as sleep } from 'node:timers/promises';

type Reading<T> = { readonly result: Promise<T>; isLate: boolean };

/**
 * Reads that may take longer than a request. Requests for the same subject share one, and it goes on without them: a result
 * that came too late for a request waits for the next one.
 */
export class Readings<T extends object> {
  readonly #readings = new Map<string, Reading<T>>();

  /** @param keepMs how long a late result waits, in milliseconds */
  constructor(private readonly keepMs: number) {}

  /** @returns null when the result is not there within `withinMs` milliseconds */
  async read(subject: string, begin: () => Promise<T>, withinMs: number): Promise<T | null> {
    const reading = this.#readings.get(subject) ?? this.#begin(subject, begin());
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
    const forget = (): void => void this.#readings.delete(subject);
    const keep = (): void => {
      if (reading.isLate) setTimeout(forget, this.keepMs).unref();
      else forget();
    };
    // A request that waits reports the failure.
    result.then(keep, forget);
    return reading;
  }
}
