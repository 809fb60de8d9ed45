import { parseInstant } from '@tillflow/domain';
import { describe, expect, it } from 'vitest';
import type { CheckoutMemo, CheckoutState, StoredRefund } from '../types.js';
import { CheckoutModel } from './checkout-model.js';
import { DEFAULT_POLICY } from '../policy.js';
import { isReturnUnfinished, reopen, type LateCharge } from './reopen.js';
import { attempt, expired, late, pending } from '../../testing/closed-checkout.js';
import { intent } from '../../testing/simulated-provider.js';

const NOW = parseInstant('2026-04-10T09:00:00Z');
describe('the state from which a checkout reopens', () => {
  const at = '2026-03-10T09:01:00.000Z';
  const other = { ...attempt, number: 2, source_id: 'src_2', charge_id: 'chrg_2' } as const;
  const paidState = { ...expired, status: 'paid', paid_at: at } as const;

  function stateOf(published: Partial<CheckoutMemo>, charge: LateCharge = late) {
    const { resume } = reopen({ intent, requestNonce: 'o', ...published }, undefined, charge, NOW);
    if (resume === undefined) throw new Error('It does not resume');
    return resume;
  }

  const viewsOf = (published: Partial<CheckoutMemo>, charge: LateCharge) =>
    CheckoutModel.resume(intent, DEFAULT_POLICY, stateOf(published, charge)).projection(NOW).attempts;

  it('a reopened checkout has the policy of the closed run, or none', () => {
    const memo = { intent, requestNonce: 'o' };
    expect(Object.keys(reopen(memo, undefined, late, NOW))).toEqual(['resume', 'limits']);
    expect(reopen(memo, { latePayment: 'keep' }, late, NOW).policy).toEqual({ latePayment: 'keep' });
  });

  it('a reopened checkout gives an attempt that was never published the time of the first one', () => {
    expect(viewsOf({ state: expired }, { chargeId: 'chrg_2', attempt: '2' })).toEqual([
      attempt,
      {
        ...attempt,
        number: 2,
        source_id: null,
        charge_id: null,
        created_at: '2026-03-10T09:00:00.000Z',
        expires_at: '2026-03-10T09:15:00.000Z',
      },
    ]);
  });

  it.each<[string, Partial<typeof attempt> | { status: 'pending' | 'failed'; charge_id: string | null }, string]>([
    ['a pending attempt without a charge has expired', { status: 'pending', charge_id: null }, 'expired'],
    ['a pending attempt with a charge is still pending', { status: 'pending', charge_id: 'chrg_1' }, 'pending'],
    ['a failed attempt without a charge has failed', { status: 'failed', charge_id: null }, 'failed'],
  ])('in a reopened checkout, %s', (_, change, status) => {
    const { attempts, charges } = stateOf({ state: { ...expired, attempts: [{ ...attempt, ...change }] } });
    expect(attempts.list).toMatchObject([{ status }]);
    expect(charges.all).toHaveLength(change.charge_id === null ? 0 : 1);
  });

  it.each([
    ['the accepted one is paid, although the timeline was cut', 'successful', [], 'successful', at, null],
    ['an expired one stays expired', 'expired', [], 'expired', null, null],
    ['a failed one stays failed', 'failed', [], 'failed', null, null],
  ] as const)('of the charges of a reopened checkout, %s', (_, shown, timeline, status, paidAt, retrieveAt) => {
    const paid_at = shown === 'successful' ? at : null;
    const state = { ...expired, paid_at, attempts: [{ ...attempt, status: shown }] };
    const { all } = stateOf({ state, timeline }).charges;
    expect(all).toMatchObject([
      { id: 'chrg_1', status, paidAt: paidAt === null ? null : parseInstant(paidAt), retrieveAt },
    ]);
  });

  it('of the charges of a reopened checkout, a second payment is paid, and retrieved again', () => {
    const attempts = [
      { ...attempt, status: 'successful' },
      { ...other, status: 'successful' },
    ] as const;
    const timeline = [
      { at, what: 'paid', detail: 'chrg_1' },
      { at, what: 'paid_twice', detail: 'chrg_2' },
    ];
    expect(stateOf({ state: { ...paidState, attempts }, timeline }).charges.all).toMatchObject([
      { id: 'chrg_1', status: 'successful', paidAt: parseInstant(at), retrieveAt: null },
      { id: 'chrg_2', status: 'successful', paidAt: null, retrieveAt: NOW },
    ]);
  });

  it.each([
    ['late when it came after the published end', expired, 'expired'],
    ['not late when the checkout was published as paid', paidState, null],
  ] as const)('the payment of a reopened checkout is %s', (_, state, lateAfter) => {
    const attempts = [{ ...attempt, status: 'successful' }] as const;
    expect(stateOf({ state: { ...state, paid_at: at, attempts } }).charges.lateAfter).toBe(lateAfter);
  });

  it('a reopened checkout that was cancelled takes no payment', () => {
    expect(stateOf({ state: expired }).attempts.cancelRequested).toBe(false);
    expect(stateOf({ state: { ...expired, status: 'cancelled' } }).attempts.cancelRequested).toBe(true);
  });

  it('a reopened checkout that was never paid has no late payment yet', () => {
    expect(stateOf({ state: expired }).charges).toMatchObject({ accepted: null, lateAfter: null });
  });

  it('a reopened checkout counts the succeeded refunds of a charge, and retrieves a charge that only refunds name', () => {
    const refund = { ...pending, status: 'succeeded', id: 'rfnd_1', amount: 20_000 } as const;
    const refunds = [refund, pending, { ...refund, charge_id: 'chrg_9' }, { ...refund, key: 'b', charge_id: 'chrg_9' }];
    const { charges, unrecognized } = stateOf({ state: { ...expired, attempts: [attempt, other] }, refunds });
    expect(charges.all).toMatchObject([{ id: 'chrg_1', refunded: 20_000 }, { id: 'chrg_2' }]);
    expect(unrecognized).toEqual([{ id: 'chrg_9', retrieveAt: NOW, tries: 0 }]);
    expect(stateOf({ state: expired }).charges.all).toMatchObject([{ refunded: 0 }]);
  });

  it.each<[string, Partial<StoredRefund>, object]>([
    [
      'as its caller requested it',
      { status: 'succeeded' },
      { by: 'caller', refusals: 0, retryAt: null, inFlightUntil: null },
    ],
    [
      'made elsewhere by its id',
      { key: 'rfnd_1', id: 'rfnd_1', status: 'succeeded' },
      { by: 'elsewhere', refusals: 0 },
    ],
    [
      'of its own that was made',
      { key: 'auto:chrg_1', status: 'succeeded' },
      { by: 'tillflow', refusals: 0, retryAt: null },
    ],
    [
      'of its own that the provider refused, and tries it again',
      { key: 'auto:chrg_1', status: 'rejected' },
      { by: 'tillflow', refusals: 1, retryAt: NOW },
    ],
    [
      "of a caller's that the provider refused, and does not try it again",
      { status: 'rejected' },
      { by: 'caller', refusals: 0, retryAt: null },
    ],
  ])('a reopened checkout knows a refund %s', (_, change, entry) => {
    expect(stateOf({ state: expired, refunds: [{ ...pending, ...change }] }).refunds).toMatchObject([entry]);
  });

  it.each([
    ['about its payment', at, 'chrg_1'],
    ['about the checkout when nothing is paid', null, ''],
  ])('a reopened checkout keeps its attention %s', (_, paid_at, about) => {
    const attention = { code: 'late_payment', since: at, detail: 'late' } as const;
    const state = { ...expired, paid_at, attention, attempts: [{ ...attempt, status: 'successful' }] } as const;
    expect(stateOf({ state }).attentions).toEqual([{ ...attention, about }]);
    expect(stateOf({ state: expired }).attentions).toEqual([]);
  });
});

describe('isReturnUnfinished', () => {
  const at = '2026-03-10T09:01:00.000Z';
  const paid = { ...attempt, status: 'successful' } as const;
  const lateState: CheckoutState = { ...expired, paid_at: at, attempts: [paid] };
  const second: CheckoutState = {
    ...lateState,
    status: 'paid',
    attempts: [{ ...paid, number: 2, charge_id: 'chrg_2' }, paid],
  };
  const timeline = [
    { at, what: 'paid', detail: 'chrg_2' },
    { at, what: 'paid_twice', detail: 'chrg_1' },
  ];
  const made = (amount: number, status: StoredRefund['status'] = 'succeeded') => [{ ...pending, amount, status }];

  it.each<[string, boolean, Partial<CheckoutMemo>]>([
    ['of a late payment that was not refunded is unfinished', true, { state: lateState }],
    ['of a late payment that was refunded in part is unfinished', true, { state: lateState, refunds: made(149_999) }],
    ['of a late payment that was refunded is finished', false, { state: lateState, refunds: made(150_000) }],
    [
      'of a late payment is unfinished while its refund is pending',
      true,
      { state: lateState, refunds: made(150_000, 'pending') },
    ],
    ['of a payment in time was never begun', false, { state: { ...lateState, status: 'paid' } }],
    ['of a second payment is unfinished', true, { state: second, timeline }],
    ['of a second payment that was refunded is finished', false, { state: second, timeline, refunds: made(150_000) }],
    [
      'of the accepted one of two payments was never begun',
      false,
      {
        state: second,
        timeline: [
          { at, what: 'paid_twice', detail: 'chrg_2' },
          { at, what: 'paid', detail: 'chrg_1' },
        ],
      },
    ],
    ['of a charge that was not paid was never begun', false, { state: expired }],
    ['was never begun when nothing was published', false, {}],
  ])('the return %s', (_, expectation, published) => {
    expect(isReturnUnfinished({ intent, requestNonce: 'o', ...published }, 'chrg_1')).toBe(expectation);
  });
});
