import { DEFAULT_ACCOUNT, parseCheckoutId, type CheckoutKey } from './ids.js';

/** An id or a kind of event that is longer is none. */
const MAX_LENGTH = 200;

/** It becomes part of a search: nothing but these characters may get there. */
const CHARGE_ID = /^chrg_[0-9A-Za-z_]{1,64}$/;

/** Our own calls bring these about: there is nothing to look for. */
const NO_NEWS: ReadonlySet<string> = new Set(['charge.create']);

/** What routes an event of the provider. Nothing else of it is read: what it is about is retrieved instead. */
export type RoutedEvent = {
  readonly id: string;
  /** The kind of event, such as `charge.complete`. An open list. */
  readonly key: string;
  /** What the event is about, such as a charge or a refund. */
  readonly subject: string;
  /** The checkout that its metadata names, or null. */
  readonly checkout: CheckoutKey | null;
  /** The charge that it concerns, or null. */
  readonly chargeId: string | null;
};

/** Where an event belongs, as far as it says; null when it says nothing that we could go by. */
export function routeEvent(event: unknown): RoutedEvent | null {
  if (!isObject(event) || !isObject(event['data'])) return null;
  const { id, key, data } = event;
  const { object, id: subject, charge, metadata } = data;
  if (!isShort(id) || !isShort(key) || (subject !== undefined && !isShort(subject))) return null;
  const name = isObject(metadata) && isShort(metadata['checkout']) ? metadata['checkout'] : null;
  const named = parseCheckoutId(name ?? '');
  const checkout = named?.account === DEFAULT_ACCOUNT ? named : null;
  const about = object === 'refund' ? charge : object === 'charge' ? subject : null;
  // One that names a checkout of someone else is not sought among ours.
  const isForeign = checkout === null && name !== null;
  const chargeId = !isForeign && typeof about === 'string' && CHARGE_ID.test(about) ? about : null;
  return { id, key, subject: subject ?? '', checkout, chargeId };
}

/** Whether an event may tell something about a checkout of ours that we do not bring about ourselves. */
export function isNews({ key, checkout, chargeId }: RoutedEvent): boolean {
  return !NO_NEWS.has(key) && (checkout !== null || chargeId !== null);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isShort(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_LENGTH;
}
