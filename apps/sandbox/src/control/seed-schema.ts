import { CURRENCIES } from '@tillflow/domain';
import { z } from 'zod';
import { RECEIPT_CUSTOMER } from '../provider/receipts.js';
import { DISPUTE_STATUSES, FAILURE_CODES } from '../records/records.js';

const idOf = (prefix: string) => z.string().regex(new RegExp(`^${prefix}_[0-9a-z_]+$`), `must begin with ${prefix}_`);
const nullableText = z.string().nullable().default(null);
const metadata = z.record(z.string(), z.json()).default({});
const fee = z.int().min(0).default(0);

/** A card with the fields of the API, and the failure code of its charges. Source: API reference, "Card". */
export const cardSchema = z.strictObject({
  id: idOf('card').optional(),
  /** An id, or the index (from 0) of a customer in this seed. Default: the last customer of the seed, or a new one. */
  customer: z.union([idOf('cust'), z.int().min(0)]).optional(),
  name: z.string().default('Somchai Prasert'),
  brand: z.string().default('Visa'),
  bank: z.string().default('Example Bank'),
  financing: z.string().default('credit'),
  country: z
    .string()
    .regex(/^[a-z]{0,2}$/)
    .default('th'),
  fingerprint: z.string().optional(),
  first_digits: z
    .string()
    .regex(/^\d{6}$/)
    .nullable()
    .default(null),
  last_digits: z
    .string()
    .regex(/^\d{4}$/)
    .default('4242'),
  expiration_month: z.int().min(1).max(12).default(12),
  expiration_year: z.int().min(2000).max(9999).default(2099),
  street1: nullableText,
  street2: nullableText,
  city: nullableText,
  state: nullableText,
  phone_number: nullableText,
  postal_code: nullableText,
  security_code_check: z.boolean().default(true),
  tokenization_method: nullableText,
  default: z.boolean().default(false),
  /** The failure code of each charge of the card; null for success. */
  failure_code: z.enum(FAILURE_CODES).nullable().default(null),
});

export const customerSchema = z.strictObject({
  id: idOf('cust').optional(),
  email: z.string().nullable().default('customer@example.com'),
  description: nullableText,
  metadata,
  cards: z.array(cardSchema.omit({ customer: true })).default([]),
});

const documentSchema = z.strictObject({
  filename: z.string().min(1).optional(),
  kind: z.string().min(1).optional(),
  /** Base64. */
  file: z.string().min(1),
});

const disputeSchema = z.strictObject({
  id: idOf('dspt').optional(),
  /** A paid charge without a dispute. Default: a new paid charge. */
  charge: idOf('chrg').optional(),
  /** Default: the charge's amount. */
  amount: z.int().min(1).optional(),
  /** The currency of a new charge. */
  currency: z.enum(CURRENCIES).optional(),
  status: z.enum(DISPUTE_STATUSES).default('open'),
  reason_code: z.string().default('goods_or_services_not_provided'),
  reason_message: z.string().default('Services not provided or Merchandise not received'),
  message: nullableText,
  metadata,
  documents: z.array(documentSchema).default([]),
});

/** The fields of POST /schedules as JSON. By default the schedule runs once a month. */
const scheduleSchema = z.strictObject({
  every: z.int().default(1),
  period: z.enum(['day', 'week', 'month']).default('month'),
  start_date: z.string().optional(),
  end_date: z.string().optional(),
  on: z.record(z.string(), z.json()).optional(),
  /** `customer` is an id, or the index (from 0) of a customer in this seed. Default: the last one. */
  charge: z.record(z.string(), z.json()).optional(),
  transfer: z.record(z.string(), z.json()).optional(),
});

const receiptSchema = z.strictObject({
  id: idOf('rcpt').optional(),
  number: z.string().min(1).optional(),
  issued_on: z.string().optional(),
  currency: z.enum(CURRENCIES).optional(),
  charge_fee: fee,
  transaction_fee: fee,
  transfer_fee: fee,
  voided_fee: fee,
  vat: z.int().default(0),
  wht: fee,
  credit_note: z.boolean().default(false),
  customer_name: z.string().default(RECEIPT_CUSTOMER.customerName),
  customer_email: z.string().default(RECEIPT_CUSTOMER.customerEmail),
  /** Smallest unit: a credit, or a negative debit. 0 for no adjustment transaction. */
  adjustment: z.int().default(0),
});

/** Records that the API cannot create. Every field except an id of another record has a default. */
export const seedSchema = z.strictObject({
  customers: z.array(customerSchema).default([]),
  cards: z.array(cardSchema).default([]),
  disputes: z.array(disputeSchema).default([]),
  schedules: z.array(scheduleSchema).default([]),
  receipts: z.array(receiptSchema).default([]),
});

export type Seed = z.input<typeof seedSchema>;
export type CheckedSeed = z.output<typeof seedSchema>;

/** The new ids, each kind in the order of the seed; cards within customers come first. */
export type Seeded = { readonly [K in keyof CheckedSeed]: readonly string[] };
