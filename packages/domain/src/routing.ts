import { DEFAULT_ACCOUNT, parseCheckoutId, type CheckoutKey } from './ids.js';

/** An id or a kind of event that is longer is none. */
const MAX_LENGTH = 200;

/** It becomes part of a search: nothing but these characters may get there. */
const CHARGE_ID = /^chrg_[0-9A-Za-z_]{1,64}$/;

/** Our own calls bring these about: there is nothing to look for. */
const NO_NEWS: ReadonlySet<string> = new Set(['charge.create']);

/** What routes an event of the provider. Nothing else of it is read: what it is about is retrieved instead. */
export type RoutedEvent = {
  /** Empty where it has none that could be one. */
  readonly id: string;
  /** The kind of event, such as `charge.complete`. An open list; empty where it says none. */
  readonly key: string;
  /** What the event is about, such as a charge or a refund. Empty where it does not say. */
  readonly subject: string;
  /** The checkout that its metadata names, or null. */
  readonly checkout: CheckoutKey | null;
  /** The charge that it concerns, or null. */
  readonly chargeId: string | null;
  /** Whether it shows metadata, which say whose it is. The account's API version decides what an event shows. */
  readonly showsMetadata: boolean;
};

/**
 * Where an event belongs, as far as it says, also one that is not of the documented shape: it is only a reason to look.
 * Null when there is nothing that it could be about.
 */
export function routeEvent(event: unknown): RoutedEvent | null {
  if (!isObject(event) || !isObject(event['data'])) return null;
  const { data } = event;
  const { metadata } = data;
  const named = isObject(metadata) ? textOf(metadata['checkout']) : '';
  const key = parseCheckoutId(named);
  const checkout = key?.account === DEFAULT_ACCOUNT ? key : null;
  // One that names a checkout of someone else is not sought among ours.
  const isForeign = checkout === null && named !== '';
  return {
    id: textOf(event['id']),
    key: textOf(event['key']),
    subject: textOf(data['id']),
    checkout,
    chargeId: isForeign ? null : chargeOf(data),
    showsMetadata: isObject(metadata),
  };
}

/** Whether an event may tell something about a checkout of ours that we do not bring about ourselves. */
export function isNews({ key, checkout, chargeId }: RoutedEvent): boolean {
  return !NO_NEWS.has(key) && (checkout !== null || chargeId !== null);
}

/** By the kind of record, or, where that is missing, by the prefix of its id. */
function chargeOf({ object, id, charge }: Readonly<Record<string, unknown>>): string | null {
  const about = object === 'refund' ? (isObject(charge) ? charge['id'] : charge) : id;
  const isAsked = object === 'refund' || object === 'charge' || object === undefined || object === null;
  return isAsked && typeof about === 'string' && CHARGE_ID.test(about) ? about : null;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string {
  return typeof value === 'string' && value.length <= MAX_LENGTH ? value : '';
}
