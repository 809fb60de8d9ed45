import type { Availability, Checkout, Tillflow } from '@tillflow/sdk';
import { Refused, type Api, type Session, type Today } from './api.js';
import type { Device, StoredSale } from './device.js';
import { newReference } from './reference.js';
import { SaleRun, type Refusal } from './sale.js';
import { isUnfinished, screenOf, type Screen } from './screen.js';
import type { ServerClock } from './server-clock.js';
import { nameOf, rightsOf, startOf, type Rights, type Start } from './session.js';

/** How often the page reads the session: that shows the connection and the API's time. Milliseconds. */
const BEAT_MS = 15_000;
/** While an operator has paused payments, or the provider fails. Milliseconds. */
const BEAT_WHILE_PAUSED_MS = 5_000;
const BEAT_WHILE_LOST_MS = 1_000;
/** How long an end stays on the screen before the page is ready for the next customer. Milliseconds. */
const RETURN_AFTER_MS = 12_000;
const RETURNS: ReadonlySet<Screen> = new Set(['paid', 'cancelled']);
const LAST_SALES = 10;

export type Stage =
  /** The page exchanges its link, or reads its session. */
  | 'opening'
  /** There is no link, or it is not valid any more. */
  | 'closed'
  | 'ready';

/** What the device tells the customer's screen: which checkout it shows. */
export type Shown = { readonly till: string; readonly id: string | null };

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
  /** Why the last sale did not begin. */
  refusal: Refusal | null = null;
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
    return this.run === null ? null : screenOf(this.run.checkout, this.parts.clock.now());
  }

  /** What the customer's screen of this device shows. */
  get shown(): Shown {
    return { till: this.#name, id: this.isReopened ? null : (this.run?.sale.id ?? null) };
  }

  /** Time has passed: the QR code may have expired. */
  tick(): void {
    if (this.screen === 'awaiting' || this.screen !== this.#screen) this.#changed();
  }

  /** Opens a link. Without one: goes on with the session that the device has kept. */
  open(link: string | null): void {
    this.#leaveRun();
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
    }
    this.wake(this.#beatMs);
  }

  get #beatMs(): number {
    if (!this.isReached || this.stage !== 'ready') return BEAT_WHILE_LOST_MS;
    return this.availability?.accepting === false ? BEAT_WHILE_PAUSED_MS : BEAT_MS;
  }

  #enter({ token, session }: Rights): void {
    this.#leaveRun();
    this.#start = { token };
    this.parts.device.session = token;
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
    if (today.status === 'fulfilled') this.today = today.value;
    this.#changed();
  }

  /** Begins a sale. A second tap, and a tap in a second window, find the sale that has begun. */
  charge(amount: number, currency: string, note: string): void {
    const startedAt = this.parts.clock.now();
    if (this.run !== null || this.session === null || startedAt === null) return;
    const begun = this.parts.device.sale(this.#name);
    if (begun !== null) return this.#follow(begun, true);
    const reference = newReference(this.session.terminal, startedAt);
    const sale = { reference, amount, currency, note, startedAt, id: null };
    try {
      this.parts.device.keepSale(this.#name, sale);
    } catch {
      this.refusal = { code: 'no_storage', detail: '' };
      return this.#changed();
    }
    this.#follow(sale, false);
  }

  /** Shows a sale of before. One that is open becomes the sale of the till again. */
  reopen(checkout: Checkout): void {
    if (this.run !== null) return;
    const { reference, amount, currency, description, created_at, id } = checkout;
    const sale = { reference, amount, currency, note: description ?? '', startedAt: Date.parse(created_at), id };
    const isOpen = isUnfinished(screenOf(checkout, this.parts.clock.now()));
    if (isOpen) this.#keep(this.#name, sale);
    this.#follow(sale, true, isOpen ? null : checkout);
  }

  /** Ready for the next customer. The sale stays among the last sales. */
  finish(): void {
    if (this.run === null) return;
    if (!this.isReopened) this.parts.device.keepSale(this.#name, null);
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

  /** @param reopened the state of a sale of before, which has ended */
  #follow(sale: StoredSale, isRestored: boolean, reopened: Checkout | null = null): void {
    const { sdk, name } = { sdk: this.#sdk, name: this.#name };
    if (sdk === null) return;
    this.refusal = null;
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
        refused: (refusal) => {
          this.refusal = refusal;
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
    const { screen } = this;
    if (screen !== this.#screen) {
      this.#screen = screen;
      clearTimeout(this.#return);
      if (screen !== null && !this.isReopened) {
        if (screen === 'paid') this.parts.onPaid();
        if (RETURNS.has(screen)) this.#return = setTimeout(() => this.finish(), RETURN_AFTER_MS);
      }
    }
    this.parts.onShown(this.shown);
    this.parts.onChange();
  }
}
