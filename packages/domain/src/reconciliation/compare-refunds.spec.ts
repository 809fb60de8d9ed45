import { describe, expect, it } from 'vitest';
import { plus } from '../instant.js';
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
import { TO } from '../testing/seeded-records.js';
import { healsByRetrieve, type Break } from './breaks.js';
import { compareDebit } from './compare-refunds.js';
import type { Movement, ProviderCharge } from './records.js';

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
    [
      'that the provider does not have, beside one in both records',
      {
        checkout: { refunds: [entry(), entry({ id: 'rfnd_2', key: 'desk' })] },
        charge: refunded(refund({ key: 'till' })),
      },
      ['missing_there'],
    ],
    ['of another charge', { checkout: { refunds: [entry({ chargeId: 'chrg_other' })] } }, []],
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
    ...[
      entry({ id: 'rfnd_2', status: 'pending' }),
      entry({ id: null, status: 'rejected' }),
      entry({ id: null, status: 'pending', amount: 2_000 }),
    ].map((other): [string, Change, string[]] => [
      `without a key that cannot be ${JSON.stringify(other)}`,
      { checkout: { refunds: [other] }, charge: refunded(refund({ createdAt: plus(TO, -899_999) })) },
      ['refund_made_outside'],
    ]),
    [
      'with another key than the one in flight',
      {
        checkout: { refunds: [entry({ id: null, status: 'pending' })] },
        charge: refunded(refund({ key: 'desk', createdAt: plus(TO, -899_999) })),
      },
      ['refund_made_outside'],
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
    [
      'made outside, in a sum that differs from the list',
      { charge: { refunds: [refund()], refundedAmount: 5_000 } },
      ['refund_made_outside'],
    ],
  ])('%s: %s', (_, change, expected) => {
    expect(types(change)).toEqual(expected);
  });

  it('is healed when the checkout has adopted the outside refund', () => {
    const [found] = compare({ checkout: { refunds: [entry({ key: 'rfnd_1' })] }, charge: refunded(refund()) });
    expect(found).toMatchObject({ refund_id: 'rfnd_1', healed: true });
  });
});

describe('comparePayment of refunds that differ', () => {
  const paidAt = paidCharge.paidAt ?? paidCharge.createdAt;
  const at = plus(TO, -900_000);
  const stated = (status: string, amount: number, currency = 'THB') => ({ status, amount, currency });
  const lookUp = `pnpm tillflow resolve ${paidCheckout.id} --look --reason reconciliation`;
  const show = `pnpm tillflow show ${paidCheckout.id}`;
  const waiting = (amount: number) => entry({ id: null, status: 'pending', amount });
  const elsewhere = entry({ id: null, key: 'desk', status: 'pending', amount: 5 });

  it.each<[string, Change, Pick<Break, 'type' | 'refund_id' | 'expected' | 'actual' | 'suggested_action'>, number]>([
    [
      'made outside',
      { charge: refunded(refund({ createdAt: null })) },
      {
        type: 'refund_made_outside',
        refund_id: 'rfnd_1',
        expected: null,
        actual: stated('refunded', 1_000),
        suggested_action: lookUp,
      },
      paidAt,
    ],
    [
      'that the provider does not have',
      { checkout: { refunds: [entry()] } },
      {
        type: 'missing_there',
        refund_id: 'rfnd_1',
        expected: stated('succeeded', 1_000),
        actual: null,
        suggested_action: lookUp,
      },
      paidAt,
    ],
    [
      'of another amount',
      { checkout: { refunds: [entry({ amount: 999 })] }, charge: refunded(refund({ createdAt: at })) },
      {
        type: 'amount',
        refund_id: 'rfnd_1',
        expected: stated('succeeded', 999),
        actual: stated('refunded', 1_000),
        suggested_action: show,
      },
      at,
    ],
    [
      'of another amount than requested',
      { checkout: { refunds: [waiting(2_000)] }, charge: refunded(refund({ key: 'till', createdAt: at })) },
      {
        type: 'amount',
        refund_id: 'rfnd_1',
        expected: stated('pending', 2_000),
        actual: stated('refunded', 1_000),
        suggested_action: show,
      },
      at,
    ],
    [
      'whose answer was lost',
      { checkout: { refunds: [elsewhere, waiting(1_000)] }, charge: refunded(refund({ key: 'till', createdAt: at })) },
      {
        type: 'status',
        refund_id: 'rfnd_1',
        expected: stated('pending', 1_000),
        actual: stated('successful', 1_000),
        suggested_action: lookUp,
      },
      at,
    ],
    [
      'in the sum and not in the list',
      { charge: { refundedAmount: 1_000 } },
      {
        type: 'amount',
        refund_id: null,
        expected: stated('refunded', 0),
        actual: stated('refunded', 1_000),
        suggested_action: show,
      },
      paidAt,
    ],
  ])('states both sides and the age of a refund %s', (_, change, expected, since) => {
    expect(compare(change)).toEqual([
      {
        checkout_id: paidCheckout.id,
        charge_id: paidCharge.id,
        transaction_id: null,
        receipt_id: null,
        age_seconds: Math.floor((TO - since) / 1_000),
        healed: false,
        ...expected,
      },
    ]);
  });
});

describe('comparePayment of a refund that the provider made twice', () => {
  const desk = { id: 'rfnd_3', key: 'desk' };
  const charge = refunded(refund({ key: 'till' }), refund({ id: 'rfnd_2', key: 'till' }), refund(desk));

  it.each([
    ['before the checkout knows', [entry(), entry(desk)]],
    [
      'after the checkout took the second for one of elsewhere',
      [entry(), entry(desk), entry({ id: 'rfnd_2', key: 'rfnd_2' })],
    ],
  ])('is an amount break with the sum of both refunds, and does not heal: %s', (_, refunds) => {
    const found = compare({ checkout: { refunds }, charge });
    expect(found).toMatchObject([
      {
        type: 'amount',
        refund_id: 'rfnd_2',
        healed: false,
        expected: { status: 'succeeded', amount: 1_000, currency: 'THB' },
        actual: { status: 'refunded', amount: 2_000, currency: 'THB' },
      },
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
    [
      'the amount of its own refund beside another',
      refunded(refund({ id: 'rfnd_0', amount: 5 }), refund()),
      { amount: 1_000 },
      [],
    ],
    ['the net amount of a partial refund', refunded(refund()), { amount: net }, ['fee_difference']],
    ['part of a whole refund', refunded(whole), { amount: 5_000 }, ['fee_difference']],
    ['anything, of a refund that the charge does not have', {}, { amount: 5_000 }, []],
    ['anything, of a charge that states no fees', { ...refunded(refund()), fees: null }, { amount: 5_000 }, []],
  ])('may be %s: %j', (_, charge, movement, expected) => {
    const found = compareDebit({ ...paidCharge, ...charge }, debit(movement), RULES);
    expect(found.map(({ type }) => type)).toEqual(expected);
  });

  it('states both amounts and the age of the debit', () => {
    const movement = debit({ id: 'trxn_debit', amount: 5_000, currency: 'SGD', createdAt: plus(TO, -5_000) });
    expect(compareDebit({ ...paidCharge, ...refunded(refund()) }, movement, RULES)).toEqual([
      {
        type: 'fee_difference',
        checkout_id: paidCharge.checkoutId,
        charge_id: paidCharge.id,
        refund_id: 'rfnd_1',
        transaction_id: 'trxn_debit',
        receipt_id: null,
        expected: { status: 'debited', amount: 1_000, currency: 'THB' },
        actual: { status: 'debited', amount: 5_000, currency: 'SGD' },
        age_seconds: 5,
        suggested_action: `pnpm tillflow show ${paidCheckout.id}`,
        healed: false,
      },
    ]);
  });
});
