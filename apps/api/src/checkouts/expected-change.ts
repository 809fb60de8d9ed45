import type { Announced } from './checkout-changes.js';

/** How the usual time changes after a read that came in time, and after one that came too early. */
const EARLIER = 0.985;
const LATER = 1.09;
/** Limits of the usual time, in milliseconds. */
const SOONEST_MS = 10;
const LATEST_MS = 2_000;
/**
 * One change in 2 to 16 is first read early, after half of the usual time. If the change shows, the usual time is halved
 * and the next early read comes soon. If not, the number of changes until the next early read doubles. So a process that
 * was slow for a while is fast again after a few checkouts.
 */
const PROBED_AFTER = { least: 2, most: 16 };
const HALF = 1 / 2;
/** The pause before each further read, as a share of the time since the announcement, and at least 10 ms. */
const SHARE = 1 / 2;
const LEAST_PAUSE_MS = 10;
/**
 * While fewer changes than this are expected at a time, the process waits at Temporal for each of them, from a share of
 * the usual time on. So a single caller gets its answer at once. Reads only follow when the wait shows nothing. A change
 * that shows before the last of these shares of the usual time replaces the usual time at once.
 */
const FEW = 2;
const FOLLOWED_FROM = 0.6;
const SHOWN_AT_ONCE = 0.75;
/** How much of each new time the process remembers. */
const REMEMBERED = 0.2;
/** Announcements are at most so far apart, as far as the process remembers. Milliseconds. */
const LONGEST_INTERVAL_MS = 1_000;
/** A change that does not show by then is not expected any more. Milliseconds, and times of the usual time. */
const EXPECTED_MS = 1_000;
const EXPECTED_TIMES = 3;

/**
 * How long after an announcement a change usually shows: six times out of seven. It follows the load of Temporal and of
 * the workers, so that few reads come too early and none comes much too late.
 */
export class Pace {
  #probeAfter = PROBED_AFTER.least;
  #untilProbe = PROBED_AFTER.least;
  #announcedAt = Number.NEGATIVE_INFINITY;
  #intervalMs = LONGEST_INTERVAL_MS;
  /** The change that was announced last does not show yet. */
  #isLatestOpen = false;
  /** When the latest change was announced, the one before had shown, or should have. */
  #isAlone = true;
  /** The usual time was learned while many changes were expected. */
  #isOfBusyTime = false;

  /** @param usualMs what the process assumes before it has seen a change, in milliseconds. */
  constructor(public usualMs: number) {}

  /** Few changes are expected at a time. */
  get isCalm(): boolean {
    return this.#isAlone || this.usualMs < FEW * this.#intervalMs;
  }

  /**
   * The share of the usual time after which a change is followed. The usual time of a busy time says nothing about the
   * first change after it, so the process follows that one at once.
   */
  get followedFrom(): number {
    return this.#isOfBusyTime ? 0 : FOLLOWED_FROM;
  }

  /** A change was announced. @param at milliseconds of `performance.now()` */
  announced(at: number): void {
    this.#isAlone = !this.#isLatestOpen || at - this.#announcedAt > this.usualMs;
    this.#isLatestOpen = true;
    const intervalMs = Math.min(Math.max(at - this.#announcedAt, 0), LONGEST_INTERVAL_MS);
    this.#intervalMs += (intervalMs - this.#intervalMs) * REMEMBERED;
    this.#announcedAt = at;
  }

  /** The change shows. @param at when it was announced, in milliseconds of `performance.now()` */
  shown(at: number): void {
    if (at === this.#announcedAt) this.#isLatestOpen = false;
  }

  /** The change was followed, and showed after this time. One that shows at once is usually much earlier. */
  follow(ms: number): void {
    this.#isOfBusyTime = false;
    const times = ms / this.usualMs;
    this.#change(times < SHOWN_AT_ONCE ? times : 1 + (times - 1) * REMEMBERED);
  }

  /** Whether the next change is first read early. */
  probes(): boolean {
    this.#untilProbe -= 1;
    if (this.#untilProbe > 0) return false;
    this.#probeNext(Math.min(2 * this.#probeAfter, PROBED_AFTER.most));
    return true;
  }

  /** The first read after the usual time showed the change, or did not. */
  learn(inTime: boolean): void {
    this.#isOfBusyTime = true;
    this.#change(inTime ? EARLIER : LATER);
  }

  /** A read after half of the usual time showed the change. */
  halve(): void {
    this.#isOfBusyTime = true;
    this.#probeNext(PROBED_AFTER.least);
    this.#change(HALF);
  }

  #probeNext(afterChanges: number): void {
    this.#probeAfter = afterChanges;
    this.#untilProbe = afterChanges;
  }

  #change(times: number): void {
    this.usualMs = Math.min(Math.max(this.usualMs * times, SOONEST_MS), LATEST_MS);
  }
}

/** The paces of one process. */
export type Paces = { readonly started: Pace; readonly messaged: Pace };

export function newPaces(): Paces {
  return { started: new Pace(50), messaged: new Pace(30) };
}

/** A change that was announced and does not show yet: when to read the checkout. */
export class ExpectedChange {
  readonly #pace: Pace;
  readonly #at: number;
  /**
   * The shares of the usual time after which it is still to be read. A change that has happened is read at once, and
   * once more after the usual time, in case the memo does not show it yet.
   */
  readonly #shares: number[];
  /** The share after which it was last read; null before. */
  #lastShare: number | null = null;
  #isLate = false;
  /** Few changes are expected. */
  readonly #isFollowed: boolean;

  /**
   * @param isNew it is announced now. The process learns nothing from an earlier announcement: when its change shows
   * depends on when someone began to look.
   */
  constructor(
    { change, at }: Announced,
    paces: Paces,
    private readonly isNew: boolean,
  ) {
    this.#at = at;
    this.#pace = change === 'started' ? paces.started : paces.messaged;
    if (isNew && change !== 'changed') this.#pace.announced(at);
    this.#isFollowed = change !== 'changed' && this.#pace.isCalm;
    if (change === 'changed') this.#shares = [0, 1];
    else if (this.#isFollowed) this.#shares = [this.#pace.followedFrom, EXPECTED_TIMES];
    else this.#shares = isNew && this.#pace.probes() ? [HALF, 1] : [1];
  }

  /** Milliseconds until the next read; null when the change is not expected any more. */
  get pauseMs(): number | null {
    const { usualMs } = this.#pace;
    const elapsedMs = performance.now() - this.#at;
    const [share] = this.#shares;
    if (share !== undefined) return Math.max(share * usualMs - elapsedMs, 0);
    const isOver = elapsedMs >= Math.max(EXPECTED_MS, EXPECTED_TIMES * usualMs);
    return isOver ? null : Math.max(elapsedMs * SHARE, LEAST_PAUSE_MS);
  }

  /** The planned time has come. @returns whether the checkout is to be followed, or read */
  next(): 'follow' | 'read' {
    this.#isLate = this.#shares.length === 0;
    this.#lastShare = this.#shares.shift() ?? this.#lastShare;
    return this.#isFollowed && this.#shares.length === 1 ? 'follow' : 'read';
  }

  /** The checkout shows the change. */
  met(): void {
    if (!this.isNew) return;
    this.#pace.shown(this.#at);
    if (this.#isFollowed) this.#pace.follow(performance.now() - this.#at);
    else if (this.#lastShare === HALF) this.#pace.halve();
    else if (this.#lastShare === 1) this.#pace.learn(!this.#isLate);
  }
}
