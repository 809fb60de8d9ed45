/** A stretch of time in whole seconds since the epoch: from `from` on, before `to`; null: without that bound. */
export type Window = { readonly from: number | null; readonly to: number | null };

/** How many there are in a window. */
export type Count = (window: Window) => Promise<number>;

export type Wish = {
  /** Upper bound in seconds, exclusive; null: none. */
  readonly to: number | null;
  /** The present, in seconds: where a search without an upper bound begins. */
  readonly now: number;
  /** So many are wanted; up to `most` are read for them. */
  readonly wanted: number;
  readonly most: number;
  /** The length in seconds that fitted last; null at first. */
  readonly seconds: number | null;
};

/** `seconds` is null where the window has no lower bound. */
export type Found = { readonly window: Window; readonly seconds: number | null };

const FIRST_GUESS_S = 3_600;
const MOST_COUNTS = 12;
const MOST_GROWTH = 64;

/**
 * The newest window that holds from `wanted` to `most`, found by counting: Temporal's SQL stores cannot order by an
 * attribute, so that what is to be in order has to be read whole. Fewer are in it at the beginning of time, and where
 * the next second would be too much; more in a single second of more than `most`.
 */
export async function newestWindow(wish: Wish, count: Count): Promise<Found> {
  const { to, now, wanted, most } = wish;
  const upper = to ?? now;
  const windowOf = (seconds: number): Window => ({ from: upper - seconds <= 0 ? null : upper - seconds, to });
  if (wish.seconds === null && (await count({ from: null, to })) <= most) {
    return { window: { from: null, to }, seconds: null };
  }
  /** The longest that is known to hold too few, and the shortest that holds too many. */
  let short = { seconds: 0, held: 0 };
  let long = Number.POSITIVE_INFINITY;
  let seconds = wish.seconds ?? FIRST_GUESS_S;
  for (let counts = 0; counts < MOST_COUNTS && long - short.seconds > 1; counts += 1) {
    const window = windowOf(seconds);
    const held = await count(window);
    if (held <= most && (held >= wanted || window.from === null)) {
      return { window, seconds: window.from === null ? null : seconds };
    }
    if (held > most) long = seconds;
    else short = { seconds, held };
    seconds = next(short, long, { seconds, held }, wanted);
  }
  // Too few, or none, are better than too many; a single second is not divided.
  const chosen = short.seconds > 0 ? short.seconds : Math.max(1, Math.min(long, seconds));
  const isDense = short.held === 0 && long - short.seconds <= 1;
  return { window: windowOf(isDense ? long : chosen), seconds: isDense ? long : chosen };
}

/** By how dense it was, within what is known. */
function next(
  short: { readonly seconds: number },
  long: number,
  { seconds, held }: { readonly seconds: number; readonly held: number },
  wanted: number,
): number {
  const ratio = held === 0 ? MOST_GROWTH : Math.min((2 * wanted) / held, MOST_GROWTH);
  const guess = Math.round(seconds * ratio);
  if (guess > short.seconds && guess < long) return guess;
  if (long === Number.POSITIVE_INFINITY) return seconds * 2;
  return Math.max(short.seconds + 1, Math.floor((short.seconds + long) / 2));
}
