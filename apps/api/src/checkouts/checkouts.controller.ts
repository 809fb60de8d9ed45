import { Body, Controller, Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiProduces, ApiResponse, ApiSecurity, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Requires, RequiresKeyOrLink } from '../auth/access.js';
import type { Caller } from '../auth/caller.js';
import { AskedBy, type Asker } from '../auth/asker.js';
import { Answers, Describes } from '../openapi/decorators.js';
import * as examples from '../openapi/examples.js';
import {
  checkoutPath,
  checkoutReply,
  checkoutsReply,
  createCheckout,
  listCheckouts,
  timelineReply,
  type CheckoutPath,
  type CheckoutReply,
  type CheckoutsReply,
  type CreateCheckout,
  type ListCheckouts,
  type TimelineReply,
} from './checkouts.schema.js';
import { CheckoutsService } from './checkouts.service.js';
import { QrService } from './qr.service.js';

@ApiTags('checkouts')
@ApiBearerAuth()
@Controller('v1/checkouts')
export class CheckoutsController {
  constructor(
    private readonly checkouts: CheckoutsService,
    private readonly qrs: QrService,
  ) {}

  @Post()
  @Requires('checkout')
  @Describes('createCheckout', 'Begins a checkout, or answers with the one that its reference has', [
    'invalid_request',
    'reference_conflict',
    'body_too_large',
    'unsupported_media_type',
    'amount_out_of_range',
    'unsupported_currency',
    'source_mismatch',
    'provider_unavailable',
    'checkout_unreadable',
    'temporal_unavailable',
    'overloaded',
  ])
  @Answers(201, 'A new checkout, with its QR', checkoutReply, examples.awaiting)
  @Answers(200, 'The checkout that this reference has, also after it closed', checkoutReply, examples.paid)
  @Answers(
    202,
    'The QR is not there yet, or nothing confirmed in time that the checkout began: repeat the request, or poll `location`, after `Retry-After`',
    checkoutReply,
    examples.creating,
  )
  async create(
    @Body({ schema: createCheckout }) body: CreateCheckout,
    @AskedBy() asker: Asker,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CheckoutReply> {
    const { checkout, status } = await this.checkouts.begin(body, asker);
    void reply.status(status).header('location', checkout.location);
    return checkout;
  }

  @Get()
  @Requires('checkout')
  @Describes('listCheckouts', 'Lists checkouts', ['invalid_request', 'temporal_unavailable', 'overloaded'])
  @Answers(
    200,
    'Open ones (`creating`, `awaiting_payment`) first, then all others; in each the newest first by `created_at`, then by `id`. The order is the same across pages. A page may have fewer than `limit`: only `next_cursor` null is the end',
    checkoutsReply,
    examples.checkouts,
  )
  list(@Query({ schema: listCheckouts }) query: ListCheckouts): Promise<CheckoutsReply> {
    return this.checkouts.list(query);
  }

  @Get(':id')
  @Requires('checkout')
  @Describes('getCheckout', 'Reads a checkout', [
    'invalid_request',
    'not_found',
    'checkout_unreadable',
    'temporal_unavailable',
    'overloaded',
  ])
  @Answers(200, 'The checkout as it is known now', checkoutReply, examples.paid)
  get(@Param({ schema: checkoutPath }) { id }: CheckoutPath): Promise<CheckoutReply> {
    return this.checkouts.get(id);
  }

  @Post(':id/cancel')
  @HttpCode(200)
  @Requires('checkout')
  @Describes('cancelCheckout', 'Ends an unpaid checkout', [
    'invalid_request',
    'not_found',
    'already_paid',
    'checkout_unreadable',
    'temporal_unavailable',
    'overloaded',
  ])
  @Answers(200, 'The checkout, which takes no payment any more', checkoutReply, examples.cancelled)
  @Answers(202, 'A customer may be confirming: poll `location`', checkoutReply, examples.withdrawn)
  async cancel(
    @Param({ schema: checkoutPath }) { id }: CheckoutPath,
    @AskedBy() asker: Asker,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CheckoutReply> {
    const { checkout, status } = await this.checkouts.cancel(id, asker);
    void reply.status(status).header('location', checkout.location);
    return checkout;
  }

  @Get(':id/timeline')
  @Requires('checkout')
  @Describes('getTimeline', 'Reads what happened to a checkout', [
    'invalid_request',
    'not_found',
    'checkout_unreadable',
    'temporal_unavailable',
    'overloaded',
  ])
  @Answers(200, 'What happened, the oldest first', timelineReply, examples.timeline)
  timeline(@Param({ schema: checkoutPath }) { id }: CheckoutPath): Promise<TimelineReply> {
    return this.checkouts.timeline(id);
  }

  @Get(':id/qr')
  @RequiresKeyOrLink('checkout')
  @ApiSecurity('link')
  @Describes('getQrImage', 'Shows the QR as an image', [
    'invalid_request',
    'not_found',
    'qr_gone',
    'provider_unavailable',
    'checkout_unreadable',
    'temporal_unavailable',
    'overloaded',
  ])
  @ApiProduces('image/svg+xml', 'image/png', 'image/jpeg')
  @ApiResponse({ status: 200, description: 'The image', schema: { type: 'string', format: 'binary' } })
  async qr(
    @Param({ schema: checkoutPath }) { id }: CheckoutPath,
    @Req() { linkExpires }: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    const { type, bytes } = await this.qrs.image(id, linkExpires !== undefined);
    // An SVG opened by itself could run a script.
    void reply.type(type).header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox");
    void reply.header('cache-control', 'private, max-age=5');
    return bytes;
  }
}
