import { Inject, Injectable } from '@nestjs/common';
import { checkoutId, type CheckoutKey } from '@tillflow/domain';
import type { StoredCheckout } from '@tillflow/temporal';
import type { Logger } from 'pino';
import { CheckoutChanges, type Announced } from './checkout-changes.js';
import { CheckoutsRepository } from './checkouts.repository.js';
import { ExpectedChange, newPaces, type Paces } from './expected-change.js';
import { Problem } from '../problems/problem.js';
import { LOGGER, Settings } from '../providers.js';
import { OVER } from '../shared/over.js';

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
  /** Shows the watcher the current checkout as soon as possible. */
  readonly readNow: () => void;
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
  /** The latest read failed, or found no checkout. */
  #hasFailed = false;
  #announced = 0;
  #timer: NodeJS.Timeout | undefined;
  #isPolling = false;
  /** Ends the wait at Temporal for a change. */
  #following = new AbortController();

  /** @param pollMs the longest pause between two polls. */
  constructor(
    private readonly checkout: {
      /** @param isQuiet no change is expected */
      readonly read: (isQuiet: boolean) => Promise<StoredCheckout>;
      /** Shows the present state and each change as soon as it is stored. */
      readonly follow: (over: AbortSignal) => AsyncIterable<StoredCheckout>;
    },
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
    if (this.#watchers.size > 0) return;
    if (this.#hasFailed) this.#latest = null;
    clearTimeout(this.#timer);
    this.#following.abort(OVER);
  }

  /** Polls when the change should show, and a few times soon after. @param isNew it is announced now */
  wake(announced: Announced, isNew = true): void {
    this.#announced += 1;
    this.#latest = null;
    this.#following.abort(OVER);
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#expected = new ExpectedChange(announced, this.paces, isNew);
    if (announced.change === 'started') this.#version ??= 0;
    if (!this.#isPolling) this.#pollLater();
  }

  /** Tells the watcher what the latest read found, if that was just now. Otherwise polls for all watchers. */
  readFor(watcher: Watcher): void {
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
    if (soonMs === null && this.#expected !== null) this.#expectNothing();
    const pauseMs = Math.min(soonMs ?? this.#pauseMs, this.pollMs);
    this.#timer = setTimeout(() => {
      if (soonMs === null) this.#pauseMs = Math.min(2 * pauseMs, this.pollMs);
      else if (this.#expected?.next() === 'follow') {
        void this.#follow();
        this.#pollLater();
        return;
      }
      void this.#pollNow(soonMs === null);
    }, pauseMs);
  }

  /** Waits at Temporal for the expected change. When that fails, the next planned poll finds the change. */
  async #follow(): Promise<void> {
    const over = new AbortController();
    this.#following = over;
    const announced = this.#announced;
    try {
      for await (const checkout of this.checkout.follow(over.signal)) {
        if (over.signal.aborted) return;
        if (checkout.version <= (this.#version ?? -1)) continue;
        this.#show(this.#outcomeOf(checkout, announced), announced);
        this.#pollLater();
        if (this.#expected === null) return;
      }
    } catch (error) {
      if (!over.signal.aborted) this.logger.debug({ err: error }, 'a checkout cannot be followed');
    }
  }

  async #pollNow(isQuiet = false): Promise<void> {
    this.#isPolling = true;
    const announced = this.#announced;
    this.#show(await this.#outcome(announced, isQuiet), announced);
    this.#isPolling = false;
    this.#pollLater();
  }

  /** @param announced the changes that were announced before the read. */
  #show(outcome: Outcome, announced: number): void {
    if (announced === this.#announced) this.#latest = { outcome, at: performance.now() };
    for (const watcher of this.#watchers) this.#tell(watcher, outcome);
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
      if (this.#expected !== null) this.#expectNothing();
    }
    this.#version = version;
    this.#pauseMs = FIRST_PAUSE_MS;
  }

  /** Also ends the wait at Temporal, which holds one of the places of this process. */
  #expectNothing(): void {
    this.#expected = null;
    this.#following.abort(OVER);
  }

  #outcomeOf(checkout: StoredCheckout, announced: number): Outcome {
    if (checkout.version !== this.#version) this.#see(checkout.version, announced);
    this.#hasFailed = false;
    return (watcher) => watcher.see(checkout);
  }

  async #outcome(announced: number, isQuiet: boolean): Promise<Outcome> {
    try {
      return this.#outcomeOf(await this.checkout.read(isQuiet), announced);
    } catch (error) {
      // Temporal may be down for a while. The watchers stay, and continue when it is back.
      this.logger.debug({ err: error }, 'a watched checkout could not be read');
      this.#hasFailed = true;
      if (error instanceof Problem && error.code === 'not_found') return (watcher) => watcher.end();
      return (watcher) => watcher.fail?.(error);
    }
  }
}

/**
 * One watch for each checkout that this process follows for streams and waiting requests. It ends soon after its last
 * watcher: a till that waits for the payment of the checkout that it has just begun costs no read.
 */
@Injectable()
export class Watches {
  readonly #watches = new Map<string, Watch>();
  /** The watches without a watcher, each with the time of its end: the oldest first. */
  readonly #ended = new Map<string, number>();
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
    this.#forgetEnded();
    const id = checkoutId(key);
    const watch = this.#watches.get(id) ?? this.#begin(id, key);
    watch.add(watcher);
    this.#ended.delete(id);
    const stop = (): void => {
      watch.remove(watcher);
      if (watch.size === 0 && this.#watches.get(id) === watch) this.#ended.set(id, performance.now());
    };
    return { stop, readNow: () => watch.readFor(watcher) };
  }

  /**
   * The first state that a read finds to be `wanted`, read as soon as it is likely after each announced change.
   * @param over ends the wait: the promise then stays pending.
   */
  until(key: CheckoutKey, wanted: (checkout: StoredCheckout) => boolean, over: AbortSignal): Promise<StoredCheckout> {
    return new Promise((resolve) => {
      // A start can be confirmed after its request had to be answered.
      if (over.aborted) return;
      const isWatched = this.#watches.has(checkoutId(key));
      const { stop, readNow } = this.watch(key, {
        see: (checkout) => {
          if (wanted(checkout)) resolve(checkout);
        },
        end: () => undefined,
      });
      over.addEventListener('abort', stop);
      if (isWatched) readNow();
    });
  }

  #forgetEnded(): void {
    for (const [id, endedAt] of this.#ended) {
      if (performance.now() - endedAt < KEEP_MS) return;
      this.#ended.delete(id);
      this.#watches.delete(id);
    }
  }

  #begin(id: string, key: CheckoutKey): Watch {
    const watch = new Watch(
      {
        read: (isQuiet) => this.repository.getInBackground(key, isQuiet),
        follow: (over) => this.repository.follow(key, over),
      },
      this.settings.values.STREAM_POLL_MS,
      this.#paces,
      this.logger,
    );
    this.#watches.set(id, watch);
    const announced = this.changes.recent(id);
    if (announced !== undefined) watch.wake(announced, false);
    return watch;
  }
}
