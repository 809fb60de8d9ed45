import { Body, Controller, Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AskedBy, type Asker, type Caller } from '../auth/caller.js';
import { Answers, AnswersWith, Describes, Tag, type Link } from '../openapi/decorators.js';
import { CHECKOUT_PROBLEMS } from '../openapi/problem-sets.js';
import { AttemptsService } from './attempts.service.js';
import {
  checkoutPath,
  checkoutReply,
  checkoutsReply,
  createCheckout,
  listCheckouts,
  newAttempt,
  readCheckout,
  timelineReply,
  type CheckoutPath,
  type CheckoutReply,
  type CheckoutsReply,
  type CreateCheckout,
  type ListCheckouts,
  type NewAttempt,
  type ReadCheckout,
  type TimelineReply,
} from './checkouts.schema.js';
import { CheckoutsService } from './checkouts.service.js';
import { WaitingService } from '../streams/waiting.service.js';
import { QrService } from './qr.service.js';

/** The routes of the checkout that an answer holds. */
const CREATED = [
  'getCheckout',
  'cancelCheckout',
  'createAttempt',
  'getTimeline',
  'createRefund',
  'listRefunds',
  'getQrImage',
];
const LINKS: readonly Link[] = CREATED.map((operationId) => ({
  operationId,
  parameters: { id: '$response.body#/id' },
}));
const AT_LOCATION = { headers: ['Location'], links: LINKS } as const;

@Tag('checkouts')
@Controller('v1/checkouts')
export class CheckoutsController {
  constructor(
    private readonly checkouts: CheckoutsService,
    private readonly waiting: WaitingService,
    private readonly attempts: AttemptsService,
    private readonly qrs: QrService,
  ) {}

  @Post()
  @Describes('createCheckout', 'Creates a checkout, or answers with the one that already has this reference', [
    'reference_conflict',
    'amount_out_of_range',
    'unsupported_currency',
    'source_mismatch',
    'provider_unavailable',
    'checkout_unreadable',
    'not_accepting',
    'temporal_unavailable',
    'overloaded',
  ])
  @Answers(201, 'A new checkout with its QR code', checkoutReply, AT_LOCATION)
  @Answers(200, 'The checkout that already has this reference, open or closed', checkoutReply, AT_LOCATION)
  @Answers(
    202,
    'The QR code is not there yet, or Temporal did not confirm the checkout in time. After `Retry-After`, repeat the request or read `location`, which waits for the QR code',
    checkoutReply,
    AT_LOCATION,
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
  @Describes('listCheckouts', 'Lists checkouts', ['temporal_unavailable', 'overloaded'])
  @Answers(
    200,
    'Open checkouts (`creating`, `awaiting_payment`) come first. Each part is sorted by `created_at`, the newest first, then by `id`. The order is the same on all pages. A page may have fewer than `limit` checkouts: only a null `next_cursor` marks the end',
    checkoutsReply,
  )
  list(@Query({ schema: listCheckouts }) query: ListCheckouts, @AskedBy() asker: Asker): Promise<CheckoutsReply> {
    return this.checkouts.list(query, asker);
  }

  @Get(':id')
  @Describes('getCheckout', 'Reads a checkout, with `wait` once it has changed', CHECKOUT_PROBLEMS)
  @Answers(200, 'The checkout in its latest known state', checkoutReply)
  get(
    @Param({ schema: checkoutPath }) { id }: CheckoutPath,
    @Query({ schema: readCheckout }) query: ReadCheckout,
    @AskedBy() asker: Asker,
  ): Promise<CheckoutReply> {
    return this.waiting.get(id, query, asker);
  }

  @Post(':id/cancel')
  @HttpCode(200)
  @Describes('cancelCheckout', 'Ends an unpaid checkout', [...CHECKOUT_PROBLEMS, 'already_paid'])
  @Answers(200, 'The checkout, which accepts no payment any more', checkoutReply, AT_LOCATION)
  @Answers(202, 'The customer may be confirming the payment. Read `location`', checkoutReply, AT_LOCATION)
  async cancel(
    @Param({ schema: checkoutPath }) { id }: CheckoutPath,
    @AskedBy() asker: Asker,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CheckoutReply> {
    const { checkout, status } = await this.checkouts.cancel(id, asker);
    void reply.status(status).header('location', checkout.location);
    return checkout;
  }

  @Post(':id/attempts')
  @Describes('createAttempt', 'Creates a new attempt in place of an open, expired or failed one', [
    ...CHECKOUT_PROBLEMS,
    'already_paid',
    'checkout_closed',
    'attempt_unknown',
    'too_many_attempts',
    'not_accepting',
  ])
  @Answers(
    201,
    'The checkout with the new attempt. The same `after` gives the same attempt again',
    checkoutReply,
    AT_LOCATION,
  )
  @Answers(
    202,
    'The outcome is not known yet. Repeat the request with the same `after`, or read `location`',
    checkoutReply,
    AT_LOCATION,
  )
  async attempt(
    @Param({ schema: checkoutPath }) { id }: CheckoutPath,
    @Body({ schema: newAttempt }) body: NewAttempt,
    @AskedBy() asker: Asker,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CheckoutReply> {
    const { checkout, status } = await this.attempts.open(id, body, asker);
    void reply.status(status).header('location', checkout.location);
    return checkout;
  }

  @Get(':id/timeline')
  @Describes('getTimeline', 'Reads the timeline of a checkout', CHECKOUT_PROBLEMS)
  @Answers(200, 'The entries of the timeline, the oldest first', timelineReply)
  timeline(@Param({ schema: checkoutPath }) { id }: CheckoutPath): Promise<TimelineReply> {
    return this.checkouts.timeline(id);
  }

  @Get(':id/qr')
  @Describes('getQrImage', 'Reads the QR code as an image', [...CHECKOUT_PROBLEMS, 'qr_gone', 'provider_unavailable'])
  @AnswersWith(200, 'The image', { content: { 'image/svg+xml': {}, 'image/png': {}, 'image/jpeg': {} } })
  async qr(
    @Param({ schema: checkoutPath }) { id }: CheckoutPath,
    @Req() { linkExpires }: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    const { type, bytes } = await this.qrs.image(id, linkExpires !== undefined);
    // An SVG that a browser opens as a page could run a script.
    void reply.type(type).header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox");
    void reply.header('cache-control', 'private, max-age=5');
    return bytes;
  }
}
