import { z } from 'zod';
import { type Document, document } from '../documents/schema.js';
import type { RecordFields } from '../resource.js';

/** Prefix `src_`. */
export type SourceId = string;

/** Any other value is passed on as it came. */
export type ChargeStatusOfSource =
  | 'failed'
  | 'expired'
  | 'pending'
  | 'reversed'
  | 'successful'
  | 'unknown'
  | (string & {});

/** Postal address; every part may be missing. Source: API reference, "Source". */
export interface Address {
  city?: string | null | undefined;
  country?: string | null | undefined;
  postal_code?: string | null | undefined;
  state?: string | null | undefined;
  street1?: string | null | undefined;
  street2?: string | null | undefined;
}

/** The code that the customer scans. Source: API reference, "Source". */
export interface ScannableCode {
  /** `barcode`. */
  object?: string | null | undefined;
  /** `qr` for the QR method. */
  type?: string | null | undefined;
  /** The picture is at `image.download_uri`. */
  image?: Document | null | undefined;
  /** The content of the QR code. */
  raw_data?: string | null | undefined;
}

/** Source: API reference, "Source". */
export interface SourceReferences {
  /** ISO 8601, UTC. */
  expires_at?: string | null | undefined;
  device_id?: string | null | undefined;
  /** In the smallest unit of `customer_currency`. */
  customer_amount?: number | null | undefined;
  customer_currency?: string | null | undefined;
  customer_exchange_rate?: number | null | undefined;
  service_tax_id?: string | null | undefined;
  reference_number_1?: string | null | undefined;
  reference_number_2?: string | null | undefined;
  barcode?: string | null | undefined;
  payment_code?: string | null | undefined;
  va_code?: string | null | undefined;
}

/** Source: API reference, "Source". */
export interface ProviderReferences {
  reference_number_1?: string | null | undefined;
  reference_number_2?: string | null | undefined;
  buyer_name?: string | null | undefined;
}

/** Source: API reference, "Source". */
export interface QrSettings {
  /** Of the QR code's picture; the reference shows no values. */
  image_type?: string | null | undefined;
}

/**
 * One use of a payment method, for one charge (assumption). The client checks the fields in the `source` schema below;
 * the rest is typed as the reference documents it and passed on as it came. Source: API reference, "Source".
 */
export interface Source extends RecordFields {
  object: 'source';
  id: SourceId;
  /** Smallest currency unit. */
  amount?: number | null | undefined;
  /** Three letters, ISO 4217. */
  currency?: string | null | undefined;
  /** `wallet_mpm` for the QR method. An open list. */
  type?: string | null | undefined;
  /** `offline` for the QR method. */
  flow?: 'redirect' | 'offline' | 'app_redirect' | (string & {}) | null | undefined;
  /** `unknown` until a charge uses the source, then as the charge. */
  charge_status?: ChargeStatusOfSource | null | undefined;
  /** Null until a charge uses the source. */
  scannable_code?: ScannableCode | null | undefined;
  barcode?: string | null | undefined;
  bank?: string | null | undefined;
  email?: string | null | undefined;
  /** In months. */
  installment_term?: number | null | undefined;
  ip?: string | null | undefined;
  absorption_type?: 'merchant' | 'customer' | (string & {}) | null | undefined;
  name?: string | null | undefined;
  mobile_number?: string | null | undefined;
  phone_number?: string | null | undefined;
  platform_type?: string | null | undefined;
  qr_settings?: QrSettings | null | undefined;
  billing?: Address | null | undefined;
  shipping?: Address | null | undefined;
  items?: unknown[] | null | undefined;
  references?: SourceReferences | null | undefined;
  provider_references?: ProviderReferences | null | undefined;
  store_id?: string | null | undefined;
  store_name?: string | null | undefined;
  terminal_id?: string | null | undefined;
  zero_interest_installments?: boolean | null | undefined;
  /** Smallest currency unit. */
  receipt_amount?: number | null | undefined;
  discounts?: unknown[] | null | undefined;
  promotion_code?: string | null | undefined;
  supplier_id?: string | null | undefined;
}

export const source: z.ZodType<Source> = z.object({
  object: z.literal('source'),
  id: z.string(),
  livemode: z.boolean().nullish(),
  amount: z.int().nullish(),
  currency: z.string().nullish(),
  type: z.string().nullish(),
  charge_status: z.string().nullish(),
  scannable_code: z.object({ image: document.nullish(), raw_data: z.string().nullish() }).nullish(),
});
