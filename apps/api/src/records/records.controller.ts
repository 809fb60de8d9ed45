import { Controller, Get, Param, Query } from '@nestjs/common';
import type { Event, Receipt, Transaction } from '@tillflow/payments-client';
import { Answers, Describes, Tag } from '../openapi/decorators.js';
import { READ_PROBLEMS } from '../openapi/problem-sets.js';
import { listQuery, type ListQuery, type Page } from '../provider/lists.schema.js';
import {
  listEvents,
  listReceipts,
  providerEventReply,
  providerEventsReply,
  receiptReply,
  receiptsReply,
  recordPath,
  transactionReply,
  transactionsReply,
  type ListEvents,
  type ListReceipts,
  type RecordPath,
} from './records.schema.js';
import { RecordsService } from './records.service.js';

@Tag('records')
@Controller('v1')
export class RecordsController {
  constructor(private readonly records: RecordsService) {}

  @Get('receipts')
  @Describes('listReceipts', 'Lists or searches receipts', READ_PROBLEMS)
  @Answers(200, 'One page of receipts', receiptsReply)
  receipts(@Query({ schema: listReceipts }) query: ListReceipts): Promise<Page<Receipt>> {
    return this.records.receipts(query);
  }

  @Get('receipts/:id')
  @Describes('getReceipt', 'Reads a receipt', READ_PROBLEMS)
  @Answers(200, 'The receipt as the provider shows it', receiptReply)
  receipt(@Param({ schema: recordPath }) { id }: RecordPath): Promise<Receipt> {
    return this.records.receipt(id);
  }

  @Get('transactions')
  @Describes('listTransactions', 'Lists movements of the balance', READ_PROBLEMS)
  @Answers(200, 'One page of transactions', transactionsReply)
  transactions(@Query({ schema: listQuery }) query: ListQuery): Promise<Page<Transaction>> {
    return this.records.transactions(query);
  }

  @Get('transactions/:id')
  @Describes('getTransaction', 'Reads a transaction', READ_PROBLEMS)
  @Answers(200, 'The transaction as the provider shows it', transactionReply)
  transaction(@Param({ schema: recordPath }) { id }: RecordPath): Promise<Transaction> {
    return this.records.transaction(id);
  }

  @Get('provider-events')
  @Describes('listProviderEvents', 'Lists events of the provider', READ_PROBLEMS)
  @Answers(200, 'One page of events', providerEventsReply)
  events(@Query({ schema: listEvents }) query: ListEvents): Promise<Page<Event>> {
    return this.records.events(query);
  }

  @Get('provider-events/:id')
  @Describes('getProviderEvent', 'Reads an event of the provider', READ_PROBLEMS)
  @Answers(200, 'The event as the provider shows it', providerEventReply)
  event(@Param({ schema: recordPath }) { id }: RecordPath): Promise<Event> {
    return this.records.event(id);
  }
}
