import { DEFAULT_ACCOUNT, parseCheckoutId, type CheckoutKey } from '@tillflow/domain';
import { z } from 'zod';

const short = z.string().max(200);

/** What routes a webhook. Nothing else of it is read: the charge is retrieved instead. */
const routing = z.object({
  id: short,
  key: short,
  data: z.looseObject({
    object: z.unknown().optional(),
    id: short.optional(),
    /** Of a refund: the charge that it gives back. */
    charge: z.unknown().optional(),
    metadata: z.looseObject({ checkout: short.optional() }).optional().catch(undefined),
  }),
});

/** It becomes part of a search: nothing but these characters may get there. */
const CHARGE_ID = /^chrg_[0-9A-Za-z_]{1,64}$/;

export type RoutedEvent = {
  readonly id: string;
  /** The kind of event, such as `charge.complete`. */
  readonly key: string;
  /** What the event is about, a charge or a refund. */
  readonly subject: string;
  /** The checkout that its metadata names, or null. */
  readonly checkout: CheckoutKey | null;
  /** The charge that it concerns, or null. */
  readonly chargeId: string | null;
};

/** Where an event belongs, as far as it says; null when it says nothing that we could go by. */
export function routeEvent(event: unknown): RoutedEvent | null {
  const parsed = routing.safeParse(event);
  if (!parsed.success) return null;
  const { id, key, data } = parsed.data;
  const name = data.metadata?.checkout;
  const named = parseCheckoutId(name ?? '');
  const checkout = named?.account === DEFAULT_ACCOUNT ? named : null;
  // One that names a checkout of someone else is not sought among ours.
  const chargeId = checkout === null && name !== undefined ? null : chargeIdOf(data);
  return { id, key, subject: data.id ?? '', checkout, chargeId };
}

function chargeIdOf({ object, id, charge }: z.output<typeof routing>['data']): string | null {
  const chargeId = object === 'refund' ? charge : object === 'charge' ? id : null;
  return typeof chargeId === 'string' && CHARGE_ID.test(chargeId) ? chargeId : null;
}
