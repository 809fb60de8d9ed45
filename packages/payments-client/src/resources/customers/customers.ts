import type { RequestOptions } from '../../options.js';
import { iterateList, type List, listOf, type ListParams } from '../../pagination/list.js';
import type { Listing } from '../../pagination/listing.js';
import { named, path } from '../../request/path.js';
import { Resource } from '../resource.js';
import { type Card, card, type CardId, type Customer, customer, type CustomerId } from './schema.js';

/**
 * A field that is left out stays as it is. Null clears city or postal code (assumption). Source: API reference,
 * "Customer cards".
 */
export interface CardUpdateParams {
  /** The holder's. */
  name?: string | null | undefined;
  /** 1 to 12. */
  expiration_month?: number | null | undefined;
  /** Four digits. */
  expiration_year?: number | null | undefined;
  postal_code?: string | null | undefined;
  city?: string | null | undefined;
}

const cardList = listOf(card);

/** Cards stored on customers. Source: API reference, "Customer cards"; retrieve is an assumption. */
export class Customers extends Resource {
  retrieve(id: CustomerId, options?: RequestOptions): Promise<Customer> {
    return this.http.get(path`/customers/${id}`, undefined, customer, options);
  }

  listCards(id: CustomerId, params?: ListParams, options?: RequestOptions): Promise<List<Card>> {
    return this.http.get(path`/customers/${id}/cards`, params, cardList, options);
  }

  iterateCards(id: CustomerId, params: ListParams = {}, options?: RequestOptions): Listing<Card> {
    return iterateList(params, this.http, (page, each) => this.listCards(id, page, each), options);
  }

  retrieveCard(id: CustomerId, cardId: CardId, options?: RequestOptions): Promise<Card> {
    return this.http.get(path`/customers/${id}/cards/${named('card_id', cardId)}`, undefined, card, options);
  }

  updateCard(id: CustomerId, cardId: CardId, params: CardUpdateParams, options?: RequestOptions): Promise<Card> {
    return this.http.patch(path`/customers/${id}/cards/${named('card_id', cardId)}`, params, card, options);
  }

  /** Removes a card, which then cannot be charged. */
  destroyCard(id: CustomerId, cardId: CardId, options?: RequestOptions): Promise<Card> {
    return this.http.delete(path`/customers/${id}/cards/${named('card_id', cardId)}`, card, options);
  }
}
