import { ApiError } from '../http/api-error.js';
import { found, type ProviderContext } from './context.js';
import type { CardRecord, CustomerRecord } from '../records/records.js';

export type NewCustomer = Omit<CustomerRecord, 'createdAt' | 'defaultCardId' | 'cards'>;
export type NewCard = Omit<CardRecord, 'createdAt' | 'deleted'>;

/** The fields that the API lets a merchant change. Source: API reference, "Customer cards". */
export type CardChange = Partial<
  Pick<CardRecord, 'name' | 'expirationMonth' | 'expirationYear' | 'postalCode' | 'city'>
>;

/** Customers and their stored cards. */
export class Customers {
  constructor(private readonly context: ProviderContext) {}

  /** @throws {ApiError} `not_found`. */
  customer(id: string): CustomerRecord {
    return found(this.context.records.customers.get(id), 'customer', id);
  }

  /** @throws {ApiError} `not_found`, also for a card that was deleted. */
  card(customerId: string, id: string): CardRecord {
    const { cards } = this.customer(customerId);
    return found(
      cards.find((card) => card.id === id),
      'card',
      id,
    );
  }

  add(customer: NewCustomer): CustomerRecord {
    const { records } = this.context;
    const added = records.customers.put({ ...customer, createdAt: this.context.now(), defaultCardId: null, cards: [] });
    this.context.emit('customer.create', { object: 'customer', record: added });
    return added;
  }

  /** The first card of a customer is the default one. */
  addCard(card: NewCard, asDefault: boolean): CardRecord {
    const customer = this.customer(card.customerId);
    const added: CardRecord = { ...card, createdAt: this.context.now(), deleted: false };
    const changed = this.context.records.customers.put({
      ...customer,
      cards: [...customer.cards, added],
      defaultCardId: asDefault ? added.id : (customer.defaultCardId ?? added.id),
    });
    this.context.emit('customer.update.card', { object: 'customer', record: changed });
    return added;
  }

  updateCard(customerId: string, id: string, change: CardChange): CardRecord {
    const changed = this.#replace({ ...this.card(customerId, id), ...change });
    this.context.emit('card.update', { object: 'card', record: changed });
    return changed;
  }

  /** If the removed card was the default, the oldest remaining card becomes the default. */
  removeCard(customerId: string, id: string): CardRecord {
    const customer = this.customer(customerId);
    const removed: CardRecord = { ...this.card(customerId, id), deleted: true };
    const cards = customer.cards.filter((card) => card.id !== id);
    const wasDefault = customer.defaultCardId === id;
    const defaultCardId = wasDefault ? (cards[0]?.id ?? null) : customer.defaultCardId;
    const changed = this.context.records.customers.put({ ...customer, cards, defaultCardId });
    this.context.emit('card.destroy', { object: 'card', record: removed });
    if (wasDefault) this.context.emit('customer.update', { object: 'customer', record: changed });
    return removed;
  }

  /** Makes each later charge of the card fail, or succeed again. It sends no event. */
  setOutcome(id: string, failureCode: CardRecord['failureCode']): CardRecord {
    for (const { cards } of this.context.records.customers.rows) {
      const card = cards.find((each) => each.id === id);
      if (card !== undefined) return this.#replace({ ...card, failureCode });
    }
    throw new ApiError('not_found', `No card ${id} was found.`);
  }

  #replace(card: CardRecord): CardRecord {
    const customer = this.customer(card.customerId);
    const cards = customer.cards.map((each) => (each.id === card.id ? card : each));
    this.context.records.customers.put({ ...customer, cards });
    return card;
  }
}
