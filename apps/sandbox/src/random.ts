import { createHash } from 'node:crypto';
import { xoroshiro128plusFromState } from 'pure-rand/generator/xoroshiro128plus';

const ID_ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyz';

/**
 * Random values that repeat with their seed. Each purpose has a stream of its own, so that an extra poll or webhook
 * does not change the ids of the charges that follow. The generator is not for secrets of real money.
 */
export class Random {
  readonly #streams = new Map<string, Random>();
  readonly #generator: { next(): number };

  constructor(readonly seed: string) {
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

  /** True with the given probability, 0 (never) to 1 (always). Draws once, whatever the rate. */
  chance(rate: number): boolean {
    return this.#uint32() / 2 ** 32 < rate;
  }

  /** Lower-case letters and digits, five from each draw. */
  letters(length: number): string {
    const codes: number[] = [];
    while (codes.length < length) {
      let draw = this.#uint32();
      for (let i = 0; i < 5 && codes.length < length; i += 1) {
        codes.push(ID_ALPHABET.charCodeAt(draw % 36));
        draw = Math.floor(draw / 36);
      }
    }
    return String.fromCharCode(...codes);
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.#uint32() >>> 24));
  }

  #uint32(): number {
    return this.#generator.next() >>> 0;
  }
}
