import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import type { Receipt } from '@tillflow/payments-client';
import { Requires } from '../auth/access.js';
import { Answers, Describes } from '../openapi/decorators.js';
import * as examples from '../openapi/resource-examples.js';
import { READ_PROBLEMS } from '../openapi/resource-problems.js';
import type { Page } from '../provider/lists.schema.js';
import {
  listReceipts,
  receiptReply,
  receiptsReply,
  recordPath,
  type ListReceipts,
  type RecordPath,
} from './records.schema.js';
import { RecordsService } from './records.service.js';

@ApiTags('records')
@ApiBearerAuth()
@Controller('v1/receipts')
export class ReceiptsController {
  constructor(private readonly records: RecordsService) {}

  @Get()
  @Requires('ops')
  @Describes('listReceipts', 'Lists statements of fees and taxes, or searches them', READ_PROBLEMS)
  @Answers(200, 'One page of receipts', receiptsReply, examples.receipts)
  list(@Query({ schema: listReceipts }) query: ListReceipts): Promise<Page<Receipt>> {
    return this.records.receipts(query);
  }

  @Get(':id')
  @Requires('ops')
  @Describes('getReceipt', 'Reads a receipt', READ_PROBLEMS)
  @Answers(200, 'As the provider shows it', receiptReply, examples.receipt)
  get(@Param({ schema: recordPath }) { id }: RecordPath): Promise<Receipt> {
    return this.records.receipt(id);
  }
}
