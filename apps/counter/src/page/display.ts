import type { Checkout, Tillflow } from '@tillflow/sdk';
import { Refused, type Api, type Session } from './api.js';
import type { Device } from './device.js';
import { pause } from './pause.js';
import { isUnfinished, screenOf, type Screen } from './screen.js';
import type { ServerClock } from './server-clock.js';
import { nameOf, rightsOf, startOf, type Rights, type Start } from './session.js';
import type { Shown, Stage } from './till.js';

/** How often the customer's screen looks for the till's next sale. Milliseconds. */
const LOOK_EVERY_MS = 2_000;
const LOOK_WHILE_LOST_MS = 1_000;
/** How long the end of a sale stays on the screen. Milliseconds. */
const END_STAYS_MS = 12_000;
/** The page reads its session once in so many looks. */
const LOOKS_FOR_SESSION = 8;

type Parts = {
  readonly api: Api;
  readonly device: Device;
  readonly clock: ServerClock;
  readonly onChange: () => void;
  /** The page has a session, and does not need its link any more. */
  readonly onEntered: () => void;
};

/** The customer's screen: it follows the checkout that its till shows. */
export class Display {
  stage: Stage = 'opening';
  session: Session | null = null;
  checkout: Checkout | null = null;
  #start: Start | null = null;
  /** The next look begins with the session. */
  #isDoubtful = true;
  #rights: (Rights & { readonly sdk: Tillflow }) | null = null;
  #watched: string | null = null;
  /** The till, or the time, has removed it from the screen. */
  #dismissed: string | null = null;
  #turn = new AbortController();
  #sleep = new AbortController();
  #end: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly parts: Parts) {
    parts.api.onReach = (isReached) => {
      if (isReached) this.wake();
      parts.onChange();
    };
    parts.api.onDoubt = () => (this.#isDoubtful = true);
  }

  get isReached(): boolean {
    return this.parts.api.isReached;
  }

  /** Null while there is no sale. */
  get screen(): Screen | null {
    return this.checkout === null ? null : screenOf(this.checkout, this.parts.clock.now());
  }

  /** Follows the till until its link ends. @param link the token of a link; null: the device has a session. */
  async follow(link: string | null): Promise<void> {
    this.#start = startOf(link, this.parts.device);
    for (let looks = 0; this.#start !== null; looks += 1) {
      try {
        if (this.#isDoubtful || !this.isReached || looks % LOOKS_FOR_SESSION === 0) await this.#enter(this.#start);
        await this.#look();
      } catch (error) {
        if (error instanceof Refused && error.isFinal) break;
      }
      this.#sleep = new AbortController();
      await pause(this.isReached ? LOOK_EVERY_MS : LOOK_WHILE_LOST_MS, this.#sleep.signal);
    }
    this.#close();
  }

  /** Asks the API now. */
  wake(): void {
    this.#turn.abort();
    this.#sleep.abort();
  }

  /** The till of this device says which checkout it shows. */
  shown({ till, id }: Shown): void {
    if (this.session === null || till !== nameOf(this.session)) return;
    if (id === null) this.#dismiss();
    else if (id !== this.#watched) void this.#watch(id);
  }

  async #enter(start: Start): Promise<void> {
    const rights = await rightsOf(this.parts.api, start);
    this.#isDoubtful = false;
    if (this.#rights?.token === rights.token) return;
    this.#start = { token: rights.token };
    this.parts.device.session = rights.token;
    this.parts.onEntered();
    this.#rights = { ...rights, sdk: this.parts.api.sdk(rights.token) };
    this.session = rights.session;
    this.stage = 'ready';
    this.parts.onChange();
  }

  #close(): void {
    this.#clear();
    this.#start = null;
    this.stage = 'closed';
    this.parts.onChange();
  }

  async #look(): Promise<void> {
    const page = await this.#rights?.sdk.checkouts.list({ limit: 1 }, { patienceMs: 0 });
    const newest = page?.data[0];
    if (newest === undefined || newest.id === this.#watched || newest.id === this.#dismissed) return;
    const now = this.parts.clock.now();
    const isJustPaid = now !== null && newest.paid_at !== null && now - Date.parse(newest.paid_at) < END_STAYS_MS;
    if (isUnfinished(screenOf(newest, now)) || (isJustPaid && this.#watched === null)) void this.#watch(newest.id);
  }

  async #watch(id: string): Promise<void> {
    this.#clear();
    this.#watched = id;
    while (this.#watched === id && this.#rights !== null) {
      const { signal } = (this.#turn = new AbortController());
      try {
        for await (const checkout of this.#rights.sdk.checkouts.watch(id, { signal })) {
          if (this.#watched === id) this.#show(checkout);
        }
        return;
      } catch (error) {
        if ((error as { readonly status?: number }).status === 401) return this.#close();
        if (!signal.aborted) await pause(LOOK_WHILE_LOST_MS);
      }
    }
  }

  #show(checkout: Checkout): void {
    if (checkout.version < (this.checkout?.version ?? -1)) return;
    this.checkout = checkout;
    clearTimeout(this.#end);
    const { screen } = this;
    if (screen !== null && !isUnfinished(screen)) this.#end = setTimeout(() => this.#dismiss(), END_STAYS_MS);
    this.parts.onChange();
  }

  #dismiss(): void {
    this.#dismissed = this.#watched;
    this.#clear();
  }

  #clear(): void {
    clearTimeout(this.#end);
    this.#watched = null;
    this.checkout = null;
    this.#turn.abort();
    this.parts.onChange();
  }
}
