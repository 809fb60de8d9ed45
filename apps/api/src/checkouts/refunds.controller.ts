import { Body, Controller, Get, Headers, Param, Post, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiHeader, ApiOkResponse, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Requires } from '../auth/auth.guard.js';
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
    schema: { type: 'string', pattern: '^(?!auto:)[\\x21-\\x7e]{1,128}$' },
  })
  @ApiResponse({
    status: 201,
    description: 'A new refund; `status` says what became of it',
    standardSchema: refundReply,
  })
  @ApiResponse({ status: 200, description: 'The refund that this key has', standardSchema: refundReply })
  @ApiResponse({ status: 202, description: 'Not known yet: repeat with the same key', standardSchema: refundReply })
  async create(
    @Param({ schema: checkoutPath }) { id }: CheckoutPath,
    @Headers('idempotency-key') key: string | undefined,
    @Body({ schema: createRefund }) body: CreateRefund,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RefundReply> {
    const { refund, status } = await this.refunds.create(id, idempotencyKey(key), body);
    void reply.status(status);
    return refund;
  }

  @Get()
  @Requires('checkout')
  @ApiOkResponse({ description: 'In the order in which they were asked for', standardSchema: refundsReply })
  list(@Param({ schema: checkoutPath }) { id }: CheckoutPath): Promise<RefundsReply> {
    return this.refunds.list(id);
  }
}
