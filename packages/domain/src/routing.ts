import { DEFAULT_ACCOUNT, parseCheckoutId, type CheckoutKey } from './ids.js';

/** A longer id or kind of event is not valid. */
const MAX_LENGTH = 200;

/** It becomes part of a search query: no other characters are allowed. */
const CHARGE_ID = /^chrg_[0-9A-Za-z_]{1,64}$/;

/** The id of a transaction. */
const TRANSACTION_ID = /^trxn_[0-9A-Za-z_]{1,64}$/;

/** Only Tillflow's own calls cause these events. */
const CAUSED_BY_TILLFLOW: ReadonlySet<string> = new Set(['charge.create']);

/** The parts of a provider's event that route it. Tillflow reads no other part, and retrieves the record instead. */
export type RoutedEvent = {
  /** Empty when the event has no valid id. */
  readonly id: string;
  /** The kind of event, such as `charge.complete`. The provider may add kinds. Empty when the event has none. */
  readonly key: string;
  /** The id of the record that the event concerns, such as a charge or a refund. Empty when the event has none. */
  readonly subject: string;
  /** The checkout that the record's metadata names, or null. */
  readonly checkout: CheckoutKey | null;
  /** The charge that it concerns, or null. */
  readonly chargeId: string | null;
  /** The transaction that the event's charge names, or null. */
  readonly transactionId: string | null;
  /** Whether the event contains the record's metadata. The account's API version decides that. */
  readonly showsMetadata: boolean;
};

/**
 * Routes an event, even one that does not match its documented form: an event is only a reason to retrieve its record.
 * Null when the event concerns no record.
 * @param account whose events are routed: a checkout of another account is foreign
 */
export function routeEvent(event: unknown, account = DEFAULT_ACCOUNT): RoutedEvent | null {
  if (!isObject(event) || !isObject(event['data'])) return null;
  const { data } = event;
  const { metadata } = data;
  const named = isObject(metadata) ? textOf(metadata['checkout']) : '';
  const key = parseCheckoutId(named);
  const checkout = key?.account === account ? key : null;
  // When the metadata name a checkout of another system, the charge belongs to none of Tillflow's checkouts.
  const isForeign = checkout === null && named !== '';
  return {
    id: textOf(event['id']),
    key: textOf(event['key']),
    subject: textOf(data['id']),
    checkout,
    chargeId: isForeign ? null : chargeOf(data),
    transactionId: transactionOf(data),
    showsMetadata: isObject(metadata),
  };
}

/** Whether an event may report a change of a checkout that Tillflow did not cause. */
export function mayChangeCheckout({ key, checkout, chargeId }: RoutedEvent): boolean {
  return !CAUSED_BY_TILLFLOW.has(key) && (checkout !== null || chargeId !== null);
}

/** By the kind of record, or by the prefix of its id when the kind is missing. */
function chargeOf({ object, id, charge }: Readonly<Record<string, unknown>>): string | null {
  const about = object === 'refund' ? (isObject(charge) ? charge['id'] : charge) : id;
  const isAsked = object === 'refund' || object === 'charge' || object === undefined || object === null;
  return isAsked && typeof about === 'string' && CHARGE_ID.test(about) ? about : null;
}

/** Only of a charge: a refund has a transaction of its own. */
function transactionOf({ object, transaction }: Readonly<Record<string, unknown>>): string | null {
  return object === 'charge' && typeof transaction === 'string' && TRANSACTION_ID.test(transaction)
    ? transaction
    : null;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string {
  return typeof value === 'string' && value.length <= MAX_LENGTH ? value : '';
}
