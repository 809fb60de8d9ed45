import { mayChangeCheckout, parseCheckoutId, routeEvent, type RoutedEvent } from '@tillflow/domain';
import { UnreadableRecord, type Event } from '@tillflow/payments-client';
import type { UnplacedEvent } from '@tillflow/workflows';
import { subjectOfUnreadable } from './unplaced.js';

/** An entry of the provider's list of events: an event, or a record that does not match the schema of one. */
export type ListedEvent = Event | UnreadableRecord;

/** The kind of an event, and the id of the record that it concerns. */
type Change = Pick<RoutedEvent, 'key' | 'subject'>;

/** An event about a checkout or a charge that may change the checkout. */
export type CheckoutEvent = RoutedEvent & {
  /** Other events about the same charge, which are delivered with this one. */
  readonly also: readonly Change[];
  /** When it happened, ISO 8601; null when the provider does not say. */
  readonly createdAt: string | null;
  /** The same event after its last try; null at the first try. */
  readonly before: UnplacedEvent | null;
};

/** Every change that an event and those delivered with it report. */
export function changesOf({ key, subject, also }: CheckoutEvent): readonly Change[] {
  return [{ key, subject }, ...also];
}

/** Null when the event changes no checkout. An unreadable event is a reason to retrieve the charge that it names. */
export function toCheckoutEvent(
  listed: ListedEvent,
  before: UnplacedEvent | null,
  account?: string,
): CheckoutEvent | null {
  const routed = routeEvent(listed instanceof UnreadableRecord ? listed.json : listed, account);
  if (routed === null || !mayChangeCheckout(routed)) return null;
  return { ...routed, id: listed.id, also: [], createdAt: createdAtOf(listed) ?? null, before };
}

/** An unplaced event that names a checkout or a charge. */
export function fromUnplaced(event: UnplacedEvent): CheckoutEvent {
  return {
    id: event.event_id,
    key: event.event_key,
    subject: event.subject,
    checkout: parseCheckoutId(event.checkout_id ?? ''),
    chargeId: event.charge_id,
    transactionId: null,
    // The charge itself names its checkout.
    showsMetadata: false,
    also: [],
    createdAt: event.created_at ?? null,
    before: event,
  };
}

/** Merges the events of one charge of one checkout. `charge.complete` never replaces another kind of event. */
export function mergeByCharge(events: readonly CheckoutEvent[]): CheckoutEvent[] {
  const merged = new Map<string, CheckoutEvent>();
  for (const event of events) {
    const charge = `${event.checkout?.reference ?? ''} ${event.chargeId ?? event.subject}`;
    const before = merged.get(charge);
    if (before === undefined) merged.set(charge, event);
    else if (event.key === 'charge.complete') merged.set(charge, { ...before, also: [...before.also, event] });
    else merged.set(charge, { ...event, also: [...event.also, before] });
  }
  return [...merged.values()];
}

export function createdAtOf(listed: ListedEvent): string | null | undefined {
  return listed instanceof UnreadableRecord ? subjectOfUnreadable(listed).created_at : listed.created_at;
}

/**
 * The events that this process has handled completely, so that the overlap of two passes does not deliver them again.
 * A provider in test mode may use an id again after it was reset, so the time is part of the identity.
 */
export class HandledEvents {
  readonly #identities = new Set<string>();

  /** @param limit beyond it, the oldest events are forgotten; at worst they are delivered once more */
  constructor(private readonly limit: number) {}

  has(id: string, createdAt: string | null | undefined): boolean {
    return this.#identities.has(identityOf(id, createdAt));
  }

  add(id: string, createdAt: string | null | undefined): void {
    this.#identities.add(identityOf(id, createdAt));
    for (const oldest of this.#identities) {
      if (this.#identities.size <= this.limit) return;
      this.#identities.delete(oldest);
    }
  }
}

function identityOf(id: string, createdAt: string | null | undefined): string {
  return `${id} ${createdAt ?? ''}`;
}
