import { describe, expect, it } from 'vitest';
import { formatInstant, plus } from '../instant.js';
import {
  compare,
  credit,
  entry,
  paidCharge,
  paidCheckout,
  refund,
  refunded,
  RULES,
  types,
  type Change,
} from '../testing/one-payment.js';
import { DAY_MS, TO } from '../testing/seeded-records.js';
import type { Break } from './breaks.js';
import { compareAbsentCharge } from './compare-payment.js';

describe('comparePayment of a payment', () => {
  it.each<[string, Change, string[]]>([
    ['in all records', {}, []],
    ['without a checkout', { checkout: null }, ['missing_here']],
    ['of another amount', { charge: { amount: paidCharge.amount + 1 } }, ['amount']],
    [
      'of another amount that the checkout does not show as paid',
      { checkout: { charges: [] }, charge: { amount: paidCharge.amount + 1 } },
      ['amount'],
    ],
    [
      'of another amount that the checkout shows as paid and that was refunded',
      { charge: { amount: paidCharge.amount + 1, refundedAmount: paidCharge.amount + 1 } },
      ['amount'],
    ],
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
    [
      'that did not take place',
      { checkout: { status: 'expired', paidAt: null, charges: [] }, charge: { status: 'expired' } },
      [],
    ],
    [
      'that came too late, on its way back',
      {
        checkout: {
          charges: [...paidCheckout.charges, { id: 'chrg_other', status: 'failed' }],
          refunds: [entry({ id: null, key: `auto:${paidCharge.id}`, status: 'pending', amount: paidCharge.amount })],
        },
      },
      [],
    ],
    ['that Tillflow missed', { checkout: { status: 'expired', paidAt: null, charges: [] } }, ['status']],
    [
      'that Tillflow has not seen yet',
      { checkout: { status: 'awaiting_payment', paidAt: null, charges: [{ id: paidCharge.id, status: 'pending' }] } },
      ['status'],
    ],
    [
      'beside another, whose money Tillflow has returned',
      {
        checkout: {
          charges: [...paidCheckout.charges, { id: 'chrg_other', status: 'successful' }],
          refunds: [entry({ key: `auto:${paidCharge.id}`, amount: paidCharge.amount })],
        },
        charge: refunded(refund({ key: `auto:${paidCharge.id}`, amount: paidCharge.amount })),
      },
      [],
    ],
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
          refunds: [
            entry({ id: null, status: 'rejected' }),
            entry({ id: null, key: `auto:${paidCharge.id}`, status: 'pending', amount: paidCharge.amount }),
          ],
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
    ['without rates', { charge: { fees: paidCharge.fees && { ...paidCharge.fees, byRates: null } } }, []],
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
    const checkout = { status: 'awaiting_payment', paidAt: null, charges: [] } as const;
    const [found] = compare({ checkout, charge: { checkoutId: null } });
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

describe('comparePayment with the balance', () => {
  const { amount, paidAt, createdAt } = paidCharge;
  const { fee = 0, vat = 0, net = 0 } = paidCharge.fees ?? {};
  const byRates = { fee, vat };
  const stated = (status: string, value: number, currency = 'THB') => ({ status, amount: value, currency });
  const payBy = plus(paidAt ?? createdAt, 8 * DAY_MS);
  const around = (milliseconds: number): string => formatInstant(plus(paidAt ?? createdAt, milliseconds));
  const { transactionId } = paidCharge;
  const other = { id: 'trxn_other' };

  it.each<[string, Change, Partial<Break>]>([
    [
      'that does not show the payment, states its net amount',
      { movement: null },
      {
        type: 'unsettled',
        transaction_id: transactionId,
        expected: stated('credited', net),
        actual: null,
        suggested_action: `pnpm tillflow reconcile --from ${around(-60_000)} --to ${around(60_000)} --dry-run`,
      },
    ],
    [
      'that does not show a payment without a word on fees, states its amount',
      { movement: null, charge: { fees: null } },
      { type: 'unsettled', transaction_id: transactionId, expected: stated('credited', amount), actual: null },
    ],
    [
      'that shows another amount, states both amounts',
      { movement: { ...other, amount: net - 1 } },
      {
        type: 'fee_difference',
        transaction_id: 'trxn_other',
        expected: stated('credited', net),
        actual: stated('credited', net - 1),
      },
    ],
    [
      'that shows another currency, states both currencies',
      { movement: { ...other, currency: 'SGD' } },
      {
        type: 'fee_difference',
        transaction_id: 'trxn_other',
        expected: stated('credited', net),
        actual: stated('credited', net, 'SGD'),
      },
    ],
    [
      'that pays out late, states both times',
      { movement: { ...other, transferableAt: plus(payBy, 1) } },
      {
        type: 'unsettled',
        transaction_id: 'trxn_other',
        expected: stated(`transferable by ${formatInstant(payBy)}`, net),
        actual: stated(`transferable at ${formatInstant(plus(payBy, 1))}`, net),
      },
    ],
    [
      'of a charge whose fees differ from its rates, states both fees and no credit',
      { charge: { fees: { fee: fee + 2, vat, net: net - 2, byRates } }, movement: { amount: 1 } },
      {
        type: 'fee_difference',
        transaction_id: transactionId,
        expected: stated('fees', fee + vat),
        actual: stated('fees', fee + 2 + vat),
      },
    ],
    [
      'of a charge that deducts more than its fees, states both fees',
      { charge: { fees: { fee, vat, net: net - 1, byRates } }, movement: { amount: net - 1 } },
      {
        type: 'fee_difference',
        transaction_id: transactionId,
        expected: stated('fees', fee + vat),
        actual: stated('fees', fee + vat + 1),
      },
    ],
  ])('%s', (_, change, expected) => {
    expect(compare(change)).toMatchObject([expected]);
  });

  it('may pay out at any time when the rules name no limit', () => {
    const late = { movement: { transferableAt: plus(payBy, 1) } };
    expect(compare(late, { ...RULES, settleWithinMs: null })).toEqual([]);
  });
});

describe('compareAbsentCharge of a charge', () => {
  const { amount, currency } = paidCharge;
  const stated = (status: string) => ({ status, amount, currency });
  const found = {
    checkout_id: paidCheckout.id,
    charge_id: 'chrg_absent',
    refund_id: null,
    transaction_id: null,
    receipt_id: null,
    expected: stated('paid'),
    age_seconds: 5,
    suggested_action: `pnpm tillflow resolve ${paidCheckout.id} --look --reason reconciliation`,
    healed: false,
  };

  it.each([
    ['that the provider does not have', null, [{ ...found, type: 'missing_there', actual: null }]],
    [
      'that the provider shows as failed',
      { ...paidCharge, status: 'failed' },
      [{ ...found, type: 'status', actual: stated('failed') }],
    ],
    ['that the provider shows as paid', paidCharge, []],
  ])('%s: %j', (_, charge, expected) => {
    const checkout = { ...paidCheckout, paidAt: plus(TO, -5_000) };
    expect(compareAbsentCharge(checkout, 'chrg_absent', charge, RULES)).toEqual(expected);
  });

  it('has the age zero without a payment time', () => {
    const [absent] = compareAbsentCharge({ ...paidCheckout, paidAt: null }, 'chrg_absent', null, RULES);
    expect(absent?.age_seconds).toBe(0);
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
