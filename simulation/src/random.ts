import { createHash } from 'node:crypto';
import { xoroshiro128plusFromState } from 'pure-rand/generator/xoroshiro128plus';

/** Draws that repeat with their seed. Each purpose has a stream of its own, so that one more draw moves no other. */
export class Random {
  readonly #generator: { next(): number };
  readonly #streams = new Map<string, Random>();

  constructor(private readonly seed: string) {
    const digest = createHash('sha256').update(seed).digest();
    this.#generator = xoroshiro128plusFromState([0, 4, 8, 12].map((offset) => digest.readInt32LE(offset)));
  }

  /** The stream of that name: the same one at each call. */
  stream(name: string): Random {
    let stream = this.#streams.get(name);
    if (stream === undefined) {
      stream = new Random(`${this.seed}/${name}`);
      this.#streams.set(name, stream);
    }
    return stream;
  }

  /** From 0 to 1, without 1. */
  fraction(): number {
    return this.uint32() / 2 ** 32;
  }

  chance(rate: number): boolean {
    return this.fraction() < rate;
  }

  /** A whole number from `min` to `max`, both included. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1));
  }

  pick<T>(values: readonly T[]): T {
    const value = values[this.integer(0, values.length - 1)];
    if (value === undefined) throw new RangeError('Nothing to pick from');
    return value;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.uint32() >>> 24));
  }

  shuffled<T>(values: readonly T[]): T[] {
    const shuffled = [...values];
    for (let left = shuffled.length - 1; left > 0; left -= 1) {
      const other = this.integer(0, left);
      [shuffled[left], shuffled[other]] = [shuffled[other] as T, shuffled[left] as T];
    }
    return shuffled;
  }

  uint32(): number {
    return this.#generator.next() >>> 0;
  }
}
