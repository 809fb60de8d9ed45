import { asAsked, differs } from '../integrity.js';
import type { RequestOptions } from '../options.js';
import { path } from '../path.js';
import type { Transport } from '../transport.js';
import { type Address, type QrSettings, type Source, type SourceId, source } from './schema.js';

/** What a source is made of, apart from its money. Source: API reference, "POST /sources body". */
export interface SourceParams {
  /** `wallet_mpm` for the QR method. */
  type: string;
  barcode?: string | undefined;
  email?: string | undefined;
  bank?: string | undefined;
  ip?: string | undefined;
  name?: string | undefined;
  mobile_number?: string | undefined;
  platform_type?: string | undefined;
  store_id?: string | undefined;
  store_name?: string | undefined;
  terminal_id?: string | undefined;
  promotion_code?: string | undefined;
  supplier_id?: string | undefined;
  installment_term?: number | undefined;
  zero_interest_installments?: boolean | undefined;
  billing?: Address | undefined;
  shipping?: Address | undefined;
  qr_settings?: QrSettings | undefined;
  items?: readonly object[] | undefined;
}

export interface SourceCreateParams extends SourceParams {
  /** Smallest currency unit. Limits of the QR method: API reference, "Limits". */
  amount: number;
  /** Three letters, ISO 4217. */
  currency: string;
}

/** Payment sources. With the public key: `{ useKey: 'public' }`. Source: API reference, "Sources". */
export class Sources {
  readonly #http: Transport;

  constructor(http: Transport) {
    this.#http = http;
  }

  /**
   * Creates a source. Nothing is charged by it, so after an unknown outcome a new one may be created.
   * @throws {IntegrityError} when the reply differs in amount, currency, type or mode
   */
  create(params: SourceCreateParams, options?: RequestOptions): Promise<Source> {
    const intent = asAsked<Source>(params, (reply) => (differs(params.type, reply.type) ? ['type'] : []));
    return this.#http.post(path`/sources`, params, source, options, intent);
  }

  /** Retrieves a source; `charge_status` tells whether a charge has used it. */
  retrieve(id: SourceId, options?: RequestOptions): Promise<Source> {
    return this.#http.get(path`/sources/${id}`, undefined, source, options);
  }
}
