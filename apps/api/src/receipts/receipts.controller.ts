import { Controller, Get, Headers, Param, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Caller } from '../auth/caller.js';
import { checkoutPath, type CheckoutPath } from '../checkouts/checkouts.schema.js';
import { AnswersWith, Describes, Tag } from '../openapi/decorators.js';
import { CHECKOUT_PROBLEMS } from '../openapi/problem-sets.js';
import { acceptedType } from '../shared/accepted-type.js';
import { RECEIPT_POLICY, receiptHtml } from './html.js';
import { chooseLanguage } from './languages.js';
import { receiptText } from './plain-text.js';
import {
  checkoutReceipt,
  readReceipt,
  receiptTextExample,
  type CheckoutReceipt,
  type ReadReceipt,
} from './receipts.schema.js';
import { ReceiptsService } from './receipts.service.js';

/** The first one is the default. */
const TYPES = ['application/json', 'text/html', 'text/plain'] as const;

@Tag('checkouts')
@Controller('v1/checkouts/:id/receipt')
export class ReceiptsController {
  constructor(private readonly receipts: ReceiptsService) {}

  @Get()
  @Describes(
    'getCheckoutReceipt',
    'Reads the receipt of the payment or of a refund. The till marks a second print as a copy: each read gives the same receipt',
    [...CHECKOUT_PROBLEMS, 'not_paid', 'not_refunded', 'not_acceptable'],
    {
      headers: [
        {
          name: 'Accept-Language',
          required: false,
          description: 'English, Thai (`th`), Malay (`ms`) or Simplified Chinese (`zh`). Default: English',
          schema: z.string().meta({ examples: ['th, en;q=0.8'] }),
        },
      ],
    },
  )
  @AnswersWith(
    200,
    'The receipt as `Accept` asks: JSON, a page to print on paper of 80 mm, or text of 42 columns. Default: JSON',
    {
      content: {
        'application/json': { schema: checkoutReceipt },
        'text/html': { schema: z.string() },
        'text/plain': { schema: z.string(), example: receiptTextExample },
      },
      headers: ['Content-Language', 'Vary'],
    },
  )
  async receipt(
    @Param({ schema: checkoutPath }) { id }: CheckoutPath,
    @Query({ schema: readReceipt }) { refund }: ReadReceipt,
    @Headers('accept') accept: string | undefined,
    @Headers('accept-language') acceptLanguage: string | undefined,
    @Req() { linkExpires }: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CheckoutReceipt | string> {
    void reply.header('vary', 'Accept, Accept-Language');
    const type = acceptedType(accept, TYPES);
    const language = chooseLanguage(acceptLanguage);
    const receipt = await this.receipts.receipt(id, refund, language, linkExpires !== undefined);
    void reply.header('content-language', language);
    switch (type) {
      case 'application/json':
        return receipt;
      case 'text/html':
        void reply.type('text/html; charset=utf-8').header('content-security-policy', RECEIPT_POLICY);
        return receiptHtml(receipt);
      case 'text/plain':
        void reply.type('text/plain; charset=utf-8');
        return receiptText(receipt);
    }
  }
}
