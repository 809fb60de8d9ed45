import { z } from 'zod';
import { amount, currency, providerId, text } from '../shared/fields.schema.js';
import { asList, asSearchableList, listFields, pageOf } from '../provider/lists.schema.js';

export const recordPath = z.object({ id: providerId });
export type RecordPath = z.output<typeof recordPath>;

type Searched = { readonly query?: unknown; readonly created?: unknown };

/** Whether the provider's search answers the request, rather than its list. */
export function isSearch({ query, created }: Searched): boolean {
  return query !== undefined || created !== undefined;
}

export const listReceipts = asSearchableList(
  z.strictObject({
    ...listFields,
    query: text(200, 1)
      .optional()
      .meta({ description: 'Words to search for. A search takes no `from`, `to`, `offset` and `limit`' }),
    created: z.iso.date().optional().meta({ description: 'The day (UTC) to search for' }),
  }),
  isSearch,
);
export type ListReceipts = z.output<typeof listReceipts>;

export const listEvents = asList(
  z.strictObject({ ...listFields, charge: providerId.optional().meta({ description: 'Only events of this charge' }) }),
);
export type ListEvents = z.output<typeof listEvents>;

/** The provider's receipt. Fields that are not named here are passed on. */
export const receiptReply = z
  .looseObject({
    id: providerId,
    number: z.string().nullish(),
    issued_on: z.string().nullish(),
    currency: currency.nullish(),
    charge_fee: amount.nullish(),
    transaction_fee: amount.nullish(),
    transfer_fee: amount.nullish(),
    voided_fee: amount.nullish(),
    vat: amount.nullish(),
    wht: amount.nullish(),
    total: amount.nullish(),
  })
  .meta({
    id: 'Receipt',
    examples: [
      {
        object: 'receipt',
        id: 'rcpt_test_0p7o4i1u8y',
        number: '2026-11-0001',
        issued_on: '2026-11-30',
        currency: 'THB',
        charge_fee: 2_475,
        transaction_fee: 0,
        transfer_fee: 0,
        voided_fee: 0,
        vat: 173,
        wht: 0,
        total: 2_648,
      },
    ],
  });

/** The provider's transaction. Fields that are not named here are passed on. */
export const transactionReply = z
  .looseObject({
    id: providerId,
    amount: z.int().nonnegative().meta({ description: 'In the smallest currency unit' }),
    currency,
    direction: z.string().meta({ description: '`credit` or `debit`' }),
    key: z.string().nullish(),
    origin: z.string().nullish(),
    transferable_at: z.string().nullish(),
  })
  .meta({
    id: 'Transaction',
    examples: [
      {
        object: 'transaction',
        id: 'trxn_test_5t2r9e6w3q',
        amount: 147_352,
        currency: 'THB',
        direction: 'credit',
        key: 'charge.capture',
        origin: 'chrg_test_ym45mfiva1bdny558nb',
        transferable_at: '2026-11-28T05:31:02.000Z',
      },
    ],
  });

/** The provider's event. Fields that are not named here are passed on. */
export const providerEventReply = z
  .looseObject({
    id: providerId,
    key: z.string().meta({ description: 'The kind of event, such as `charge.complete`. The provider may add kinds' }),
    data: z.looseObject({}),
    created_at: z.string().nullish(),
  })
  .meta({
    id: 'ProviderEvent',
    examples: [
      {
        object: 'event',
        id: 'evnt_test_d0x0p8jxvyxkd7z96ol',
        key: 'charge.complete',
        data: { object: 'charge', id: 'chrg_test_ym45mfiva1bdny558nb' },
        created_at: '2026-11-21T05:31:02.000Z',
      },
    ],
  });

export const receiptsReply = pageOf(receiptReply, 'ReceiptPage');
export const transactionsReply = pageOf(transactionReply, 'TransactionPage');
export const providerEventsReply = pageOf(providerEventReply, 'ProviderEventPage');
