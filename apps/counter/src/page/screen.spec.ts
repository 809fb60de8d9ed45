import type { Checkout } from '@tillflow/sdk';
import { describe, expect, it } from 'vitest';
import { screenOf, secondsLeft } from './screen.js';

const NOW = Date.parse('2026-11-24T12:00:00.000Z');
const qr = { expires_at: '2026-11-24T12:00:10.000Z' };
const about = (code: string) => ({ attention: { code } });
const checkout = (fields: object): Checkout =>
  ({ status: 'awaiting_payment', qr: null, attention: null, ...fields }) as Checkout;

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
    ['returned', { status: 'refunded' }],
    ['expired', { status: 'expired' }],
    ['failed', { status: 'failed' }],
    ['cancelled', { status: 'cancelled' }],
    ['late', { status: 'expired', ...about('late_payment') }],
    ['late', { status: 'cancelled', ...about('return_refused') }],
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
    [1, NOW + 9_001],
    [0, NOW + 10_000],
    [0, NOW + 99_000],
    [null, null],
  ])('is %s at %s', (seconds, now) => {
    expect(secondsLeft(checkout({ qr }), now)).toBe(seconds);
  });
});
