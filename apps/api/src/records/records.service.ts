import { Injectable } from '@nestjs/common';
import { PaymentsClient, type Event, type Receipt, type Transaction } from '@tillflow/payments-client';
import type { ListQuery, Page } from '../provider/lists.schema.js';
import { ProviderLists } from '../provider/provider-lists.js';
import { ProviderReads } from '../provider/provider-reads.js';
import { isSearch, type ListEvents, type ListReceipts } from './records.schema.js';

/** Read-only records of the provider: receipts, transactions, events. */
@Injectable()
export class RecordsService {
  constructor(
    private readonly provider: PaymentsClient,
    private readonly reads: ProviderReads,
    private readonly lists: ProviderLists,
  ) {}

  receipts(list: ListReceipts): Promise<Page<Receipt>> {
    const { receipts } = this.provider;
    if (!isSearch(list)) return this.lists.page('receipts', list, (params, options) => receipts.list(params, options));
    const { query, created, order, cursor } = list;
    const filters = { created };
    return this.lists.search('receipts', cursor, { query, order, filters }, (page, options) =>
      receipts.search({ query, order, filters, page }, options),
    );
  }

  async receipt(id: string): Promise<Receipt> {
    return this.reads.read((options) => this.provider.receipts.retrieve(id, options));
  }

  transactions(list: ListQuery): Promise<Page<Transaction>> {
    const { transactions } = this.provider;
    return this.lists.page('transactions', list, (params, options) => transactions.list(params, options));
  }

  async transaction(id: string): Promise<Transaction> {
    return this.reads.read((options) => this.provider.transactions.retrieve(id, options));
  }

  events({ charge, ...list }: ListEvents): Promise<Page<Event>> {
    const { charges, events } = this.provider;
    if (charge !== undefined) {
      return this.lists.page(`events ${charge}`, list, (params, options) =>
        charges.listEvents(charge, params, options),
      );
    }
    return this.lists.page('events', list, (params, options) => events.list(params, options));
  }

  async event(id: string): Promise<Event> {
    return this.reads.read((options) => this.provider.events.retrieve(id, options));
  }
}
