import { Inject, Injectable } from '@nestjs/common';
import { checkoutId, type CheckoutKey } from '@tillflow/domain';
import type { StoredCheckout } from '@tillflow/temporal';
import type { Logger } from 'pino';
import { CheckoutChanges } from '../checkouts/checkout-changes.js';
import { CheckoutsRepository } from '../checkouts/checkouts.repository.js';
import { Problem } from '../problems/problem.js';
import { LOGGER, Settings } from '../providers.js';

/** Who wants to know about one checkout. */
export type Watcher = {
  /** The checkout as it is now, whether it changed or not. */
  see(checkout: StoredCheckout): void;
  /** There is nothing more to see. */
  end(): void;
};

/** Pauses before the looks that follow news, in milliseconds: the workflow needs a moment to take them in. */
const AFTER_NEWS_MS: readonly number[] = [0, 50, 100, 200, 400];

/** Looks at one checkout, however many watch it, for as long as someone does. */
export class Watch {
  readonly #watchers = new Set<Watcher>();
  #soon: number[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  /** @param pollMs the longest pause between two looks. */
  constructor(
    private readonly look: () => Promise<StoredCheckout>,
    private readonly pollMs: number,
    private readonly logger: Logger,
  ) {}

  get size(): number {
    return this.#watchers.size;
  }

  add(watcher: Watcher): void {
    this.#watchers.add(watcher);
    if (this.#watchers.size === 1) this.#lookLater();
  }

  remove(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    if (this.#watchers.size === 0) clearTimeout(this.#timer);
  }

  /** Looks now, and a few times soon after. */
  wake(): void {
    this.#soon = [...AFTER_NEWS_MS];
    if (!this.#isLooking) this.#lookLater();
  }

  #lookLater(): void {
    clearTimeout(this.#timer);
    if (this.#watchers.size === 0) return;
    const pause = Math.min(this.#soon.shift() ?? this.pollMs, this.pollMs);
    this.#timer = setTimeout(() => void this.#lookNow(), pause);
  }

  async #lookNow(): Promise<void> {
    this.#isLooking = true;
    try {
      const checkout = await this.look();
      for (const watcher of this.#watchers) watcher.see(checkout);
    } catch (error) {
      // Temporal may be down for a while: the streams stay open and go on when it is back.
      this.logger.debug({ err: error }, 'a watched checkout could not be read');
      if (error instanceof Problem && error.code === 'not_found') this.#forget();
    } finally {
      this.#isLooking = false;
      this.#lookLater();
    }
  }

  #forget(): void {
    for (const watcher of this.#watchers) watcher.end();
  }
}

/** The checkouts that someone watches through this process: one watch for each, which ends with its last watcher. */
@Injectable()
export class Watches {
  readonly #watches = new Map<string, Watch>();

  constructor(
    private readonly repository: CheckoutsRepository,
    private readonly settings: Settings,
    @Inject(LOGGER) private readonly logger: Logger,
    news: CheckoutChanges,
  ) {
    news.listen((id) => this.#watches.get(id)?.wake());
  }

  /** @returns what ends it. */
  watch(key: CheckoutKey, watcher: Watcher): () => void {
    const id = checkoutId(key);
    const watch = this.#watches.get(id) ?? this.#begin(id, key);
    watch.add(watcher);
    return () => {
      watch.remove(watcher);
      if (watch.size === 0 && this.#watches.get(id) === watch) this.#watches.delete(id);
    };
  }

  #begin(id: string, key: CheckoutKey): Watch {
    const watch = new Watch(() => this.repository.look(key), this.settings.values.STREAM_POLL_MS, this.logger);
    this.#watches.set(id, watch);
    return watch;
  }
}
