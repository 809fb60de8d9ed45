import { plus, type Instant } from '../instant.js';
import type { TheirCharge } from './sides.js';

/** Charges that were paid in one stretch of time. None that was paid before `until` comes later. */
export type Slice = {
  readonly charges: readonly TheirCharge[];
  readonly until: Instant;
  /** Every charge that is still to come was made at this instant or later. */
  readonly listFrom: Instant;
};

export type Slicing = {
  /** Only charges paid from here on, and before `to`. */
  readonly at: Instant;
  readonly to: Instant;
  /** How many charges a slice has, more or less. */
  readonly size: number;
};

/** No slice is longer, so that what follows from it is kept soon. */
const LONGEST_MS = 3_600_000;

/**
 * Paid charges, which a list gives in the order in which they were made, in slices of the order in which they were paid.
 * Held back are only those that were paid later than the newest one was made: as many as had a QR open at that moment.
 */
export async function* inSlices(
  charges: AsyncIterable<TheirCharge>,
  { at, to, size }: Slicing,
): AsyncGenerator<Slice, void, undefined> {
  let held: TheirCharge[] = [];
  let begin = at;
  let read = 0;
  for await (const charge of charges) {
    const { createdAt, paidAt } = charge;
    if (paidAt !== null && paidAt >= at && paidAt < to) held.push(charge);
    read += 1;
    const until = createdAt < to ? createdAt : to;
    if (until <= begin || (read < size && until - begin < LONGEST_MS)) continue;
    const ready = held.filter((one) => isPaidBefore(one, until));
    held = held.filter((one) => !isPaidBefore(one, until));
    yield* cut(ready, begin, until, oldest(held, createdAt));
    begin = until;
    read = 0;
  }
  yield* cut(held, begin, to, to);
}

/** Also a stretch without any payment at the provider is cut: we may have some there. */
function* cut(ready: readonly TheirCharge[], begin: Instant, until: Instant, listFrom: Instant): Generator<Slice> {
  const charges = ready.toSorted((a, b) => paidAtOf(a) - paidAtOf(b) || (a.id < b.id ? -1 : 1));
  let next = 0;
  for (let from = begin; from < until;) {
    const end = Math.min(plus(from, LONGEST_MS), until) as Instant;
    const first = next;
    while (next < charges.length && isPaidBefore(charges[next], end)) next += 1;
    const rest = charges.slice(next);
    yield { charges: charges.slice(first, next), until: end, listFrom: oldest(rest, listFrom) };
    from = end;
  }
}

function isPaidBefore(charge: TheirCharge | undefined, until: Instant): boolean {
  return charge !== undefined && paidAtOf(charge) < until;
}

function paidAtOf({ paidAt, createdAt }: TheirCharge): Instant {
  return paidAt ?? createdAt;
}

function oldest(charges: readonly TheirCharge[], otherwise: Instant): Instant {
  return charges.reduce((least, { createdAt }) => (createdAt < least ? createdAt : least), otherwise);
}
