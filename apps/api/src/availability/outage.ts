import type { Instant } from '@tillflow/domain';

/** Whether the provider answers, and since when. `unknown` has no time. */
export type ProviderState =
  | { readonly status: 'ok' | 'failing'; readonly since: Instant }
  | { readonly status: 'unknown'; readonly since: null };

/**
 * The pause from the start of one probe to the start of the next: usually, and while failures are unconfirmed.
 * Milliseconds.
 */
const PAUSE_MS = 3_000;
const UNCONFIRMED_PAUSE_MS = 1_000;

/**
 * An outage is this many failures in a row that last this long, in milliseconds. With an error rate of 2 %, five in a
 * row come once in thirty years. With probes that hang for 2 s, the fifth failure comes 13 s after the outage began.
 */
const FAILURES = 5;
const FAILING_MS = 4_000;
/** An outage is over after this many successes in a row. */
const SUCCESSES = 4;
/** An older observation says nothing about now. Milliseconds. */
const KEPT_MS = 10_000;

const UNKNOWN: ProviderState = { status: 'unknown', since: null };

/** Successes or failures in a row, the first one at `since`. */
type Row = { readonly isOk: boolean; readonly since: Instant; readonly count: number };

/** Decides from observations whether the provider is failing. Single failures change nothing. No clock, no I/O. */
export class Outage {
  #state: ProviderState = UNKNOWN;
  #row: Row | null = null;
  #lastAt: Instant | null = null;

  /**
   * A call to the provider ended.
   * @param failingSince since when another source sees failures; null: it sees none. It confirms the first failure that
   * comes while the state is not known.
   */
  observe(at: Instant, isOk: boolean, failingSince: Instant | null = null): void {
    if (this.#isOld(at)) this.#forget();
    this.#lastAt = at;
    const row = this.#row?.isOk === isOk ? this.#row : { isOk, since: at, count: 0 };
    this.#row = { ...row, count: row.count + 1 };
    this.#state = this.#after(this.#row, at, failingSince);
  }

  stateAt(now: Instant): ProviderState {
    return this.#isOld(now) ? UNKNOWN : this.#state;
  }

  /** From the start of one probe to the start of the next, in milliseconds. */
  get pauseMs(): number {
    return this.#row?.isOk === false && this.#state.status !== 'failing' ? UNCONFIRMED_PAUSE_MS : PAUSE_MS;
  }

  #after({ isOk, since, count }: Row, at: Instant, failingSince: Instant | null): ProviderState {
    const { status } = this.#state;
    if (isOk) {
      const isOver = status === 'unknown' || (status === 'failing' && count >= SUCCESSES);
      return isOver ? { status: 'ok', since } : this.#state;
    }
    if (status === 'failing') return this.#state;
    if (status === 'unknown' && failingSince !== null) return { status: 'failing', since: failingSince };
    return count >= FAILURES && at - since >= FAILING_MS ? { status: 'failing', since } : this.#state;
  }

  #isOld(now: Instant): boolean {
    return this.#lastAt !== null && now - this.#lastAt > KEPT_MS;
  }

  #forget(): void {
    this.#state = UNKNOWN;
    this.#row = null;
  }
}
