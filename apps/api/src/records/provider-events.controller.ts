import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import type { Event } from '@tillflow/payments-client';
import { Requires } from '../auth/access.js';
import { Answers, Describes } from '../openapi/decorators.js';
import * as examples from '../openapi/resource-examples.js';
import { READ_PROBLEMS } from '../openapi/resource-problems.js';
import type { Page } from '../provider/lists.schema.js';
import {
  listEvents,
  providerEventReply,
  providerEventsReply,
  recordPath,
  type ListEvents,
  type RecordPath,
} from './records.schema.js';
import { RecordsService } from './records.service.js';

@ApiTags('records')
@ApiBearerAuth()
@Controller('v1/provider-events')
export class ProviderEventsController {
  constructor(private readonly records: RecordsService) {}

  @Get()
  @Requires('ops')
  @Describes('listProviderEvents', 'Lists what happened at the provider', READ_PROBLEMS)
  @Answers(200, 'One page of events', providerEventsReply, examples.providerEvents)
  list(@Query({ schema: listEvents }) query: ListEvents): Promise<Page<Event>> {
    return this.records.events(query);
  }

  @Get(':id')
  @Requires('ops')
  @Describes('getProviderEvent', 'Reads an event of the provider', READ_PROBLEMS)
  @Answers(200, 'As the provider shows it', providerEventReply, examples.providerEvent)
  get(@Param({ schema: recordPath }) { id }: RecordPath): Promise<Event> {
    return this.records.event(id);
  }
}
