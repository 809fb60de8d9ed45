const MINUTE_MS = 60_000;
/** Characters of an event's id that are kept. Two events of some minutes do not share this many. */
const CHARS = 8;

/** The events of the last minutes that the endpoints have. Small as a text, because heartbeats carry it. */
export class DeliveredEvents {
  /** By the minute since 1970. */
  readonly #minutes = new Map<number, Set<string>>();

  static from(text: string): DeliveredEvents {
    const delivered = new DeliveredEvents();
    for (const part of text.split(';').filter((one) => one !== '')) {
      const [minute = '', ids = ''] = part.split(':');
      delivered.#minutes.set(parseInt(minute, 36), new Set(ids.match(new RegExp(`.{${CHARS}}`, 'g')) ?? []));
    }
    return delivered;
  }

  /** @param at of the event, in milliseconds since 1970 UTC */
  has(id: string, at: number): boolean {
    return this.#minutes.get(minuteOf(at))?.has(shortOf(id)) === true;
  }

  add(id: string, at: number): void {
    const ids = this.#minutes.get(minuteOf(at)) ?? new Set();
    this.#minutes.set(minuteOf(at), ids.add(shortOf(id)));
  }

  /** @param before milliseconds since 1970 UTC */
  forget(before: number): void {
    for (const minute of this.#minutes.keys()) if (minute < minuteOf(before)) this.#minutes.delete(minute);
  }

  toString(): string {
    return [...this.#minutes].map(([minute, ids]) => `${minute.toString(36)}:${[...ids].join('')}`).join(';');
  }
}

const minuteOf = (at: number): number => Math.floor(at / MINUTE_MS);
const shortOf = (id: string): string => id.slice(-CHARS);
