import type { Checkout } from '@tillflow/sdk';
import { describe, expect, it } from 'vitest';
import { screenOf, secondsLeft } from './screen.js';

const NOW = Date.parse('2026-11-24T12:00:00.000Z');
const qr = { expires_at: '2026-11-24T12:00:10.000Z' };
const about = (code: string, detail = '') => ({ attention: { code, detail } });
const PAID_LATE = '2026-11-24T12:01:00.000Z';
const payment = { charge_id: 'chrg_1' };
const checkout = (fields: object): Checkout =>
  ({ status: 'awaiting_payment', qr: null, attention: null, paid_at: null, ...fields }) as Checkout;

describe('screenOf', () => {
  it.each([
    ['creating', { status: 'creating' }],
    ['creating', { status: 'creating', ...about('worker_late') }],
    ['unknown', { status: 'creating', ...about('outcome_unknown') }],
    ['unknown', { status: 'creating', ...about('provider_unreachable') }],
    ['awaiting', { qr }],
    ['awaiting', { qr, ...about('provider_unreachable') }],
    ['checking', { qr: { expires_at: '2026-11-24T12:00:00.000Z' } }],
    ['checking', {}],
    ['checking', about('expire_refused')],
    ['unknown', about('integrity_mismatch')],
    ['unknown', about('unknown_status')],
    ['paid', { status: 'paid' }],
    ['paid', { status: 'paid', ...about('double_payment') }],
    ['paid', { status: 'partially_refunded' }],
    ['late', { status: 'paid', payment, ...about('return_refused', 'THB 1,500.00 of chrg_1: failed_refund') }],
    ['paid', { status: 'paid', payment, ...about('return_refused', 'THB 1,500.00 of chrg_2: failed_refund') }],
    ['returned', { status: 'refunded' }],
    ['expired', { status: 'expired' }],
    ['failed', { status: 'failed' }],
    ['cancelled', { status: 'cancelled' }],
    ['expired', { status: 'expired', ...about('integrity_mismatch') }],
    ['late', { status: 'expired', paid_at: PAID_LATE, ...about('late_payment') }],
    ['late', { status: 'expired', paid_at: PAID_LATE, ...about('double_payment') }],
    ['late', { status: 'failed', paid_at: PAID_LATE, ...about('refund_unmatched') }],
    ['late', { status: 'cancelled', paid_at: PAID_LATE, ...about('return_refused') }],
  ])('shows %s for %j', (screen, fields) => {
    expect(screenOf(checkout(fields), NOW)).toBe(screen);
  });

  it('shows that the QR code is on its way before the first answer', () => {
    expect(screenOf(null, NOW)).toBe('creating');
  });
});

describe('secondsLeft', () => {
  it.each([
    [10, NOW],
    [9, NOW + 1_000],
    [1, NOW + 9_001],
    [0, NOW + 9_501],
    [0, NOW + 10_000],
    [0, NOW + 99_000],
    [null, null],
  ])('is %s at %s', (seconds, now) => {
    expect(secondsLeft(checkout({ qr }), now)).toBe(seconds);
  });

  it('shows at most a second too much or too little, until it is drawn again, with a clock that is a quarter wrong', () => {
    for (let shownAt = NOW; shownAt < NOW + 10_000; shownAt += 10) {
      const shown = Number(secondsLeft(checkout({ qr }), shownAt));
      for (const later of [0, 250]) {
        for (const error of [-250, 250]) {
          const left = Math.max(0, Date.parse(qr.expires_at) - (shownAt + later + error)) / 1_000;
          expect(Math.abs(shown - left)).toBeLessThanOrEqual(1);
        }
      }
    }
  });
});
