import { z } from 'zod';
import type { List } from '../../pagination/list.js';
import type { RecordFields } from '../resource.js';

/** Prefix `cust_` (assumption). */
export type CustomerId = string;

/** Prefix `card_` (assumption). */
export type CardId = string;

/**
 * A card stored on a customer. The client checks the fields in the `card` schema below; the rest is passed on as it
 * came. Source: API reference, "Card".
 */
export interface Card extends RecordFields {
  object: 'card';
  id: CardId;
  deleted?: boolean | null | undefined;
  /** The holder's. */
  name?: string | null | undefined;
  brand?: string | null | undefined;
  bank?: string | null | undefined;
  /** `credit`, `debit`, …; the reference shows no values. */
  financing?: string | null | undefined;
  /** Six digits. */
  first_digits?: string | null | undefined;
  /** Four digits. */
  last_digits?: string | null | undefined;
  /** 1 to 12. */
  expiration_month?: number | null | undefined;
  /** Four digits. */
  expiration_year?: number | null | undefined;
  /** The same for the same card number. */
  fingerprint?: string | null | undefined;
  security_code_check?: boolean | null | undefined;
  tokenization_method?: string | null | undefined;
  /** Two lower-case letters, or none. */
  country?: string | null | undefined;
  street1?: string | null | undefined;
  street2?: string | null | undefined;
  city?: string | null | undefined;
  state?: string | null | undefined;
  postal_code?: string | null | undefined;
  phone_number?: string | null | undefined;
}

/** A customer with stored cards. Source: assumption "Customers"; the reference shows none of its fields. */
export interface Customer extends RecordFields {
  object: 'customer';
  id: CustomerId;
  deleted?: boolean | null | undefined;
  /** Id of the card; null when there is none. */
  default_card?: string | null | undefined;
  /** The first 20; `listCards` has all. */
  cards?: List<Card> | null | undefined;
  email?: string | null | undefined;
  description?: string | null | undefined;
  metadata?: Record<string, unknown> | null | undefined;
}

export const card: z.ZodType<Card> = z.object({
  object: z.literal('card'),
  id: z.string(),
  deleted: z.boolean().nullish(),
  last_digits: z.string().nullish(),
  expiration_month: z.int().nullish(),
  expiration_year: z.int().nullish(),
});

export const customer: z.ZodType<Customer> = z.object({
  object: z.literal('customer'),
  id: z.string(),
  default_card: z.string().nullish(),
});
