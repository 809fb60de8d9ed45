import { Inject, Injectable } from '@nestjs/common';
import type { CheckoutKey } from '@tillflow/domain';
import { checkoutId } from '@tillflow/domain';
import type { Logger } from 'pino';
import { CheckoutsRepository } from '../checkouts/checkouts.repository.js';
import { CheckoutNews } from '../checkouts/news.js';
import { LOGGER } from '../logger.provider.js';
import { Settings } from '../settings.provider.js';
import { Watch, type Watcher } from './watch.js';

/** The checkouts that someone watches through this process: one watch for each, which ends with its last watcher. */
@Injectable()
export class Watches {
  readonly #watches = new Map<string, Watch>();

  constructor(
    private readonly repository: CheckoutsRepository,
    private readonly settings: Settings,
    @Inject(LOGGER) private readonly logger: Logger,
    news: CheckoutNews,
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
