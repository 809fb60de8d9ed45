import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import type { CheckoutKey } from '@tillflow/domain';
import { isWithin, type StoredCheckout } from '@tillflow/temporal';
import type { Asker } from '../auth/caller.js';
import { CheckoutsRepository, keyOf } from '../checkouts/checkouts.repository.js';
import type { CheckoutReply, ReadCheckout } from '../checkouts/checkouts.schema.js';
import { CheckoutPresenter } from '../checkouts/presenter.js';
import { OpenLinks } from '../counter/open-links.js';
import { Problem } from '../problems/problem.js';
import { Settings } from '../providers.js';
import { retryAfterSeconds } from '../temporal/failures.js';
import { currentBudget } from '../temporal/request-budget.js';
import { Shares } from './places.js';
import { Watches, type Watcher } from '../checkouts/watches.js';

/**
 * Reads of a checkout, and reads that wait for a change. A waiting request is a watcher: all watchers of a checkout
 * cost one read at a time, and none of them has a place of the gate to Temporal while nothing is read.
 */
@Injectable()
export class WaitingService implements BeforeApplicationShutdown {
  readonly #shares = new Shares();
  readonly #waiting = new Set<WaitingRequest>();
  #isStopping = false;

  constructor(
    private readonly repository: CheckoutsRepository,
    private readonly presenter: CheckoutPresenter,
    private readonly watches: Watches,
    private readonly openLinks: OpenLinks,
    private readonly settings: Settings,
  ) {}

  /**
   * The checkout: at once without `wait`, or when its `version` is above `after_version`, it has closed, the time is
   * up, or the process stops.
   * @throws {Problem} `not_found`: with `after_version` 0 only when the time is up, because Temporal may not know yet a
   * checkout whose request got 202; `overloaded`, also when too many requests wait; `checkout_unreadable`,
   * `temporal_unavailable`: only when the checkout was not read once; `unauthorized` when the link of the session ends.
   */
  async get(id: string, { wait, after_version }: ReadCheckout, { by, till, place }: Asker): Promise<CheckoutReply> {
    const key = keyOf(id);
    const shown = (stored: StoredCheckout): CheckoutReply => {
      if (!isWithin(place, stored.intent)) throw new Problem('not_found', 'No checkout has this id');
      return this.presenter.present(stored);
    };
    if (wait === undefined || this.#isStopping) return shown(await this.repository.get(key));
    const leave = this.#take(by);
    const request = new WaitingRequest(after_version);
    const release = till === undefined ? null : this.openLinks.hold(till, (why) => request.refuse(why));
    try {
      return shown(await this.#changed(key, request, wait * 1_000));
    } finally {
      release?.();
      leave();
    }
  }

  get openCount(): number {
    return this.#waiting.size;
  }

  beforeApplicationShutdown(): void {
    this.#isStopping = true;
    for (const request of this.#waiting) request.answerNow();
  }

  #take(by: string): () => void {
    const all = this.settings.values.WAIT_LIMIT;
    const leave = this.#shares.take([
      ['all', all],
      [`key ${by}`, Math.max(1, Math.floor(all / 2))],
    ]);
    if (leave !== null) return leave;
    const retryAfter = { retryAfterSeconds: retryAfterSeconds() };
    throw new Problem('overloaded', 'Too many requests wait for a change. Read the checkout without wait', retryAfter);
  }

  async #changed(key: CheckoutKey, request: WaitingRequest, waitMs: number): Promise<StoredCheckout> {
    const gone = currentBudget()?.gone;
    const { readNow, stop } = this.watches.watch(key, request);
    const leave = (): void => request.leave();
    const timer = setTimeout(() => {
      request.isDue = true;
      readNow();
    }, waitMs);
    this.#waiting.add(request);
    gone?.addEventListener('abort', leave);
    if (gone?.aborted === true) leave();
    else readNow();
    try {
      return await request.answer;
    } finally {
      clearTimeout(timer);
      stop();
      gone?.removeEventListener('abort', leave);
      this.#waiting.delete(request);
    }
  }
}

/** One request that waits for a change. */
class WaitingRequest implements Watcher {
  readonly answer: Promise<StoredCheckout>;
  /** The time is up: what the next read finds is the answer. */
  isDue = false;
  #newest: StoredCheckout | null = null;
  #resolve: (checkout: StoredCheckout) => void = () => {};
  #reject: (error: unknown) => void = () => {};

  /** @param after the version that the caller knows. Undefined: the version that the first read finds. */
  constructor(private after: number | undefined) {
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  see(checkout: StoredCheckout): void {
    this.#newest = checkout;
    this.after ??= checkout.version;
    if (this.isDue || checkout.closed || checkout.version > this.after) this.#resolve(checkout);
  }

  end(): void {
    const mayAppear = this.after === 0 && this.#newest === null;
    if (this.isDue || !mayAppear) this.#reject(new Problem('not_found', 'No checkout has this id'));
  }

  fail(error: unknown): void {
    if (this.#newest === null) this.#reject(error);
    else if (this.isDue) this.#resolve(this.#newest);
  }

  /** Answers with the newest state, or with the first one as soon as it is read. */
  answerNow(): void {
    this.isDue = true;
    if (this.#newest !== null) this.#resolve(this.#newest);
  }

  /** The caller has disconnected. */
  leave(): void {
    this.refuse(new Problem('overloaded', 'The caller is gone', { retryAfterSeconds: 1 }));
  }

  refuse(why: Problem): void {
    this.#reject(why);
  }
}
