import { createHash } from 'node:crypto';

/** What happened in a world, line by line: the same seed writes the same lines. */
export class Trace {
  readonly #hash = createHash('sha256');
  readonly lines: string[] = [];

  /** @param now the virtual time in milliseconds @param keepsLines otherwise only the digest is kept */
  constructor(
    private readonly now: () => number,
    private readonly keepsLines: boolean,
  ) {}

  readonly note = (what: string): void => {
    const line = `${this.now().toFixed(3)} ${what}`;
    this.#hash.update(line).update('\n');
    if (this.keepsLines) this.lines.push(line);
  };

  /** Of every line. */
  get digest(): string {
    return this.#hash.copy().digest('hex');
  }
}
