import { Controller, Get, Head, Headers, HttpCode, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Admits } from '../auth/access.js';
import type { Caller } from '../auth/caller.js';
import { checkoutPath, checkoutEvent, type CheckoutPath } from '../checkouts/checkouts.schema.js';
import { AnswersWith, Describes, Tag } from '../openapi/decorators.js';
import { CHECKOUT_PROBLEMS } from '../openapi/problem-sets.js';
import type { EventStream } from './event-stream.js';
import { lastEventId, lastEventIdHeader } from './streams.schema.js';
import { StreamsService } from './streams.service.js';

const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Some proxies would collect the events.
  'x-accel-buffering': 'no',
  // The connection ends with the stream, so that a process that stops can close it.
  connection: 'close',
};

@Tag('checkouts')
@Controller('v1/checkouts/:id/events')
export class StreamsController {
  constructor(private readonly streams: StreamsService) {}

  /** Declared before `GET`. Otherwise the router would answer HEAD with the stream of `GET`, which does not end. */
  @Head()
  @HttpCode(200)
  @Admits('watchCheckout')
  async head(
    @Param({ schema: checkoutPath }) { id }: CheckoutPath,
    @Req() { linkExpires }: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    await this.streams.mustExist(id, linkExpires !== undefined);
    void reply.headers(STREAM_HEADERS);
  }

  @Get()
  @Describes(
    'watchCheckout',
    'Streams the changes of a checkout as server-sent events',
    [...CHECKOUT_PROBLEMS, 'too_many_streams'],
    {
      headers: [
        {
          name: 'Last-Event-ID',
          required: false,
          description: 'The id of the newest event that the client has seen',
          schema: lastEventIdHeader,
        },
      ],
    },
  )
  @AnswersWith(
    200,
    'Events with the name `checkout`: the current state, unless `Last-Event-ID` names it, then the state after each change. Intermediate states may be skipped; the latest state is always sent.',
    { content: { 'text/event-stream': { schema: checkoutEvent } } },
  )
  @AnswersWith(204, 'The checkout has closed and will not change again')
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
      till: request.till ?? null,
      key: request.key ?? null,
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
