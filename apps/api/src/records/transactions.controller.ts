import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import type { Transaction } from '@tillflow/payments-client';
import { Requires } from '../auth/access.js';
import { Answers, Describes } from '../openapi/decorators.js';
import * as examples from '../openapi/resource-examples.js';
import { READ_PROBLEMS } from '../openapi/resource-problems.js';
import { listQuery, type ListQuery, type Page } from '../provider/lists.schema.js';
import { transactionReply, transactionsReply, recordPath, type RecordPath } from './records.schema.js';
import { RecordsService } from './records.service.js';

@ApiTags('records')
@ApiBearerAuth()
@Controller('v1/transactions')
export class TransactionsController {
  constructor(private readonly records: RecordsService) {}

  @Get()
  @Requires('ops')
  @Describes('listTransactions', 'Lists movements of the balance', READ_PROBLEMS)
  @Answers(200, 'One page of transactions', transactionsReply, examples.transactions)
  list(@Query({ schema: listQuery }) query: ListQuery): Promise<Page<Transaction>> {
    return this.records.transactions(query);
  }

  @Get(':id')
  @Requires('ops')
  @Describes('getTransaction', 'Reads a transaction', READ_PROBLEMS)
  @Answers(200, 'As the provider shows it', transactionReply, examples.transaction)
  get(@Param({ schema: recordPath }) { id }: RecordPath): Promise<Transaction> {
    return this.records.transaction(id);
  }
}
