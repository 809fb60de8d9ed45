/** What woke the workflow. Hints are counted as one: a look answers all that came before it. */
export class News {
  #hinted = false;

  get hasHint(): boolean {
    return this.#hinted;
  }

  hint(): void {
    this.#hinted = true;
  }

  /** @returns whether a hint was there; it is taken away. */
  takeHint(): boolean {
    const hinted = this.#hinted;
    this.#hinted = false;
    return hinted;
  }
}
