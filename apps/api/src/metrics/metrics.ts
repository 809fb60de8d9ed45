import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { DEFAULT_ACCOUNT } from '@tillflow/domain';
import { countProviderCalls, processMetrics, showFileMistakes } from '@tillflow/telemetry';
import { ConfiguredKeys } from '@tillflow/temporal';
import { Counter, Histogram, Registry } from 'prom-client';
import { Settings } from '../providers.js';

/** Seconds. */
const ANSWER_TIMES = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Seconds. A repeated webhook may arrive a day late. */
const LAGS = [0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 3_600, 86_400];

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** The label for every unknown method or route. */
const OTHER = 'other';

/** Counters of one account in this process. Labels are its name, fixed words and route templates, never ids. */
@Injectable()
export class Metrics implements OnApplicationShutdown {
  readonly registry: Registry;
  readonly #endCounting: () => void;

  readonly #requests: Histogram<'method' | 'route' | 'status'>;
  readonly #webhooks: Counter<'result'>;
  readonly #refusals: Counter<'reason'>;
  readonly #lags: Histogram;

  /** The metrics of the process itself are those of the account `default`. */
  constructor({ account }: Settings, keys: ConfiguredKeys) {
    const isDefault = account === DEFAULT_ACCOUNT;
    this.registry = isDefault ? processMetrics() : new Registry();
    if (isDefault) showFileMistakes(this.registry, () => keys.mistakes);
    this.registry.setDefaultLabels({ account });
    this.#endCounting = countProviderCalls(this.registry, account);
    this.#requests = new Histogram({
      name: 'tillflow_http_request_duration_seconds',
      help: 'Requests answered by the API. A stream counts until it ends.',
      labelNames: ['method', 'route', 'status'],
      buckets: ANSWER_TIMES,
      registers: [this.registry],
    });
    this.#webhooks = new Counter({
      name: 'tillflow_webhooks_total',
      help: 'Webhooks by outcome: hinted, coalesced and ignored were accepted; refused and failed were not.',
      labelNames: ['result'],
      registers: [this.registry],
    });
    this.#refusals = new Counter({
      name: 'tillflow_webhook_refusals_total',
      help: 'Webhooks whose signature was refused, by reason.',
      labelNames: ['reason'],
      registers: [this.registry],
    });
    this.#lags = new Histogram({
      name: 'tillflow_webhook_lag_seconds',
      help: "From the event, by the provider's clock, until Temporal stored its hint.",
      buckets: LAGS,
      registers: [this.registry],
    });

    // Exported from the start, so that the first one is an increase.
    for (const result of ['hinted', 'coalesced', 'ignored', 'refused', 'failed'] as const)
      this.#webhooks.inc({ result }, 0);
  }

  /** @param route the template; undefined without a matching route. */
  answered(method: string, route: string | undefined, status: number, milliseconds: number): void {
    const known = METHODS.has(method) ? method : OTHER;
    this.#requests.observe({ method: known, route: route ?? OTHER, status }, milliseconds / 1_000);
  }

  webhookTaken(result: 'hinted' | 'coalesced' | 'ignored'): void {
    this.#webhooks.inc({ result });
  }

  /** @param happenedAt the time in the event, in milliseconds, or null. @param now milliseconds. */
  webhookHinted(happenedAt: number | null, now: number): void {
    if (happenedAt !== null) this.#lags.observe(Math.max(0, now - happenedAt) / 1_000);
  }

  webhookRefused(reason: string): void {
    this.#webhooks.inc({ result: 'refused' });
    this.#refusals.inc({ reason });
  }

  webhookFailed(): void {
    this.#webhooks.inc({ result: 'failed' });
  }

  onApplicationShutdown(): void {
    this.#endCounting();
  }
}
