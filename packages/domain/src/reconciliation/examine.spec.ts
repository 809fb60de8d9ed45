import { describe, expect, it } from 'vitest';
import { plus } from '../instant.js';
import { healsByLooking, type Break } from './breaks.js';
import { examineAbsence, examinePayment } from './examine.js';
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
      suggested_action: `tillflow resolve ${ours.id} --look --reason reconciliation`,
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
    ['that is in the sum and not in the list', { charge: { refundedAmount: 1_000 } }, ['amount']],
  ])('%s: %s', (_, change, expected) => {
    expect(types(change)).toEqual(expected);
  });

  it('that we took over is healed already', () => {
    const [found] = examine({ checkout: { refunds: [entry({ key: 'rfnd_1' })] }, charge: refunded(refund()) });
    expect(found).toMatchObject({ refund_id: 'rfnd_1', healed: true });
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
