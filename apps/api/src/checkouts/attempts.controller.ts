import { Body, Controller, Param, Post, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Requires } from '../auth/auth.guard.js';
import { newAttempt, type NewAttempt } from './attempts.schema.js';
import { AttemptsService } from './attempts.service.js';
import { checkoutPath, checkoutReply, type CheckoutPath, type CheckoutReply } from './checkouts.schema.js';

@ApiTags('checkouts')
@ApiBearerAuth()
@Controller('v1/checkouts/:id/attempts')
export class AttemptsController {
  constructor(private readonly attempts: AttemptsService) {}

  @Post()
  @Requires('checkout')
  @ApiResponse({ status: 201, description: 'The checkout, with the attempt', standardSchema: checkoutReply })
  @ApiResponse({
    status: 202,
    description: 'Not known yet: repeat with the same `after`',
    standardSchema: checkoutReply,
  })
  async open(
    @Param({ schema: checkoutPath }) { id }: CheckoutPath,
    @Body({ schema: newAttempt }) body: NewAttempt,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CheckoutReply> {
    const { checkout, status } = await this.attempts.open(id, body);
    void reply.status(status).header('location', checkout.location);
    return checkout;
  }
}
