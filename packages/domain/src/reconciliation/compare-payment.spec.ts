import { describe, expect, it } from 'vitest';
import { plus } from '../instant.js';
import { healsByRetrieve, type Break } from './breaks.js';
import { agreeingPayments, DAY_MS, randomOf, TO } from '../testing/seeded-records.js';
import { compareAbsentCharge, comparePayment } from './compare-payment.js';
import { compareDebit } from './compare-refunds.js';
import type { Movement, TillflowCheckout, TillflowRefund, ProviderCharge, ProviderRefund } from './records.js';

const RULES = { now: TO, youngMs: 900_000, settleWithinMs: 8 * DAY_MS };

const whole = agreeingPayments(50, randomOf(1)).find(
  ({ checkout, charge }) => checkout?.status === 'paid' && charge !== null,
);
if (whole?.checkout == null || whole.charge === null || whole.movement === null) throw new Error('No payment');
const { checkout: paidCheckout, charge: paidCharge, movement: credit } = whole;

type Change = {
  readonly checkout?: Partial<TillflowCheckout> | null;
  readonly charge?: Partial<ProviderCharge>;
  readonly movement?: Partial<Movement> | null;
};

/** Compares a payment on which all records agree, except for the change. */
function compare({ checkout = {}, charge = {}, movement = {} }: Change): Break[] {
  return comparePayment(
    { ...paidCharge, ...charge },
    checkout === null ? null : { ...paidCheckout, ...checkout },
    movement === null ? null : { ...credit, ...movement },
    RULES,
  );
}

const types = (change: Change): string[] => compare(change).map(({ type }) => type);
const refund = (fields: Partial<ProviderRefund> = {}): ProviderRefund => ({
  id: 'rfnd_1',
  amount: 1_000,
  createdAt: paidCharge.paidAt,
  key: null,
  ...fields,
});
const entry = (fields: Partial<TillflowRefund> = {}): TillflowRefund => ({
  id: 'rfnd_1',
  key: 'till',
  chargeId: paidCharge.id,
  amount: 1_000,
  status: 'succeeded',
  ...fields,
});
const refunded = (...refunds: ProviderRefund[]): Partial<ProviderCharge> => ({
  refunds,
  refundedAmount: refunds.reduce((sum, { amount }) => sum + amount, 0),
});

describe('comparePayment of a payment', () => {
  it.each<[string, Change, string[]]>([
    ['in all records', {}, []],
    ['without a checkout', { checkout: null }, ['missing_here']],
    ['of another amount', { charge: { amount: paidCharge.amount + 1 } }, ['amount']],
    ['of another currency', { charge: { currency: 'SGD' } }, ['currency']],
    ['that was reversed', { charge: { status: 'reversed' } }, ['status']],
    ['that was reversed, without a checkout', { checkout: null, charge: { status: 'reversed' } }, []],
    [
      'with an unknown status and an unpaid checkout',
      { checkout: { status: 'expired', paidAt: null, charges: [] }, charge: { status: 'settled' } },
      ['status'],
    ],
    [
      'of another amount that was refunded',
      { checkout: { charges: [] }, charge: { amount: paidCharge.amount + 1, refundedAmount: paidCharge.amount + 1 } },
      [],
    ],
    [
      'of another currency that was reversed',
      { checkout: { charges: [] }, charge: { currency: 'SGD', status: 'reversed' } },
      [],
    ],
    ['that Tillflow missed', { checkout: { status: 'expired', paidAt: null, charges: [] } }, ['status']],
    ['beside another', { checkout: { charges: [{ id: 'chrg_other', status: 'successful' }] } }, ['duplicate_payment']],
    [
      'beside another that went back',
      {
        checkout: { charges: [{ id: 'chrg_other', status: 'successful' }] },
        charge: { refundedAmount: paidCharge.amount },
      },
      [],
    ],
    [
      'beside another, on its way back',
      {
        checkout: {
          charges: [...paidCheckout.charges, { id: 'chrg_other', status: 'successful' }],
          refunds: [entry({ id: null, key: `auto:${paidCharge.id}`, status: 'pending', amount: paidCharge.amount })],
        },
      },
      ['duplicate_payment'],
    ],
    [
      'beside another that is on its way back',
      {
        checkout: {
          charges: [...paidCheckout.charges, { id: 'chrg_other', status: 'successful' }],
          refunds: [entry({ id: null, key: 'auto:chrg_other', chargeId: 'chrg_other', status: 'pending' })],
        },
      },
      [],
    ],
    ['that the balance does not show', { movement: null }, ['unsettled']],
    ['that the balance shows with another amount', { movement: { amount: credit.amount - 1 } }, ['fee_difference']],
    ['paid out in time', { movement: { transferableAt: plus(paidCharge.paidAt ?? TO, 8 * DAY_MS) } }, []],
    ['paid out late', { movement: { transferableAt: plus(paidCharge.paidAt ?? TO, 8 * DAY_MS + 1) } }, ['unsettled']],
    ['without a payout time', { movement: { transferableAt: null } }, []],
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
    const { fee = 0, vat = 0 } = paidCharge.fees ?? {};
    const fees = { fee: fee + more, vat, net: paidCharge.amount - fee - more - vat, byRates: { fee, vat } };
    expect(types({ charge: { fees }, movement: { amount: fees.net } })).toEqual(expected);
  });

  it('states both sides, the age, and a command for the operator', () => {
    const [found] = compare({ checkout: { status: 'awaiting_payment', paidAt: null, charges: [] } });
    expect(found).toEqual({
      type: 'status',
      checkout_id: paidCheckout.id,
      charge_id: paidCharge.id,
      refund_id: null,
      transaction_id: paidCharge.transactionId,
      receipt_id: null,
      expected: { status: 'awaiting_payment', amount: paidCheckout.amount, currency: 'THB' },
      actual: { status: 'successful', amount: paidCheckout.amount, currency: 'THB' },
      age_seconds: Math.floor((TO - (paidCharge.paidAt ?? 0)) / 1_000),
      suggested_action: `pnpm tillflow resolve ${paidCheckout.id} --look --reason reconciliation`,
      healed: false,
    });
  });
});

describe('compareAbsentCharge of a charge', () => {
  it.each([
    ['that the provider does not have', null, ['missing_there']],
    ['that the provider shows as failed', { ...paidCharge, status: 'failed' }, ['status']],
    ['that the provider shows as paid', paidCharge, []],
  ])('%s: %j', (_, charge, expected) => {
    expect(compareAbsentCharge(paidCheckout, paidCharge.id, charge, RULES).map(({ type }) => type)).toEqual(expected);
  });
});

describe('comparePayment of a refund', () => {
  it.each<[string, Change, string[]]>([
    ['in both records', { checkout: { refunds: [entry()] }, charge: refunded(refund({ key: 'till' })) }, []],
    ['that the checkout does not have', { charge: refunded(refund()) }, ['refund_made_outside']],
    [
      'made outside and adopted',
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
      'of the checkout whose answer was lost',
      {
        checkout: { refunds: [entry({ id: null, status: 'pending' })] },
        charge: refunded(refund({ key: 'till', createdAt: plus(TO, -900_000) })),
      },
      ['status'],
    ],
    [
      'of the checkout whose answer is in flight',
      {
        checkout: { refunds: [entry({ id: null, status: 'pending' })] },
        charge: refunded(refund({ key: 'till', createdAt: plus(TO, -899_999) })),
      },
      [],
    ],
    [
      'of the checkout with another amount than requested',
      {
        checkout: { refunds: [entry({ id: null, status: 'pending', amount: 2_000 })] },
        charge: refunded(refund({ key: 'till', createdAt: plus(TO, -900_000) })),
      },
      ['amount'],
    ],
    [
      'without a key that may be the one in flight',
      {
        checkout: { refunds: [entry({ id: null, status: 'pending' })] },
        charge: refunded(refund({ createdAt: plus(TO, -899_999) })),
      },
      [],
    ],
    [
      'without a key that is too old to be in flight',
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

  it('is healed when the checkout has adopted the outside refund', () => {
    const [found] = compare({ checkout: { refunds: [entry({ key: 'rfnd_1' })] }, charge: refunded(refund()) });
    expect(found).toMatchObject({ refund_id: 'rfnd_1', healed: true });
  });
});

describe('comparePayment of a refund that the provider made twice', () => {
  const charge = refunded(refund({ key: 'till' }), refund({ id: 'rfnd_2', key: 'till' }));

  it.each([
    ['before the checkout knows', [entry()]],
    ['after the checkout took the second for one of elsewhere', [entry(), entry({ id: 'rfnd_2', key: 'rfnd_2' })]],
  ])('is an amount break with the sum of both refunds, and does not heal: %s', (_, refunds) => {
    const found = compare({ checkout: { refunds }, charge });
    expect(found).toMatchObject([
      { type: 'amount', refund_id: 'rfnd_2', healed: false, expected: { amount: 1_000 }, actual: { amount: 2_000 } },
    ]);
    expect(found.map(healsByRetrieve)).toEqual([false]);
  });
});

describe('compareDebit', () => {
  const { net = 0 } = paidCharge.fees ?? {};
  const whole = refund({ amount: paidCharge.amount });
  const debit = (fields: Partial<Movement>): Movement => ({ ...credit, chargeId: null, refundId: 'rfnd_1', ...fields });

  it.each<[string, Partial<ProviderCharge>, Partial<Movement>, string[]]>([
    ['the refunded amount', refunded(refund()), { amount: 1_000 }, []],
    ['more', refunded(refund()), { amount: 5_000 }, ['fee_difference']],
    ['less', refunded(refund()), { amount: 999 }, ['fee_difference']],
    ['another currency', refunded(refund()), { amount: 1_000, currency: 'SGD' }, ['fee_difference']],
    ['the whole amount', refunded(whole), { amount: paidCharge.amount }, []],
    ['the net amount of a void that returns the fee', refunded(whole), { amount: net }, []],
    ['anything, of a charge that states no fees', { ...refunded(refund()), fees: null }, { amount: 5_000 }, []],
  ])('may be %s: %j', (_, charge, movement, expected) => {
    const found = compareDebit({ ...paidCharge, ...charge }, debit(movement), RULES);
    expect(found.map(({ type }) => type)).toEqual(expected);
  });
});

describe('suggested_action', () => {
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
    expect(compare(change)[0]?.suggested_action).toMatch(command);
  });
});

it('a break heals by a retrieve when it is a missed payment or a refund made outside, and no other break does', () => {
  const heal = (change: Change): boolean[] => compare(change).map(healsByRetrieve);
  expect(heal({ checkout: { status: 'expired', paidAt: null, charges: [] } })).toEqual([true]);
  expect(heal({ charge: refunded(refund()) })).toEqual([true]);
  expect(heal({ checkout: { refunds: [entry({ key: 'rfnd_1' })] }, charge: refunded(refund()) })).toEqual([false]);
  expect(heal({ charge: { status: 'reversed' } })).toEqual([false]);
  expect(heal({ checkout: { charges: [{ id: 'chrg_other', status: 'successful' }] } })).toEqual([false]);
  expect(heal({ checkout: null })).toEqual([false]);
});
