import { instant } from '@tillflow/domain';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ChargeFacts, RefundFacts } from '../activities.js';
import type { Outcome } from '../../shared/outcome.js';
import { lost, World } from '../../testing/scripted-provider.js';
import { DAY, HOUR, intent, MINUTE, SECOND } from '../../testing/simulated-provider.js';

const RUNS = Number(process.env['INTERLEAVINGS'] ?? 2_000);
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));

const CALLS = [
  'well',
  'well',
  'well',
  'before',
  'after',
  'late',
  'too late',
  'refused',
  'not sent',
  'lie',
  'keyless',
] as const;
const LOOKS = [
  'well',
  'well',
  'well',
  'unseen',
  'amount',
  'mode',
  'other',
  'stale',
  'unlisted',
  'keyless',
  'reversed',
  'odd',
] as const;
const nat = fc.nat(4);
const happening = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant('pass' as const),
      ms: fc.constantFrom(0, 300, 1_500, 6_000, 40_000, 300_000, 1_000_000, 8 * HOUR, 3 * DAY, 366 * DAY),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('pay' as const),
      which: nat,
      hint: fc.boolean(),
      skew: fc.constantFrom(0, 0, -2 * DAY, 3 * HOUR, 3 * DAY),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('fail' as const), which: nat }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('cancel' as const) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('attempt' as const), back: fc.nat(1) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('refund' as const),
      key: fc.constantFrom('a', 'b', 'c'),
      amount: fc.constantFrom(null, 150_000, 50_000, 1),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('elsewhere' as const),
      which: nat,
      amount: fc.constantFrom(150_000, 50_000),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant('hint' as const),
      which: nat,
      key: fc.constantFrom('charge.complete', 'charge.update'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('forged' as const), which: nat }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('look' as const) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('adopt' as const), which: nat }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('restart' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ what: fc.constant('outage' as const), ms: fc.constantFrom(MINUTE, 2 * HOUR, 3 * DAY) }),
  },
);
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

it(`holds in ${RUNS} hostile lives (SEED=${SEED})`, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(happening, { minLength: 3, maxLength: 20 }),
      fc.array(fc.constantFrom(...CALLS), { maxLength: 12 }),
      fc.array(fc.constantFrom(...LOOKS), { maxLength: 25 }),
      fc.array(happening, { maxLength: 5 }),
      fc.constantFrom('return' as const, 'keep' as const),
      async (happenings, calls, looks, interruptions, latePayment) => {
        const world = new World({ latePayment });
        const trace: string[] = [];
        const call = calls.values();
        const look = looks.values();
        const interruption = interruptions.values();
        let healed = false;
        const trueKeys: { id: string; key: string | null }[] = [];
        let before: ChargeFacts[] = [];
        const scripted = <T>(effect: () => Outcome<T>, lie: (value: T) => T, keyless: (value: T) => T): Outcome<T> => {
          const fate = healed ? 'well' : (call.next().value ?? 'well');
          if (fate !== 'well') trace.push(`   call ${fate}`);
          switch (fate) {
            case 'well':
              return effect();
            case 'before':
              return lost;
            case 'after':
              effect();
              return lost;
            case 'late':
              world.after(14 * SECOND, () => void effect());
              return lost;
            case 'too late':
              world.after(4 * MINUTE, () => void effect());
              return lost;
            case 'refused':
              return { kind: 'rejected', code: 'refused', message: 'no', retryable: false };
            case 'not sent':
              return { kind: 'rejected', code: 'connection', message: 'no', retryable: true };
            case 'lie': {
              const outcome = effect();
              return outcome.kind === 'done' ? { kind: 'done', value: lie(outcome.value) } : outcome;
            }
            case 'keyless': {
              const outcome = effect();
              return outcome.kind === 'done' ? { kind: 'done', value: keyless(outcome.value) } : outcome;
            }
          }
        };
        const always = <T>(make: (effect: () => Outcome<T>) => Outcome<T>) =>
          ({ shift: () => make }) as unknown as ((effect: () => Outcome<T>) => Outcome<T>)[];
        world.onCharge = always<ChargeFacts>((effect) =>
          scripted(
            effect,
            (value) => ({ ...value, amount: 1 }),
            (value) => ({ ...value, checkoutId: null, attempt: null }),
          ),
        );
        world.onRefund = always<RefundFacts>((effect) =>
          scripted(
            () => {
              const outcome = effect();
              if (outcome.kind === 'done') trueKeys.push({ id: outcome.value.refundId, key: outcome.value.key });
              return outcome;
            },
            (value) => ({ ...value, amount: 1 }),
            (value) => ({ ...value, key: null }),
          ),
        );
        let reversals = 0;
        world.bend = (facts) => {
          const fate = healed ? 'well' : (look.next().value ?? 'well');
          if (fate !== 'well') trace.push(`   look ${fate}`);
          const earlier = before.find(({ chargeId }) => chargeId === facts.chargeId);
          before = [...before.filter(({ chargeId }) => chargeId !== facts.chargeId), facts];
          switch (fate) {
            case 'amount':
              return { ...facts, amount: 1, refundedAmount: 150_000 };
            case 'mode':
              return { ...facts, isOtherMode: true, refunds: [], refundedAmount: 0 };
            case 'other':
              return { ...facts, checkoutId: 'chk_other' };
            case 'stale':
              return earlier ?? facts;
            case 'unlisted':
              return { ...facts, refunds: [] };
            case 'keyless':
              return { ...facts, refunds: facts.refunds.map((one) => ({ ...one, key: null })) };
            case 'odd':
              return { ...facts, status: 'on_hold' };
            case 'reversed':
              reversals += 1;
              return { ...facts, status: 'reversed' };
            default:
              return facts;
          }
        };
        const happen = (one: Happening): void => {
          const charge = (which: number) => world.charges[which % Math.max(world.charges.length, 1)];
          trace.push(`${world.now - 1773133200000} ${JSON.stringify(one)}`);
          switch (one.what) {
            case 'pay': {
              const paid = charge(one.which);
              if (paid === undefined || paid.status === 'successful') return;
              world.pay(paid, one.hint);
              paid.paidAt = instant(world.now + one.skew);
              return;
            }
            case 'fail': {
              const failed = charge(one.which);
              if (failed?.status === 'pending') failed.status = 'failed';
              return;
            }
            case 'cancel':
              world.model.requestCancel(world.now);
              return;
            case 'attempt':
              world.model.requestAttempt(world.now, { after: world.model.attempt.number - one.back });
              return;
            case 'refund':
              world.model.requestRefund(world.now, { key: one.key, amount: one.amount, reason: null });
              return;
            case 'elsewhere': {
              const refunded = charge(one.which);
              if (refunded?.status === 'successful') world.makeRefund(refunded, one.amount, false, null);
              return;
            }
            case 'hint':
              world.hint(charge(one.which)?.id ?? null, one.key);
              return;
            case 'forged':
              world.hint(`chrg_test_forged${one.which}`);
              return;
            case 'look':
              world.model.resolve(world.now, { action: 'look', reason: 'a test' });
              return;
            case 'adopt': {
              const ids = [...world.charges.map(({ id }) => id), ...world.refunds.map(({ id }) => id)];
              const id = ids[one.which % Math.max(ids.length, 1)];
              if (id !== undefined) world.model.resolve(world.now, { action: 'adopt', id, reason: 'a test' });
              return;
            }
            case 'restart':
            case 'outage':
            case 'pass':
          }
        };
        world.during = () => {
          const one = interruption.next().value;
          if (one !== undefined) happen(one);
        };
        for (const one of happenings) {
          happen(one);
          if (one.what === 'restart') world.restart();
          if (one.what === 'outage') {
            world.down = true;
            await world.pass(one.ms);
            world.down = false;
          }
          await world.pass(one.what === 'pass' ? one.ms : 1);
        }
        healed = true;
        await world.pass(2 * DAY);
        world.model.resolve(world.now, { action: 'look', reason: 'heal' });
        for (const { id } of world.charges) world.hint(id);
        await world.pass(2 * DAY);
        try {
          const codes = world.model.state.attentions.map(({ code }) => code);
          const paid = world.charges.filter(({ status }) => status === 'successful');
          const given = (charge: (typeof paid)[number]): number =>
            charge.refunds.reduce((sum, { amount }) => sum + amount, 0);
          if (reversals === 0) expect(world.model.isPaid).toBe(paid.length > 0);
          expect(world.charges.filter(({ status }) => status === 'pending')).toEqual([]);
          const acceptedCharge = paid.find(({ id }) => id === world.model.state.charges.accepted);
          if (acceptedCharge !== undefined) expect(world.state.refunded_amount).toBe(given(acceptedCharge));
          const isOpen = (charge: (typeof paid)[number]): boolean => world.now < (charge.paidAt ?? 0) + 360 * DAY;
          for (const charge of paid) {
            const mustReturn =
              charge !== acceptedCharge || (world.model.state.charges.lateAfter !== null && latePayment === 'return');
            if (
              mustReturn &&
              isOpen(charge) &&
              !codes.includes('return_refused') &&
              !codes.includes('refund_unmatched')
            ) {
              expect(given(charge)).toBe(intent.amount);
            }
          }
          for (const { key, status } of world.model.refunds) {
            const made = trueKeys.filter((one) => one.key === key && world.refunds.some(({ id }) => id === one.id));
            if (!codes.includes('refund_doubled')) expect(made.length).toBeLessThanOrEqual(1);
            if (status === 'rejected') expect(made).toEqual([]);
            if (status === 'pending') {
              const excused = ['refund_unmatched', 'integrity_mismatch'].some((code) =>
                codes.some((one) => one === code),
              );
              expect(excused).toBe(true);
            }
          }
          expect(world.log.length).toBeLessThan(9_000);
          expect(JSON.stringify(world.model.state).length).toBeLessThan(40_000);
        } catch (error) {
          const state = JSON.stringify(world.model.state, null, 1);
          throw new Error(`It happened so:\n${trace.join('\n')}\n${JSON.stringify(world.log)}\n${state}`, {
            cause: error,
          });
        }
      },
    ),
    { numRuns: RUNS, seed: SEED },
  );
});
