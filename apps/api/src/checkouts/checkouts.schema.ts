import { CHECKOUT_STATUSES, chargeLimits, CURRENCIES, MAX_SLIP_REFERENCE, REFERENCE } from '@tillflow/domain';
import { ATTENTION_CODES } from '@tillflow/workflows';
import { z } from 'zod';
import {
  amount,
  ASKER,
  checkoutId,
  currency,
  cursor,
  metadataFields,
  nextCursor,
  paymentCurrency,
  providerId,
  readableTime,
  text,
  time,
  wholeNumber,
} from '../shared/fields.schema.js';

/** Names in a charge's metadata that route its webhooks. */
const RESERVED_METADATA = ['checkout', 'attempt', 'refund_key'] as const;

export const reference = z
  .string()
  .regex(REFERENCE, '1 to 64 of A-Z a-z 0-9 . _ -')
  .meta({ description: 'Unique per account: the same reference is the same checkout', examples: ['till-7-000142'] });

export const storeId = z.string().regex(REFERENCE, '1 to 64 of A-Z a-z 0-9 . _ -');
export const terminal = text(64, 1);

/** The provider's limits in each currency. An amount outside has a problem of its own, `amount_out_of_range`. */
const LIMITS = {
  anyOf: CURRENCIES.map((code) => {
    const { min: minimum, max: maximum } = chargeLimits(code);
    return { properties: { currency: { const: code }, amount: { minimum, maximum } } };
  }),
};

export const storeReply = z.object({ id: storeId, name: z.string().nullable() }).nullable();

export const createCheckout = z
  .strictObject({
    reference,
    amount: z.int().positive().meta({ description: 'In the smallest currency unit' }),
    currency: paymentCurrency,
    description: text(255).optional(),
    metadata: metadataFields(RESERVED_METADATA).optional(),
    expires_in: z
      .int()
      .min(5)
      .max(86_400)
      .default(900)
      .meta({ description: 'Seconds that the customer has to pay. Default: 900' }),
    terminal: terminal.optional().meta({ description: 'The till, by a name of your own' }),
    store: z
      .strictObject({ id: storeId, name: text(100, 1).optional() })
      .optional()
      .meta({ description: 'The shop, by an id of your own. The provider gets it with the payment' }),
    source: z
      .string()
      .regex(/^src_[0-9A-Za-z_]{1,64}$/)
      .optional()
      .meta({ description: 'A source that a client made with the public key. Default: Tillflow makes one' }),
  })
  .meta({
    id: 'CreateCheckout',
    allOf: [LIMITS],
    examples: [
      {
        reference: 'till-7-000142',
        amount: 150_000,
        currency: 'THB',
        description: 'Two coffees',
        metadata: { order: '142' },
        terminal: 'till-7',
        store: { id: 'silom', name: 'Silom Road' },
      },
    ],
  });
export type CreateCheckout = z.output<typeof createCheckout>;

export const newAttempt = z
  .strictObject({
    after: z.int().min(1).optional().meta({
      description: 'The number of the attempt to replace. The same number gives the same attempt. Default: the newest',
    }),
  })
  // The body may be left out.
  .default({})
  .meta({ id: 'NewAttempt', examples: [{ after: 1 }] });
export type NewAttempt = z.output<typeof newAttempt>;

export const checkoutPath = z.object({ id: checkoutId });
export type CheckoutPath = z.output<typeof checkoutPath>;

export const readCheckout = z.strictObject({
  wait: wholeNumber(1, 25).optional().meta({
    description:
      'Seconds to wait for a change. The API answers as soon as `version` is above `after_version`, at once when the checkout has closed, and with the newest state when the time is up',
  }),
  after_version: wholeNumber(0, 999_999_999_999).optional().meta({
    description:
      'With `wait`: the newest `version` that the caller knows. 0 also waits for a checkout that Temporal does not know yet. Default: the version when the request arrives',
  }),
});
export type ReadCheckout = z.output<typeof readCheckout>;

export const listCheckouts = z.strictObject({
  status: z.enum(CHECKOUT_STATUSES).optional(),
  reference: reference.optional(),
  store: storeId.optional().meta({ description: 'The `id` of a store' }),
  terminal: terminal.optional(),
  payment_reference: text(MAX_SLIP_REFERENCE, 1).optional().meta({
    description: "Any of the payment's `references`, as a customer's slip shows it. Spaces and case do not count",
  }),
  from: readableTime.optional().meta({ description: 'Created at this time or later' }),
  to: readableTime.optional().meta({ description: 'Created before this time' }),
  limit: wholeNumber(1, 100).default(20).meta({ description: 'Page size. Default: 20' }),
  cursor: cursor
    .optional()
    .meta({ description: 'The `next_cursor` of the page before, with the same other parameters' }),
});
export type ListCheckouts = z.output<typeof listCheckouts>;

const attempt = z
  .object({
    number: z.int().positive(),
    source_id: providerId.nullable(),
    charge_id: providerId.nullable(),
    status: z.enum(['pending', 'successful', 'failed', 'expired']),
    failure_code: z.string().nullable(),
    failure_message: z.string().nullable(),
    created_at: time,
    expires_at: time,
  })
  .meta({ id: 'Attempt' });

const qr = z
  .object({
    image_url: z.url().meta({
      description: 'The QR code as an image. The link opens without a key until one day after the time to pay',
    }),
    download_uri: z.url().meta({ description: 'The same image at the provider' }),
    raw_data: z.string().nullable(),
    expires_at: time,
  })
  .meta({ id: 'Qr' });

const slipText = z.string().nullable();
const money = amount.nullable();

/** The payment of a checkout. */
export const payment = z
  .object({
    charge_id: providerId.nullable(),
    paid_at: time,
    amount,
    currency,
    customer_amount: z.int().nullable().meta({ description: 'In the smallest unit of `customer_currency`' }),
    customer_currency: currency.nullable(),
    customer_exchange_rate: z
      .number()
      .nullable()
      .meta({ description: 'Units of `customer_currency` for one unit of `currency`' }),
    receipt_amount: money,
    discounts: z.array(z.unknown()).nullable().meta({ description: 'As the provider shows them' }),
    fee: money,
    fee_vat: money,
    net: money.meta({ description: 'The amount less fee and VAT, in the smallest currency unit' }),
    transferable_at: time.nullable().meta({ description: 'When the provider can pay it out' }),
    references: z
      .object({ provider_1: slipText, provider_2: slipText, acquirer: slipText, approval_code: slipText })
      .meta({ id: 'PaymentReferences', description: "As the customer's slip shows them" }),
  })
  .meta({ id: 'Payment', description: 'A field is null where the provider does not give it' });

const version = z
  .int()
  .nonnegative()
  .meta({ description: 'Grows with each change. It is the id of the event in the stream' });

const attention = z
  .object({ code: z.enum(ATTENTION_CODES), since: time, detail: z.string() })
  .meta({ id: 'Attention' });

const summary = {
  id: checkoutId,
  status: z.enum(CHECKOUT_STATUSES).meta({ id: 'CheckoutStatus' }),
  amount: z.int().positive().meta({ description: 'In the smallest currency unit' }),
  currency,
  qr: qr.nullable().meta({ description: 'Null unless the customer can pay with it now' }),
  paid_at: time.nullable(),
  version,
  created_at: time,
  updated_at: time,
};

const example = {
  id: 'chk_default_till-7-000142',
  status: 'awaiting_payment' as const,
  amount: 150_000,
  currency: 'THB',
  qr: {
    image_url:
      'https://pay.example/v1/checkouts/chk_default_till-7-000142/qr?expires=1795326319&sig=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8',
    download_uri: 'https://provider.example/qr/54ysb6vvosm3svj5ds6htpae.svg',
    raw_data: 'https://provider.example/wallet/54ysb6vvosm3svj5ds6htpae',
    expires_at: '2026-11-21T05:45:18.021Z',
  },
  paid_at: null,
  version: 2,
  created_at: '2026-11-21T05:30:18.021Z',
  updated_at: '2026-11-21T05:30:18.264Z',
};

export const checkoutReply = z
  .object({
    ...summary,
    reference,
    description: z.string().nullable(),
    metadata: z.record(z.string(), z.string()),
    terminal: z.string().nullable(),
    store: storeReply,
    attempts: z.array(attempt),
    payment: payment.nullable().meta({ description: 'Null until the checkout is paid' }),
    refunded_amount: z.int().nonnegative().meta({ description: 'In the smallest currency unit' }),
    voidable_until: time.nullable(),
    refundable_until: time.nullable(),
    attention: attention.nullable().meta({ description: 'Why a person should check the checkout' }),
    events_url: z.url().nullable().meta({
      description:
        'A stream of the changes that the customer may see. The link opens without a key until one day after the time to pay. Null after that, once the checkout has closed, and for a session of the counter while Temporal has not confirmed the checkout',
    }),
    receipt_url: z.url().nullable().meta({
      description:
        'The receipt as a page, for the customer. The link opens without a key until 90 days after the payment. Null before the payment, and after that',
    }),
    location: z.string().meta({
      pattern: '^/v1/checkouts/',
      description: 'Where to read this checkout again. Of a 202: the address waits for the next change',
    }),
  })
  .meta({
    id: 'Checkout',
    examples: [
      {
        ...example,
        reference: 'till-7-000142',
        description: 'Two coffees',
        metadata: { order: '142' },
        terminal: 'till-7',
        store: { id: 'silom', name: 'Silom Road' },
        attempts: [
          {
            number: 1,
            source_id: 'src_test_ri530ptpmphvl9vorbi',
            charge_id: 'chrg_test_ym45mfiva1bdny558nb',
            status: 'pending',
            failure_code: null,
            failure_message: null,
            created_at: '2026-11-21T05:30:18.021Z',
            expires_at: '2026-11-21T05:45:18.021Z',
          },
        ],
        payment: null,
        refunded_amount: 0,
        voidable_until: null,
        refundable_until: null,
        attention: null,
        events_url:
          'https://pay.example/v1/checkouts/chk_default_till-7-000142/events?expires=1795326319&sig=ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8',
        receipt_url: null,
        location: '/v1/checkouts/chk_default_till-7-000142',
      },
    ],
  });
export type CheckoutReply = z.output<typeof checkoutReply>;

/** What a signed link shows of a checkout. */
export const customerCheckoutReply = z
  .object({ ...summary, expires_at: time.meta({ description: 'The end of the time to pay' }) })
  .meta({
    id: 'CustomerCheckout',
    description: 'A checkout as a signed link shows it',
    examples: [{ ...example, expires_at: '2026-11-21T05:45:18.021Z' }],
  });
export type CustomerCheckoutReply = z.output<typeof customerCheckoutReply>;

/** An event of the stream. */
export const checkoutEvent = z
  .object({
    id: z.string().meta({ pattern: '^\\d+$', description: 'The `version` of the checkout' }),
    event: z.literal('checkout'),
    data: z.string().meta({
      description: 'With a key a `Checkout`, with a link a `CustomerCheckout`, as JSON',
      contentMediaType: 'application/json',
      contentSchema: {
        anyOf: [{ $ref: '#/components/schemas/Checkout' }, { $ref: '#/components/schemas/CustomerCheckout' }],
      },
    }),
  })
  .meta({
    id: 'CheckoutEvent',
    description: 'A server-sent event',
    examples: [{ id: '2', event: 'checkout', data: JSON.stringify(example) }],
  });

export const checkoutsReply = z
  .object({ data: z.array(checkoutReply), next_cursor: nextCursor })
  .meta({ id: 'CheckoutPage' });
export type CheckoutsReply = z.output<typeof checkoutsReply>;

export const timelineReply = z
  .object({
    data: z.array(
      z
        .object({
          at: time,
          what: z.string(),
          detail: z.string().optional(),
          by: z
            .string()
            .optional()
            .meta({
              description: `Who asked for it: ${ASKER}. Missing when it followed from a payment, a time or an answer, or when the requester was not recorded`,
            }),
          origin: z
            .string()
            .optional()
            .meta({ description: 'From where: the address of the client, or the machine of the command line' }),
        })
        .meta({ id: 'TimelineEntry' }),
    ),
    next_cursor: nextCursor,
  })
  .meta({
    id: 'Timeline',
    examples: [
      {
        data: [
          { at: '2026-11-21T05:30:18.021Z', what: 'opened', by: 'till-7', origin: '203.0.113.7' },
          { at: '2026-11-21T05:30:18.264Z', what: 'charge_created', detail: 'chrg_test_ym45mfiva1bdny558nb' },
        ],
        next_cursor: null,
      },
    ],
  });
export type TimelineReply = z.output<typeof timelineReply>;
