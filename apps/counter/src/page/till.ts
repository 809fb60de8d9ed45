import type { Availability, Checkout, Tillflow } from '@tillflow/sdk';
import { Refused, type Api, type Session, type Today } from './api.js';
import type { Device, StoredSale } from './device.js';
import { newReference } from './reference.js';
import { SaleRun } from './sale.js';
import { isPaidAtAll, isUnfinished, screenOf, type Screen } from './screen.js';
import type { ServerClock } from './server-clock.js';
import { nameOf, rightsOf, startOf, type Rights, type Start } from './session.js';

/** How often the page reads the session: that shows the connection and the API's time. Milliseconds. */
const BEAT_MS = 15_000;
/** While an operator has paused payments, or the provider fails. Milliseconds. */
const BEAT_WHILE_PAUSED_MS = 5_000;
/** While the page does not reach the API, or does not know its time well. Milliseconds. */
const BEAT_WHILE_LOST_MS = 1_000;
/** How long an end stays on the screen before the page is ready for the next customer. Milliseconds. */
const RETURN_AFTER_MS = 12_000;
const RETURNS: ReadonlySet<Screen> = new Set(['paid', 'cancelled']);
const LAST_SALES = 10;
/** A payment of a sale that the page finds on the device is new for so long. Clocks may differ by some of it. Milliseconds. */
const JUST_PAID_MS = 120_000;
/** A second tap comes up to 300 ms after the first, and must not press the button that has replaced the first one. Milliseconds. */
const SETTLES_WITHIN_MS = 400;
/** Totals that are older may be those of the day before. Milliseconds. */
const TODAY_STAYS_MS = 60_000;

export type Stage =
  /** The page exchanges its link, or reads its session. */
  | 'opening'
  /** There is no link, or it is not valid any more. */
  | 'closed'
  | 'ready';

/** What the device tells the customer's screen: which checkout it shows, and its newest attempt. */
export type Shown = { readonly till: string; readonly id: string | null; readonly attempt: number };

type Parts = {
  readonly api: Api;
  readonly device: Device;
  readonly clock: ServerClock;
  readonly onChange: () => void;
  /** The page has a session, and does not need its link any more. */
  readonly onEntered: () => void;
  /** A sale that this page follows has just been paid. */
  readonly onPaid: () => void;
  /** Another checkout, or none, is on the screen. */
  readonly onShown: (shown: Shown) => void;
  /** Runs the work while no other window of the device runs work of this name. */
  readonly alone: (name: string, work: () => void) => Promise<void>;
};

/** The page of one till: its session, its sale, its last sales. */
export class Till {
  stage: Stage = 'opening';
  session: Session | null = null;
  availability: Availability | null = null;
  recent: readonly Checkout[] = [];
  today: Today | null = null;
  run: SaleRun | null = null;
  /** The person opened a sale of before: it does not disappear after a while. */
  isReopened = false;
  /** Why the last sale did not begin: the code of an error. */
  refusal: string | null = null;
  /** The screen has been there long enough to be what the person taps on. */
  isSettled = true;
  /** The time of the page at which it became so. */
  #settledAt = 0;
  /** The time of the page at which a finger or a key came down, until the tap that follows. 0: none. */
  #pressedAt = 0;
  #todayReadAt = 0;
  #settle: ReturnType<typeof setTimeout> | undefined;
  #start: Start | null = null;
  #token: string | null = null;
  #sdk: Tillflow | null = null;
  #askedAt = 0;
  #beat: ReturnType<typeof setTimeout> | undefined;
  #return: ReturnType<typeof setTimeout> | undefined;
  #screen: Screen | null = null;

  constructor(private readonly parts: Parts) {
    parts.api.onReach = (isReached) => {
      if (isReached) this.run?.refresh();
      this.wake();
      this.#changed();
    };
    parts.api.onDoubt = () => this.wake(this.#askedAt + BEAT_WHILE_LOST_MS - performance.now());
  }

  get isReached(): boolean {
    return this.parts.api.isReached;
  }

  get screen(): Screen | null {
    const { run } = this;
    if (run === null) return null;
    if (run.checkout === null && run.sale.id !== null) return 'opening';
    return screenOf(run.checkout, this.parts.clock.now());
  }

  /** What the customer's screen of this device shows. A page that is not open says nothing about a till. */
  get shown(): Shown {
    const till = this.stage === 'ready' ? this.#name : '';
    const run = this.isReopened ? null : this.run;
    return { till, id: run?.sale.id ?? null, attempt: run?.checkout?.attempts.at(-1)?.number ?? 0 };
  }

  /** The session, for the customer's screen of this till. */
  get token(): string | null {
    return this.#token;
  }

  /** Last sales that were paid, or also returned, after the person had left them. */
  get surprises(): readonly Checkout[] {
    const [now, left] = [this.parts.clock.now(), this.parts.device.left(this.#name)];
    return this.recent.filter((one) => left.includes(one.reference) && isPaidAtAll(screenOf(one, now)));
  }

  /** The totals are those of the present business day. */
  get isTodayFresh(): boolean {
    return performance.now() - this.#todayReadAt < TODAY_STAYS_MS;
  }

  /** @param at when a finger or a key came down, in milliseconds of the page's time: a busy page learns late of it */
  pressed(at: number): void {
    this.#pressedAt = at;
  }

  /** Carries out what the person has tapped on, unless it has just come under the finger. */
  act(action: () => void): void {
    if (this.takesTap()) action();
  }

  /** Whether the screen had settled when the person pressed. Some aids tap without that. */
  takesTap(): boolean {
    const pressedAt = this.#pressedAt;
    this.#pressedAt = 0;
    return this.isSettled && (pressedAt === 0 || pressedAt >= this.#settledAt);
  }

  /** Time has passed: the QR code may have expired. */
  tick(): void {
    if (this.screen === 'awaiting' || this.screen !== this.#screen) this.#changed();
  }

  /** Opens a link. Without one: goes on with the session that the device has kept. */
  open(link: string | null): void {
    this.#leaveRun();
    // The same link gives the same session again.
    this.#token = null;
    this.#sdk = null;
    this.#start = startOf(link, this.parts.device);
    this.stage = this.#start === null ? 'closed' : 'opening';
    this.#changed();
    this.wake();
  }

  /** Asks the API, by default now: the device slept, or its network is back. */
  wake(inMs = 0): void {
    clearTimeout(this.#beat);
    this.#beat = setTimeout(() => void this.#ask(), inMs);
  }

  async #ask(): Promise<void> {
    const start = this.#start;
    if (start === null) return;
    this.#askedAt = performance.now();
    try {
      const rights = await rightsOf(this.parts.api, start);
      if (start !== this.#start) return;
      if (rights.token !== this.#token) this.#enter(rights);
      if (this.run === null) await this.refreshLists();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (start !== this.#start) return;
      if (error.isFinal) return this.#close();
      // The totals get older.
      this.parts.onChange();
    }
    this.wake(this.#beatMs);
  }

  get #beatMs(): number {
    if (!this.isReached || this.stage !== 'ready' || this.parts.clock.isVague) return BEAT_WHILE_LOST_MS;
    return this.availability?.accepting === false ? BEAT_WHILE_PAUSED_MS : BEAT_MS;
  }

  #enter({ token, session }: Rights): void {
    const isNew = this.#start !== null && 'link' in this.#start;
    this.#leaveRun();
    this.#start = { token };
    this.parts.device.keepSession(token, isNew);
    this.parts.onEntered();
    this.session = session;
    this.#token = token;
    this.#sdk = this.parts.api.sdk(token);
    this.stage = 'ready';
    const kept = this.parts.device.sale(this.#name);
    if (kept !== null) this.#follow(kept, true);
    this.#changed();
  }

  /** The sale stays on the device: the next link of this till finds it. */
  #close(): void {
    this.#leaveRun();
    this.#start = null;
    this.#token = null;
    this.stage = 'closed';
    this.#changed();
  }

  get #name(): string {
    return this.session === null ? '' : nameOf(this.session);
  }

  /** Reads what the page shows besides a sale. What cannot be read stays as it was. */
  async refreshLists(): Promise<void> {
    const sdk = this.#sdk;
    if (sdk === null || this.#token === null) return;
    const once = { patienceMs: 0 };
    const [availability, page, today] = await Promise.allSettled([
      sdk.availability(once),
      sdk.checkouts.list({ limit: LAST_SALES }, once),
      this.parts.api.today(this.#token),
    ]);
    if (availability.status === 'fulfilled') this.availability = availability.value;
    if (page.status === 'fulfilled') this.recent = page.value.data;
    if (today.status === 'fulfilled') {
      this.today = today.value;
      this.#todayReadAt = performance.now();
    }
    this.#changed();
  }

  /** Begins a sale. A second tap, and a tap in a second window, find the sale that has begun. */
  charge(amount: number, currency: string, note: string): Promise<void> {
    return this.parts.alone(`tillflow.sale.${this.#name}`, () => this.#charge(amount, currency, note));
  }

  #charge(amount: number, currency: string, note: string): void {
    const startedAt = this.parts.clock.now();
    if (this.run !== null || this.session === null || startedAt === null) return;
    const begun = this.parts.device.sale(this.#name);
    if (begun !== null) return this.#follow(begun, true);
    const reference = newReference(this.session.terminal, startedAt);
    const sale = { reference, amount, currency, note, startedAt, id: null };
    try {
      this.parts.device.keepSale(this.#name, sale);
    } catch {
      this.refusal = 'no_storage';
      return this.#changed();
    }
    this.#follow(sale, false);
  }

  /** Shows a sale of before. One that is open becomes the sale of the till again. */
  reopen(checkout: Checkout): void {
    if (this.run !== null) return;
    const { reference, amount, currency, description, created_at, id } = checkout;
    const sale = { reference, amount, currency, note: description ?? '', startedAt: Date.parse(created_at), id };
    this.#follow(sale, true, checkout);
  }

  /** Ready for the next customer. The sale stays among the last sales. */
  finish(): void {
    const { run, screen } = this;
    if (run === null || screen === null) return;
    if (!isPaidAtAll(screen)) this.#noteLeft(run.sale, true);
    if (!this.isReopened && this.#isKept(run.sale)) this.parts.device.keepSale(this.#name, null);
    this.#leaveRun();
    this.#changed();
    void this.refreshLists();
  }

  /** The person is reading: the end stays on the screen. */
  stay(): void {
    clearTimeout(this.#return);
  }

  /** Another window of this device has begun or finished a sale. */
  storageChanged(): void {
    if (this.stage !== 'ready' || this.isReopened) return;
    const kept = this.parts.device.sale(this.#name);
    if (kept?.reference === this.run?.sale.reference) return;
    this.#leaveRun();
    if (kept !== null) this.#follow(kept, true);
    this.#changed();
  }

  /** @param reopened the state of a sale of before */
  #follow(sale: StoredSale, isRestored: boolean, reopened: Checkout | null = null): void {
    const { sdk, name } = { sdk: this.#sdk, name: this.#name };
    if (sdk === null) return;
    this.refusal = null;
    this.#noteLeft(sale, false);
    this.isReopened = reopened !== null;
    this.run = new SaleRun(
      sale,
      {
        sdk,
        now: () => this.parts.clock.now() ?? Date.now(),
        keep: (kept) => {
          if (!this.isReopened) this.#keep(name, kept);
        },
        changed: () => this.#changed(),
        refused: (code) => {
          this.refusal = code;
          this.finish();
        },
        closed: () => this.#close(),
      },
      isRestored,
    );
    this.run.checkout = reopened;
    void this.run.follow();
    this.#changed();
  }

  /** A sale may have taken effect although no answer has named its checkout: so the reference counts. */
  #noteLeft({ reference }: StoredSale, isLeft: boolean): void {
    const others = this.parts.device.left(this.#name).filter((one) => one !== reference);
    this.parts.device.keepLeft(this.#name, isLeft ? [...others, reference].slice(-LAST_SALES) : others);
  }

  /** The device keeps this sale, or none. Another window of this till may have begun another one. */
  #isKept({ reference }: StoredSale): boolean {
    const kept = this.parts.device.sale(this.#name);
    return kept === null || kept.reference === reference;
  }

  /** A sale whose checkout is known. The page goes on when the device cannot keep it: the last sales show it. */
  #keep(name: string, sale: StoredSale): void {
    try {
      this.parts.device.keepSale(name, sale);
    } catch {
      // The device has no room.
    }
  }

  #leaveRun(): void {
    this.run?.stop();
    this.run = null;
    this.isReopened = false;
    clearTimeout(this.#return);
  }

  #changed(): void {
    const { screen, run } = this;
    if (run !== null && screen !== null && this.isReopened && isUnfinished(screen) && this.#isKept(run.sale)) {
      // The customer can pay again: it is the sale of the till.
      this.isReopened = false;
      this.#keep(this.#name, run.sale);
    }
    if (screen !== this.#screen) {
      this.#screen = screen;
      this.#unsettle();
      clearTimeout(this.#return);
      if (screen !== null && !this.isReopened) {
        if (screen === 'paid' && this.#isJustPaid) this.parts.onPaid();
        if (RETURNS.has(screen)) this.#return = setTimeout(() => this.finish(), RETURN_AFTER_MS);
      }
    }
    this.parts.onShown(this.shown);
    this.parts.onChange();
  }

  /** A sale that the page has found on the device may have been paid while the page was closed. */
  get #isJustPaid(): boolean {
    const { run } = this;
    const [now, paidAt] = [this.parts.clock.now(), run?.checkout?.paid_at];
    if (run?.isRestored !== true || now === null || paidAt == null) return true;
    return now - Date.parse(paidAt) < JUST_PAID_MS;
  }

  #unsettle(): void {
    this.isSettled = false;
    clearTimeout(this.#settle);
    this.#settle = setTimeout(() => {
      this.isSettled = true;
      this.#settledAt = performance.now();
      this.parts.onChange();
    }, SETTLES_WITHIN_MS);
  }
}
