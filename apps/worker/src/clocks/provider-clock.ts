import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { DEFAULT_ACCOUNT } from '@tillflow/domain';
import { REQUEST_CHANNEL, type RequestReport } from '@tillflow/payments-client';
import { MACHINE, nearestToZero, type Machine } from './temporal-clock.js';

/** An HTTP date has whole seconds. Source: RFC 9110, section 5.6.7. */
const HTTP_DATE_STEP_MS = 1_000;

/** The offset of the machine's wall clock from the provider's, by the date of the provider's last reply. */
export class ProviderClock {
  /**
   * At least this many milliseconds; positive: the machine's clock is ahead. Null before the first reply with a date.
   */
  offset: number | null = null;

  /** @param account whose provider it is */
  constructor(
    private readonly machine: Machine = MACHINE,
    private readonly account = DEFAULT_ACCOUNT,
  ) {
    subscribe(REQUEST_CHANNEL, this.#read);
  }

  end(): void {
    unsubscribe(REQUEST_CHANNEL, this.#read);
  }

  readonly #read = (message: unknown): void => {
    // Only the client publishes on this channel.
    const { client = DEFAULT_ACCOUNT, date, durationMs } = message as RequestReport;
    if (date === undefined || client !== this.account) return;
    const now = this.machine.wall();
    this.offset = nearestToZero(now - durationMs - (date + HTTP_DATE_STEP_MS), now - date);
  };
}
