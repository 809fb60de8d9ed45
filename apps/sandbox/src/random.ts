import { createHash } from 'node:crypto';

const ID_ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyz';

/**
 * Repeatable randomness (the sfc32 generator, seeded through SHA-256). Each purpose forks a stream of its own, so that
 * an extra poll or webhook does not change the ids of the charges that follow.
 */
export class Random {
  readonly #streams = new Map<string, Random>();
  #a: number;
  #b: number;
  #c: number;
  #counter: number;

  constructor(readonly seed: string) {
    const digest = createHash('sha256').update(seed).digest();
    this.#a = digest.readInt32LE(0);
    this.#b = digest.readInt32LE(4);
    this.#c = digest.readInt32LE(8);
    this.#counter = digest.readInt32LE(12);
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

  /** A whole number from 0 to 2^32 - 1. */
  uint32(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** True with the given probability, 0 (never) to 1 (always). Draws once, whatever the rate. */
  chance(rate: number): boolean {
    return this.uint32() / 2 ** 32 < rate;
  }

  /** Lower-case letters and digits, five from each draw. */
  letters(length: number): string {
    const codes: number[] = [];
    while (codes.length < length) {
      let draw = this.uint32();
      for (let i = 0; i < 5 && codes.length < length; i += 1) {
        codes.push(ID_ALPHABET.charCodeAt(draw % 36));
        draw = Math.floor(draw / 36);
      }
    }
    return String.fromCharCode(...codes);
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.uint32() & 0xff));
  }
}
