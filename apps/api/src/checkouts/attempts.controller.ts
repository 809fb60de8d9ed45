import { Body, Controller, Param, Post, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Requires } from '../auth/access.js';
import { AskedBy, type Asker } from '../auth/asker.js';
import { Answers, Describes } from '../openapi/decorators.js';
import * as examples from '../openapi/examples.js';
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
  @Describes('newAttempt', 'Makes a new attempt in place of an open, expired or failed one', [
    'invalid_request',
    'not_found',
    'already_paid',
    'checkout_closed',
    'attempt_unknown',
    'too_many_attempts',
    'body_too_large',
    'unsupported_media_type',
    'checkout_unreadable',
    'temporal_unavailable',
    'overloaded',
  ])
  @Answers(
    201,
    'The checkout, with the attempt; the same again for the same `after`',
    checkoutReply,
    examples.secondAttempt,
  )
  @Answers(202, 'Not known yet: repeat with the same `after`, or poll `location`', checkoutReply, examples.withdrawn)
  async open(
    @Param({ schema: checkoutPath }) { id }: CheckoutPath,
    @Body({ schema: newAttempt }) body: NewAttempt,
    @AskedBy() asker: Asker,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CheckoutReply> {
    const { checkout, status } = await this.attempts.open(id, body, asker);
    void reply.status(status).header('location', checkout.location);
    return checkout;
  }
}
