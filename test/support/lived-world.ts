import { setTimeout as sleep } from 'node:timers/promises';
import { chargesOf, COMPARED_SECTIONS, type ProviderRecords } from '@tillflow/tools/chaos';
import type { Surroundings } from '@tillflow/simulation';
import type { CheckoutMemo } from '@tillflow/workflows';
import { KEYS, type Stack } from './stack.js';

const ANSWER_WITHIN_MS = 15_000;
const READ_EVERY_MS = 400;

/** Real processes, for the people of a simulation. */
export class LivedWorld {
  readonly #memos = new Map<string, CheckoutMemo>();
  readonly #reading = new AbortController();

  constructor(private readonly stack: Stack) {}

  /** @param seed decides what people do at random */
  surroundings(seed: string): Surroundings {
    const { stack } = this;
    const { sandbox } = stack;
    return {
      seed,
      time: {
        get now() {
          return Date.now();
        },
        sleep: (milliseconds) => sleep(milliseconds),
        after: (milliseconds, run) => setTimeout(run, milliseconds).unref(),
      },
      trace: { note: () => undefined },
      api: { ask: (method, path, body, headers) => this.#ask(method, path, body, headers) },
      provider: {
        at: (work) => work(sandbox),
        ask: (method, path, body) => this.#askProvider(method, path, body),
        chargesOf: (checkoutId) =>
          (sandbox.state(['charges']).charges ?? []).filter(({ metadata }) => metadata['checkout'] === checkoutId),
        recordsOf: (checkoutId) => {
          const { charges = [], refunds = [] } = sandbox.state(['charges', 'refunds']);
          return chargesOf({ charges, refunds }, checkoutId);
        },
        hasShownWrongTime: () => false,
        hasLateEffects: () => false,
      },
      operator: stack.temporal,
      memoOf: (workflowId) => this.#memos.get(workflowId) ?? null,
    };
  }

  records(): ProviderRecords {
    // The answer has every section of the request.
    return this.stack.sandbox.state(COMPARED_SECTIONS) as ProviderRecords;
  }

  /** Reads the memos of these workflows again and again, until {@link close}. */
  async follow(workflowIds: readonly string[]): Promise<void> {
    const { workflow } = this.stack.temporal.client;
    while (!this.#reading.signal.aborted) {
      for (const workflowId of workflowIds) {
        const found = await workflow
          .getHandle(workflowId)
          .describe()
          .catch(() => null);
        // Only Tillflow writes it.
        if (found !== null) this.#memos.set(workflowId, found.memo as CheckoutMemo);
      }
      await sleep(READ_EVERY_MS);
    }
  }

  close(): void {
    this.#reading.abort();
  }

  async #ask(method: string, path: string, body?: object, headers: Readonly<Record<string, string>> = {}) {
    try {
      const response = await fetch(`${this.stack.api.url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${KEYS.ops}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      });
      const text = await response.text();
      return { status: response.status, json: text === '' ? null : (JSON.parse(text) as unknown) };
    } catch {
      return null;
    }
  }

  async #askProvider(method: string, path: string, body: string): Promise<void> {
    const { url, sandbox } = { url: this.stack.sandboxUrl, sandbox: this.stack.sandbox };
    const authorization = `Basic ${Buffer.from(`${sandbox.keys.secret}:`).toString('base64')}`;
    const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded' };
    // A fault of the provider may meet it: the person sees an error.
    await fetch(`${url}${path}`, { method, headers, body }).catch(() => undefined);
  }
}
