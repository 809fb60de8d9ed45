import type { EventEndpoints } from '@tillflow/temporal';
import type { Logger } from 'pino';

const READ_EVERY_MS = 5_000;
/** While there is an endpoint, a worker checks at most this often whether the feed runs. Milliseconds. */
const KEEP_EVERY_MS = 60_000;
/** An endpoint that continues as new is missing in a list for a moment. Milliseconds. */
const PRESENT_FOR_MS = 60_000;

/**
 * Whether there is an event endpoint. The answer is that of the latest read, so that no call waits for one. Until a read
 * succeeds, the answer is true. A wrong `true` costs one search attribute, which a refund writes without need.
 */
export class EndpointPresence {
  #seenAt = Number.NEGATIVE_INFINITY;
  #hasEndpoints = true;
  #keptAt = Number.NEGATIVE_INFINITY;
  #isEnded = false;
  #reading: Promise<void>;
  /** Settles after the first read, also when it fails. A worker that waits for it before it takes work knows the answer. */
  readonly firstRead: Promise<unknown>;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(
    private readonly endpoints: Pick<EventEndpoints, 'count' | 'keepFeed'>,
    private readonly logger: Pick<Logger, 'warn'>,
  ) {
    const first = this.#count();
    this.firstRead = first;
    this.#reading = first.then((count) => this.#keepFeed(count));
    this.#timer = setInterval(() => {
      this.#reading = this.#reading.then(() => this.#count()).then((count) => this.#keepFeed(count));
    }, READ_EVERY_MS);
    this.#timer.unref();
  }

  hasEndpoints(): boolean {
    return this.#hasEndpoints;
  }

  /** Resolves when no call to Temporal is in progress. */
  async end(): Promise<void> {
    this.#isEnded = true;
    clearInterval(this.#timer);
    await this.#reading;
  }

  /** @returns 0 when they cannot be read */
  async #count(): Promise<number> {
    if (this.#isEnded) return 0;
    const now = performance.now();
    try {
      const count = await this.endpoints.count();
      if (count > 0) this.#seenAt = now;
      this.#hasEndpoints = now - this.#seenAt < PRESENT_FOR_MS;
      return count;
    } catch (error) {
      this.logger.warn({ err: error }, 'the event endpoints cannot be read, and the last answer stays');
      return 0;
    }
  }

  async #keepFeed(count: number): Promise<void> {
    const now = performance.now();
    if (count === 0 || this.#isEnded || now - this.#keptAt < KEEP_EVERY_MS) return;
    this.#keptAt = now;
    try {
      await this.endpoints.keepFeed();
    } catch (error) {
      this.logger.warn({ err: error }, 'the feed of events could not be started, and a worker tries it again');
    }
  }
}
