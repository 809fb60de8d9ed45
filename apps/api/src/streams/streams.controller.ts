import { Controller, Get, Head, Headers, HttpCode, Param, Req, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiExcludeEndpoint, ApiHeader, ApiResponse, ApiSecurity, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { RequiresKeyOrLink } from '../auth/access.js';
import type { Caller } from '../auth/caller.js';
import { checkoutPath, type CheckoutPath } from '../checkouts/checkouts.schema.js';
import { Describes } from '../openapi/decorators.js';
import * as examples from '../openapi/examples.js';
import type { EventStream } from './event-stream.js';
import { lastEventId } from './last-event-id.js';
import { StreamsService } from './streams.service.js';

const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Some proxies would collect the events.
  'x-accel-buffering': 'no',
  // It is the last answer of its connection, which can then be closed when the process stops.
  connection: 'close',
};

@ApiTags('checkouts')
@ApiBearerAuth()
@Controller('v1/checkouts/:id/events')
export class StreamsController {
  constructor(private readonly streams: StreamsService) {}

  /** Before `GET`, whose stream would never end. */
  @Head()
  @HttpCode(200)
  @RequiresKeyOrLink('checkout')
  @ApiExcludeEndpoint()
  async head(
    @Param({ schema: checkoutPath }) { id }: CheckoutPath,
    @Req() { linkExpires }: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    await this.streams.mustExist(id, linkExpires !== undefined);
    void reply.headers(STREAM_HEADERS);
  }

  @Get()
  @RequiresKeyOrLink('checkout')
  @ApiSecurity('link')
  @Describes('watchCheckout', 'Streams the changes of a checkout as server-sent events', [
    'invalid_request',
    'not_found',
    'checkout_unreadable',
    'temporal_unavailable',
    'overloaded',
    'too_many_streams',
  ])
  @ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description: 'The newest state seen',
    schema: { type: 'string' },
  })
  @ApiResponse({
    status: 200,
    description:
      'Events named `checkout`: the state now unless it was seen, then each change. By a key the data is a `Checkout`, by a link a `CustomerCheckout`',
    content: { 'text/event-stream': { schema: { type: 'string' }, examples: examples.events } },
  })
  @ApiResponse({ status: 204, description: 'The checkout has closed: there is nothing more to tell' })
  async open(
    @Param({ schema: checkoutPath }) { id }: CheckoutPath,
    @Headers('last-event-id') seen: string | undefined,
    @Req() request: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<EventStream | undefined> {
    const stream = await this.streams.open({
      id,
      seen: lastEventId(seen),
      link: request.linkExpires === undefined ? null : { expires: request.linkExpires, address: request.ip },
      connection: reply.raw,
    });
    if (stream === null) {
      void reply.status(204);
      return undefined;
    }
    void reply.headers(STREAM_HEADERS);
    return stream;
  }
}
