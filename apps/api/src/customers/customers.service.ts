import { Injectable } from '@nestjs/common';
import { PaymentsClient, type Card, type Customer } from '@tillflow/payments-client';
import type { Asker } from '../auth/caller.js';
import { Commands } from '../commands/commands.service.js';
import type { Changed, Removed } from '../commands/commands.schema.js';
import { FAR_AHEAD, ProviderReads } from '../provider/provider-reads.js';
import type { ListQuery, Page } from '../provider/lists.schema.js';
import { ProviderLists } from '../provider/provider-lists.js';
import type { CardPath, UpdateCard } from './customers.schema.js';

/** The cards in the answer for a customer. Another route lists all. */
const SHOWN_CARDS = 100;

/** Customers at the provider, and their cards. */
@Injectable()
export class CustomersService {
  constructor(
    private readonly provider: PaymentsClient,
    private readonly commands: Commands,
    private readonly reads: ProviderReads,
    private readonly lists: ProviderLists,
  ) {}

  async get(id: string): Promise<Customer> {
    const { customers } = this.provider;
    const [customer, data] = await this.reads.read((options) =>
      Promise.all([
        customers.retrieve(id, options),
        customers.iterateCards(id, { to: FAR_AHEAD }, options).toArray({ limit: SHOWN_CARDS }),
      ]),
    );
    return {
      ...customer,
      cards: { object: 'list', total: customer.cards?.total, data },
    };
  }

  cards(id: string, query: ListQuery): Promise<Page<Card>> {
    const { customers } = this.provider;
    return this.lists.page(`cards ${id}`, query, (params, options) => customers.listCards(id, params, options));
  }

  async card({ id, card_id: card }: CardPath): Promise<Card> {
    return this.reads.read((options) => this.provider.customers.retrieveCard(id, card, options));
  }

  async update(path: CardPath, params: UpdateCard, asker: Asker): Promise<Changed<Card>> {
    const { id: customer, card_id: card } = path;
    const carried = await this.commands.carryOut({ kind: 'update_card', customer, card, params }, asker);
    if (carried.kind === 'pending') return { reply: { status: 'pending', detail: carried.detail }, status: 202 };
    return { reply: (carried.reply as Card | null) ?? (await this.card(path)), status: 200 };
  }

  /** Removes the card, so that it cannot be charged again. A second call changes nothing. */
  async remove({ id: customer, card_id: card }: CardPath, asker: Asker): Promise<Changed<Removed>> {
    const carried = await this.commands.carryOut({ kind: 'remove_card', customer, card }, asker);
    if (carried.kind === 'pending') return { reply: { status: 'pending', detail: carried.detail }, status: 202 };
    return { reply: { id: card, deleted: true }, status: 200 };
  }
}
