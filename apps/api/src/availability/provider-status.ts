import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { instant, parseInstant, type Instant } from '@tillflow/domain';
import { PaymentsClient, PaymentsError } from '@tillflow/payments-client';
import { EventTailWatch } from '../checkouts/event-tail-watch.js';
import { Outage, type ProviderState } from './outage.js';

/** The provider is probed for this long after someone asked. Milliseconds. */
const ASKED_WITHIN_MS = 60_000;
/** A probe that takes longer has failed. Milliseconds. */
const PROBE_WITHIN_MS = 2_000;
/** A probe that waits longer for the request limit is given up, and says nothing. Milliseconds. */
const DEADLINE_MS = 2_500;
/** How long a caller waits for the first probe. Milliseconds. */
const FIRST_WITHIN_MS = 1_000;

/**
 * Whether the provider answers, as this process sees it. It reads the account every 3 s, only while someone asks, so a
 * checkout costs nothing more and no worker is needed. The event tail's failures confirm the first failure of a process
 * that has just begun to probe.
 */
@Injectable()
export class ProviderStatus implements OnModuleDestroy {
  readonly #outage = new Outage();
  readonly #stopped = new AbortController();
  #askedAt = Number.NEGATIVE_INFINITY;
  #isProbing = false;
  #probe: Promise<void> = Promise.resolve();

  constructor(
    private readonly provider: PaymentsClient,
    private readonly tail: EventTailWatch,
  ) {}

  /** Waits for the first probe, at most a second, when nothing is known. */
  async current(): Promise<ProviderState> {
    this.#askedAt = performance.now();
    if (!this.#isProbing) void this.#probeWhileAsked();
    if (this.#outage.stateAt(now()).status === 'unknown') {
      await Promise.race([this.#probe, sleep(FIRST_WITHIN_MS, undefined, { ref: false })]);
    }
    return this.#outage.stateAt(now());
  }

  onModuleDestroy(): void {
    this.#stopped.abort();
  }

  async #probeWhileAsked(): Promise<void> {
    const { signal } = this.#stopped;
    this.#isProbing = true;
    while (!signal.aborted && performance.now() - this.#askedAt < ASKED_WITHIN_MS) {
      const startedAt = performance.now();
      this.#probe = this.#readOnce(signal);
      await this.#probe;
      const pauseMs = Math.max(0, startedAt + this.#outage.pauseMs - performance.now());
      await sleep(pauseMs, undefined, { ref: false, signal }).catch(() => undefined);
    }
    this.#isProbing = false;
  }

  async #readOnce(signal: AbortSignal): Promise<void> {
    const isOk = await this.#answers(signal);
    if (isOk === null) return;
    const isFirstFailure = !isOk && this.#outage.stateAt(now()).status === 'unknown';
    const failingSince = isFirstFailure ? await this.tail.providerFailingSince() : null;
    this.#outage.observe(now(), isOk, failingSince === null ? null : parseInstant(failingSince));
  }

  async #answers(signal: AbortSignal): Promise<boolean | null> {
    try {
      const limits = { timeoutMs: PROBE_WITHIN_MS, deadlineMs: DEADLINE_MS, maxRetries: 0, signal };
      await this.provider.account.retrieve(limits);
      return true;
    } catch (error) {
      return signal.aborted ? null : isAnswer(error);
    }
  }
}

/** Whether a failed call still shows that the provider works. Null: it says nothing about the provider. */
export function isAnswer(error: unknown): boolean | null {
  if (!(error instanceof PaymentsError)) return null;
  const { status, code, outcome } = error;
  // The provider limits requests, or the client's own limit let none through.
  if (status === 429 || (code === 'deadline_exceeded' && outcome === 'not_sent')) return null;
  // A provider that does not accept the key (401) carries out nothing. A valid key that may not read the account (403)
  // may still make charges: the provider answers.
  return status !== undefined && status >= 400 && status < 500 && status !== 401;
}

function now(): Instant {
  return instant(Date.now());
}
