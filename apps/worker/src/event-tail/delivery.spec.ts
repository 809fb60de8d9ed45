import { ConnectionError, NotFoundError } from '@tillflow/payments-client';
import { initialState, type CheckoutIntent, type CheckoutMemo, type StoredRefund } from '@tillflow/workflows';
import { describe, expect, it } from 'vitest';
import type { FoundCheckout } from './checkouts.js';
import { Delivery, type News } from './delivery.js';

const intent: CheckoutIntent = {
  id: 'chk_default_a',
  account: 'default',
  reference: 'a',
  amount: 150_000,
  currency: 'THB',
  description: null,
  metadata: {},
  terminal: null,
  expires_in: 900,
  source: null,
  created_at: '2020-03-10T09:00:00.000Z',
};
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

/** Paid after it was reported as expired, and to be given back. */
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

const news = (key: string, more: Partial<News> = {}): News => ({
  id: 'evnt_1',
  key,
  subject: 'chrg_1',
  checkout: { account: 'default', reference: 'a' },
  chargeId: 'chrg_1',
  showsMetadata: true,
  also: [],
  createdAt: null,
  before: null,
  ...more,
});

type World = {
  readonly found: FoundCheckout;
  /** The charge as the provider shows it, or why it does not. */
  readonly charge?: Readonly<Record<string, unknown>> | Error;
  readonly takesHints?: boolean;
};

/** A delivery to one checkout; what it did is written down. */
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
  const delivery = new Delivery(checkouts as never, provider as never, false, new AbortController().signal);
  return { done, deliver: (one: News) => delivery.deliver(one, new Map()) };
}

const open = (known: CheckoutMemo): FoundCheckout => ({ is: 'open', memo: known });
const closed = (known: CheckoutMemo): FoundCheckout => ({ is: 'closed', memo: known, run: {} as never });

describe('an open checkout', () => {
  it.each<[string, CheckoutMemo, 'hinted' | 'settled']>([
    ['charge.complete', paid, 'settled'],
    ['charge.complete', memo, 'hinted'],
    ['charge.expire', memo, 'settled'],
    ['charge.expire', { intent, requestNonce: 'o' }, 'hinted'],
    ['charge.reverse', paid, 'hinted'],
    ['charge.never_heard_of', paid, 'hinted'],
    ['refund.create', paid, 'hinted'],
  ])('is told of %s unless it shows it', async (key, known, as) => {
    const { deliver } = deliveryTo({ found: open(known) });
    expect(await deliver(news(key))).toEqual({ as });
  });

  it('is told of a payment although what came with it is known', async () => {
    const { deliver } = deliveryTo({ found: open(memo) });
    const also = [{ key: 'charge.complete', subject: 'chrg_1' }];
    expect(await deliver(news('charge.expire', { also }))).toEqual({ as: 'hinted' });
  });

  it('whose memo cannot be read is told, and remembered where it has closed', async () => {
    const found: FoundCheckout = { is: 'unreadable' };
    expect(await deliveryTo({ found }).deliver(news('charge.complete'))).toEqual({ as: 'hinted' });
    const closedOne = deliveryTo({ found, takesHints: false });
    expect(await closedOne.deliver(news('charge.complete'))).toMatchObject({
      as: 'unplaced',
      event: { why: expect.stringContaining('checkout_unreadable') },
    });
    expect(closedOne.done).toEqual(['hint']);
  });

  it('that only its attempt shows as paid is told: another charge of it may have been', async () => {
    const { deliver } = deliveryTo({ found: open({ ...paid, timeline: [] }) });
    expect(await deliver(news('charge.complete'))).toEqual({ as: 'hinted' });
  });
});

describe('a closed checkout', () => {
  it('is opened for a payment that it does not show, and for a status that nobody knows', async () => {
    for (const status of ['successful', 'melted']) {
      const { deliver, done } = deliveryTo({ found: closed(memo), charge: { status } });
      expect(await deliver(news('charge.complete'))).toEqual({ as: 'reopened' });
      expect(done).toEqual(['retrieve', 'reopen']);
    }
  });

  it('stays closed for a payment that it shows', async () => {
    const { deliver, done } = deliveryTo({ found: closed(paid) });
    expect(await deliver(news('charge.complete'))).toEqual({ as: 'settled' });
    expect(done).toEqual(['retrieve']);
  });

  it.each<[string, Partial<CheckoutMemo>, 'reopened' | 'settled']>([
    ['late money was on its way back', {}, 'reopened'],
    ['a part of it had gone back', { refunds: [refundOf(50_000)] }, 'reopened'],
    ['all of it had gone back', { refunds: [refundOf(150_000)] }, 'settled'],
    ['it was the second payment', { ...second, refunds: [] }, 'reopened'],
    ['it was the second payment, and went back', { ...second, refunds: [refundOf(150_000)] }, 'settled'],
  ])('that ended from outside while %s is opened only for what is left', async (_, told, as) => {
    const state = { ...initialState(intent), ...late.state, ...told.state };
    const { deliver } = deliveryTo({ found: closed({ ...late, ...told, state }) });
    expect(await deliver(news('charge.complete'))).toEqual({ as });
  });

  it.each([{ metadata: { checkout: 'chk_default_b' } }, { livemode: true }])(
    'stays closed for a payment of someone else: %j',
    async (charge) => {
      const { deliver } = deliveryTo({ found: closed(memo), charge });
      expect(await deliver(news('charge.complete'))).toEqual({ as: 'settled' });
    },
  );

  it('is opened for no event that the provider does not confirm, which is looked for twice more', async () => {
    const { deliver, done } = deliveryTo({ found: closed(memo), charge: { status: 'expired' } });
    const first = await deliver(news('charge.complete'));
    expect(first).toMatchObject({ as: 'unplaced', event: { tries: 1, why: expect.stringContaining('not_paid') } });
    const before = first.as === 'unplaced' ? first.event : null;
    const second = await deliver(news('charge.complete', { before }));
    expect(second).toMatchObject({ as: 'unplaced', event: { tries: 2, since: before?.since } });
    const twice = second.as === 'unplaced' ? second.event : null;
    expect(await deliver(news('charge.complete', { before: twice }))).toEqual({ as: 'settled' });
    expect(await deliver(news('charge.expire'))).toEqual({ as: 'settled' });
    expect(done).not.toContain('reopen');
  });

  it('is not waited for where the event is old, and for ever where the provider shows no end yet', async () => {
    const old = { createdAt: '2020-03-10T09:20:00.000Z' };
    const failed = deliveryTo({ found: closed(memo), charge: { status: 'failed' } });
    expect(await failed.deliver(news('charge.complete', old))).toEqual({ as: 'settled' });
    const pending = deliveryTo({ found: closed(memo), charge: { status: 'pending' } });
    const first = await pending.deliver(news('charge.complete', old));
    expect(first).toMatchObject({ as: 'unplaced' });
    const before = first.as === 'unplaced' ? { ...first.event, tries: 100 } : null;
    expect(await pending.deliver(news('charge.complete', { before }))).toMatchObject({
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
  ])('is remembered while the provider %s', async (_, failure) => {
    const { deliver } = deliveryTo({ found: closed(memo), charge: failure });
    expect(await deliver(news('charge.complete'))).toMatchObject({
      as: 'unplaced',
      event: { event_id: 'evnt_1', checkout_id: intent.id, charge_id: 'chrg_1', tries: 1 },
      notice: null,
    });
  });
});

describe('a checkout that is not there', () => {
  it('is told to a person when it was paid, once, and nothing is opened', async () => {
    const { deliver, done } = deliveryTo({ found: { is: 'absent' } });
    const first = await deliver(news('charge.complete'));
    expect(first).toMatchObject({ as: 'unplaced', notice: { code: 'checkout_missing', checkout_id: intent.id } });
    const before = first.as === 'unplaced' ? first.event : null;
    expect(await deliver(news('charge.complete', { before }))).toMatchObject({ as: 'unplaced', notice: null });
    expect(done).toEqual(['retrieve', 'retrieve']);
  });

  it.each([{ status: 'expired' }, { metadata: { checkout: 'chk_default_b' } }, { livemode: true }])(
    'is nobody’s matter when its charge is %j',
    async (charge) => {
      const { deliver } = deliveryTo({ found: { is: 'absent' }, charge });
      expect(await deliver(news('charge.update'))).toEqual({ as: 'settled' });
    },
  );
});

describe('an event that names no checkout', () => {
  const refund = news('refund.create', { checkout: null, subject: 'rfnd_1' });

  it('about a refund is taken to the checkout that its charge names', async () => {
    const { deliver, done } = deliveryTo({ found: open(paid) });
    expect(await deliver(refund)).toEqual({ as: 'hinted' });
    expect(done).toEqual(['retrieve', 'hint']);
  });

  it.each([{}, { checkout: 'chk_other_a' }])(
    'about a refund of a charge with the metadata %j is nobody’s',
    async (metadata) => {
      const { deliver, done } = deliveryTo({ found: open(paid), charge: { metadata } });
      expect(await deliver(refund)).toEqual({ as: 'settled' });
      expect(done).toEqual(['retrieve']);
    },
  );

  it('and shows no metadata is taken to the checkout that its charge names', async () => {
    const { deliver, done } = deliveryTo({ found: open(memo) });
    expect(await deliver(news('charge.complete', { checkout: null, showsMetadata: false }))).toEqual({ as: 'hinted' });
    expect(done).toEqual(['retrieve', 'hint']);
  });

  it('about a charge is nobody’s when no open checkout has it', async () => {
    const { deliver, done } = deliveryTo({ found: open(paid) });
    expect(await deliver(news('charge.complete', { checkout: null }))).toEqual({ as: 'settled' });
    expect(done).toEqual([]);
  });
});
