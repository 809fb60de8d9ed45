import { Body, Controller, HttpCode, Param, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { addressKey } from '../edge/client-address.js';
import { Answers, Describes, Tag } from '../openapi/decorators.js';
import { Problem } from '../problems/problem.js';
import { Settings } from '../providers.js';
import {
  SIGNATURE_HEADERS,
  webhookBody,
  webhookPath,
  webhookReceipt,
  type WebhookPath,
  type WebhookReceipt,
} from './webhooks.schema.js';
import { WebhooksService } from './webhooks.service.js';

@Tag('webhooks')
@Controller('webhooks')
export class WebhooksController {
  constructor(
    private readonly webhooks: WebhooksService,
    private readonly settings: Settings,
  ) {}

  @Post('provider')
  @HttpCode(200)
  @Describes(
    'receiveWebhook',
    'Receives an event of the provider. The API uses it only as a hint to read the charge',
    ['signature_invalid', 'rate_limited', 'temporal_unavailable', 'overloaded'],
    { headers: SIGNATURE_HEADERS, body: { type: 'application/json', schema: webhookBody } },
  )
  @Answers(200, 'The hint is stored. The provider need not send the event again', webhookReceipt)
  receive(@Body() bytes: unknown, @Req() request: FastifyRequest): Promise<WebhookReceipt> {
    return this.#receive(bytes, request);
  }

  @Post('provider/:account')
  @HttpCode(200)
  @Describes(
    'receiveAccountWebhook',
    'Receives an event of one account at the provider, where the installation has several',
    ['not_found', 'signature_invalid', 'rate_limited', 'temporal_unavailable', 'overloaded'],
    { headers: SIGNATURE_HEADERS, body: { type: 'application/json', schema: webhookBody } },
  )
  @Answers(200, 'The hint is stored. The provider need not send the event again', webhookReceipt)
  async receiveFor(
    @Param({ schema: webhookPath }) { account }: WebhookPath,
    @Body() bytes: unknown,
    @Req() request: FastifyRequest,
  ): Promise<WebhookReceipt> {
    if (account !== this.settings.account) throw this.webhooks.refuseUnknown(addressKey(request.ip));
    return this.#receive(bytes, request);
  }

  async #receive(bytes: unknown, { headers, ip }: FastifyRequest): Promise<WebhookReceipt> {
    if (!Buffer.isBuffer(bytes)) throw new Problem('invalid_request', 'The body is empty');
    return this.webhooks.receive({ bytes, headers, address: addressKey(ip) });
  }
}
