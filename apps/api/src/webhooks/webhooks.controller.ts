import { Controller, Headers, HttpCode, Post, RawBody } from '@nestjs/common';
import { ApiBody, ApiTags } from '@nestjs/swagger';
import { Open } from '../auth/auth.guard.js';
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
  @Open()
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
  ])
  @Answers(200, 'Durable: it need not be sent again', receipt, { received: true, outcome: 'hinted' })
  receive(
    @RawBody() rawBody: Buffer | undefined,
    @Headers() headers: Readonly<Record<string, string | string[] | undefined>>,
  ): Promise<Receipt> {
    if (rawBody === undefined) throw new Problem('invalid_request', 'The body is empty');
    return this.webhooks.receive(rawBody, headers);
  }
}
