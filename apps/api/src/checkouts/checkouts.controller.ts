import { Body, Controller, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiProduces, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Requires, RequiresKeyOrLink } from '../auth/auth.guard.js';
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
  @ApiResponse({ status: 201, description: 'A new checkout, with its QR', standardSchema: checkoutReply })
  @ApiResponse({ status: 200, description: 'The checkout that this reference has', standardSchema: checkoutReply })
  @ApiResponse({ status: 202, description: 'The QR is not there yet: poll `location`', standardSchema: checkoutReply })
  async create(
    @Body({ schema: createCheckout }) body: CreateCheckout,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CheckoutReply> {
    const { checkout, status } = await this.checkouts.begin(body);
    void reply.status(status).header('location', checkout.location);
    return checkout;
  }

  @Get()
  @Requires('checkout')
  @ApiOkResponse({
    description: 'Open ones first, then closed, the newest first in each',
    standardSchema: checkoutsReply,
  })
  list(@Query({ schema: listCheckouts }) query: ListCheckouts): Promise<CheckoutsReply> {
    return this.checkouts.list(query);
  }

  @Get(':id')
  @Requires('checkout')
  @ApiOkResponse({ standardSchema: checkoutReply })
  get(@Param({ schema: checkoutPath }) { id }: CheckoutPath): Promise<CheckoutReply> {
    return this.checkouts.get(id);
  }

  @Post(':id/cancel')
  @HttpCode(200)
  @Requires('checkout')
  @ApiOkResponse({ description: 'The checkout, which takes no payment any more', standardSchema: checkoutReply })
  @ApiResponse({
    status: 202,
    description: 'A customer may be confirming: poll `location`',
    standardSchema: checkoutReply,
  })
  async cancel(
    @Param({ schema: checkoutPath }) { id }: CheckoutPath,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CheckoutReply> {
    const { checkout, status } = await this.checkouts.cancel(id);
    void reply.status(status).header('location', checkout.location);
    return checkout;
  }

  @Get(':id/timeline')
  @Requires('checkout')
  @ApiOkResponse({ description: 'What happened, the oldest first', standardSchema: timelineReply })
  timeline(@Param({ schema: checkoutPath }) { id }: CheckoutPath): Promise<TimelineReply> {
    return this.checkouts.timeline(id);
  }

  @Get(':id/qr')
  @RequiresKeyOrLink('checkout')
  @ApiProduces('image/svg+xml', 'image/png', 'image/jpeg')
  async qr(
    @Param({ schema: checkoutPath }) { id }: CheckoutPath,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    const { type, bytes } = await this.qrs.image(id);
    // An SVG opened by itself could run a script.
    void reply.type(type).header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox");
    void reply.header('cache-control', 'private, max-age=5');
    return bytes;
  }
}
