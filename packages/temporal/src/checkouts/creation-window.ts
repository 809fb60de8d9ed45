/** A span of time in whole seconds since the epoch: at or after `from`, before `to`; null: without that bound. */
export type Window = { readonly from: number | null; readonly to: number | null };

/** Counts the records in a window. */
export type Count = (window: Window) => Promise<number>;

export type WindowRequest = {
  /** Upper bound in seconds, exclusive; null: none. */
  readonly to: number | null;
  /** The present, in seconds. A search without an upper bound begins there. */
  readonly now: number;
  /** The window should contain at least this many records, and at most `most`. */
  readonly wanted: number;
  readonly most: number;
  /** The length of the last window, in seconds; null at first. */
  readonly seconds: number | null;
};

/** `seconds` is null where the window has no lower bound. */
export type FoundWindow = { readonly window: Window; readonly seconds: number | null };

const FIRST_GUESS_S = 3_600;
const MAX_COUNTS = 12;
const MAX_GROWTH = 64;

/**
 * Finds the newest window with `wanted` to `most` records by counting. Temporal's SQL databases cannot sort by an
 * attribute, so a sorted list has to read a window completely. The window may contain fewer records when it reaches
 * back to 1970, or when one more second would be too many; it contains more when a single second has more than `most`.
 */
export async function newestWindow(request: WindowRequest, count: Count): Promise<FoundWindow> {
  const { to, now, wanted, most } = request;
  const upper = to ?? now;
  const windowOf = (seconds: number): Window => ({ from: upper - seconds <= 0 ? null : upper - seconds, to });
  if (request.seconds === null && (await count({ from: null, to })) <= most) {
    return { window: { from: null, to }, seconds: null };
  }
  /** The longest window that is known to have too few records, and the shortest that has too many. */
  let short = { seconds: 0, counted: 0 };
  let long = Number.POSITIVE_INFINITY;
  let seconds = request.seconds ?? FIRST_GUESS_S;
  for (let counts = 0; counts < MAX_COUNTS && long - short.seconds > 1; counts += 1) {
    const window = windowOf(seconds);
    const counted = await count(window);
    if (counted <= most && (counted >= wanted || window.from === null)) {
      return { window, seconds: window.from === null ? null : seconds };
    }
    if (counted > most) long = seconds;
    else short = { seconds, counted };
    seconds = next(short, long, { seconds, counted }, wanted);
  }
  // Too few records are better than too many. A single second is not divided.
  const chosen = short.seconds > 0 ? short.seconds : Math.max(1, Math.min(long, seconds));
  const isDense = short.counted === 0 && long - short.seconds <= 1;
  return { window: windowOf(isDense ? long : chosen), seconds: isDense ? long : chosen };
}

/** The next length to try, from the density of the last one. */
function next(
  short: { readonly seconds: number },
  long: number,
  { seconds, counted }: { readonly seconds: number; readonly counted: number },
  wanted: number,
): number {
  const ratio = counted === 0 ? MAX_GROWTH : Math.min((2 * wanted) / counted, MAX_GROWTH);
  const guess = Math.round(seconds * ratio);
  if (guess > short.seconds && guess < long) return guess;
  if (long === Number.POSITIVE_INFINITY) return seconds * 2;
  return Math.max(short.seconds + 1, Math.floor((short.seconds + long) / 2));
}
