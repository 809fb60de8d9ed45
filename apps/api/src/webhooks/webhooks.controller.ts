import { Controller, Headers, HttpCode, Post, RawBody } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Open } from '../auth/auth.guard.js';
import { Problem } from '../problems/problem.js';
import { WebhooksService, type Receipt } from './webhooks.service.js';

@ApiTags('webhooks')
@Controller('webhooks')
export class WebhooksController {
  constructor(private readonly webhooks: WebhooksService) {}

  @Post('provider')
  @HttpCode(200)
  @Open()
  @ApiOkResponse({ description: 'Durable: it need not be sent again' })
  receive(
    @RawBody() rawBody: Buffer | undefined,
    @Headers() headers: Readonly<Record<string, string | string[] | undefined>>,
  ): Promise<Receipt> {
    if (rawBody === undefined) throw new Problem('invalid_request', 'The body is empty');
    return this.webhooks.receive(rawBody, headers);
  }
}
