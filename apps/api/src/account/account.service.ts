import { Injectable } from '@nestjs/common';
import { PaymentsClient, type Account, type AccountVersions } from '@tillflow/payments-client';
import type { Asker } from '../auth/caller.js';
import { Commands } from '../commands/commands.service.js';
import type { Order } from '../commands/order.js';
import type { Changed } from '../commands/commands.schema.js';
import { ProviderReads } from '../provider/provider-reads.js';
import type { UpdateAccount } from './account.schema.js';

/** The merchant's settings at the provider. */
@Injectable()
export class AccountService {
  constructor(
    private readonly provider: PaymentsClient,
    private readonly commands: Commands,
    private readonly reads: ProviderReads,
  ) {}

  async get(): Promise<Account> {
    return this.reads.read((options) => this.provider.account.retrieve(options));
  }

  async versions(): Promise<AccountVersions> {
    return this.reads.read((options) => this.provider.account.listApiVersions(options));
  }

  update(params: UpdateAccount, asker: Asker): Promise<Changed<Account>> {
    return this.#change({ kind: 'update_account', params }, asker);
  }

  /** Moves the account to the newest version of the API. */
  upgradeApiVersion(asker: Asker): Promise<Changed<Account>> {
    return this.#change({ kind: 'upgrade_api_version' }, asker);
  }

  async #change(order: Order, asker: Asker): Promise<Changed<Account>> {
    const carried = await this.commands.carryOut(order, asker);
    if (carried.kind === 'pending') return { reply: { status: 'pending', detail: carried.detail }, status: 202 };
    return { reply: (carried.reply as Account | null) ?? (await this.get()), status: 200 };
  }
}
