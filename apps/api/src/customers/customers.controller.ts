import { Body, Controller, Delete, Get, Param, Patch, Query, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import type { Card, Customer } from '@tillflow/payments-client';
import type { FastifyReply } from 'fastify';
import { Requires } from '../auth/access.js';
import { AskedBy, type Asker } from '../auth/asker.js';
import { pendingChange, removed, type PendingChange, type Removed } from '../commands/pending.js';
import { Answers, Describes } from '../openapi/decorators.js';
import * as examples from '../openapi/resource-examples.js';
import { COMMAND_PROBLEMS, READ_PROBLEMS } from '../openapi/resource-problems.js';
import { listQuery, type ListQuery, type Page } from '../provider/lists.schema.js';
import {
  cardPath,
  cardReply,
  cardsReply,
  customerPath,
  customerReply,
  updateCard,
  type CardPath,
  type CustomerPath,
  type UpdateCard,
} from './customers.schema.js';
import { CustomersService } from './customers.service.js';

@ApiTags('customers')
@ApiBearerAuth()
@Controller('v1/customers/:id')
export class CustomersController {
  constructor(private readonly customers: CustomersService) {}

  @Get()
  @Requires('ops')
  @Describes('getCustomer', 'Reads a customer with the cards', READ_PROBLEMS)
  @Answers(200, 'The customer as the provider shows it', customerReply, examples.customer)
  get(@Param({ schema: customerPath }) { id }: CustomerPath): Promise<Customer> {
    return this.customers.get(id);
  }

  @Get('cards')
  @Requires('ops')
  @Describes('listCards', 'Lists the cards of a customer', READ_PROBLEMS)
  @Answers(200, 'One page of cards', cardsReply, examples.cards)
  cards(
    @Param({ schema: customerPath }) { id }: CustomerPath,
    @Query({ schema: listQuery }) query: ListQuery,
  ): Promise<Page<Card>> {
    return this.customers.cards(id, query);
  }

  @Get('cards/:card_id')
  @Requires('ops')
  @Describes('getCard', 'Reads a card', READ_PROBLEMS)
  @Answers(200, 'The card as the provider shows it', cardReply, examples.card)
  card(@Param({ schema: cardPath }) path: CardPath): Promise<Card> {
    return this.customers.card(path);
  }

  @Patch('cards/:card_id')
  @Requires('ops')
  @Describes('updateCard', 'Changes what is known of a card', [
    ...COMMAND_PROBLEMS,
    'change_in_progress',
    'body_too_large',
    'unsupported_media_type',
  ])
  @Answers(200, 'The card after the change', cardReply, examples.card)
  @Answers(202, 'Its outcome is not known yet: repeat the request', pendingChange, examples.pendingChange)
  async update(
    @Param({ schema: cardPath }) path: CardPath,
    @Body({ schema: updateCard }) body: UpdateCard,
    @AskedBy() asker: Asker,
    @Res({ passthrough: true }) answer: FastifyReply,
  ): Promise<Card | PendingChange> {
    const { reply, status } = await this.customers.update(path, body, asker);
    void answer.status(status);
    return reply;
  }

  @Delete('cards/:card_id')
  @Requires('ops')
  @Describes('removeCard', 'Removes a card: it is charged no more', COMMAND_PROBLEMS)
  @Answers(200, 'It is gone', removed, examples.removedCard)
  @Answers(202, 'Its outcome is not known yet: repeat the request', pendingChange, examples.pendingChange)
  async remove(
    @Param({ schema: cardPath }) path: CardPath,
    @AskedBy() asker: Asker,
    @Res({ passthrough: true }) answer: FastifyReply,
  ): Promise<Removed | PendingChange> {
    const { reply, status } = await this.customers.remove(path, asker);
    void answer.status(status);
    return reply;
  }
}
