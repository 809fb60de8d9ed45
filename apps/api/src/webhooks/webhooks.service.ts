import { Inject, Injectable } from '@nestjs/common';
import { DEFAULT_ACCOUNT, parseCheckoutId } from '@tillflow/domain';
import { webhooks, WebhookVerificationError } from '@tillflow/payments-client';
import type { Logger } from 'pino';
import { z } from 'zod';
import { CheckoutsRepository } from '../checkouts/checkouts.repository.js';
import { LOGGER } from '../logger.provider.js';
import { Problem } from '../problems/problem.js';
import { Settings } from '../settings.provider.js';
import { HintGate } from './hint-gate.js';

export type Receipt = { readonly received: true; readonly outcome: 'hinted' | 'coalesced' | 'ignored' };

/** What routes a webhook. Nothing else of it is read: the charge is retrieved instead. */
const routing = z.object({
  id: z.string().max(200),
  key: z.string().max(200),
  data: z.looseObject({
    object: z.string().max(200).optional().catch(undefined),
    id: z.string().max(200).optional(),
    charge: z.string().max(200).optional().catch(undefined),
    metadata: z
      .looseObject({ checkout: z.string().max(200).optional() })
      .optional()
      .catch(undefined),
  }),
});

/** Our own calls bring these about: there is nothing to look for. */
const NO_NEWS = new Set(['charge.create']);

/** Turns a webhook into a hint for the checkout that its charge's metadata names. */
@Injectable()
export class WebhooksService {
  readonly #gate = new HintGate();

  constructor(
    private readonly checkouts: CheckoutsRepository,
    private readonly settings: Settings,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * @throws {Problem} `signature_invalid`; `temporal_unavailable`, so that the provider sends it again.
   */
  async receive(rawBody: Buffer, headers: Readonly<Record<string, string | string[] | undefined>>): Promise<Receipt> {
    const event = routing.safeParse(this.#verified(rawBody, headers));
    if (!event.success) return this.#ignored('not an event that concerns a charge');
    const { id, key, data } = event.data;
    const checkout = parseCheckoutId(data.metadata?.checkout ?? '');
    if (checkout === null || checkout.account !== DEFAULT_ACCOUNT) return this.#ignored('no checkout of ours', id, key);
    if (NO_NEWS.has(key)) return this.#ignored('no news', id, key);
    let open = true;
    const passed = await this.#gate.pass(`${checkout.reference} ${data.id ?? ''}`, async () => {
      open = await this.checkouts.hint(checkout, { eventId: id, eventKey: key, chargeId: chargeOf(data) });
    });
    if (passed === 'coalesced') return { received: true, outcome: 'coalesced' };
    return open ? { received: true, outcome: 'hinted' } : this.#ignored('the checkout is closed', id, key);
  }

  #verified(rawBody: Buffer, headers: Readonly<Record<string, string | string[] | undefined>>): unknown {
    const secrets = this.settings.values.PROVIDER_WEBHOOK_SECRET;
    if (secrets.length === 1 && secrets[0] === 'off') return parseJson(rawBody);
    try {
      return webhooks.construct(rawBody, headers, { secrets });
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      this.logger.warn({ reason: error.reason }, 'webhook refused');
      throw new Problem('signature_invalid', `The signature was refused: ${error.reason}`);
    }
  }

  #ignored(reason: string, event_id?: string, event_key?: string): Receipt {
    this.logger.debug({ reason, event_id, event_key }, 'webhook ignored');
    return { received: true, outcome: 'ignored' };
  }
}

/** The charge that an event is about: itself, or the one that a refund is of. Null: all of the checkout. */
function chargeOf({ object, id, charge }: { object?: string; id?: string; charge?: string }): string | null {
  const found = object === 'charge' ? id : charge;
  return found !== undefined && /^chrg_\w+$/.test(found) ? found : null;
}

function parseJson(rawBody: Buffer): unknown {
  try {
    return JSON.parse(rawBody.toString('utf8'));
  } catch {
    throw new Problem('invalid_request', 'The body is not JSON');
  }
}
