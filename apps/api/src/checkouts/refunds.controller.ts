import { Body, Controller, Get, Headers, HttpCode, Param, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AskedBy, type Asker } from '../auth/caller.js';
import { Answers, Describes, Tag, type Link } from '../openapi/decorators.js';
import { CHECKOUT_PROBLEMS } from '../openapi/problem-sets.js';
import { checkoutPath, type CheckoutPath } from './checkouts.schema.js';
import { idempotencyKeyHeader, idempotencyKey } from '../shared/idempotency-key.js';
import {
  createRefund,
  decideRefund,
  refundPath,
  refundReply,
  refundsReply,
  type CreateRefund,
  type DecideRefund,
  type RefundPath,
  type RefundReply,
  type RefundsReply,
} from './refunds.schema.js';
import { RefundsService } from './refunds.service.js';

const LINKS: readonly Link[] = [
  { operationId: 'listRefunds', parameters: { id: '$request.path.id' } },
  { operationId: 'getCheckout', parameters: { id: '$request.path.id' } },
  { operationId: 'getCheckoutReceipt', parameters: { id: '$request.path.id', refund: '$response.body#/key' } },
];

/** A person needs minutes. `Location` answers at once when the person has decided. */
const APPROVAL_AFTER_S = 60;

const DECISION_PROBLEMS = [...CHECKOUT_PROBLEMS, 'refund_decided', 'second_person_required'] as const;

@Tag('refunds')
@Controller('v1/checkouts/:id/refunds')
export class RefundsController {
  constructor(private readonly refunds: RefundsService) {}

  @Post()
  @Describes(
    'createRefund',
    'Returns money to the customer: by a void where that is possible, otherwise by a refund',
    [
      ...CHECKOUT_PROBLEMS,
      'idempotency_key_required',
      'not_paid',
      'refund_window_closed',
      'idempotency_conflict',
      'too_many_refunds',
      'refund_exceeds_paid',
    ],
    {
      headers: [
        {
          name: 'Idempotency-Key',
          required: true,
          description: 'Names the refund: the same key is the same refund',
          schema: idempotencyKeyHeader,
        },
      ],
    },
  )
  @Answers(201, 'A new refund. `status` says how it ended', refundReply, { links: LINKS })
  @Answers(200, 'The refund that already has this key', refundReply, { links: LINKS })
  @Answers(
    202,
    'The outcome is not known yet, or with `needs_approval` another key must approve the refund. Repeat the request with the same key. `Location` waits until the checkout changes',
    refundReply,
    {
      headers: ['Location'],
      links: LINKS,
    },
  )
  async create(
    @Param({ schema: checkoutPath }) { id }: CheckoutPath,
    @Headers('idempotency-key') key: string | undefined,
    @Body({ schema: createRefund }) body: CreateRefund,
    @AskedBy() asker: Asker,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RefundReply> {
    const asked = await this.refunds.create(id, idempotencyKey(key), body, asker);
    void reply.status(asked.status);
    if (asked.status === 202) void reply.header('location', asked.location);
    if (asked.refund.status === 'needs_approval') void reply.header('retry-after', APPROVAL_AFTER_S);
    return asked.refund;
  }

  @Post(':key/approve')
  @HttpCode(200)
  @Describes(
    'approveRefund',
    'Lets a refund go ahead that waits for a second person. The same request again is safe',
    DECISION_PROBLEMS,
  )
  @Answers(200, 'The refund. `status` says how it ended', refundReply, { links: LINKS })
  @Answers(
    202,
    'It is approved, and the outcome is not known yet. `Location` waits until the checkout changes',
    refundReply,
    { headers: ['Location'], links: LINKS },
  )
  approve(
    @Param({ schema: refundPath }) path: RefundPath,
    @Body({ schema: decideRefund }) body: DecideRefund,
    @AskedBy() asker: Asker,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RefundReply> {
    return this.#decide('approve', path, body, asker, reply);
  }

  @Post(':key/reject')
  @HttpCode(200)
  @Describes(
    'rejectRefund',
    'Ends a refund that waits for a second person: no money moves. The same request again is safe',
    DECISION_PROBLEMS,
  )
  @Answers(200, 'The rejected refund', refundReply)
  reject(
    @Param({ schema: refundPath }) path: RefundPath,
    @Body({ schema: decideRefund }) body: DecideRefund,
    @AskedBy() asker: Asker,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RefundReply> {
    return this.#decide('reject', path, body, asker, reply);
  }

  async #decide(
    decision: 'approve' | 'reject',
    { id, key }: RefundPath,
    { reason }: DecideRefund,
    { by, origin }: Asker,
    reply: FastifyReply,
  ): Promise<RefundReply> {
    const decided = await this.refunds.decide(id, { key, decision, reason: reason ?? null, by, origin });
    void reply.status(decided.status);
    if (decided.status === 202) void reply.header('location', decided.location);
    return decided.refund;
  }

  @Get()
  @Describes('listRefunds', 'Lists the refunds of a checkout', CHECKOUT_PROBLEMS)
  @Answers(200, 'The refunds in the order of their requests', refundsReply)
  list(@Param({ schema: checkoutPath }) { id }: CheckoutPath): Promise<RefundsReply> {
    return this.refunds.list(id);
  }
}
