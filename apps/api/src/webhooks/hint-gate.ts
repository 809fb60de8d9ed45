import type { RoutedEvent } from '@tillflow/domain';

const WINDOW_MS = 1_000;

type Trailing<Event> = { event: Event; sent: Promise<void> };

/**
 * Sends at most one hint per subject and second, so that a flood costs little, and drops none: hints within the second
 * are merged into one, which is sent at its end. Each caller gets its answer once Temporal has stored that one.
 */
export class HintGate<Event> {
  readonly #windows = new Map<string, { trailing: Trailing<Event> | null }>();

  /** @param merge makes one event that stands for two. */
  constructor(private readonly merge: (earlier: Event, later: Event) => Event) {}

  /**
   * @param send stores the hint. When it throws, every caller whose hint is in it gets the error.
   * @returns whether this hint was sent alone, or merged with others.
   */
  async pass(subject: string, event: Event, send: (event: Event) => Promise<void>): Promise<'sent' | 'coalesced'> {
    const window = this.#windows.get(subject);
    if (window === undefined) {
      this.#open(subject);
      await send(event);
      return 'sent';
    }
    if (window.trailing === null) window.trailing = this.#trailing(subject, event, send);
    else window.trailing.event = this.merge(window.trailing.event, event);
    await window.trailing.sent;
    return 'coalesced';
  }

  #trailing(subject: string, event: Event, send: (event: Event) => Promise<void>): Trailing<Event> {
    const trailing = { event, sent: Promise.resolve() };
    trailing.sent = this.#sendAtTheEnd(subject, trailing, send);
    return trailing;
  }

  async #sendAtTheEnd(
    subject: string,
    trailing: Readonly<Trailing<Event>>,
    send: (event: Event) => Promise<void>,
  ): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, WINDOW_MS));
    this.#open(subject);
    await send(trailing.event);
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

/** The key of a hint for several charges. No event of the provider has this key. */
const SEVERAL = 'several events';

/**
 * Merges two events into one that makes the checkout retrieve the charges of both: one charge, or all. Either both are
 * payments, or neither is.
 */
export function mergedEvent(earlier: RoutedEvent, later: RoutedEvent): RoutedEvent {
  if (earlier.chargeId === later.chargeId && later.chargeId !== null) return later;
  // Not as a payment: a checkout whose charges are all paid would ignore it.
  return { ...later, key: SEVERAL, chargeId: null };
}
