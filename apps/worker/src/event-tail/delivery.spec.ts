import { ConnectionError, NotFoundError } from '@tillflow/payments-client';
import { initialState, type CheckoutMemo, type StoredRefund } from '@tillflow/workflows';
import { sampleIntent } from '@tillflow/workflows/testing';
import { describe, expect, it } from 'vitest';
import type { FoundCheckout } from './checkouts.js';
import type { CheckoutEvent } from './checkout-events.js';
import { Delivery } from './delivery.js';

const intent = sampleIntent({ created_at: '2020-03-10T09:00:00.000Z' });
const attempt = {
  number: 1,
  source_id: 'src_1',
  charge_id: 'chrg_1',
  status: 'expired',
  failure_code: null,
  failure_message: null,
  created_at: '2020-03-10T09:00:00.000Z',
  expires_at: '2020-03-10T09:15:00.000Z',
} as const;
const memo: CheckoutMemo = {
  intent,
  requestNonce: 'o',
  state: { ...initialState(intent), status: 'expired', attempts: [attempt] },
};
const paid: CheckoutMemo = {
  ...memo,
  state: { ...initialState(intent), status: 'paid', attempts: [{ ...attempt, status: 'successful' }] },
  timeline: [{ at: '2020-03-10T09:01:00.000Z', what: 'paid', detail: 'chrg_1' }],
};

/** Paid after it was published as expired: the money has to be returned. */
const late: CheckoutMemo = {
  ...paid,
  state: {
    ...initialState(intent),
    status: 'expired',
    paid_at: '2020-03-10T09:20:00.000Z',
    attempts: [{ ...attempt, status: 'successful' }],
  },
};
const second: Partial<CheckoutMemo> = {
  state: { ...initialState(intent), status: 'paid', paid_at: '2020-03-10T09:01:00.000Z' },
  timeline: [{ at: '2020-03-10T09:02:00.000Z', what: 'paid_twice', detail: 'chrg_1' }],
};
const refundOf = (amount: number): StoredRefund => ({
  id: 'rfnd_1',
  key: 'auto:chrg_1',
  charge_id: 'chrg_1',
  amount,
  currency: 'THB',
  kind: 'refund',
  status: 'succeeded',
  reason: null,
  failure_code: null,
  failure_message: null,
  created_at: '2020-03-10T09:21:00.000Z',
});

const eventOf = (key: string, more: Partial<CheckoutEvent> = {}): CheckoutEvent => ({
  id: 'evnt_1',
  key,
  subject: 'chrg_1',
  checkout: { account: 'default', reference: 'a' },
  chargeId: 'chrg_1',
  transactionId: null,
  showsMetadata: true,
  also: [],
  createdAt: null,
  before: null,
  ...more,
});

type World = {
  readonly found: FoundCheckout;
  /** The charge as the provider shows it, or the failure of the read. */
  readonly charge?: Readonly<Record<string, unknown>> | Error;
  readonly takesHints?: boolean;
};

/** A delivery to one checkout. @returns its calls in `done` */
function deliveryTo({ found, charge = {}, takesHints = true }: World) {
  const done: string[] = [];
  const checkouts = {
    find: async () => found,
    hint: async () => done.push('hint') > 0 && takesHints,
    reopen: async () => void done.push('reopen'),
  };
  const retrieve = async () => {
    done.push('retrieve');
    if (charge instanceof Error) throw charge;
    return { id: 'chrg_1', livemode: false, metadata: { checkout: intent.id }, status: 'successful', ...charge };
  };
  const provider = { charges: { retrieve } };
  const delivery = new Delivery(checkouts as never, provider as never, false, new AbortController().signal, 'default');
  return { done, deliver: (one: CheckoutEvent) => delivery.deliver(one, new Map()) };
}

const open = (known: CheckoutMemo): FoundCheckout => ({ is: 'open', memo: known });
const closed = (known: CheckoutMemo): FoundCheckout => ({ is: 'closed', memo: known, run: {} as never });

describe('a delivery to an open checkout', () => {
  it.each<[string, CheckoutMemo, 'hinted' | 'settled']>([
    ['charge.complete', paid, 'settled'],
    ['charge.complete', memo, 'hinted'],
    ['charge.expire', memo, 'settled'],
    ['charge.expire', { intent, requestNonce: 'o' }, 'hinted'],
    ['charge.reverse', paid, 'hinted'],
    ['charge.never_heard_of', paid, 'hinted'],
    ['refund.create', paid, 'hinted'],
  ])('hints %s unless the checkout shows it', async (key, known, as) => {
    const { deliver } = deliveryTo({ found: open(known) });
    expect(await deliver(eventOf(key))).toEqual({ as });
  });

  it('hints a payment although the checkout shows the event that came with it', async () => {
    const { deliver } = deliveryTo({ found: open(memo) });
    const also = [{ key: 'charge.complete', subject: 'chrg_1' }];
    expect(await deliver(eventOf('charge.expire', { also }))).toEqual({ as: 'hinted' });
  });

  it('hints an open checkout with an unreadable memo, and returns the event as unplaced if the checkout has closed', async () => {
    const found: FoundCheckout = { is: 'unreadable' };
    expect(await deliveryTo({ found }).deliver(eventOf('charge.complete'))).toEqual({ as: 'hinted' });
    const closedOne = deliveryTo({ found, takesHints: false });
    expect(await closedOne.deliver(eventOf('charge.complete'))).toMatchObject({
      as: 'unplaced',
      event: { why: expect.stringContaining('checkout_unreadable') },
    });
    expect(closedOne.done).toEqual(['hint']);
  });

  it('hints a checkout whose attempt shows paid but whose timeline does not: another charge may have been paid', async () => {
    const { deliver } = deliveryTo({ found: open({ ...paid, timeline: [] }) });
    expect(await deliver(eventOf('charge.complete'))).toEqual({ as: 'hinted' });
  });
});

describe('a delivery to a closed checkout', () => {
  it('reopens it for a payment that it does not show, and for an unknown status', async () => {
    for (const status of ['successful', 'melted']) {
      const { deliver, done } = deliveryTo({ found: closed(memo), charge: { status } });
      expect(await deliver(eventOf('charge.complete'))).toEqual({ as: 'reopened' });
      expect(done).toEqual(['retrieve', 'reopen']);
    }
  });

  it('leaves it closed for a payment that it shows', async () => {
    const { deliver, done } = deliveryTo({ found: closed(paid) });
    expect(await deliver(eventOf('charge.complete'))).toEqual({ as: 'settled' });
    expect(done).toEqual(['retrieve']);
  });

  it.each<[string, Partial<CheckoutMemo>, 'reopened' | 'settled']>([
    ['a late payment was to be returned', {}, 'reopened'],
    ['a part of it was returned', { refunds: [refundOf(50_000)] }, 'reopened'],
    ['all of it was returned', { refunds: [refundOf(150_000)] }, 'settled'],
    ['it was the second payment', { ...second, refunds: [] }, 'reopened'],
    ['it was the second payment, and was returned', { ...second, refunds: [refundOf(150_000)] }, 'settled'],
  ])('reopens a terminated checkout only when money is left to return: %s', async (_, published, as) => {
    const state = { ...initialState(intent), ...late.state, ...published.state };
    const { deliver } = deliveryTo({ found: closed({ ...late, ...published, state }) });
    expect(await deliver(eventOf('charge.complete'))).toEqual({ as });
  });

  it.each([{ metadata: { checkout: 'chk_default_b' } }, { livemode: true }])(
    'leaves it closed for the payment of another system: %j',
    async (charge) => {
      const { deliver } = deliveryTo({ found: closed(memo), charge });
      expect(await deliver(eventOf('charge.complete'))).toEqual({ as: 'settled' });
    },
  );

  it('does not reopen it while the provider shows no payment, and retries twice', async () => {
    const { deliver, done } = deliveryTo({ found: closed(memo), charge: { status: 'expired' } });
    const first = await deliver(eventOf('charge.complete'));
    expect(first).toMatchObject({ as: 'unplaced', event: { tries: 1, why: expect.stringContaining('not_paid') } });
    const before = first.as === 'unplaced' ? first.event : null;
    const second = await deliver(eventOf('charge.complete', { before }));
    expect(second).toMatchObject({ as: 'unplaced', event: { tries: 2, since: before?.since } });
    const twice = second.as === 'unplaced' ? second.event : null;
    expect(await deliver(eventOf('charge.complete', { before: twice }))).toEqual({ as: 'settled' });
    expect(await deliver(eventOf('charge.expire'))).toEqual({ as: 'settled' });
    expect(done).not.toContain('reopen');
  });

  it('does not retry an old event, and retries a pending charge without limit', async () => {
    const old = { createdAt: '2020-03-10T09:20:00.000Z' };
    const failed = deliveryTo({ found: closed(memo), charge: { status: 'failed' } });
    expect(await failed.deliver(eventOf('charge.complete', old))).toEqual({ as: 'settled' });
    const pending = deliveryTo({ found: closed(memo), charge: { status: 'pending' } });
    const first = await pending.deliver(eventOf('charge.complete', old));
    expect(first).toMatchObject({ as: 'unplaced' });
    const before = first.as === 'unplaced' ? { ...first.event, tries: 100 } : null;
    expect(await pending.deliver(eventOf('charge.complete', { before }))).toMatchObject({
      as: 'unplaced',
      event: { tries: 101 },
    });
  });

  it.each([
    [
      'does not answer',
      new ConnectionError('no connection', { code: 'connection_failed', outcome: 'not_sent' } as never),
    ],
    ['does not show the charge', new NotFoundError('no such charge', { code: 'not_found', status: 404 } as never)],
  ])('returns the event as unplaced while the provider %s', async (_, failure) => {
    const { deliver } = deliveryTo({ found: closed(memo), charge: failure });
    expect(await deliver(eventOf('charge.complete'))).toMatchObject({
      as: 'unplaced',
      event: { event_id: 'evnt_1', checkout_id: intent.id, charge_id: 'chrg_1', tries: 1 },
      notice: null,
    });
  });
});

describe('a delivery to a checkout that does not exist', () => {
  it('gives one notice when the charge was paid, and starts no checkout', async () => {
    const { deliver, done } = deliveryTo({ found: { is: 'absent' } });
    const first = await deliver(eventOf('charge.complete'));
    expect(first).toMatchObject({ as: 'unplaced', notice: { code: 'checkout_missing', checkout_id: intent.id } });
    const before = first.as === 'unplaced' ? first.event : null;
    expect(await deliver(eventOf('charge.complete', { before }))).toMatchObject({ as: 'unplaced', notice: null });
    expect(done).toEqual(['retrieve', 'retrieve']);
  });

  it.each([{ status: 'expired' }, { metadata: { checkout: 'chk_default_b' } }, { livemode: true }])(
    'is settled when the charge is %j',
    async (charge) => {
      const { deliver } = deliveryTo({ found: { is: 'absent' }, charge });
      expect(await deliver(eventOf('charge.update'))).toEqual({ as: 'settled' });
    },
  );
});

describe('a delivery of an event that names no checkout', () => {
  const refund = eventOf('refund.create', { checkout: null, subject: 'rfnd_1' });

  it('hints the checkout that the refunded charge names', async () => {
    const { deliver, done } = deliveryTo({ found: open(paid) });
    expect(await deliver(refund)).toEqual({ as: 'hinted' });
    expect(done).toEqual(['retrieve', 'hint']);
  });

  it.each([{}, { checkout: 'chk_other_a' }])(
    'is settled for a refund of a charge with the metadata %j',
    async (metadata) => {
      const { deliver, done } = deliveryTo({ found: open(paid), charge: { metadata } });
      expect(await deliver(refund)).toEqual({ as: 'settled' });
      expect(done).toEqual(['retrieve']);
    },
  );

  it('hints the checkout that the charge names when the event has no metadata', async () => {
    const { deliver, done } = deliveryTo({ found: open(memo) });
    expect(await deliver(eventOf('charge.complete', { checkout: null, showsMetadata: false }))).toEqual({
      as: 'hinted',
    });
    expect(done).toEqual(['retrieve', 'hint']);
  });

  it('is settled when no open checkout has the charge', async () => {
    const { deliver, done } = deliveryTo({ found: open(paid) });
    expect(await deliver(eventOf('charge.complete', { checkout: null }))).toEqual({ as: 'settled' });
    expect(done).toEqual([]);
  });
});
