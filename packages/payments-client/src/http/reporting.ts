import { channel } from 'node:diagnostics_channel';
import type { Outcome, PaymentsError } from '../errors.js';
import type { Logger } from '../options.js';
import type { Route } from '../request/request.js';
import type { Clock } from './deadline.js';

/** Published once for each call, after its last attempt, on {@link REQUEST_CHANNEL}. Contains no id and no key. */
export interface RequestReport {
  /** The name of the client; undefined for a client without one. */
  client: string | undefined;
  /** Where the requests go: scheme, host and port. */
  origin: string;
  method: string;
  /** Path template, e.g. `/charges/{id}/expire`. */
  route: string;
  /** HTTP status of the last reply; undefined when there was none. */
  status: number | undefined;
  /** Requests sent, or tried to. */
  attempts: number;
  outcome: 'done' | Outcome;
  /** The error's code; undefined when done. */
  code: string | undefined;
  /** From call to answer, waits included, in milliseconds. */
  durationMs: number;
  /** The `Date` of the last reply, in epoch milliseconds, cut to whole seconds; undefined when it had none. */
  date: number | undefined;
}

/** Name of the `node:diagnostics_channel` that carries {@link RequestReport}s. */
export const REQUEST_CHANNEL = 'tillflow:payments-client:request';

const requests = channel(REQUEST_CHANNEL);

/** One call's requests so far. */
export interface CallProgress {
  attempts: number;
  status: number | undefined;
  /** The provider's name for the last request that it answered. */
  requestId?: string | undefined;
  /** The `Date` header of the last reply, and when that reply came, in epoch milliseconds by this machine's clock. */
  date?: string | undefined;
  datedAt?: number | undefined;
}

/** Publishes and logs what each call did. Does no work when there is neither a logger nor a subscriber. */
export class CallReporter {
  readonly #logger: Logger | undefined;
  readonly #clock: Clock;
  readonly #client: Pick<RequestReport, 'client' | 'origin'>;

  constructor(logger: Logger | undefined, clock: Clock, client: Pick<RequestReport, 'client' | 'origin'>) {
    this.#logger = logger;
    this.#clock = clock;
    this.#client = client;
  }

  retrying({ method, route }: Route, attempt: number, failure: PaymentsError, delayMs: number): void {
    if (this.#logger === undefined) return;
    const { status, code, requestId } = failure;
    this.#log('warn', { method, route, attempt, status, code, requestId, delayMs }, 'request failed, trying again');
  }

  /** @param startedAt in monotonic milliseconds */
  ended(method: string, route: string, progress: CallProgress, startedAt: number, failure?: PaymentsError): void {
    if (this.#logger === undefined && !requests.hasSubscribers) return;
    const { attempts, status, requestId, date } = progress;
    const durationMs = this.#clock.monotonic() - startedAt;
    const outcome = failure?.outcome ?? 'done';
    const report = { method, route, status, attempts, outcome, code: failure?.code, durationMs } as const;
    if (requests.hasSubscribers) {
      requests.publish({ ...this.#client, ...report, date: epochMs(date) } satisfies RequestReport);
    }
    if (this.#logger === undefined) return;
    const fields = { ...report, requestId };
    // A call that may have changed something deserves a line each time; a GET does not.
    if (outcome === 'done') this.#log(method === 'GET' ? 'debug' : 'info', fields, 'request done');
    else if (outcome === 'unknown') this.#log('error', fields, 'request failed, outcome unknown');
    else this.#log('warn', fields, 'request failed');
  }

  #log(level: keyof Logger, fields: object, message: string): void {
    try {
      this.#logger?.[level](fields, message);
    } catch {
      // A broken log must not turn a paid charge into a failure.
    }
  }
}

function epochMs(date: string | undefined): number | undefined {
  const instant = Date.parse(date ?? '');
  return Number.isNaN(instant) ? undefined : instant;
}
