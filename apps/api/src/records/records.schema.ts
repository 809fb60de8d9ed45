import { z } from 'zod';
import { text } from '../checkouts/fields.js';
import { asList, listFields, pageOf, providerId } from '../provider/lists.schema.js';

export const recordPath = z.object({ id: providerId });
export type RecordPath = z.output<typeof recordPath>;

const NOT_SEARCHED = ['from', 'to', 'offset', 'limit'] as const;

type Searched = { readonly query?: unknown; readonly created?: unknown };

/** Whether the provider's search answers it, rather than its list. */
export function isSearch({ query, created }: Searched): boolean {
  return query !== undefined || created !== undefined;
}

export const listReceipts = asList(
  z.strictObject({
    ...listFields,
    query: text(200).min(1).optional().meta({ description: 'Words to look for' }),
    created: z.iso.date().optional().meta({ description: 'The day (UTC)' }),
  }),
)
  .refine((given) => !isSearch(given) || NOT_SEARCHED.every((name) => given[name] === undefined), {
    error: 'from, to, offset and limit are not for a search',
    path: ['limit'],
  })
  .meta({ id: 'ListReceipts' });
export type ListReceipts = z.output<typeof listReceipts>;

export const listEvents = asList(
  z.strictObject({ ...listFields, charge: providerId.optional().meta({ description: 'Of this charge only' }) }),
).meta({ id: 'ListProviderEvents' });
export type ListEvents = z.output<typeof listEvents>;

const amount = z.int().nullish().meta({ description: 'Smallest currency unit' });

/** The provider's receipt. Fields that are not named here are passed on. */
export const receiptReply = z
  .looseObject({
    id: z.string(),
    number: z.string().nullish(),
    issued_on: z.string().nullish(),
    currency: z.string().nullish(),
    charge_fee: amount,
    transaction_fee: amount,
    transfer_fee: amount,
    voided_fee: amount,
    vat: amount,
    wht: amount,
    total: amount,
  })
  .meta({ id: 'ReceiptRecord' });
export type ReceiptReply = z.output<typeof receiptReply>;

/** The provider's transaction. Fields that are not named here are passed on. */
export const transactionReply = z
  .looseObject({
    id: z.string(),
    amount: z.int().meta({ description: 'Smallest currency unit, never negative' }),
    currency: z.string(),
    direction: z.string().meta({ description: 'credit or debit' }),
    key: z.string().nullish(),
    origin: z.string().nullish(),
    transferable_at: z.string().nullish(),
  })
  .meta({ id: 'Transaction' });
export type TransactionReply = z.output<typeof transactionReply>;

/** The provider's event. Fields that are not named here are passed on. */
export const providerEventReply = z
  .looseObject({
    id: z.string(),
    key: z.string().meta({ description: 'The kind of event, such as charge.complete. An open list' }),
    data: z.looseObject({}),
    created_at: z.string().nullish(),
  })
  .meta({ id: 'EventRecord' });
export type ProviderEventReply = z.output<typeof providerEventReply>;

export const receiptsReply = pageOf(receiptReply, 'Receipts');
export const transactionsReply = pageOf(transactionReply, 'Transactions');
export const providerEventsReply = pageOf(providerEventReply, 'ProviderEvents');
