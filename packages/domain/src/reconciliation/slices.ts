import { plus, type Instant } from '../instant.js';
import { compareTexts } from './breaks.js';
import { isPaidWithin, paidAtOf, type ProviderCharge } from './records.js';

/** The charges that were paid in one span of time. No later slice contains a payment before `until`. */
export type Slice = {
  readonly charges: readonly ProviderCharge[];
  readonly until: Instant;
  /** Every charge of a later slice was created at this instant or later. */
  readonly listFrom: Instant;
};

export type Slicing = {
  /** Only charges that were paid at or after this, and before `to`. */
  readonly at: Instant;
  readonly to: Instant;
  /** About how many charges a slice has. */
  readonly size: number;
};

/** No slice spans a longer time, so that its result is stored soon. */
const LONGEST_MS = 3_600_000;

/**
 * Cuts a list of charges in the order of their creation into slices in the order of their payments. It buffers only the
 * charges that were paid after the newest charge was created: those whose QR was open at that moment.
 */
export async function* inSlices(
  charges: AsyncIterable<ProviderCharge>,
  { at, to, size }: Slicing,
): AsyncGenerator<Slice, void, undefined> {
  let buffered: ProviderCharge[] = [];
  let begin = at;
  let read = 0;
  for await (const charge of charges) {
    const { createdAt } = charge;
    if (isPaidWithin(charge, at, to)) buffered.push(charge);
    read += 1;
    const until = Math.min(createdAt, to) as Instant;
    if (until <= begin || (read < size && until - begin < LONGEST_MS)) continue;
    yield* cut(buffered, begin, until, createdAt);
    buffered = buffered.filter((one) => !isPaidBefore(one, until));
    begin = until;
    read = 0;
  }
  yield* cut(buffered, begin, to, to);
}

/** A span without charges is cut too: Tillflow may have payments in it. */
function* cut(
  buffered: readonly ProviderCharge[],
  begin: Instant,
  until: Instant,
  listFrom: Instant,
): Generator<Slice> {
  const charges = buffered.toSorted((a, b) => paidAtOf(a) - paidAtOf(b) || compareTexts(a.id, b.id));
  let next = 0;
  for (let from = begin; from < until;) {
    const end = Math.min(plus(from, LONGEST_MS), until) as Instant;
    const first = next;
    while (isPaidBefore(charges[next], end)) next += 1;
    yield { charges: charges.slice(first, next), until: end, listFrom: oldest(charges.slice(next), listFrom) };
    from = end;
  }
}

function isPaidBefore(charge: ProviderCharge | undefined, until: Instant): boolean {
  return charge !== undefined && paidAtOf(charge) < until;
}

function oldest(charges: readonly ProviderCharge[], otherwise: Instant): Instant {
  return charges.reduce((least, { createdAt }) => Math.min(least, createdAt) as Instant, otherwise);
}

/** An iterable that shows its next value before it is taken. */
export class Peekable<T> {
  readonly #values: AsyncIterator<T>;
  #next: Promise<IteratorResult<T>> | null = null;

  constructor(values: AsyncIterable<T>) {
    this.#values = values[Symbol.asyncIterator]();
  }

  /** Takes the next values while they satisfy the test. The first value that does not stays in the iterable. */
  async *while(satisfies: (value: T) => boolean): AsyncGenerator<T, void, undefined> {
    for (;;) {
      this.#next ??= this.#values.next();
      const { done, value } = await this.#next;
      if (done === true || !satisfies(value)) return;
      this.#next = null;
      yield value;
    }
  }

  /** Lets the source release its resources. */
  async close(): Promise<void> {
    await this.#values.return?.();
  }
}
