import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import { ApiBody, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { OpenForBytes } from '../auth/access.js';
import { addressKey } from '../edge/address-key.js';
import { Answers, DescribesOpen } from '../openapi/decorators.js';
import * as examples from '../openapi/examples.js';
import { Problem } from '../problems/problem.js';
import { receipt, WebhooksService, type Receipt } from './webhooks.service.js';

@ApiTags('webhooks')
@Controller('webhooks')
export class WebhooksController {
  constructor(private readonly webhooks: WebhooksService) {}

  @Post('provider')
  @HttpCode(200)
  @OpenForBytes()
  @ApiBody({
    description: 'An event, as the provider signed it',
    schema: { type: 'object' },
    examples: { payment: { value: examples.event } },
  })
  @DescribesOpen('receiveWebhook', 'Takes an event of the provider as a hint to look', [
    'invalid_request',
    'signature_invalid',
    'body_too_large',
    'unsupported_media_type',
    'temporal_unavailable',
    'overloaded',
  ])
  @Answers(200, 'Durable: it need not be sent again', receipt, { received: true, outcome: 'hinted' })
  receive(@Body() bytes: unknown, @Req() { headers, ip }: FastifyRequest): Promise<Receipt> {
    if (!Buffer.isBuffer(bytes)) throw new Problem('invalid_request', 'The body is empty');
    return this.webhooks.receive({ bytes, headers, address: addressKey(ip) });
  }
}
