import { Injectable } from '@nestjs/common';
import { chargeLimits, formatInstant } from '@tillflow/domain';
import type { Pause } from '@tillflow/temporal';
import { Settings } from '../providers.js';
import { Acceptance } from './acceptance.js';
import type { AvailabilityReply } from './availability.schema.js';
import { ProviderStatus } from './provider-status.js';

/** What a till shows before a customer is asked to pay. */
@Injectable()
export class AvailabilityService {
  constructor(
    private readonly acceptance: Acceptance,
    private readonly providerStatus: ProviderStatus,
    private readonly settings: Settings,
  ) {}

  async get(): Promise<AvailabilityReply> {
    const [pause, { status, since }] = await Promise.all([this.acceptance.pause(), this.providerStatus.current()]);
    const provider = { status, since: since === null ? null : formatInstant(since) };
    return { ...acceptanceOf(pause, provider), provider, currencies: this.#currencies() };
  }

  #currencies(): AvailabilityReply['currencies'] {
    return this.settings.values.CURRENCIES.map((currency) => {
      const { min, max } = chargeLimits(currency);
      return { currency, minimum: min, maximum: max };
    });
  }
}

/** A pause comes first, because only a person ends it. A provider whose failures are unconfirmed counts as working. */
export function acceptanceOf(
  pause: Pause | null,
  { status, since }: AvailabilityReply['provider'],
): Pick<AvailabilityReply, 'accepting' | 'reason' | 'since'> {
  if (pause !== null) return { accepting: false, reason: pause.reason, since: pause.since };
  if (status === 'failing') return { accepting: false, reason: 'The payment provider does not answer', since };
  return { accepting: true, reason: null, since: null };
}
