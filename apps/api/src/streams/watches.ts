import { Inject, Injectable } from '@nestjs/common';
import { checkoutId, type CheckoutKey } from '@tillflow/domain';
import type { StoredCheckout } from '@tillflow/temporal';
import type { Logger } from 'pino';
import { CheckoutChanges } from '../checkouts/checkout-changes.js';
import { CheckoutsRepository } from '../checkouts/checkouts.repository.js';
import { Problem } from '../problems/problem.js';
import { LOGGER, Settings } from '../providers.js';

/** A stream that follows one checkout. */
export type Watcher = {
  /** Receives the current checkout, changed or not. */
  see(checkout: StoredCheckout): void;
  /** The checkout does not exist any more. */
  end(): void;
};

/** Pauses before the polls after an announced change, in milliseconds: the workflow needs a moment to apply it. */
const AFTER_CHANGE_MS: readonly number[] = [0, 50, 100, 200, 400];

/** Polls one checkout for all of its watchers, as long as there is one. */
export class Watch {
  readonly #watchers = new Set<Watcher>();
  #soon: number[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isPolling = false;

  /** @param pollMs the longest pause between two polls. */
  constructor(
    private readonly read: () => Promise<StoredCheckout>,
    private readonly pollMs: number,
    private readonly logger: Logger,
  ) {}

  get size(): number {
    return this.#watchers.size;
  }

  add(watcher: Watcher): void {
    this.#watchers.add(watcher);
    if (this.#watchers.size === 1) this.#pollLater();
  }

  remove(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    if (this.#watchers.size === 0) clearTimeout(this.#timer);
  }

  /** Polls now, and a few times soon after. */
  wake(): void {
    this.#soon = [...AFTER_CHANGE_MS];
    if (!this.#isPolling) this.#pollLater();
  }

  #pollLater(): void {
    clearTimeout(this.#timer);
    if (this.#watchers.size === 0) return;
    const pause = Math.min(this.#soon.shift() ?? this.pollMs, this.pollMs);
    this.#timer = setTimeout(() => void this.#pollNow(), pause);
  }

  async #pollNow(): Promise<void> {
    this.#isPolling = true;
    try {
      const checkout = await this.read();
      for (const watcher of this.#watchers) watcher.see(checkout);
    } catch (error) {
      // Temporal may be down for a while. The streams stay open, and continue when it is back.
      this.logger.debug({ err: error }, 'a watched checkout could not be read');
      if (error instanceof Problem && error.code === 'not_found') this.#forget();
    } finally {
      this.#isPolling = false;
      this.#pollLater();
    }
  }

  #forget(): void {
    for (const watcher of this.#watchers) watcher.end();
  }
}

/** One watch for each checkout that a stream of this process follows. It ends with its last watcher. */
@Injectable()
export class Watches {
  readonly #watches = new Map<string, Watch>();

  constructor(
    private readonly repository: CheckoutsRepository,
    private readonly settings: Settings,
    @Inject(LOGGER) private readonly logger: Logger,
    changes: CheckoutChanges,
  ) {
    changes.listen((id) => this.#watches.get(id)?.wake());
  }

  /** @returns a function that ends it. */
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
    const watch = new Watch(
      () => this.repository.getInBackground(key),
      this.settings.values.STREAM_POLL_MS,
      this.logger,
    );
    this.#watches.set(id, watch);
    return watch;
  }
}
