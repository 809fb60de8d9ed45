import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import type { CheckoutKey } from '@tillflow/domain';
import { ConfiguredKeys, type Key, type StoredCheckout, type TillSession } from '@tillflow/temporal';
import { addressKey } from '../edge/client-address.js';
import { CheckoutsRepository, keyOf } from '../checkouts/checkouts.repository.js';
import { LinkReads } from '../checkouts/link-reads.js';
import { CheckoutPresenter } from '../checkouts/presenter.js';
import { OpenLinks } from '../counter/open-links.js';
import { Problem } from '../problems/problem.js';
import { Settings } from '../providers.js';
import { EventStream, ReaderProgress, type Connection } from './event-stream.js';
import { Places } from './places.js';
import { Watches } from '../checkouts/watches.js';

export type StreamRequest = {
  readonly id: string;
  /** The version that the reader has seen, or null. */
  readonly seen: number | null;
  /** The signed link that opened the stream; null for a key and a session. */
  readonly link: StreamLink | null;
  /** The session of the counter that opened it. The stream ends with it. */
  readonly till: TillSession | null;
  /** The key that opened it. The stream ends soon after the key has expired or is gone. */
  readonly key: Key | null;
  readonly connection: Connection;
};

/** A signed link, and the address of its reader. */
export type StreamLink = {
  /** Unix seconds. The stream ends then. */
  readonly expires: number;
  readonly address: string;
};

/** At shutdown, a reader that has not read the end by then is disconnected. Milliseconds. */
const END_WITHIN_MS = 1_000;

/**
 * A stream by a link or a session ends after an hour (milliseconds). A browser opens it again. A client that reads
 * nothing, which the operating system can hide for hours, does not.
 */
const LONGEST_MS = 3_600_000;

/** Event streams of checkouts. */
@Injectable()
export class StreamsService implements BeforeApplicationShutdown {
  readonly #open = new Map<EventStream, Connection>();
  readonly #places: Places;
  #isStopping = false;

  constructor(
    private readonly repository: CheckoutsRepository,
    private readonly linkReads: LinkReads,
    private readonly presenter: CheckoutPresenter,
    private readonly watches: Watches,
    private readonly openLinks: OpenLinks,
    private readonly keys: ConfiguredKeys,
    private readonly settings: Settings,
  ) {
    this.#places = new Places(settings.values.STREAM_LIMIT);
  }

  /**
   * The current state, unless the reader has seen it, then the state after each change. Null when the checkout will not
   * change again: the answer 204 keeps a browser from opening the stream again.
   * @throws {Problem} `not_found`, `too_many_streams`, `temporal_unavailable`.
   */
  async open(request: StreamRequest): Promise<EventStream | null> {
    const { id, seen, link, till, key: opener, connection } = request;
    const key = keyOf(id);
    const linkFrom = link === null ? null : addressKey(link.address);
    const leave = this.#places.take({ checkout: id, linkFrom, key: opener?.name, counterLink: till?.link });
    if (leave === null) {
      throw new Problem('too_many_streams', 'No more streams are possible now', { retryAfterSeconds: 5 });
    }
    let stream: EventStream | null = null;
    try {
      const checkout = await this.#read(key, link !== null);
      const isNews = seen === null || seen < checkout.version;
      if (checkout.closed && (link !== null || !isNews)) return null;
      stream = this.#begin(connection, opener);
      stream.once('close', leave);
      if (till !== null) this.#endWith(till, stream);
      const show = this.#showing(stream, link);
      if (isNews) show(checkout);
      this.#follow(stream, checkout, show);
      if (link !== null) endWithin(stream, Math.min(link.expires * 1_000 - Date.now(), LONGEST_MS));
      return stream;
    } finally {
      if (stream === null) leave();
    }
  }

  get openCount(): number {
    return this.#open.size;
  }

  /** @throws {Problem} `not_found`. */
  async mustExist(id: string, isByLink: boolean): Promise<void> {
    await this.#read(keyOf(id), isByLink);
  }

  beforeApplicationShutdown(): void {
    this.#isStopping = true;
    for (const [stream, connection] of this.#open) {
      stream.finish();
      const timer = setTimeout(() => connection.destroy(), END_WITHIN_MS);
      timer.unref();
    }
  }

  #read(key: CheckoutKey, isByLink: boolean): Promise<StoredCheckout> {
    return isByLink ? this.linkReads.get(key) : this.repository.get(key);
  }

  /** A stream that disconnects its reader when the reader stops reading, and ends when its key is not in force any more. */
  #begin(connection: Connection, key: Key | null): EventStream {
    const progress = new ReaderProgress(connection);
    const stream = new EventStream(this.settings.values.STREAM_HEARTBEAT_MS, () => {
      if (key !== null && !this.keys.isInForce(key)) stream.finish();
      if (!progress.hasStopped()) return;
      connection.destroy();
      stream.destroy();
    });
    this.#open.set(stream, connection);
    stream.once('close', () => this.#open.delete(stream));
    return stream;
  }

  #endWith(till: TillSession, stream: EventStream): void {
    stream.once(
      'close',
      this.openLinks.hold(till, () => stream.finish()),
    );
    endWithin(stream, LONGEST_MS);
  }

  #follow(stream: EventStream, checkout: StoredCheckout, show: (checkout: StoredCheckout) => void): void {
    if (checkout.closed || this.#isStopping) {
      stream.finish();
      return;
    }
    let { version } = checkout;
    const { stop } = this.watches.watch(checkout.intent, {
      see: (now) => {
        if (now.version > version || now.closed) this.linkReads.drop(now.intent);
        if (now.version > version) show(now);
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

  /** With a key the whole checkout, with a link what the customer may see. */
  #showing(stream: EventStream, link: StreamLink | null): (checkout: StoredCheckout) => void {
    return (checkout) => {
      const shown = link === null ? this.presenter.present(checkout) : this.presenter.presentToCustomer(checkout);
      stream.show('checkout', checkout.version, JSON.stringify(shown));
    };
  }
}

function endWithin(stream: EventStream, ms: number): void {
  const timer = setTimeout(() => stream.finish(), ms);
  stream.once('close', () => clearTimeout(timer));
}
