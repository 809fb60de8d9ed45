import fc from 'fast-check';
import { AMOUNT } from './sample-intent.js';

/** How a caller asks: over HTTP, by an update, or by a signal. A simulation treats them alike. */
export type Way = 'api' | 'update' | 'signal';

/** An action of a till, a customer, an operator, the provider's dashboard or the network that affects a checkout. */
export type Action =
  | { readonly do: 'wait'; readonly ms: number }
  /** `back`: 0 is the newest charge. An older one is paid although it has ended. */
  | { readonly do: 'pay'; readonly back: number; readonly hints: number }
  /** The customer reviews the payment: the provider keeps the charge and refuses to expire it. */
  | { readonly do: 'confirm' }
  | { readonly do: 'decline'; readonly back: number }
  | { readonly do: 'new attempt'; readonly back: number; readonly by: Way }
  | { readonly do: 'cancel'; readonly by: Way }
  | {
      readonly do: 'refund';
      readonly key: string;
      /** Smallest currency unit; null is all that is left. */
      readonly amount: number | null;
      /** How often it is requested at the same time, as impatient callers do. */
      readonly times: number;
      readonly by: Way;
    }
  | { readonly do: 'refund at the dashboard'; readonly back: number; readonly amount: number }
  | {
      readonly do: 'hint';
      readonly back: number;
      readonly kind: 'resent' | 'direct' | 'forged' | 'untrue' | 'unrecognized charge';
    }
  | { readonly do: 'lookup' }
  | { readonly do: 'adopt'; readonly back: number }
  | { readonly do: 'continue as new' }
  | { readonly do: 'outage'; readonly ms: number };
export type ActionOf<Kind extends Action['do']> = Extract<Action, { do: Kind }>;

const back = fc.constantFrom(0, 0, 0, 1, 2);
const by = fc.constantFrom<Way>('api', 'api', 'update', 'signal');
const refundAmount = fc.constantFrom(null, AMOUNT, 50_000, 100_000, 1);
/** No refund of the till has such an amount: of two alike, a person must say which one is the till's. */
const dashboardAmount = fc.constantFrom(AMOUNT - 7, 20_003);

/** Draws what may happen to a checkout anywhere. @param waits milliseconds. */
function everywhere(waits: readonly number[]) {
  return [
    { weight: 5, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(...waits) }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('pay' as const), back, hints: fc.nat(2) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('decline' as const), back }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('new attempt' as const), back: fc.constantFrom(0, 0, 1), by }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel' as const), by }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('refund' as const),
        key: fc.constantFrom('a', 'b', 'c'),
        amount: refundAmount,
        times: fc.constantFrom(1, 1, 2, 3),
        by,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('refund at the dashboard' as const),
        back,
        amount: dashboardAmount,
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('hint' as const),
        back,
        kind: fc.constantFrom<ActionOf<'hint'>['kind']>('resent', 'direct', 'forged', 'untrue', 'unrecognized charge'),
      }),
    },
  ];
}

/** Actions against the real processes, where time passes for real. */
export const liveAction: fc.Arbitrary<Action> = fc.oneof(...everywhere([0, 0, 50, 200, 600, 1_500]), {
  weight: 1,
  arbitrary: fc.record({ do: fc.constant('confirm' as const) }),
});

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;

/** Actions against the model, on a simulated clock. */
export const simulatedAction: fc.Arbitrary<Action> = fc.oneof(
  ...everywhere([0, 200, 1_500, 6 * SECOND, 40 * SECOND, 300 * SECOND, 900 * SECOND, 8 * HOUR, 30 * DAY]),
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lookup' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('continue as new' as const) }) },
);

/** The same, and what an operator may do wrong and a provider's outage. */
export const hostileAction: fc.Arbitrary<Action> = fc.oneof(
  { weight: 20, arbitrary: simulatedAction },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(3 * DAY, 366 * DAY) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('adopt' as const), back: fc.nat(4) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('outage' as const), ms: fc.constantFrom(60 * SECOND, 2 * HOUR, 3 * DAY) }),
  },
);
