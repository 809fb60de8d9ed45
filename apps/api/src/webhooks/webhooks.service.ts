import { Inject, Injectable } from '@nestjs/common';
import { isNews, routeEvent, type CheckoutKey, type RoutedEvent } from '@tillflow/domain';
import { webhooks, WebhookVerificationError } from '@tillflow/payments-client';
import type { Logger } from 'pino';
import { z } from 'zod';
import { CheckoutsRepository } from '../checkouts/checkouts.repository.js';
import { LOGGER } from '../logger.provider.js';
import { Metrics } from '../metrics/metrics.js';
import { Problem } from '../problems/problem.js';
import { Settings } from '../settings.provider.js';
import { HintGate } from './hint-gate.js';

export const receipt = z
  .object({ received: z.literal(true), outcome: z.enum(['hinted', 'coalesced', 'ignored']) })
  .meta({ id: 'Receipt' });
export type Receipt = z.output<typeof receipt>;

/** Turns a webhook into a hint for the checkout that its metadata names, or, without one, that has its charge. */
@Injectable()
export class WebhooksService {
  readonly #gate = new HintGate();

  constructor(
    private readonly checkouts: CheckoutsRepository,
    private readonly settings: Settings,
    private readonly metrics: Metrics,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * @throws {Problem} `signature_invalid`; `invalid_request` for what is no JSON; `temporal_unavailable`, so that the
   * provider sends it again.
   */
  async receive(rawBody: Buffer, headers: Readonly<Record<string, string | string[] | undefined>>): Promise<Receipt> {
    const sent = this.#verified(rawBody, headers);
    try {
      const taken = await this.#take(routeEvent(sent));
      this.metrics.webhookTaken(taken.outcome);
      if (taken.outcome !== 'ignored') this.metrics.webhookHinted(instantOf(sent), Date.now());
      return taken;
    } catch (error) {
      this.metrics.webhookFailed();
      throw error;
    }
  }

  async #take(event: RoutedEvent | null): Promise<Receipt> {
    if (event === null) return this.#ignored('not an event that concerns a charge');
    if (!isNews(event)) return this.#ignored('no news of a checkout of ours', event);
    let isTaken = true;
    const passed = await this.#gate.pass(gateOf(event), async () => {
      isTaken = await this.#hint(event);
    });
    if (passed === 'coalesced') return { received: true, outcome: 'coalesced' };
    if (isTaken) return { received: true, outcome: 'hinted' };
    return this.#ignored('no open checkout: a payment of a closed one is found by the event tail', event);
  }

  /** @returns false when there is no open checkout to tell. */
  async #hint({ id, key, checkout, chargeId }: RoutedEvent): Promise<boolean> {
    const owner: CheckoutKey | null =
      checkout ?? (chargeId === null ? null : await this.checkouts.findByCharge(chargeId));
    return owner !== null && this.checkouts.hint(owner, { eventId: id, eventKey: key, chargeId });
  }

  #verified(rawBody: Buffer, headers: Readonly<Record<string, string | string[] | undefined>>): unknown {
    const secrets = this.settings.values.PROVIDER_WEBHOOK_SECRET;
    if (secrets.length === 1 && secrets[0] === 'off') return parseJson(rawBody);
    try {
      return webhooks.construct(rawBody, headers, { secrets });
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      if (error.reason === 'body_malformed') return this.#unfit(rawBody);
      this.metrics.webhookRefused(error.reason);
      this.logger.warn({ reason: error.reason }, 'webhook refused');
      throw new Problem('signature_invalid', `The signature was refused: ${error.reason}`);
    }
  }

  /** The provider signed it, so it is read as far as it can be: it is only a reason to look. */
  #unfit(rawBody: Buffer): unknown {
    const sent = parseJson(rawBody);
    this.logger.warn('a webhook is not of the shape that is known');
    return sent;
  }

  #ignored(reason: string, event?: RoutedEvent): Receipt {
    this.logger.debug({ reason, event_id: event?.id, event_key: event?.key }, 'webhook ignored');
    return { received: true, outcome: 'ignored' };
  }
}

/**
 * What floods together passes together: the news of one object of one checkout, or of one charge whose owner is sought.
 * A payment, which a paid checkout pays no heed to, does not speak for the others.
 */
function gateOf({ key, checkout, subject, chargeId }: RoutedEvent): string {
  const of = checkout === null ? `charge ${chargeId ?? ''}` : `${checkout.reference} ${subject}`;
  return key === 'charge.complete' ? `payment of ${of}` : of;
}

/** When the event happened, in milliseconds, or null. For the metrics only. */
function instantOf(event: unknown): number | null {
  const { created_at: at } = (event ?? {}) as { readonly created_at?: unknown };
  const milliseconds = typeof at === 'string' ? Date.parse(at) : Number.NaN;
  return Number.isNaN(milliseconds) ? null : milliseconds;
}

function parseJson(rawBody: Buffer): unknown {
  try {
    return JSON.parse(rawBody.toString('utf8'));
  } catch {
    throw new Problem('invalid_request', 'The body is not JSON');
  }
}
