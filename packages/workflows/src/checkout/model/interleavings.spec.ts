import { isAwaitingPayment } from '@tillflow/domain';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DAY, intent, SECOND, sumOf, type SimulatedCharge } from '../../testing/simulated-provider.js';
import { FATES, Simulation, type Fate } from '../../testing/simulation.js';

/** How many random lives of a checkout are tried, and with which seed: printed, so that any can be tried again. */
const RUNS = Number(process.env['INTERLEAVINGS'] ?? 2_000);
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));

const pick = fc.nat(5);
const happening = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      what: fc.constant('pass' as const),
      ms: fc.constantFrom(
        0,
        200,
        1_500,
        6 * SECOND,
        40 * SECOND,
        300 * SECOND,
        900 * SECOND,
        8 * 3_600 * SECOND,
        30 * DAY,
      ),
    }),
  },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('pay' as const), which: pick, hints: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('fail' as const), which: pick }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('cancel' as const) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('attempt' as const), back: fc.nat(1) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('refund' as const),
      key: fc.constantFrom('a', 'b', 'c'),
      amount: fc.constantFrom(null, 150_000, 50_000, 100_000, 1),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('refund elsewhere' as const),
      which: pick,
      amount: fc.constantFrom(149_999, 20_003),
    }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('hint' as const), which: pick }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('forged hint' as const) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('look' as const) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('restart' as const) }) },
);
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

/**
 * A payment of a checkout whose workflow has closed, as the event tail finds it.
 * @returns the charge, where it is one that came too late.
 */
function payTheClosed(world: Simulation, which: number): SimulatedCharge[] {
  const late = world.charges[which % Math.max(world.charges.length, 1)];
  if (late === undefined) return [];
  const isTooLate = !world.model.isPaid;
  if (late.status !== 'successful') world.takePayment(late);
  world.trace.push(`pay the closed ${late.id}`);
  const shown = (): unknown => ({ ...world.model.result(world.now), timeline: null });
  const before = shown();
  world.reopen(late);
  expect(shown()).toEqual(before);
  world.model.hint(world.now, { eventId: 'evnt', eventKey: 'charge.complete', chargeId: late.id });
  return isTooLate ? [late] : [];
}

/** What an interleaving says of itself when it breaks. */
function happen(world: Simulation, one: Happening): void {
  const { model, now } = world;
  const charge = (which: number): SimulatedCharge | undefined =>
    world.charges[which % Math.max(world.charges.length, 1)];
  const hint = (id: string | null): void =>
    model.hint(now, { eventId: 'evnt', eventKey: 'charge.complete', chargeId: id });
  world.trace.push(`${one.what} ${JSON.stringify(one)}`);
  switch (one.what) {
    case 'pay': {
      const paid = charge(one.which);
      // A customer may be faster than an expiry, and a provider may show it late: also an ended charge can be paid.
      if (paid === undefined || paid.status === 'successful') return;
      world.takePayment(paid);
      for (let count = 0; count < one.hints; count += 1) hint(paid.id);
      return;
    }
    case 'fail': {
      const failed = charge(one.which);
      if (failed?.status === 'pending') failed.status = 'failed';
      return;
    }
    case 'cancel':
      model.requestCancel(now);
      return;
    case 'attempt':
      world.askAgain(model.attempt.number - one.back);
      return;
    case 'refund':
      model.requestRefund(now, { key: one.key, amount: one.amount, reason: null });
      return;
    case 'refund elsewhere': {
      const refunded = charge(one.which);
      if (refunded?.status === 'successful') world.refundElsewhere(refunded, one.amount);
      return;
    }
    case 'hint':
      hint(charge(one.which)?.id ?? null);
      return;
    case 'forged hint':
      hint('chrg_test_forged');
      return;
    case 'look':
      model.resolve(now, { action: 'look', reason: 'a test' });
      return;
    case 'restart':
      world.restart();
      return;
    case 'pass':
  }
}

const returnedAmount = ({ refunds }: SimulatedCharge): number => sumOf(refunds);

/** What must be true of the provider's books and ours once all is settled. */
function settle(world: Simulation, latePayment: 'return' | 'keep'): void {
  const { model, paid } = world;
  const { status, refunded_amount, attention } = model.projection(world.now);
  expect(model.isPaid).toBe(paid.length > 0);
  expect(world.charges.filter((charge) => charge.status === 'pending')).toEqual([]);
  const acceptedCharge = paid.find(({ id }) => id === model.state.charges.accepted);
  for (const charge of paid) if (charge !== acceptedCharge) expect(returnedAmount(charge)).toBe(intent.amount);
  if (acceptedCharge !== undefined) {
    expect(refunded_amount).toBe(returnedAmount(acceptedCharge));
    const isReturned = model.state.charges.lateAfter !== null && latePayment === 'return';
    if (isReturned) expect(returnedAmount(acceptedCharge)).toBe(intent.amount);
    const expected =
      returnedAmount(acceptedCharge) === 0
        ? 'paid'
        : returnedAmount(acceptedCharge) === intent.amount
          ? 'refunded'
          : 'partially_refunded';
    expect(status).toBe(expected);
  } else {
    expect(isAwaitingPayment(status)).toBe(false);
  }
  for (const { key, status: outcome, amount } of model.refunds) {
    expect(outcome).not.toBe('pending');
    const made = world.refunds.filter((refund) => refund.key === key);
    if (outcome === 'rejected') expect(made).toEqual([]);
    else if (made.length > 0) expect(made[0]?.amount).toBe(amount);
  }
  const keys = world.refunds.flatMap(({ key }) => (key === null ? [] : [key]));
  if (attention?.code !== 'refund_doubled') expect(new Set(keys).size).toBe(keys.length);
}

describe('the life of a checkout', () => {
  it(`ends right in ${RUNS} random interleavings (SEED=${SEED})`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(happening, { minLength: 3, maxLength: 25 }),
        fc.array(fc.constantFrom(...FATES), { maxLength: 40 }),
        fc.array(happening, { maxLength: 6 }),
        fc.constantFrom('return' as const, 'keep' as const),
        async (happenings, fates, interruptions, latePayment) => {
          const nextFate = fates.values();
          const nextInterruption = interruptions.values();
          const world: Simulation = new Simulation(
            { latePayment },
            (): Fate => nextFate.next().value ?? 'well',
            () => {
              const one = nextInterruption.next().value;
              if (one !== undefined && one.what !== 'restart') happen(world, one);
            },
          );
          try {
            for (const one of happenings) {
              happen(world, one);
              await world.pass(one.what === 'pass' ? one.ms : 1);
            }
            await world.heal();
            settle(world, latePayment);
          } catch (error) {
            throw new Error(`It happened so:\n${world.trace.join('\n')}`, { cause: error });
          }
        },
      ),
      { numRuns: RUNS, seed: SEED },
    );
  });

  it(`ends right when money comes after it has closed, in as many (SEED=${SEED})`, async () => {
    let reopened = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(happening, { minLength: 1, maxLength: 10 }),
        fc.array(fc.constantFrom(...FATES), { maxLength: 15 }),
        fc.array(fc.record({ which: pick, happenings: fc.array(happening, { maxLength: 6 }) }), {
          minLength: 1,
          maxLength: 3,
        }),
        fc.constantFrom('return' as const, 'keep' as const),
        async (before, fates, returns, latePayment) => {
          const nextFate = fates.values();
          const world: Simulation = new Simulation(
            { latePayment },
            (): Fate => nextFate.next().value ?? 'well',
            () => undefined,
          );
          const tooLate: SimulatedCharge[] = [];
          const live = async (happenings: readonly Happening[]): Promise<void> => {
            for (const one of happenings) {
              happen(world, one);
              await world.pass(one.what === 'pass' ? one.ms : 1);
            }
          };
          try {
            await live(before);
            for (const { which, happenings } of returns) {
              // What was paid is hinted at well before it is too late to give it back.
              for (const [at] of world.charges.entries()) happen(world, { what: 'hint', which: at });
              // The end of an unpaid one, or of the year in which a payment can be refunded.
              await world.pass(4 * DAY);
              if (!world.isClosed) await world.pass(400 * DAY);
              if (!world.isClosed || world.charges.length === 0) break;
              reopened += 1;
              tooLate.push(...payTheClosed(world, which));
              await world.pass(1);
              await live(happenings);
            }
            await world.heal();
            settle(world, latePayment);
          } catch (error) {
            throw new Error(`It happened so:\n${world.trace.join('\n')}`, { cause: error });
          }
        },
      ),
      { numRuns: RUNS, seed: SEED },
    );
    expect(reopened).toBeGreaterThan(RUNS / 4);
  });
});
