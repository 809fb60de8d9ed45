import { createSandbox, type ChargeJson, type Sandbox } from '@tillflow/sandbox';
import { chargesOf, COMPARED_SECTIONS, type ProviderRecords } from '@tillflow/tools/chaos';
import type { ProviderCharge } from '@tillflow/workflows/testing';
import { setGlobalDispatcher } from 'undici';
import { serve, WebhookDispatcher, type HttpAnswer, type HttpRequest, type HttpServer } from '../network/http.js';
import type { Network } from '../network/network.js';
import { Machine, running, type VirtualTime } from '../virtual/time.js';
import { Lies } from './lies.js';

const WEBHOOK_URL = 'http://api/webhooks/provider';
export const WEBHOOK_SECRET = Buffer.from('the secret of simulated webhooks').toString('base64');
export const SECRET_KEY = 'skey_test_simulation000000000';

/** A change that takes effect so long after its request came later than its repetition may. Milliseconds. */
const TOO_LATE_MS = 30_000;
/** A person at the dashboard does not wait longer for an answer. Milliseconds. */
const GIVE_UP_AFTER_MS = 15_000;

/** The provider: its sandbox on a machine of its own, and the people who use it directly. */
export class Provider {
  readonly machine = new Machine('provider');
  readonly sandbox: Sandbox;
  readonly lies: Lies;
  /** The checkouts for which a change took effect after its repetition. */
  readonly #lateEffects = new Set<string>();

  constructor(
    seed: string,
    private readonly time: VirtualTime,
    note: (what: string) => void,
  ) {
    this.lies = new Lies(time);
    this.sandbox = running.run(this.machine, () =>
      createSandbox({
        seed,
        secretKey: SECRET_KEY,
        publicKey: 'pkey_test_simulation000000000',
        webhookSecrets: [WEBHOOK_SECRET],
        webhookUrl: WEBHOOK_URL,
        publicUrl: 'http://provider',
        assumptions: { rememberedRequests: 1_000_000 },
      }),
    );
    for (const moment of ['request', 'response'] as const) {
      this.sandbox.on(moment, ({ method, path, status }) => note(`provider ${moment} ${method} ${path} ${status}`));
    }
    this.sandbox.on('committed', ({ at, form }) => {
      const { metadata } = (form ?? {}) as { readonly metadata?: { readonly checkout?: string } };
      const isLate = time.now - Date.parse(at) >= TOO_LATE_MS;
      if (isLate && metadata?.checkout !== undefined) this.#lateEffects.add(metadata.checkout);
    });
  }

  readonly server: HttpServer = {
    machine: () => this.machine,
    answer: async (request, onOpen) => this.lies.altered(request, await this.#answer(request, onOpen)),
  };

  /** From now on, webhooks reach that API. */
  sendWebhooksTo(network: Network, api: HttpServer): void {
    running.run(this.machine, () => setGlobalDispatcher(new WebhookDispatcher(network, api)));
  }

  /** @param rates of webhooks that fail; none: they arrive */
  failWebhooks(rates: object): void {
    this.sandbox.webhooks.configure({ url: WEBHOOK_URL, ...rates });
  }

  heal(): void {
    this.sandbox.faults.clear();
    this.lies.end();
    this.failWebhooks({});
  }

  /** Does something on the provider's machine: its customers and its dashboard do it. */
  at<T>(work: (sandbox: Sandbox) => T): T {
    return running.run(this.machine, () => work(this.sandbox));
  }

  chargesOf(checkoutId: string): ChargeJson[] {
    const { charges = [] } = this.at((sandbox) => sandbox.state(['charges']));
    return charges.filter(({ metadata }) => metadata['checkout'] === checkoutId);
  }

  /** The charges of a checkout, as the oracle reads them. */
  recordsOf(checkoutId: string): ProviderCharge[] {
    const { charges = [], refunds = [] } = this.at((sandbox) => sandbox.state(['charges', 'refunds']));
    return chargesOf({ charges, refunds }, checkoutId);
  }

  records(): ProviderRecords {
    // The answer has every section of the request.
    return this.at((sandbox) => sandbox.state(COMPARED_SECTIONS)) as ProviderRecords;
  }

  /** Whether an answer about this charge had an impossible time of payment. */
  hasShownWrongTime(chargeId: string): boolean {
    return this.lies.mistimed.has(`/charges/${chargeId}`);
  }

  /** Whether a call for this checkout took effect after Tillflow may have repeated it. */
  hasLateEffects(checkoutId: string): boolean {
    return this.#lateEffects.has(checkoutId);
  }

  /** How often a fault of each kind struck. */
  struck(): Record<string, number> {
    const struck: Record<string, number> = { ...this.lies.counts };
    for (const entry of this.sandbox.faultLog()) {
      const names = entry.kind === 'request' ? [entry.fault.action] : entry.faults;
      for (const name of names) struck[name] = (struck[name] ?? 0) + 1;
    }
    return struck;
  }

  /** Someone at the provider's dashboard calls its API. */
  async ask(method: string, path: string, body: string): Promise<void> {
    const headers = {
      authorization: `Basic ${Buffer.from(`${SECRET_KEY}:`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    };
    let leave = (): void => undefined;
    const answered = running.run(this.machine, () =>
      this.#answer({ method, path, headers, body }, (close) => (leave = close)),
    );
    await Promise.race([answered, this.time.sleep(GIVE_UP_AFTER_MS)]);
    leave();
  }

  #answer(request: HttpRequest, onOpen: (close: () => void) => void): Promise<HttpAnswer | null> {
    return serve((incoming, response) => this.sandbox.handle(incoming, response), request, onOpen);
  }
}
