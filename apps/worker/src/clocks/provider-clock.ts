import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { REQUEST_CHANNEL, type RequestReport } from '@tillflow/payments-client';
import { MACHINE, nearestToZero, type Machine } from './temporal-clock.js';

/** An HTTP date is cut to whole seconds. Source: RFC 9110, section 5.6.7. */
const HTTP_DATE_STEP_MS = 1_000;

/** How far the machine's wall clock is from the provider's, as its last reply was dated. */
export class ProviderClock {
  /** In milliseconds, at least; positive: the machine's is ahead. Null before the first reply that has a date. */
  offset: number | null = null;

  constructor(private readonly machine: Machine = MACHINE) {
    subscribe(REQUEST_CHANNEL, this.#read);
  }

  end(): void {
    unsubscribe(REQUEST_CHANNEL, this.#read);
  }

  readonly #read = (message: unknown): void => {
    // The channel is the client's alone.
    const { date, durationMs } = message as RequestReport;
    if (date === undefined) return;
    const now = this.machine.wall();
    this.offset = nearestToZero(now - durationMs - (date + HTTP_DATE_STEP_MS), now - date);
  };
}
