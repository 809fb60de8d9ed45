import { Inject, Injectable } from '@nestjs/common';
import { checkoutId, type CheckoutKey } from '@tillflow/domain';
import type { StoredCheckout } from '@tillflow/temporal';
import type { Logger } from 'pino';
import { CheckoutChanges, type Announced } from './checkout-changes.js';
import { CheckoutsRepository } from './checkouts.repository.js';
import { ExpectedChange, newPaces, type Paces } from './expected-change.js';
import { Problem } from '../problems/problem.js';
import { LOGGER, Settings } from '../providers.js';

/** A stream or a waiting request that follows one checkout. */
export type Watcher = {
  /** Receives the current checkout, changed or not. */
  see(checkout: StoredCheckout): void;
  /** Temporal has no such checkout. */
  end(): void;
  /** The checkout could not be read. The next read may succeed. */
  fail?(error: unknown): void;
};

/** A watcher's share of a watch. */
export type Watching = {
  /** Tells the watcher the current checkout as soon as possible. */
  readonly look: () => void;
  readonly stop: () => void;
};

/** What a read tells each watcher. */
type Outcome = (watcher: Watcher) => void;

/** The first pause without a change. The pauses after it double. Milliseconds. */
const FIRST_PAUSE_MS = 1_000;

/** How long a read also answers watchers who come later. Milliseconds. */
const KEEP_MS = 500;

/** Polls one checkout for all of its watchers, as long as there is one. The longer nothing changes, the less often. */
export class Watch {
  readonly #watchers = new Set<Watcher>();
  #expected: ExpectedChange | null = null;
  #pauseMs = FIRST_PAUSE_MS;
  #version: number | null = null;
  /** The latest read; null when a change was announced after it began. */
  #latest: { readonly outcome: Outcome; readonly at: number } | null = null;
  #announced = 0;
  #timer: NodeJS.Timeout | undefined;
  #isPolling = false;

  /** @param pollMs the longest pause between two polls. */
  constructor(
    private readonly read: () => Promise<StoredCheckout>,
    private readonly pollMs: number,
    private readonly paces: Paces,
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

  /** Polls when the change should show, and a few times soon after. */
  wake(announced: Announced): void {
    this.#announced += 1;
    this.#latest = null;
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#expected = new ExpectedChange(announced, this.paces);
    if (announced.change === 'started') this.#version ??= 0;
    if (!this.#isPolling) this.#pollLater();
  }

  /** Tells the watcher what the latest read found, if that was just now. Otherwise polls for all watchers. */
  look(watcher: Watcher): void {
    if (this.#latest !== null && performance.now() - this.#latest.at < KEEP_MS) {
      this.#tell(watcher, this.#latest.outcome);
    } else if (!this.#isPolling) {
      clearTimeout(this.#timer);
      void this.#pollNow();
    }
  }

  #pollLater(): void {
    clearTimeout(this.#timer);
    if (this.#watchers.size === 0) return;
    const soonMs = this.#expected?.pauseMs ?? null;
    if (soonMs === null) this.#expected = null;
    const pauseMs = Math.min(soonMs ?? this.#pauseMs, this.pollMs);
    this.#timer = setTimeout(() => {
      if (soonMs === null) this.#pauseMs = Math.min(2 * pauseMs, this.pollMs);
      else this.#expected?.read();
      void this.#pollNow();
    }, pauseMs);
  }

  async #pollNow(): Promise<void> {
    this.#isPolling = true;
    const announced = this.#announced;
    const outcome = await this.#outcome(announced);
    if (announced === this.#announced) this.#latest = { outcome, at: performance.now() };
    for (const watcher of this.#watchers) this.#tell(watcher, outcome);
    this.#isPolling = false;
    this.#pollLater();
  }

  /** One watcher's failure does not affect the others. */
  #tell(watcher: Watcher, outcome: Outcome): void {
    try {
      outcome(watcher);
    } catch (error) {
      this.logger.error({ err: error }, 'a watcher failed');
    }
  }

  /** @param announced the changes that were announced before the read. A later one is still expected. */
  #see(version: number, announced: number): void {
    if (this.#version !== null && announced === this.#announced) {
      this.#expected?.met();
      this.#expected = null;
    }
    this.#version = version;
    this.#pauseMs = FIRST_PAUSE_MS;
  }

  async #outcome(announced: number): Promise<Outcome> {
    try {
      const checkout = await this.read();
      if (checkout.version !== this.#version) this.#see(checkout.version, announced);
      return (watcher) => watcher.see(checkout);
    } catch (error) {
      // Temporal may be down for a while. The watchers stay, and continue when it is back.
      this.logger.debug({ err: error }, 'a watched checkout could not be read');
      if (error instanceof Problem && error.code === 'not_found') return (watcher) => watcher.end();
      return (watcher) => watcher.fail?.(error);
    }
  }
}

/**
 * One watch for each checkout that this process follows for streams and waiting requests. It ends with its last
 * watcher.
 */
@Injectable()
export class Watches {
  readonly #watches = new Map<string, Watch>();
  readonly #paces = newPaces();

  constructor(
    private readonly repository: CheckoutsRepository,
    private readonly settings: Settings,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly changes: CheckoutChanges,
  ) {
    changes.listen((id, announced) => this.#watches.get(id)?.wake(announced));
  }

  watch(key: CheckoutKey, watcher: Watcher): Watching {
    const id = checkoutId(key);
    const watch = this.#watches.get(id) ?? this.#begin(id, key);
    watch.add(watcher);
    const stop = (): void => {
      watch.remove(watcher);
      if (watch.size === 0 && this.#watches.get(id) === watch) this.#watches.delete(id);
    };
    return { stop, look: () => watch.look(watcher) };
  }

  /**
   * The first state that a read finds to be `wanted`, read as soon as it is likely after each announced change.
   * @param over ends the wait: the promise then stays pending.
   */
  until(key: CheckoutKey, wanted: (checkout: StoredCheckout) => boolean, over: AbortSignal): Promise<StoredCheckout> {
    return new Promise((resolve) => {
      // A start can be confirmed after its request had to be answered.
      if (over.aborted) return;
      const { stop } = this.watch(key, {
        see: (checkout) => {
          if (wanted(checkout)) resolve(checkout);
        },
        end: () => undefined,
      });
      over.addEventListener('abort', stop);
    });
  }

  #begin(id: string, key: CheckoutKey): Watch {
    const watch = new Watch(
      () => this.repository.getInBackground(key),
      this.settings.values.STREAM_POLL_MS,
      this.#paces,
      this.logger,
    );
    this.#watches.set(id, watch);
    const announced = this.changes.recent(id);
    if (announced !== undefined) watch.wake(announced);
    return watch;
  }
}
