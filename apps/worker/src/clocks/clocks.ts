import { setTimeout as sleep } from 'node:timers/promises';
import { accountOf } from '@tillflow/domain';
import { clockName, readTemporalClock, type Offsets, type Reading, type Temporal } from '@tillflow/temporal';
import type { Logger } from 'pino';
import { Gauge, type Registry } from 'prom-client';
import type { WorkerSettings } from '../settings.js';
import { ProviderClock } from './provider-clock.js';
import { TemporalClock } from './temporal-clock.js';

/** Temporal accepts a poller and does not list it, so its clock cannot be read. */
class ClockUnreadError extends Error {
  override readonly name = 'ClockUnreadError';
}

/**
 * A reading that is less accurate than this is repeated. At least two readings are made, because the second one
 * publishes the result of the first.
 */
const ACCURATE_MS = 50;
const FIRST_READINGS = { min: 2, max: 5 } as const;
/** How often the machine's two clocks are compared, and how often Temporal's clock is read. */
const COMPARE_EVERY_MS = 1_000;
const READ_EVERY_MS = 20_000;

type ClockSettings = Pick<WorkerSettings, 'TEMPORAL_TASK_QUEUE' | 'MAX_CLOCK_OFFSET_MS'>;

/**
 * The offsets of this machine's clock from Temporal's and the provider's. While the offset from Temporal's is too
 * large, the worker takes no work.
 */
export class Clocks {
  readonly provider: ProviderClock;
  readonly #temporalClock: TemporalClock;
  readonly #ending = new AbortController();
  readonly #watching: Promise<void>;
  readonly maxOffsetMs: number;
  #isRight: boolean;
  #onTurn: (() => void)[] = [];

  /**
   * Reads Temporal's clock, and repeats it until {@link end}. When Temporal answers and does not show its clock, the
   * worker uses its own clock until a reading succeeds: without a worker no payment is looked up.
   * @param identity of the worker, which publishes its offsets under it
   * @throws Temporal's own errors.
   */
  static async begin(temporal: Temporal, identity: string, settings: ClockSettings, logger: Logger): Promise<Clocks> {
    const read = async (offsets: Offsets): Promise<Reading> => {
      const name = clockName(identity, offsets);
      const reading = await readTemporalClock(temporal, settings.TEMPORAL_TASK_QUEUE, name, () => performance.now());
      if (reading === null)
        throw new ClockUnreadError('Temporal does not list the poller, so its clock cannot be read');
      return reading;
    };
    return new Clocks(await firstReadings(read, logger), read, settings, logger);
  }

  private constructor(
    clock: TemporalClock,
    private readonly read: (offsets: Offsets) => Promise<Reading>,
    { TEMPORAL_TASK_QUEUE, MAX_CLOCK_OFFSET_MS }: ClockSettings,
    private readonly logger: Logger,
  ) {
    this.provider = new ProviderClock(undefined, accountOf(TEMPORAL_TASK_QUEUE));
    this.maxOffsetMs = MAX_CLOCK_OFFSET_MS;
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

  /** Whether the machine's clock is close enough to Temporal's for the worker to take work. */
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
    // Each reading publishes the offsets that were known before it.
    let isPublished = true;
    while (!signal.aborted) {
      await sleep(COMPARE_EVERY_MS, undefined, { signal }).catch(() => undefined);
      const isDue = performance.now() - readAt >= READ_EVERY_MS || this.#temporalClock.isDisturbed;
      if (signal.aborted || (isPublished && !isDue)) continue;
      try {
        this.#temporalClock.take(await this.read(this.offsets));
        isPublished = !this.#judge();
      } catch (error) {
        this.logger.warn({ err: error }, "Temporal's clock cannot be read; the worker tries again");
      }
      readAt = performance.now();
    }
  }

  /** @returns whether {@link isRight} has changed */
  #judge(): boolean {
    const offset = this.#temporalClock.offset;
    const isRight = Math.abs(offset) <= this.maxOffsetMs;
    if (isRight === this.#isRight) return false;
    this.#isRight = isRight;
    const fields = { temporal_offset_ms: Math.round(offset), max_offset_ms: this.maxOffsetMs };
    const where = `${Math.round(Math.abs(offset) / 1_000)} s ${offset > 0 ? 'ahead of' : 'behind'} Temporal's`;
    if (isRight) this.logger.warn(fields, 'The clock of this machine is correct again: the worker takes work.');
    else {
      this.logger.error(
        fields,
        `The clock of this machine is ${where}. The worker takes no work until the clock is correct. Synchronize it with NTP; MAX_CLOCK_OFFSET_MS is the limit.`,
      );
    }
    for (const turned of this.#onTurn.splice(0)) turned();
    return true;
  }
}

async function firstReadings(read: (offsets: Offsets) => Promise<Reading>, logger: Logger): Promise<TemporalClock> {
  try {
    const clock = new TemporalClock(await read({ temporal: null, provider: null }));
    const { min, max } = FIRST_READINGS;
    for (let readings = 1; readings < min || (clock.width > ACCURATE_MS && readings < max); readings += 1) {
      clock.take(await read({ temporal: clock.offset, provider: null }));
    }
    return clock;
  } catch (error) {
    if (!(error instanceof ClockUnreadError)) throw error;
    logger.error({ err: error }, "The worker uses the clock of this machine until it can read Temporal's clock");
    const now = performance.now();
    return new TemporalClock({ from: now, to: now, said: Date.now() });
  }
}

/** Exports the clock offsets as a metric, once they are known. */
export function measureClocks(registry: Registry, clocks: () => Clocks | undefined): void {
  const gauge = new Gauge({
    name: 'tillflow_worker_clock_offset_seconds',
    help: "How far the clock of the worker's machine is from Temporal's or the provider's, at least; positive: ahead.",
    labelNames: ['of'],
    registers: [registry],
    collect() {
      const offsets = clocks()?.offsets;
      for (const of of ['temporal', 'provider'] as const) {
        const offset = offsets?.[of] ?? null;
        if (offset !== null) gauge.set({ of }, offset / 1_000);
      }
    },
  });
}
