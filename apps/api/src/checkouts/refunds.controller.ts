import { Body, Controller, Get, Headers, Param, Post, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiHeader, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Requires } from '../auth/access.js';
import { AskedBy, type Asker } from '../auth/asker.js';
import { Answers, Describes } from '../openapi/decorators.js';
import * as examples from '../openapi/examples.js';
import { checkoutPath, type CheckoutPath } from './checkouts.schema.js';
import { idempotencyKey } from './idempotency-key.js';
import {
  createRefund,
  refundReply,
  refundsReply,
  type CreateRefund,
  type RefundReply,
  type RefundsReply,
} from './refunds.schema.js';
import { RefundsService } from './refunds.service.js';

@ApiTags('refunds')
@ApiBearerAuth()
@Controller('v1/checkouts/:id/refunds')
export class RefundsController {
  constructor(private readonly refunds: RefundsService) {}

  @Post()
  @Requires('checkout')
  @ApiHeader({
    name: 'Idempotency-Key',
    required: true,
    description: 'Names the refund: the same key is the same refund',
    example: examples.refund.key,
    schema: { type: 'string', pattern: '^(?!auto:)[\\x21-\\x7e]{1,128}$' },
  })
  @Describes('createRefund', 'Gives money back: by a void where that is possible, else by a refund', [
    'invalid_request',
    'idempotency_key_required',
    'not_found',
    'not_paid',
    'refund_window_closed',
    'idempotency_conflict',
    'too_many_refunds',
    'body_too_large',
    'unsupported_media_type',
    'refund_exceeds_paid',
    'checkout_unreadable',
    'temporal_unavailable',
    'overloaded',
  ])
  @Answers(201, 'A new refund that the provider has decided: `status` says how', refundReply, examples.refund)
  @Answers(200, 'The refund that this key has', refundReply, examples.refund)
  @Answers(202, 'Its outcome is not known yet: repeat with the same key', refundReply, examples.pendingRefund)
  async create(
    @Param({ schema: checkoutPath }) { id }: CheckoutPath,
    @Headers('idempotency-key') key: string | undefined,
    @Body({ schema: createRefund }) body: CreateRefund,
    @AskedBy() asker: Asker,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RefundReply> {
    const { refund, status } = await this.refunds.create(id, idempotencyKey(key), body, asker);
    void reply.status(status);
    if (status === 202) void reply.header('location', `/v1/checkouts/${id}/refunds`);
    return refund;
  }

  @Get()
  @Requires('checkout')
  @Describes('listRefunds', 'Lists the refunds of a checkout', [
    'invalid_request',
    'not_found',
    'checkout_unreadable',
    'temporal_unavailable',
    'overloaded',
  ])
  @Answers(200, 'In the order in which they were asked for', refundsReply, examples.refunds)
  list(@Param({ schema: checkoutPath }) { id }: CheckoutPath): Promise<RefundsReply> {
    return this.refunds.list(id);
  }
}
