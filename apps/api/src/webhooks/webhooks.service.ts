import { Inject, Injectable } from '@nestjs/common';
import { mayChangeCheckout, routeEvent, type CheckoutKey, type RoutedEvent } from '@tillflow/domain';
import { webhooks, WebhookVerificationError } from '@tillflow/payments-client';
import { annotate, CHARGE_ID } from '@tillflow/telemetry';
import type { Hint } from '@tillflow/workflows';
import type { Logger } from 'pino';
import { tooMany } from '../auth/admission.js';
import { CheckoutsRepository } from '../checkouts/checkouts.repository.js';
import { parseJson } from '../edge/json.js';
import { Limits } from '../edge/limits.js';
import { LOGGER, Settings } from '../providers.js';
import { Metrics } from '../metrics/metrics.js';
import { Problem } from '../problems/problem.js';
import { HintGate, mergedEvent, PAYMENT } from './hint-gate.js';
import type { WebhookReceipt } from './webhooks.schema.js';

/** A webhook as received. */
export type Delivery = {
  readonly bytes: Buffer;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The address under which its sender is counted. */
  readonly address: string;
};

/**
 * Turns a webhook into a hint for the checkout that its metadata names, or else for the checkout that has its charge.
 */
@Injectable()
export class WebhooksService {
  readonly #gate = new HintGate(mergedEvent);

  constructor(
    private readonly checkouts: CheckoutsRepository,
    private readonly settings: Settings,
    private readonly limits: Limits,
    private readonly metrics: Metrics,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Checks the signature of the bytes before it reads them.
   * @throws {Problem} `signature_invalid`; `invalid_request` when the body is not JSON; `rate_limited` when the sender
   * was refused too often; `temporal_unavailable`, so that the provider sends the webhook again.
   */
  async receive(delivery: Delivery): Promise<WebhookReceipt> {
    const sent = this.#isSigned ? this.#verified(delivery) : this.#unsigned(delivery);
    try {
      const event = routeEvent(sent, this.settings.account);
      annotate({ [CHARGE_ID]: event?.chargeId ?? undefined });
      const taken = await this.#take(event, delivery.address);
      annotate({ 'tillflow.webhook.outcome': taken.outcome });
      this.metrics.webhookTaken(taken.outcome);
      if (taken.outcome !== 'ignored') this.metrics.webhookHinted(instantOf(sent), Date.now());
      return taken;
    } catch (error) {
      this.metrics.webhookFailed();
      throw error;
    }
  }

  /** Counts a webhook for an account that does not exist. Its sender may try names. */
  refuseUnknown(address: string): Problem {
    return this.limits.refusedWebhooks.take(address)
      ? new Problem('not_found', 'No account has this name')
      : tooMany('Too many webhooks for unknown accounts');
  }

  /** False when the provider does not sign. Then anyone can send webhooks. */
  get #isSigned(): boolean {
    const secrets = this.settings.values.PROVIDER_WEBHOOK_SECRET;
    return !(secrets.length === 1 && secrets[0] === 'off');
  }

  async #take(event: RoutedEvent | null, address: string): Promise<WebhookReceipt> {
    if (event === null || !mayChangeCheckout(event)) this.#countUnsigned(address);
    if (event === null) return this.#ignored('the event does not concern a charge');
    if (!mayChangeCheckout(event)) return this.#ignored('the event does not concern a checkout', event);
    const taken = await (event.checkout === null
      ? this.#hintOwner(event, address)
      : this.#hint(event.checkout, event, address));
    if (taken !== 'ignored') return { received: true, outcome: taken };
    return this.#ignored('no open checkout: the event tail finds a payment of a closed one', event);
  }

  /** Searches the checkout that has the charge, at most once per second for each charge. */
  async #hintOwner(event: RoutedEvent, address: string): Promise<WebhookReceipt['outcome']> {
    const { chargeId } = event;
    if (chargeId === null) return 'ignored';
    let taken: WebhookReceipt['outcome'] = 'ignored';
    const passed = await this.#gate.pass(gateOf(`charge ${chargeId}`, event), event, async (merged) => {
      if (!this.#isSigned && !this.limits.unsignedSearches.take('all')) throw tooMany('Too many searches by charge');
      const owner = await this.#tried(address, () => this.checkouts.findByCharge(chargeId));
      if (owner !== null) taken = await this.#hint(owner, merged, address);
    });
    return passed === 'coalesced' ? 'coalesced' : taken;
  }

  /** Each checkout gets at most two hints per second: one for payments, one for everything else. */
  async #hint(checkout: CheckoutKey, event: RoutedEvent, address: string): Promise<WebhookReceipt['outcome']> {
    let isTaken = true;
    const passed = await this.#gate.pass(gateOf(checkout.reference, event), event, async (merged) => {
      const { id, key, chargeId, transactionId } = merged;
      const hint: Hint = { eventId: id, eventKey: key, chargeId, ...(transactionId !== null && { transactionId }) };
      isTaken = await this.#tried(address, () => this.checkouts.hint(checkout, hint));
    });
    if (passed === 'coalesced') return 'coalesced';
    return isTaken ? 'hinted' : 'ignored';
  }

  #verified({ bytes, headers, address }: Delivery): unknown {
    const secrets = this.settings.values.PROVIDER_WEBHOOK_SECRET;
    try {
      return webhooks.construct(bytes, headers, { secrets });
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      if (error.reason === 'body_malformed') return this.#unfit(bytes);
      this.metrics.webhookRefused(error.reason);
      if (!this.limits.refusedWebhooks.take(address)) throw tooMany('Too many webhooks with a wrong signature');
      this.logger.warn({ reason: error.reason }, 'webhook refused');
      throw new Problem('signature_invalid', `The signature was refused: ${error.reason}`);
    }
  }

  /**
   * Reading costs more than checking a signature, so an address that sent too many useless webhooks is refused before.
   */
  #unsigned({ bytes, address }: Delivery): unknown {
    if (this.limits.refusedWebhooks.isSpent(address)) throw tooMany('Too many webhooks that concern no checkout');
    try {
      return parseJson(bytes);
    } catch (error) {
      this.#countUnsigned(address);
      throw error;
    }
  }

  #countUnsigned(address: string): void {
    if (!this.#isSigned) this.limits.refusedWebhooks.take(address);
  }

  /** The provider signed it, so the API reads as much of it as it can: a webhook is only a hint. */
  #unfit(bytes: Buffer): unknown {
    const sent = parseJson(bytes);
    this.logger.warn('a webhook has an unknown shape');
    return sent;
  }

  /**
   * When the provider does not sign, limits how often one address can search for checkouts that do not exist. Searches
   * in progress count, so that simultaneous requests cannot bypass the limit.
   */
  async #tried<T>(address: string, ask: () => Promise<T>): Promise<T> {
    if (this.#isSigned) return ask();
    const { refusedWebhooks } = this.limits;
    if (!refusedWebhooks.take(address)) throw tooMany('Too many webhooks that find no checkout');
    const found = await ask();
    if (found !== null && found !== false) refusedWebhooks.giveBack(address);
    return found;
  }

  #ignored(reason: string, event?: RoutedEvent): WebhookReceipt {
    this.logger.debug({ reason, event_id: event?.id, event_key: event?.key }, 'webhook ignored');
    return { received: true, outcome: 'ignored' };
  }
}

/** A paid checkout ignores another payment's event, so payments are not merged with other events. */
function gateOf(subject: string, { key }: RoutedEvent): string {
  return key === PAYMENT ? `payment of ${subject}` : subject;
}

/** When the event happened, in milliseconds, or null. For the metrics only. */
function instantOf(event: unknown): number | null {
  const { created_at: at } = (event ?? {}) as { readonly created_at?: unknown };
  const milliseconds = typeof at === 'string' ? Date.parse(at) : Number.NaN;
  return Number.isNaN(milliseconds) ? null : milliseconds;
}
