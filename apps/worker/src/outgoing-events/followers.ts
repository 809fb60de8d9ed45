import type { EventEndpoints } from '@tillflow/temporal';
import type { Logger } from 'pino';

const READ_EVERY_MS = 5_000;
/** While there is an endpoint, a feed that has ended is started again at most so often, in milliseconds. */
const KEEP_EVERY_MS = 60_000;
/** An endpoint that continues as new is missing in a list for a moment. Milliseconds. */
const FOLLOWED_FOR_MS = 60_000;

/**
 * Whether there is an event endpoint. The answer is that of the latest read, so that no call waits for one. Until the
 * first read it is true: then a further refund writes a search attribute that it may not need.
 */
export class Followers {
  #followedAt = Number.NEGATIVE_INFINITY;
  #isFollowed = true;
  #keptAt = Number.NEGATIVE_INFINITY;
  #isEnded = false;
  #reading: Promise<void>;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(
    private readonly endpoints: Pick<EventEndpoints, 'count' | 'keepFeed'>,
    private readonly logger: Pick<Logger, 'warn'>,
  ) {
    this.#reading = this.#read();
    this.#timer = setInterval(() => {
      this.#reading = this.#reading.then(() => this.#read());
    }, READ_EVERY_MS);
    this.#timer.unref();
  }

  isFollowed(): boolean {
    return this.#isFollowed;
  }

  /** Resolves when no call to Temporal is in progress. */
  async end(): Promise<void> {
    this.#isEnded = true;
    clearInterval(this.#timer);
    await this.#reading;
  }

  async #read(): Promise<void> {
    if (this.#isEnded) return;
    const now = performance.now();
    try {
      const count = await this.endpoints.count();
      if (count > 0) this.#followedAt = now;
      this.#isFollowed = now - this.#followedAt < FOLLOWED_FOR_MS;
      if (count === 0 || this.#isEnded || now - this.#keptAt < KEEP_EVERY_MS) return;
      this.#keptAt = now;
      await this.endpoints.keepFeed();
    } catch (error) {
      this.logger.warn({ err: error }, 'the event endpoints cannot be read, and the last answer stays');
    }
  }
}
