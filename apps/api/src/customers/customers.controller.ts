import { Body, Controller, Delete, Get, Param, Patch, Query, Res } from '@nestjs/common';
import type { Card, Customer } from '@tillflow/payments-client';
import type { FastifyReply } from 'fastify';
import { AskedBy, type Asker } from '../auth/caller.js';
import { pendingChange, removed, type PendingChange, type Removed } from '../commands/commands.schema.js';
import { Answers, Describes, Tag } from '../openapi/decorators.js';
import { COMMAND_PROBLEMS, READ_PROBLEMS } from '../openapi/problem-sets.js';
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

@Tag('customers')
@Controller('v1/customers/:id')
export class CustomersController {
  constructor(private readonly customers: CustomersService) {}

  @Get()
  @Describes('getCustomer', 'Reads a customer and the cards', READ_PROBLEMS)
  @Answers(200, 'The customer as the provider shows it', customerReply)
  get(@Param({ schema: customerPath }) { id }: CustomerPath): Promise<Customer> {
    return this.customers.get(id);
  }

  @Get('cards')
  @Describes('listCards', 'Lists the cards of a customer', READ_PROBLEMS)
  @Answers(200, 'One page of cards', cardsReply)
  cards(
    @Param({ schema: customerPath }) { id }: CustomerPath,
    @Query({ schema: listQuery }) query: ListQuery,
  ): Promise<Page<Card>> {
    return this.customers.cards(id, query);
  }

  @Get('cards/:card_id')
  @Describes('getCard', 'Reads a card', READ_PROBLEMS)
  @Answers(200, 'The card as the provider shows it', cardReply)
  card(@Param({ schema: cardPath }) path: CardPath): Promise<Card> {
    return this.customers.card(path);
  }

  @Patch('cards/:card_id')
  @Describes('updateCard', 'Changes a card', [...COMMAND_PROBLEMS, 'change_in_progress'])
  @Answers(200, 'The card after the change', cardReply)
  @Answers(202, 'The outcome is not known yet. Repeat the request', pendingChange)
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
  @Describes('removeCard', 'Removes a card, so that it cannot be charged again', COMMAND_PROBLEMS)
  @Answers(200, 'The card is removed', removed)
  @Answers(202, 'The outcome is not known yet. Repeat the request', pendingChange)
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
