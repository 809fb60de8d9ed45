import { setTimeout as sleep } from 'node:timers/promises';
import { clockName, readTemporalClock, type Offsets, type Reading, type Temporal } from '@tillflow/temporal';
import type { Logger } from 'pino';
import type { WorkerSettings } from '../settings.js';
import { ProviderClock } from './provider-clock.js';
import { TemporalClock } from './temporal-clock.js';

/** Temporal takes a poller and does not show it: its clock is not known. */
class ClockUnreadError extends Error {
  override readonly name = 'ClockUnreadError';
}

/** The second reading tells others what the first one found. One that is worse than this is followed by others. */
const GOOD_MS = 50;
const FIRST_READINGS = { least: 2, most: 5 } as const;
/** How often the machine's two clocks are compared with each other, and Temporal's is read. */
const LOOK_EVERY_MS = 1_000;
const READ_EVERY_MS = 20_000;

type ClockSettings = Pick<WorkerSettings, 'TEMPORAL_TASK_QUEUE' | 'MAX_CLOCK_OFFSET_MS'>;

/**
 * How far this machine's clock is from Temporal's and the provider's. While it is too far from Temporal's, the worker
 * takes no work.
 */
export class Clocks {
  readonly provider = new ProviderClock();
  readonly #temporalClock: TemporalClock;
  readonly #ending = new AbortController();
  readonly #watching: Promise<void>;
  #isRight: boolean;
  #onTurn: (() => void)[] = [];

  /**
   * Reads Temporal's clock, and goes on reading it until {@link end}. Where Temporal answers and does not show its clock, the
   * worker goes by its own until a reading succeeds: without a worker no payment is looked up.
   * @param identity of the worker, under which others can see how far its clock is off.
   * @throws Temporal's own errors.
   */
  static async begin(temporal: Temporal, identity: string, settings: ClockSettings, logger: Logger): Promise<Clocks> {
    const read = async (offsets: Offsets): Promise<Reading> => {
      const name = clockName(identity, offsets);
      const reading = await readTemporalClock(temporal, settings.TEMPORAL_TASK_QUEUE, name, () => performance.now());
      if (reading === null)
        throw new ClockUnreadError('Temporal does not show when a poller came: its clock is not known');
      return reading;
    };
    return new Clocks(await firstReadings(read, logger), read, settings.MAX_CLOCK_OFFSET_MS, logger);
  }

  private constructor(
    clock: TemporalClock,
    private readonly read: (offsets: Offsets) => Promise<Reading>,
    readonly maxOffsetMs: number,
    private readonly logger: Logger,
  ) {
    this.#temporalClock = clock;
    this.#isRight = true;
    this.#judge();
    this.#watching = this.#watch();
  }

  get temporal(): Pick<TemporalClock, 'now' | 'hasReached'> {
    return this.#temporalClock;
  }

  get offsets(): { readonly temporal: number; readonly provider: number | null } {
    return { temporal: this.#temporalClock.offset, provider: this.provider.offset };
  }

  /** Whether the machine's clock is near enough to Temporal's for the worker to take work. */
  get isRight(): boolean {
    return this.#isRight;
  }

  /** Resolves when {@link isRight} has the given value, or when the signal ends the wait. */
  async until(isRight: boolean, signal: AbortSignal): Promise<void> {
    while (this.#isRight !== isRight && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#onTurn.push(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }

  async end(): Promise<void> {
    this.provider.end();
    this.#ending.abort();
    await this.#watching;
  }

  async #watch(): Promise<void> {
    const { signal } = this.#ending;
    let readAt = performance.now();
    // A reading tells others what was known before it.
    let isTold = true;
    while (!signal.aborted) {
      await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
      const isDue = performance.now() - readAt >= READ_EVERY_MS || this.#temporalClock.isDisturbed;
      if (signal.aborted || (isTold && !isDue)) continue;
      try {
        this.#temporalClock.take(await this.read(this.offsets));
        isTold = !this.#judge();
      } catch (error) {
        this.logger.warn({ err: error }, "Temporal's clock cannot be read now");
      }
      readAt = performance.now();
    }
  }

  /** @returns whether anything has changed. */
  #judge(): boolean {
    const offset = this.#temporalClock.offset;
    const isRight = Math.abs(offset) <= this.maxOffsetMs;
    if (isRight === this.#isRight) return false;
    this.#isRight = isRight;
    const fields = { temporal_offset_ms: Math.round(offset), max_offset_ms: this.maxOffsetMs };
    const where = `${Math.round(Math.abs(offset) / 1_000)} s ${offset > 0 ? 'ahead of' : 'behind'} Temporal's`;
    if (isRight) this.logger.warn(fields, `The clock of this machine is right again: the worker takes work.`);
    else {
      this.logger.error(
        fields,
        `The clock of this machine is ${where}: the worker takes no work until it is right. Let the machine take its time from the network (NTP); MAX_CLOCK_OFFSET_MS is the bound.`,
      );
    }
    for (const turned of this.#onTurn.splice(0)) turned();
    return true;
  }
}

async function firstReadings(read: (offsets: Offsets) => Promise<Reading>, logger: Logger): Promise<TemporalClock> {
  try {
    const clock = new TemporalClock(await read({ temporal: null, provider: null }));
    const { least, most } = FIRST_READINGS;
    for (let readings = 1; readings < least || (clock.width > GOOD_MS && readings < most); readings += 1) {
      clock.take(await read({ temporal: clock.offset, provider: null }));
    }
    return clock;
  } catch (error) {
    if (!(error instanceof ClockUnreadError)) throw error;
    logger.error({ err: error }, 'The worker goes by the clock of this machine until it can read the one of Temporal');
    const now = performance.now();
    return new TemporalClock({ from: now, to: now, said: Date.now() });
  }
}
