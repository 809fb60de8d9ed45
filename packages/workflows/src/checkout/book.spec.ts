import { formatInstant, parseInstant, plus } from '@tillflow/domain';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChargeFacts } from '../activities.js';
import type { CheckoutIntent } from '../view.js';
import { CheckoutBook } from './book.js';
import { DEFAULT_POLICY } from './policy.js';

const NOW = parseInstant('2026-03-10T09:00:00Z');

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
  created_at: formatInstant(NOW),
};

const pending: ChargeFacts = {
  chargeId: 'chrg_1',
  sourceId: 'src_1',
  status: 'pending',
  amount: 150_000,
  currency: 'THB',
  checkoutId: 'chk_default_a',
  attempt: '1',
  isOtherMode: false,
  failureCode: null,
  failureMessage: null,
  paidAt: null,
  qr: { downloadUri: 'https://provider.test/qr.svg', rawData: 'qr' },
};
const successful: ChargeFacts = { ...pending, status: 'successful', paidAt: '2026-03-10T09:01:00.000Z' };
const expired: ChargeFacts = { ...pending, status: 'expired' };
const failed: ChargeFacts = { ...pending, status: 'failed', failureCode: 'payment_rejected', failureMessage: 'No.' };

function openBook(): CheckoutBook {
  const book = CheckoutBook.open(intent, DEFAULT_POLICY, NOW);
  book.sourceCreated(NOW, 'src_1');
  return book;
}

function payableBook(): CheckoutBook {
  const book = openBook();
  book.apply(NOW, pending);
  book.wasReported();
  return book;
}

describe('the book of a checkout', () => {
  it('shows the QR while the customer can pay, and not a millisecond longer', () => {
    const book = payableBook();
    expect(book.state(NOW)).toMatchObject({ status: 'awaiting_payment', qr: { raw_data: 'qr' } });
    expect(book.state(plus(NOW, 899_999)).qr).not.toBeNull();
    expect(book.state(plus(NOW, 900_000)).qr).toBeNull();
  });

  it('shows no QR once a cancel was asked for', () => {
    const book = payableBook();
    book.requestCancel(NOW);
    expect(book.state(NOW)).toMatchObject({ status: 'awaiting_payment', qr: null });
  });

  it('is paid at the time the provider names, with both windows', () => {
    const book = payableBook();
    book.apply(plus(NOW, 90_000), successful);
    expect(book.state(NOW)).toMatchObject({
      status: 'paid',
      paid_at: '2026-03-10T09:01:00.000Z',
      voidable_until: '2026-03-10T16:15:00.000Z',
      refundable_until: '2027-03-10T09:01:00.000Z',
      attention: null,
    });
  });

  it.each([
    ['another amount', { amount: 150_001 }],
    ['another currency', { currency: 'MYR' }],
    ['another checkout', { checkoutId: 'chk_default_b' }],
    ['no checkout', { checkoutId: null }],
    ['another charge', { chargeId: 'chrg_2' }],
    ['another source', { sourceId: 'src_2' }],
    ['another attempt', { attempt: '2' }],
    ['the other mode', { isOtherMode: true }],
  ])('does not believe a successful charge of %s, and says so', (_, change) => {
    const book = payableBook();
    expect(book.apply(NOW, { ...successful, ...change })).toBe(false);
    expect(book.state(NOW)).toMatchObject({
      status: 'awaiting_payment',
      paid_at: null,
      qr: null,
      attention: { code: 'integrity_mismatch' },
    });
  });

  it('does not guess at a status it does not know, and is settled by one it does', () => {
    const book = payableBook();
    book.apply(NOW, { ...pending, status: 'reversed' });
    expect(book.state(NOW)).toMatchObject({
      status: 'awaiting_payment',
      qr: null,
      attention: { code: 'unknown_status' },
    });
    book.apply(NOW, successful);
    expect(book.state(NOW)).toMatchObject({ status: 'paid', attention: null });
  });

  it.each(['9999-06-01T00:00:00.000Z', '0001-01-01T00:00:00.000Z', '2026-03-12T00:00:00.000Z'])(
    'does not believe that it was paid at %s: its own clock is taken',
    (paidAt) => {
      const book = payableBook();
      book.apply(plus(NOW, 1_000), { ...successful, paidAt });
      expect(book.state(NOW)).toMatchObject({ status: 'paid', paid_at: '2026-03-10T09:00:01.000Z' });
    },
  );

  it('shows what is most serious, and each matter since it arose', () => {
    const book = payableBook();
    book.raise(NOW, 'provider_unreachable', 'first');
    book.raise(plus(NOW, 1_000), 'integrity_mismatch', 'second');
    book.raise(plus(NOW, 2_000), 'expire_refused', 'third');
    book.raise(plus(NOW, 3_000), 'integrity_mismatch', 'again');
    expect(book.state(NOW).attention).toEqual({
      code: 'integrity_mismatch',
      since: '2026-03-10T09:00:01.000Z',
      detail: 'second',
    });
    book.settle('integrity_mismatch');
    expect(book.state(NOW).attention).toMatchObject({ code: 'expire_refused' });
  });

  it('lets the customer pay for as long as was asked for, however late the first task came', () => {
    const late = CheckoutBook.open(intent, DEFAULT_POLICY, plus(NOW, 600_000));
    expect(late.expiresAt).toBe(plus(NOW, 900_000));
    const clockBehind = CheckoutBook.open(intent, DEFAULT_POLICY, plus(NOW, -5_000));
    expect(clockBehind.expiresAt).toBe(plus(NOW, 895_000));
  });

  it('keeps an end that was reported when a cancel comes after it', () => {
    const book = payableBook();
    book.apply(NOW, failed);
    book.requestCancel(NOW);
    expect(book.status).toBe('failed');
  });

  it('takes a failure by time as an expiry', () => {
    const book = payableBook();
    book.apply(NOW, { ...failed, failureCode: 'payment_expired' });
    expect(book.status).toBe('expired');
  });

  it('tells a person of a payment after it was reported as ended, and not of one before', () => {
    const told = payableBook();
    told.apply(NOW, expired);
    told.wasReported();
    told.apply(NOW, successful);
    expect(told.state(NOW)).toMatchObject({ status: 'paid', attention: { code: 'late_payment' } });

    const untold = payableBook();
    untold.apply(NOW, expired);
    untold.apply(NOW, successful);
    expect(untold.state(NOW)).toMatchObject({ status: 'paid', attention: null });
  });

  it('is paid if and only if a charge was seen successful, in whatever order and however often news comes', () => {
    const news = fc.constantFrom(pending, successful, expired, failed);
    fc.assert(
      fc.property(fc.array(fc.oneof(news, fc.constant('cancel' as const), fc.constant('report' as const))), (all) => {
        const book = openBook();
        for (const one of all) {
          if (one === 'cancel') book.requestCancel(NOW);
          else if (one === 'report') book.wasReported();
          else book.apply(NOW, one);
        }
        expect(book.isPaid).toBe(all.includes(successful));
        expect(book.state(NOW).paid_at !== null).toBe(all.includes(successful));
      }),
    );
  });

  it('goes on from its record exactly where it was', () => {
    const book = payableBook();
    const record = JSON.parse(JSON.stringify(book.record)) as typeof book.record;
    const resumed = CheckoutBook.resume(intent, DEFAULT_POLICY, record);
    expect(resumed.state(NOW)).toEqual(book.state(NOW));
    expect(resumed.timeline).toEqual(book.timeline);
  });

  it('keeps its timeline short whatever is sent to it, the first and the last entries first of all', () => {
    const book = openBook();
    for (let count = 0; count < 1_000; count += 1) book.note(NOW, 'webhook', String(count));
    expect(book.timeline).toHaveLength(60);
    expect(book.timeline[0]?.what).toBe('opened');
    expect(book.timeline.at(-1)?.detail).toBe('999');
  });
});
