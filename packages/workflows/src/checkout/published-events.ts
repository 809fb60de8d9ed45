import { isPaid, type CheckoutStatus } from '@tillflow/domain';
import type { CheckoutState } from './types.js';

/** The events of a checkout that Tillflow sends to other systems, without their prefix `checkout.`. */
export const CHECKOUT_EVENTS = [
  'awaiting_payment',
  'paid',
  'failed',
  'expired',
  'cancelled',
  'refunded',
  'attention',
] as const;
export type CheckoutEvent = (typeof CHECKOUT_EVENTS)[number];

/** The feed finds a first QR code by the start of its checkout. One that comes later than this has the time of its change. */
export const FIRST_QR_WITHIN_MS = 60_000;

/** The newest event of each kind: the version of the checkout that it made, and when, in milliseconds since 1970 UTC. */
export type PublishedEvents = { readonly [event in CheckoutEvent]?: readonly [version: number, at: number] };

type Compared = Pick<CheckoutState, 'status' | 'attempts' | 'refunded_amount' | 'attention' | 'paid_at' | 'payment'>;

const NEW: Compared = { status: 'creating', attempts: [], paid_at: null, refunded_amount: 0, attention: null };

const EVENT_OF: Readonly<Record<CheckoutStatus, CheckoutEvent | null>> = {
  creating: null,
  awaiting_payment: 'awaiting_payment',
  paid: 'paid',
  partially_refunded: 'paid',
  refunded: 'paid',
  failed: 'failed',
  expired: 'expired',
  cancelled: 'cancelled',
};

/**
 * What happened between two published states, in the order in which it happened. A change that lasts and is no event of
 * its own, such as a fee that the provider names later, repeats the event of the status.
 * @param before absent: the first
 * @param published the events until `before`
 */
export function eventsBetween(
  before: Compared | undefined,
  after: Compared,
  published: PublishedEvents = {},
): CheckoutEvent[] {
  const events = newEventsBetween(before, after);
  return events.length === 0 && hasNewDetails(before ?? NEW, after) ? repeated(after, published) : events;
}

/** As {@link eventsBetween}, without repeated events. */
export function newEventsBetween(before: Compared | undefined, after: Compared): CheckoutEvent[] {
  const known = before ?? NEW;
  const event = hasNewStatus(known, after) ? EVENT_OF[after.status] : null;
  return [
    ...(event === null ? [] : [event]),
    ...(after.refunded_amount > known.refunded_amount ? (['refunded'] as const) : []),
    ...(isSame(after.attention, known.attention) ? [] : (['attention'] as const)),
  ];
}

/** False while the checkout is open: the event of its next status contains the new details. */
function hasNewDetails(before: Compared, after: Compared): boolean {
  const details = ({ attempts, paid_at, payment }: Compared): unknown => [attempts, paid_at, payment];
  return (isPaid(after.status) || hasEnded(after)) && !isSame(details(before), details(after));
}

/** Tillflow never sent `paid` for a late payment that it returned, so a change of its details repeats `refunded`. */
function repeated({ status }: Compared, { paid }: PublishedEvents): CheckoutEvent[] {
  const event = status === 'refunded' && paid === undefined ? 'refunded' : EVENT_OF[status];
  return event === null ? [] : [event];
}

/**
 * A further attempt may have the status of the one before. A refund leaves a paid checkout paid. A payment that came too
 * late and was returned did not count.
 */
function hasNewStatus(before: Compared, after: Compared): boolean {
  if (isPaid(after.status)) return !isPaid(before.status) && !(hasEnded(before) && after.status === 'refunded');
  return after.status !== before.status || after.attempts.at(-1)?.number !== before.attempts.at(-1)?.number;
}

function hasEnded({ status }: Compared): boolean {
  return status === 'failed' || status === 'expired' || status === 'cancelled';
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
