import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import type { StoredCheckout } from '@tillflow/temporal';
import { keyOf } from '../checkouts/checkout-key.js';
import { CheckoutsRepository } from '../checkouts/checkouts.repository.js';
import { CheckoutPresenter } from '../checkouts/presenter.js';
import { Problem } from '../problems/problem.js';
import { Settings } from '../settings.provider.js';
import { EventStream } from './event-stream.js';
import { Places } from './places.js';
import { Watches } from './watches.js';

/** Where a stream goes, as far as its end needs it. */
export type Connection = { destroy(): unknown };

export type StreamRequest = {
  readonly id: string;
  /** The version that the reader saw last, or null. */
  readonly seen: number | null;
  /** By a signed link, which opens nothing any more once the checkout closed. */
  readonly byLink: boolean;
  readonly connection: Connection;
};

/** A reader that has not taken its end by then is cut off, so that the process can stop. Milliseconds. */
const END_WITHIN_MS = 1_000;

/** The changes of a checkout, told to whoever watches it. */
@Injectable()
export class StreamsService implements BeforeApplicationShutdown {
  readonly #open = new Map<EventStream, Connection>();
  readonly #places: Places;
  #isStopping = false;

  constructor(
    private readonly repository: CheckoutsRepository,
    private readonly presenter: CheckoutPresenter,
    private readonly watches: Watches,
    private readonly settings: Settings,
  ) {
    this.#places = new Places(settings.values.STREAM_LIMIT);
  }

  /**
   * The checkout's state now, unless the reader has seen it, and each change from now on; null when there is nothing
   * more to tell, which keeps a browser from coming back.
   * @throws {Problem} `not_found`, `too_many_streams`, `temporal_unavailable`.
   */
  async open(request: StreamRequest): Promise<EventStream | null> {
    const { id, seen, byLink, connection } = request;
    const key = keyOf(id);
    const leave = this.#places.take(id);
    if (leave === null) {
      throw new Problem('too_many_streams', 'No more streams can be opened now', { retryAfterSeconds: 5 });
    }
    let stream: EventStream | null = null;
    try {
      const checkout = await this.repository.get(key);
      const isNews = seen === null || seen < checkout.version;
      if (checkout.closed && (byLink || !isNews)) return null;
      stream = new EventStream(this.settings.values.STREAM_HEARTBEAT_MS);
      stream.once('close', leave);
      this.#keep(stream, connection);
      if (isNews) this.#tell(stream, checkout);
      this.#follow(stream, checkout);
      return stream;
    } finally {
      if (stream === null) leave();
    }
  }

  /** @throws {Problem} `not_found`. */
  async mustExist(id: string): Promise<void> {
    await this.repository.get(keyOf(id));
  }

  beforeApplicationShutdown(): void {
    this.#isStopping = true;
    for (const [stream, connection] of this.#open) {
      stream.finish();
      const timer = setTimeout(() => connection.destroy(), END_WITHIN_MS);
      timer.unref();
    }
  }

  #follow(stream: EventStream, checkout: StoredCheckout): void {
    if (checkout.closed || this.#isStopping) {
      stream.finish();
      return;
    }
    let { version } = checkout;
    const stop = this.watches.watch(checkout.intent, {
      see: (now) => {
        if (now.version > version) this.#tell(stream, now);
        version = Math.max(version, now.version);
        if (now.closed) end();
      },
      end: () => end(),
    });
    const end = (): void => {
      stop();
      stream.finish();
    };
    stream.once('close', stop);
  }

  #tell(stream: EventStream, checkout: StoredCheckout): void {
    stream.show('checkout', checkout.version, JSON.stringify(this.presenter.present(checkout)));
  }

  #keep(stream: EventStream, connection: Connection): void {
    this.#open.set(stream, connection);
    stream.once('close', () => this.#open.delete(stream));
  }
}
