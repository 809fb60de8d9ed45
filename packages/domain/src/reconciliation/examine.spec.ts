import { describe, expect, it } from 'vitest';
import { plus } from '../instant.js';
import { healsByLooking, type Break } from './breaks.js';
import { examineAbsence, examineDebit, examinePayment } from './examine.js';
import { agreeingBooks, DAY_MS, randomOf, TO } from './seeded-books.js';
import type { Movement, OurCheckout, OurRefund, TheirCharge, TheirRefund } from './sides.js';

const RULES = { now: TO, youngMs: 900_000, settleWithinMs: 8 * DAY_MS };

const whole = agreeingBooks(50, randomOf(1)).find(
  ({ checkout, charge }) => checkout?.status === 'paid' && charge !== null,
);
if (whole?.checkout == null || whole.charge === null || whole.movement === null) throw new Error('No payment');
const { checkout: ours, charge: theirs, movement: credit } = whole;

type Change = {
  readonly checkout?: Partial<OurCheckout> | null;
  readonly charge?: Partial<TheirCharge>;
  readonly movement?: Partial<Movement> | null;
};

/** A payment in all books that agree, but for what is changed. */
function examine({ checkout = {}, charge = {}, movement = {} }: Change): Break[] {
  return examinePayment(
    { ...theirs, ...charge },
    checkout === null ? null : { ...ours, ...checkout },
    movement === null ? null : { ...credit, ...movement },
    RULES,
  );
}

const types = (change: Change): string[] => examine(change).map(({ type }) => type);
const refund = (fields: Partial<TheirRefund> = {}): TheirRefund => ({
  id: 'rfnd_1',
  amount: 1_000,
  createdAt: theirs.paidAt,
  key: null,
  ...fields,
});
const entry = (fields: Partial<OurRefund> = {}): OurRefund => ({
  id: 'rfnd_1',
  key: 'till',
  chargeId: theirs.id,
  amount: 1_000,
  status: 'succeeded',
  ...fields,
});
const refunded = (...refunds: TheirRefund[]): Partial<TheirCharge> => ({
  refunds,
  refundedAmount: refunds.reduce((sum, { amount }) => sum + amount, 0),
});

describe('a payment', () => {
  it.each<[string, Change, string[]]>([
    ['in all books', {}, []],
    ['without a checkout', { checkout: null }, ['missing_here']],
    ['of another amount', { charge: { amount: theirs.amount + 1 } }, ['amount']],
    ['of another currency', { charge: { currency: 'SGD' } }, ['currency']],
    ['that was reversed', { charge: { status: 'reversed' } }, ['status']],
    ['that was reversed, without a checkout', { checkout: null, charge: { status: 'reversed' } }, []],
    [
      'of a status that nobody knows, and unpaid with us',
      { checkout: { status: 'expired', paidAt: null, charges: [] }, charge: { status: 'settled' } },
      ['status'],
    ],
    [
      'of another amount that was given back',
      { checkout: { charges: [] }, charge: { amount: theirs.amount + 1, refundedAmount: theirs.amount + 1 } },
      [],
    ],
    [
      'of another currency that was reversed',
      { checkout: { charges: [] }, charge: { currency: 'SGD', status: 'reversed' } },
      [],
    ],
    ['that nobody noticed', { checkout: { status: 'expired', paidAt: null, charges: [] } }, ['status']],
    ['beside another', { checkout: { charges: [{ id: 'chrg_other', status: 'successful' }] } }, ['duplicate_payment']],
    [
      'beside another that went back',
      {
        checkout: { charges: [{ id: 'chrg_other', status: 'successful' }] },
        charge: { refundedAmount: theirs.amount },
      },
      [],
    ],
    [
      'beside another, on its way back',
      {
        checkout: {
          charges: [...ours.charges, { id: 'chrg_other', status: 'successful' }],
          refunds: [entry({ id: null, key: `auto:${theirs.id}`, status: 'pending', amount: theirs.amount })],
        },
      },
      ['duplicate_payment'],
    ],
    [
      'beside another that is on its way back',
      {
        checkout: {
          charges: [...ours.charges, { id: 'chrg_other', status: 'successful' }],
          refunds: [entry({ id: null, key: 'auto:chrg_other', chargeId: 'chrg_other', status: 'pending' })],
        },
      },
      [],
    ],
    ['that the balance does not show', { movement: null }, ['unsettled']],
    ['that the balance shows with another amount', { movement: { amount: credit.amount - 1 } }, ['fee_difference']],
    ['paid out in time', { movement: { transferableAt: plus(theirs.paidAt ?? TO, 8 * DAY_MS) } }, []],
    ['paid out late', { movement: { transferableAt: plus(theirs.paidAt ?? TO, 8 * DAY_MS + 1) } }, ['unsettled']],
    ['paid out at a time nobody says', { movement: { transferableAt: null } }, []],
    ['without a word on fees', { charge: { fees: null } }, []],
  ])('%s: %s', (_, change, expected) => {
    expect(types(change)).toEqual(expected);
  });

  it.each([
    [0, []],
    [1, []],
    [-1, []],
    [2, ['fee_difference']],
    [-2, ['fee_difference']],
  ])('whose fee is %i more than its rates come to: %j', (more, expected) => {
    const { fee = 0, vat = 0 } = theirs.fees ?? {};
    const fees = { fee: fee + more, vat, net: theirs.amount - fee - more - vat, byRates: { fee, vat } };
    expect(types({ charge: { fees }, movement: { amount: fees.net } })).toEqual(expected);
  });

  it('tells what both sides say, how old it is, and what an operator can run', () => {
    const [found] = examine({ checkout: { status: 'awaiting_payment', paidAt: null, charges: [] } });
    expect(found).toEqual({
      type: 'status',
      checkout_id: ours.id,
      charge_id: theirs.id,
      refund_id: null,
      transaction_id: theirs.transactionId,
      receipt_id: null,
      expected: { status: 'awaiting_payment', amount: ours.amount, currency: 'THB' },
      actual: { status: 'successful', amount: ours.amount, currency: 'THB' },
      age_seconds: Math.floor((TO - (theirs.paidAt ?? 0)) / 1_000),
      suggested_action: `pnpm tillflow resolve ${ours.id} --look --reason reconciliation`,
      healed: false,
    });
  });
});

describe('a payment of ours', () => {
  it.each([
    ['that the provider does not have', null, ['missing_there']],
    ['that the provider shows as failed', { ...theirs, status: 'failed' }, ['status']],
    ['that the provider shows elsewhere', theirs, []],
  ])('%s: %j', (_, charge, expected) => {
    expect(examineAbsence(ours, theirs.id, charge, RULES).map(({ type }) => type)).toEqual(expected);
  });
});

describe('a refund', () => {
  it.each<[string, Change, string[]]>([
    ['in both books', { checkout: { refunds: [entry()] }, charge: refunded(refund({ key: 'till' })) }, []],
    ['that we do not have', { charge: refunded(refund()) }, ['refund_made_outside']],
    [
      'that we took over',
      { checkout: { refunds: [entry({ key: 'rfnd_1' })] }, charge: refunded(refund()) },
      ['refund_made_outside'],
    ],
    [
      'of another amount',
      { checkout: { refunds: [entry({ amount: 999 })] }, charge: refunded(refund({ key: 'till' })) },
      ['amount'],
    ],
    ['that the provider does not have', { checkout: { refunds: [entry()] } }, ['missing_there']],
    ['that was refused', { checkout: { refunds: [entry({ id: null, status: 'rejected' })] } }, []],
    [
      'of ours whose answer is lost',
      {
        checkout: { refunds: [entry({ id: null, status: 'pending' })] },
        charge: refunded(refund({ key: 'till', createdAt: plus(TO, -900_000) })),
      },
      ['status'],
    ],
    [
      'of ours whose answer is on its way',
      {
        checkout: { refunds: [entry({ id: null, status: 'pending' })] },
        charge: refunded(refund({ key: 'till', createdAt: plus(TO, -899_999) })),
      },
      [],
    ],
    [
      'of ours over another amount than was asked for',
      {
        checkout: { refunds: [entry({ id: null, status: 'pending', amount: 2_000 })] },
        charge: refunded(refund({ key: 'till', createdAt: plus(TO, -900_000) })),
      },
      ['amount'],
    ],
    [
      'that may be ours on its way and does not say so',
      {
        checkout: { refunds: [entry({ id: null, status: 'pending' })] },
        charge: refunded(refund({ createdAt: plus(TO, -899_999) })),
      },
      [],
    ],
    [
      'that could have been ours long ago',
      {
        checkout: { refunds: [entry({ id: null, status: 'pending' })] },
        charge: refunded(refund({ createdAt: plus(TO, -900_000) })),
      },
      ['refund_made_outside'],
    ],
    ['that is in the sum and not in the list', { charge: { refundedAmount: 1_000 } }, ['amount']],
  ])('%s: %s', (_, change, expected) => {
    expect(types(change)).toEqual(expected);
  });

  it('that we took over is healed already', () => {
    const [found] = examine({ checkout: { refunds: [entry({ key: 'rfnd_1' })] }, charge: refunded(refund()) });
    expect(found).toMatchObject({ refund_id: 'rfnd_1', healed: true });
  });
});

describe('a refund of ours that was made twice', () => {
  const charge = refunded(refund({ key: 'till' }), refund({ id: 'rfnd_2', key: 'till' }));

  it.each([
    ['before the checkout knows', [entry()]],
    ['after the checkout took the second for one of elsewhere', [entry(), entry({ id: 'rfnd_2', key: 'rfnd_2' })]],
  ])('is over more than was asked for, and does not heal, %s', (_, refunds) => {
    const found = examine({ checkout: { refunds }, charge });
    expect(found).toMatchObject([
      { type: 'amount', refund_id: 'rfnd_2', healed: false, expected: { amount: 1_000 }, actual: { amount: 2_000 } },
    ]);
    expect(found.map(healsByLooking)).toEqual([false]);
  });
});

describe('what a refund takes from the balance', () => {
  const { net = 0 } = theirs.fees ?? {};
  const whole = refund({ amount: theirs.amount });
  const debit = (fields: Partial<Movement>): Movement => ({ ...credit, chargeId: null, refundId: 'rfnd_1', ...fields });

  it.each<[string, Partial<TheirCharge>, Partial<Movement>, string[]]>([
    ['what was given back', refunded(refund()), { amount: 1_000 }, []],
    ['more', refunded(refund()), { amount: 5_000 }, ['fee_difference']],
    ['less', refunded(refund()), { amount: 999 }, ['fee_difference']],
    ['another currency', refunded(refund()), { amount: 1_000, currency: 'SGD' }, ['fee_difference']],
    ['all of it', refunded(whole), { amount: theirs.amount }, []],
    ['what a void leaves of it, the fee returned', refunded(whole), { amount: net }, []],
    ['anything, of a charge that states no fees', { ...refunded(refund()), fees: null }, { amount: 5_000 }, []],
  ])('may be %s: %j', (_, charge, movement, expected) => {
    const found = examineDebit({ ...theirs, ...charge }, debit(movement), RULES);
    expect(found.map(({ type }) => type)).toEqual(expected);
  });
});

describe('what is suggested', () => {
  const unpaid = { status: 'expired', paidAt: null, charges: [] } as const;
  const twice = { charges: [{ id: 'chrg_other', status: 'successful' }] } as const;

  it.each<[string, Change, RegExp]>([
    ['a missed payment', { checkout: unpaid }, /^pnpm tillflow resolve \S+ --look --reason reconciliation$/],
    [
      'a missed payment of a closed checkout',
      { checkout: { ...unpaid, closed: true } },
      /^pnpm tillflow backfill --from \S+Z$/,
    ],
    ['a second payment', { checkout: twice }, /^pnpm tillflow resolve \S+ --adopt chrg_\w+ --reason reconciliation$/],
    [
      'a second payment of a closed checkout',
      { checkout: { ...twice, closed: true } },
      /^pnpm tillflow backfill --from \S+Z$/,
    ],
    [
      'a payment that was reversed, of a closed checkout',
      { checkout: { closed: true }, charge: { status: 'reversed' } },
      /^pnpm tillflow show \S+$/,
    ],
    ['a charge without a checkout', { checkout: null }, /^pnpm tillflow backfill --from \S+Z$/],
    [
      'money that the balance does not show',
      { movement: null },
      /^pnpm tillflow reconcile --from \S+Z --to \S+Z --dry-run$/,
    ],
  ])('for %s is a command that can do something about it', (_, change, command) => {
    expect(examine(change)[0]?.suggested_action).toMatch(command);
  });
});

it('heals by looking when it is a missed payment or a refund made outside, and by nothing else', () => {
  const heal = (change: Change): boolean[] => examine(change).map(healsByLooking);
  expect(heal({ checkout: { status: 'expired', paidAt: null, charges: [] } })).toEqual([true]);
  expect(heal({ charge: refunded(refund()) })).toEqual([true]);
  expect(heal({ checkout: { refunds: [entry({ key: 'rfnd_1' })] }, charge: refunded(refund()) })).toEqual([false]);
  expect(heal({ charge: { status: 'reversed' } })).toEqual([false]);
  expect(heal({ checkout: { charges: [{ id: 'chrg_other', status: 'successful' }] } })).toEqual([false]);
  expect(heal({ checkout: null })).toEqual([false]);
});
