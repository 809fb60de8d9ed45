import type { RequestOptions } from '../../options.js';
import { compareWithRequest, isDifferent, normalizedWord } from '../../reply/integrity.js';
import { path } from '../../request/path.js';
import { Resource } from '../resource.js';
import { type Address, type QrSettings, type Source, type SourceId, source } from './schema.js';

/**
 * The parameters of a source, without its money. Null is the empty string. Source: API reference, "POST /sources body".
 */
export interface SourceParams {
  /** `wallet_mpm` for the QR method. */
  type: string;
  barcode?: string | null | undefined;
  email?: string | null | undefined;
  bank?: string | null | undefined;
  ip?: string | null | undefined;
  name?: string | null | undefined;
  mobile_number?: string | null | undefined;
  platform_type?: string | null | undefined;
  store_id?: string | null | undefined;
  store_name?: string | null | undefined;
  terminal_id?: string | null | undefined;
  promotion_code?: string | null | undefined;
  supplier_id?: string | null | undefined;
  installment_term?: number | null | undefined;
  zero_interest_installments?: boolean | null | undefined;
  billing?: Address | null | undefined;
  shipping?: Address | null | undefined;
  qr_settings?: QrSettings | null | undefined;
  items?: readonly object[] | null | undefined;
}

export interface SourceCreateParams extends SourceParams {
  /** Smallest currency unit. Limits of the QR method: API reference, "Limits". */
  amount: number;
  /** Three letters, ISO 4217. */
  currency: string;
}

const compareSource = compareWithRequest<SourceCreateParams, Source>((requested, replied) =>
  isOtherType(requested.type, replied.type) ? ['type'] : [],
);

/** Whether a source has another type than the one that was asked for. */
export function isOtherType(requested: string, replied: string | null | undefined): boolean {
  return isDifferent(normalizedWord(requested), normalizedWord(replied));
}

/** Payment sources. With the public key: `{ useKey: 'public' }`. Source: API reference, "Sources". */
export class Sources extends Resource {
  /**
   * Creates a source. A source charges nothing, so after an unknown outcome you can create a new one.
   * @throws {IntegrityError} when the reply differs in amount, currency, type or mode
   */
  create(params: SourceCreateParams, options?: RequestOptions): Promise<Source> {
    return this.http.post(path`/sources`, params, source, options, compareSource);
  }

  /** Retrieves a source; `charge_status` shows whether a charge has used it. */
  retrieve(id: SourceId, options?: RequestOptions): Promise<Source> {
    return this.http.get(path`/sources/${id}`, undefined, source, options);
  }
}
