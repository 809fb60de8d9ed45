import { z } from 'zod';
import { payment, reference, storeReply } from '../checkouts/checkouts.schema.js';
import { amount, checkoutId, currency, keyText, providerId, time } from '../shared/fields.schema.js';
import { LANGUAGES } from './languages.js';

export const readReceipt = z.strictObject({
  refund: keyText
    .optional()
    .meta({ description: 'The `key` of a refund: the receipt of this refund. Default: the receipt of the payment' }),
});
export type ReadReceipt = z.output<typeof readReceipt>;

const smallestUnit = z.int().nonnegative();

/** Fees and the payout are the shop's own business. */
const receiptPayment = payment
  .pick({
    charge_id: true,
    currency: true,
    customer_amount: true,
    customer_currency: true,
    customer_exchange_rate: true,
    references: true,
  })
  .extend({ paid_at: time.nullable(), amount: amount.nullable() });

const receiptRefund = z.object({
  id: providerId.nullable(),
  key: keyText,
  kind: z.enum(['void', 'refund']),
});

export const receiptExample = {
  kind: 'payment' as const,
  language: 'en' as const,
  shop: { name: 'Sunrise Coffee', address: ['99 Rama IV Road', 'Bangkok 10500'], tax_id: '0105551234567' },
  store: { id: 'silom', name: 'Silom Road' },
  terminal: 'till-7',
  checkout_id: 'chk_default_till-7-000142',
  reference: 'till-7-000142',
  description: 'Two coffees',
  amount: 150_000,
  currency: 'THB',
  amount_text: 'THB 1,500.00',
  time: '2026-11-21T05:31:02.310Z',
  time_text: '21 Nov 2026 12:31:02 GMT+7',
  time_zone: 'Asia/Bangkok',
  network: 'Example Pay',
  payment: {
    charge_id: 'chrg_test_ym45mfiva1bdny558nb',
    paid_at: '2026-11-21T05:31:02.310Z',
    amount: 150_000,
    currency: 'THB',
    customer_amount: null,
    customer_currency: null,
    customer_exchange_rate: null,
    references: {
      provider_1: '20261121053102000142',
      provider_2: null,
      acquirer: null,
      approval_code: '481516',
    },
  },
  refund: null,
};

/** The receipt of a payment or of a refund. */
export const checkoutReceipt = z
  .object({
    kind: z.enum(['payment', 'refund']),
    language: z
      .enum(LANGUAGES)
      .meta({ description: 'The language of `amount_text` and `time_text`, chosen by `Accept-Language`' }),
    shop: z
      .object({ name: z.string().nullable(), address: z.array(z.string()), tax_id: z.string().nullable() })
      .meta({ description: 'From the settings `SHOP_NAME`, `SHOP_ADDRESS` and `SHOP_TAX_ID`' }),
    store: storeReply,
    terminal: z.string().nullable(),
    checkout_id: checkoutId,
    reference,
    description: z.string().nullable(),
    amount: smallestUnit.meta({ description: 'What was paid or refunded, in the smallest currency unit' }),
    currency,
    amount_text: z.string().meta({ description: 'The same, as the language writes it' }),
    time: time.nullable().meta({ description: 'Of the payment, or of the request for the refund' }),
    time_text: z.string().nullable().meta({ description: 'The same in `time_zone`, as the language writes it' }),
    time_zone: z.string().meta({ description: 'From the setting `BUSINESS_TIMEZONE`' }),
    network: z.string().nullable().meta({ description: 'The QR network, from the setting `QR_NETWORK_NAME`' }),
    payment: receiptPayment.meta({ description: 'Of the receipt of a refund: the original payment' }),
    refund: receiptRefund.nullable().meta({ description: 'Null on the receipt of a payment' }),
  })
  .meta({
    id: 'CheckoutReceipt',
    examples: [receiptExample],
  });
export type CheckoutReceipt = z.output<typeof checkoutReceipt>;

export const receiptTextExample = `              Sunrise Coffee
             99 Rama IV Road
              Bangkok 10500
          Tax ID 0105551234567

                 Receipt
------------------------------------------
Store                           Silom Road
Till                                till-7
Reference                    till-7-000142
`;
