import type { Checkout, Tillflow } from '@tillflow/sdk';
import { Refused, type Api, type Session } from './api.js';
import type { Device } from './device.js';
import { pause } from './pause.js';
import { isUnfinished, screenOf, type CheckoutScreen } from './screen.js';
import type { ServerClock } from './server-clock.js';
import { isSession, isSessionEnd, nameOf, rightsOf, startOf, type Rights, type Start } from './session.js';
import type { Shown, Stage } from './till.js';

/** How often the customer's screen looks for the till's next sale. Milliseconds. */
const LOOK_EVERY_MS = 2_000;
const LOOK_WHILE_LOST_MS = 1_000;
/** How long the end of a sale stays on the screen. Milliseconds. */
const END_STAYS_MS = 12_000;
/** The page reads its session at every eighth poll. */
const LOOKS_FOR_SESSION = 8;
/** The page looks for the till's sale among so many: the open ones, then the others, the newest first. */
const SALES = 5;
/** An older sale is shown only while the customer can pay it: the person at the till may have left it. Milliseconds. */
const OLD_MS = 1_800_000;
/** The page remembers so many sales that it has removed. */
const MOST_REMOVED = 100;

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
  /** Identifies the present {@link follow}. */
  #following = Symbol();
  /** The token of the session that has ended. */
  #ended: string | null = null;
  /** The next look begins with the session. */
  #isDoubtful = true;
  #rights: (Rights & { readonly sdk: Tillflow }) | null = null;
  #watched: { readonly id: string } | null = null;
  /** What the till, or the time, has removed from the screen: the version of each checkout. Its lists may be older. */
  readonly #removed = new Map<string, number>();
  /** The API's time to which the screen is up to date. A poll replaces the sale on the screen only by a later one. */
  #upTo = 0;
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
  get screen(): CheckoutScreen | null {
    return this.checkout === null ? null : screenOf(this.checkout, this.parts.clock.now());
  }

  /** Follows the till until its link ends. @param given a token in the address; null: the device has a session. */
  async follow(given: string | null): Promise<void> {
    const following = (this.#following = Symbol());
    this.#clear();
    if (given !== null) {
      // The address may name another till.
      this.stage = 'opening';
      this.session = null;
      this.#rights = null;
    }
    let start: Start | null = given !== null && isSession(given) ? { token: given } : startOf(given, this.parts.device);
    for (let looks = 0; start !== null; looks += 1) {
      try {
        const isDue =
          this.#isDoubtful || this.parts.clock.isVague || !this.isReached || looks % LOOKS_FOR_SESSION === 0;
        if (isDue) {
          const rights = await rightsOf(this.parts.api, start);
          if (following !== this.#following) return;
          this.#enter(rights, given !== null);
          start = { token: rights.token };
        }
        await this.#look();
      } catch (error) {
        if (following !== this.#following) return;
        if (isSessionEnd(error)) start = this.#next(start);
        if (start === null) break;
      }
      this.#sleep = new AbortController();
      await pause(this.isReached ? LOOK_EVERY_MS : LOOK_WHILE_LOST_MS, this.#sleep.signal);
      if (following !== this.#following) return;
    }
    this.#close();
  }

  /** The till of this device may have a new session. */
  goOn(): void {
    const { session } = this.parts.device;
    if (this.stage === 'closed' && session !== null && session !== this.#ended) void this.follow(null);
  }

  /** Asks the API now. */
  wake(): void {
    this.#turn.abort();
    this.#sleep.abort();
  }

  /** The till of this device says which checkout it shows. It knows better than a list. */
  shown({ till, id }: Shown): void {
    this.goOn();
    if (this.session === null || till !== nameOf(this.session)) return;
    this.#upTo = this.parts.clock.now() ?? this.#upTo;
    if (id === null) this.#remove();
    else if (id !== this.#watched?.id) void this.#watch(id);
  }

  #enter(rights: Rights, isGiven: boolean): void {
    this.#isDoubtful = false;
    if (this.#rights?.token === rights.token) return;
    // Another window has opened another till. This screen stays with its own.
    if (this.session !== null && nameOf(this.session) !== nameOf(rights.session)) throw new Refused(401);
    this.parts.device.keepSession(rights.token, isGiven);
    this.#rights = { ...rights, sdk: this.parts.api.sdk(rights.token) };
    this.session = rights.session;
    this.stage = 'ready';
    this.parts.onEntered();
    this.parts.onChange();
  }

  /** The session has ended. The device may have another one. */
  #next(ended: Start): Start | null {
    if ('link' in ended) return null;
    this.parts.device.forgetSession();
    this.#rights = null;
    this.#isDoubtful = true;
    this.#ended = ended.token;
    const { session } = this.parts.device;
    return session === null || session === ended.token ? null : { token: session };
  }

  #close(): void {
    this.#clear();
    this.stage = 'closed';
    this.parts.onChange();
  }

  async #look(): Promise<void> {
    const rights = this.#rights;
    const page = await rights?.sdk.checkouts.list({ limit: SALES }, { patienceMs: 0 });
    const next = page?.data.find((one) => this.#isNext(one));
    if (next === undefined || rights !== this.#rights) return;
    this.#upTo = Math.max(this.#upTo, Date.parse(next.created_at));
    void this.#watch(next.id);
  }

  /** Whether this sale comes on the screen now. */
  #isNext(one: Checkout): boolean {
    if (one.id === this.#watched?.id || one.version <= (this.#removed.get(one.id) ?? -1)) return false;
    const now = this.parts.clock.now() ?? 0;
    const screen = screenOf(one, now);
    const isLater = Date.parse(one.created_at) > Math.max(this.#upTo, now - OLD_MS);
    if (this.#watched !== null) return isLater && isUnfinished(screen);
    const isJustPaid = one.paid_at !== null && now - Date.parse(one.paid_at) < END_STAYS_MS;
    return screen === 'awaiting' || (isLater && (isUnfinished(screen) || isJustPaid));
  }

  async #watch(id: string): Promise<void> {
    this.#clear();
    const watched = (this.#watched = { id });
    while (this.#watched === watched && this.#rights !== null) {
      const { signal } = (this.#turn = new AbortController());
      try {
        for await (const checkout of this.#rights.sdk.checkouts.watch(id, { signal })) {
          if (this.#watched === watched) this.#show(checkout);
        }
        return;
      } catch (error) {
        if (isSessionEnd(error)) this.#isDoubtful = true;
        if (!signal.aborted) await pause(LOOK_WHILE_LOST_MS);
      }
    }
  }

  #show(checkout: Checkout): void {
    if (checkout.version < (this.checkout?.version ?? -1)) return;
    this.checkout = checkout;
    clearTimeout(this.#end);
    const { screen } = this;
    if (screen !== null && !isUnfinished(screen)) this.#end = setTimeout(() => this.#remove(), END_STAYS_MS);
    this.parts.onChange();
  }

  #remove(): void {
    if (this.#watched !== null) {
      const { id } = this.#watched;
      this.#removed.delete(id);
      this.#removed.set(id, this.checkout?.version ?? 0);
      for (const oldest of [...this.#removed.keys()].slice(0, -MOST_REMOVED)) this.#removed.delete(oldest);
    }
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
