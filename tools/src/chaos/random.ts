/** Choices that repeat with their seed. Mulberry32: small, and good enough to shuffle faults. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** 0 up to, and without, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(options: readonly [T, ...T[]]): T {
    return options[Math.floor(this.next() * options.length)] ?? options[0];
  }

  /** One of the options, each as often as its weight says. */
  weighted<T>(options: readonly (readonly [weight: number, option: T])[]): T {
    const total = options.reduce((sum, [weight]) => sum + weight, 0);
    let left = this.next() * total;
    for (const [weight, option] of options) {
      left -= weight;
      if (left < 0) return option;
    }
    const last = options.at(-1);
    if (last === undefined) throw new Error('Nothing to choose from');
    return last[1];
  }

  /** Choices of its own, whatever the others take meanwhile. */
  fork(): Random {
    return new Random(Math.floor(this.next() * 2 ** 32));
  }
}
