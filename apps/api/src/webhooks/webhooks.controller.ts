import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { OpenForBytes } from '../auth/access.js';
import { addressKey } from '../edge/client-address.js';
import { Answers, Describes, Tag } from '../openapi/decorators.js';
import { Problem } from '../problems/problem.js';
import { SIGNATURE_HEADERS, webhookBody, webhookReceipt, type WebhookReceipt } from './webhooks.schema.js';
import { WebhooksService } from './webhooks.service.js';

@Tag('webhooks')
@Controller('webhooks')
export class WebhooksController {
  constructor(private readonly webhooks: WebhooksService) {}

  @Post('provider')
  @HttpCode(200)
  @OpenForBytes()
  @Describes(
    'receiveWebhook',
    'Receives an event of the provider. The API uses it only as a hint to read the charge',
    ['signature_invalid', 'rate_limited', 'temporal_unavailable', 'overloaded'],
    { headers: SIGNATURE_HEADERS, body: { type: 'application/json', schema: webhookBody } },
  )
  @Answers(200, 'The hint is stored. The provider need not send the event again', webhookReceipt)
  receive(@Body() bytes: unknown, @Req() { headers, ip }: FastifyRequest): Promise<WebhookReceipt> {
    if (!Buffer.isBuffer(bytes)) throw new Problem('invalid_request', 'The body is empty');
    return this.webhooks.receive({ bytes, headers, address: addressKey(ip) });
  }
}
