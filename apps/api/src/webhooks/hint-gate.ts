import type { RoutedEvent } from '@tillflow/domain';

const WINDOW_MS = 1_000;

type Trailing<News> = { news: News; sent: Promise<void> };

/**
 * Lets one hint for each subject through in a second, so that a flood costs little, and loses none: those that come
 * within the second are merged into one, sent at its end, and each is answered only when that one is durable.
 */
export class HintGate<News> {
  readonly #windows = new Map<string, { trailing: Trailing<News> | null }>();

  /** @param merge makes one piece of news of two that stands for both. */
  constructor(private readonly merge: (earlier: News, later: News) => News) {}

  /**
   * @param send makes the hint durable; what it throws, every caller that it would have answered is thrown.
   * @returns whether this very hint was sent, or went along with another.
   */
  async pass(subject: string, news: News, send: (news: News) => Promise<void>): Promise<'sent' | 'coalesced'> {
    const window = this.#windows.get(subject);
    if (window === undefined) {
      this.#open(subject);
      await send(news);
      return 'sent';
    }
    if (window.trailing === null) window.trailing = this.#trailing(subject, news, send);
    else window.trailing.news = this.merge(window.trailing.news, news);
    await window.trailing.sent;
    return 'coalesced';
  }

  #trailing(subject: string, news: News, send: (news: News) => Promise<void>): Trailing<News> {
    const trailing = { news, sent: Promise.resolve() };
    trailing.sent = this.#sendAtTheEnd(subject, trailing, send);
    return trailing;
  }

  async #sendAtTheEnd(
    subject: string,
    trailing: Readonly<Trailing<News>>,
    send: (news: News) => Promise<void>,
  ): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, WINDOW_MS));
    this.#open(subject);
    await send(trailing.news);
  }

  #open(subject: string): void {
    const window = { trailing: null };
    this.#windows.set(subject, window);
    setTimeout(() => {
      if (this.#windows.get(subject) === window && window.trailing === null) this.#windows.delete(subject);
    }, WINDOW_MS).unref();
  }
}

/** The event of a payment. */
export const PAYMENT = 'charge.complete';

/** The kind of a hint that stands for events about several charges. No event of the provider has it. */
const SEVERAL = 'several events';

/**
 * One piece of news that makes a checkout look at whatever either would: at one charge, or at all of them.
 * Both are payments, or neither is.
 */
export function mergedNews(earlier: RoutedEvent, later: RoutedEvent): RoutedEvent {
  if (earlier.chargeId === later.chargeId && later.chargeId !== null) return later;
  // Not as a payment: a checkout whose charges are all paid would not look.
  return { ...later, key: SEVERAL, chargeId: null };
}
