const WINDOW_MS = 1_000;
const MAX_CALLERS = 10_000;
/** All callers beyond `MAX_CALLERS` share one count. */
const OTHERS = 'others';

/** The requests that a caller may make in one second, and those that are left in this one. */
export type Share = { readonly limit: number; readonly remaining: number };

/** Counts the requests of each caller, and starts again after each window: every second. Its memory is bounded. */
export class Bucket {
  #since = Number.NEGATIVE_INFINITY;
  readonly #counts = new Map<string, number>();

  /** @param limit per caller and window. @param windowMs in milliseconds */
  constructor(
    private readonly limit: number,
    private readonly windowMs = WINDOW_MS,
  ) {}

  /** Counts one request. @returns false when the caller exceeds the limit. */
  take(caller: string, now = performance.now()): boolean {
    return this.excess(caller, now) === 0;
  }

  /** Counts one request. @returns how many the caller has made beyond the limit */
  excess(caller: string, now = performance.now()): number {
    const key = this.#keyOf(caller, now);
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return Math.max(0, count - this.limit);
  }

  /** The requests that the caller can still make in this second. Does not count one. */
  shareOf(caller: string, now = performance.now()): Share {
    const count = this.#counts.get(this.#keyOf(caller, now)) ?? 0;
    return { limit: this.limit, remaining: Math.max(0, this.limit - count) };
  }

  /** Whether the caller has reached the limit. Counts nothing. */
  isSpent(caller: string, now = performance.now()): boolean {
    return (this.#counts.get(this.#keyOf(caller, now)) ?? 0) >= this.limit;
  }

  /** Uncounts a request that was legitimate. */
  giveBack(caller: string, now = performance.now()): void {
    const key = this.#keyOf(caller, now);
    this.#counts.set(key, Math.max(0, (this.#counts.get(key) ?? 0) - 1));
  }

  #keyOf(caller: string, now: number): string {
    if (now - this.#since >= this.windowMs) {
      this.#since = now;
      this.#counts.clear();
    }
    return this.#counts.size < MAX_CALLERS || this.#counts.has(caller) ? caller : OTHERS;
  }
}

/** Searches by charge id per second that unsigned webhooks may cause, from all senders together. */
const UNSIGNED_SEARCHES = 20;

/** The limits of the API. Each counts separately, so that a flood of one kind does not limit other callers. */
export class Limits {
  /** By the name of the key. */
  readonly keys: Bucket;
  /** By link: requests with a session of the counter. */
  readonly tills: Bucket;
  /** By address: every request without a known key and without a valid link, whatever its answer. Never health. */
  readonly anonymous: Bucket;
  /** By address: requests with a valid link. */
  readonly links: Bucket;
  /** By link and address: a page asks for its QR and its stream a few times, not hundreds of times a second. */
  readonly oneLink: Bucket;
  /**
   * By address: webhooks whose signature is wrong, and, where the provider does not sign, those that concern no
   * checkout.
   */
  readonly refusedWebhooks: Bucket;
  /** For all addresses together. */
  readonly unsignedSearches = new Bucket(UNSIGNED_SEARCHES);

  constructor({ RATE_LIMIT, OPEN_RATE_LIMIT }: { readonly RATE_LIMIT: number; readonly OPEN_RATE_LIMIT: number }) {
    this.keys = new Bucket(RATE_LIMIT);
    this.tills = new Bucket(OPEN_RATE_LIMIT);
    this.anonymous = new Bucket(OPEN_RATE_LIMIT);
    this.links = new Bucket(RATE_LIMIT);
    this.oneLink = new Bucket(OPEN_RATE_LIMIT);
    this.refusedWebhooks = new Bucket(OPEN_RATE_LIMIT);
  }
}
