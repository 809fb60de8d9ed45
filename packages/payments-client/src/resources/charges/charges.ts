import type { RequestOptions } from '../../options.js';
import { iterateList, type List, listOf, type ListParams } from '../../pagination/list.js';
import type { Listing } from '../../pagination/listing.js';
import { compareMetadataIfStored, compareWithRequest } from '../../reply/integrity.js';
import { path } from '../../request/path.js';
import { type Event, event } from '../events/schema.js';
import { Resource } from '../resource.js';
import type { SourceId } from '../sources/schema.js';
import { isOtherType, type SourceParams } from '../sources/sources.js';
import { type Charge, charge, type ChargeId, type Refund, refund } from './schema.js';

/** Null is the empty string. Source: API reference, "Charges (QR method)"; `description` and below are assumptions. */
export interface ChargeCreateParams {
  /** Smallest currency unit. Must equal the source's. */
  amount: number;
  /** Three letters, ISO 4217. Must equal the source's. */
  currency: string;
  /** Id of a source, or the parameters of one that the same request creates. */
  source: SourceId | SourceParams;
  description?: string | null | undefined;
  metadata?: Record<string, unknown> | null | undefined;
  /** When the QR code stops being payable. ISO 8601 or a `Date`. */
  expires_at?: string | Date | null | undefined;
  return_uri?: string | null | undefined;
  /** At most two. */
  webhook_endpoints?: readonly string[] | null | undefined;
}

/** Null is the empty string. Source: assumption "Refund or void". */
export interface RefundCreateParams {
  /** Smallest currency unit. Without it, the provider decides, and the client accepts any amount in the reply. */
  amount?: number | null | undefined;
  metadata?: Record<string, unknown> | null | undefined;
  /** True cancels the whole payment instead, while the void window is open. */
  void?: boolean | null | undefined;
}

const chargeList = listOf(charge);
const refundList = listOf(refund);
const eventList = listOf(event);

const compareCharge = compareWithRequest<ChargeCreateParams, Charge>((requested, replied) =>
  isOtherSource(requested.source, replied.source) ? ['source'] : [],
);
const compareRefund = compareMetadataIfStored<RefundCreateParams, Refund>();

/**
 * Charges, their refunds and events, with the secret key. Source: API reference, "Charges (QR method)"; retrieve, list,
 * refund, events and marking are assumptions.
 */
export class Charges extends Resource {
  /**
   * Creates a charge; it starts `pending`, with its QR code at `source.scannable_code.image.download_uri`.
   * After an unknown outcome, retrieve the source before you create another charge.
   * @throws {IntegrityError} when the reply differs in amount, currency, source, metadata or mode
   */
  create(params: ChargeCreateParams, options?: RequestOptions): Promise<Charge> {
    return this.http.post(path`/charges`, params, charge, options, compareCharge);
  }

  retrieve(id: ChargeId, options?: RequestOptions): Promise<Charge> {
    return this.http.get(path`/charges/${id}`, undefined, charge, options);
  }

  /** Expires a pending charge. @throws {InvalidRequestError} `failed_expire` when it is no longer pending. */
  expire(id: ChargeId, options?: RequestOptions): Promise<Charge> {
    return this.http.post(path`/charges/${id}/expire`, undefined, charge, options);
  }

  list(params?: ListParams, options?: RequestOptions): Promise<List<Charge>> {
    return this.http.get(path`/charges`, params, chargeList, options);
  }

  iterate(params: ListParams = {}, options?: RequestOptions): Listing<Charge> {
    return iterateList(params, this.http, (page, each) => this.list(page, each), options);
  }

  /**
   * Refunds a charge in part or in full, or voids it.
   * After an unknown outcome, search `listRefunds` for the metadata that you sent. A provider may store no metadata on
   * refunds: a reply without any is accepted.
   * @throws {InvalidRequestError} `failed_refund` above the amount that is left or when not paid, `failed_void` after
   * the void window
   * @throws {IntegrityError} when the reply differs in amount, charge, metadata or mode
   */
  createRefund(id: ChargeId, params: RefundCreateParams, options?: RequestOptions): Promise<Refund> {
    return this.http.post(path`/charges/${id}/refunds`, params, refund, options, compareRefund);
  }

  listRefunds(id: ChargeId, params?: ListParams, options?: RequestOptions): Promise<List<Refund>> {
    return this.http.get(path`/charges/${id}/refunds`, params, refundList, options);
  }

  iterateRefunds(id: ChargeId, params: ListParams = {}, options?: RequestOptions): Listing<Refund> {
    return iterateList(params, this.http, (page, each) => this.listRefunds(id, page, each), options);
  }

  listEvents(id: ChargeId, params?: ListParams, options?: RequestOptions): Promise<List<Event>> {
    return this.http.get(path`/charges/${id}/events`, params, eventList, options);
  }

  iterateEvents(id: ChargeId, params: ListParams = {}, options?: RequestOptions): Listing<Event> {
    return iterateList(params, this.http, (page, each) => this.listEvents(id, page, each), options);
  }

  /** Test mode: marks a pending charge as paid. @throws {InvalidRequestError} on a live or no longer pending charge. */
  markAsPaid(id: ChargeId, options?: RequestOptions): Promise<Charge> {
    return this.http.post(path`/charges/${id}/mark_as_paid`, undefined, charge, options);
  }

  /**
   * Test mode: marks a pending charge as failed. @throws {InvalidRequestError} on a live or no longer pending charge.
   */
  markAsFailed(id: ChargeId, options?: RequestOptions): Promise<Charge> {
    return this.http.post(path`/charges/${id}/mark_as_failed`, undefined, charge, options);
  }
}

function isOtherSource(requested: SourceId | SourceParams | null, replied: Charge['source']): boolean {
  if (requested === null || replied === undefined) return false;
  if (typeof requested === 'string') return replied?.id !== requested;
  return replied === null || isOtherType(requested.type, replied.type);
}
