import type { Availability } from '@tillflow/sdk';
import { describe, expect, it } from 'vitest';
import { checkoutOf } from '../testing/fakes.js';
import { textOf, whyNotAccepting, whyNotBegun } from './reasons.js';
import { WORDS } from './words.js';

const SINCE = '2026-11-24T12:00:00.000Z';
const th = { language: 'th', words: WORDS.th } as const;

const notAccepting = (reason: string, since: string, status: string) =>
  ({ accepting: false, reason, since, provider: { status, since: SINCE } }) as unknown as Availability;

describe('the page does not show an English text of the API in another language, but a reason as an operator typed it', () => {
  it.each([
    [
      'the provider fails',
      notAccepting('The payment provider does not answer', SINCE, 'failing'),
      WORDS.th.providerFails,
    ],
    [
      'payments are paused',
      notAccepting('stocktaking', '2026-11-24T09:00:00.000Z', 'ok'),
      /^[^A-Z]*QR[^A-Z]*: stocktaking$/,
    ],
    ['both', notAccepting('stocktaking', '2026-11-24T09:00:00.000Z', 'failing'), /: stocktaking$/],
  ])('when %s', (_, availability, text) => {
    expect(whyNotAccepting(availability, WORDS.th)).toMatch(text);
  });

  it.each(['amount_out_of_range', 'reference_conflict', 'unsupported_currency', 'not_accepting', 'invalid_request'])(
    'when the API refuses a sale with %s',
    (code) => expect(whyNotBegun(code, WORDS.th)).toMatch(/^[^A-Za-z]*(QR)?[^A-Za-z]*$/),
  );

  it.each([
    ['a known reason', 'insufficient_fund', WORDS.th.failures['insufficient_fund']],
    ['an unknown reason', 'new_reason', WORDS.th.failures.other],
    ['no reason', null, WORDS.th.screens.failed.text],
  ])('when a payment failed for %s', (_, failure_code, text) => {
    const failed = checkoutOf('a', { status: 'failed', attempts: [{ failure_code }] });
    expect(textOf('failed', failed, th)).toBe(text);
  });
});

describe('a second payment', () => {
  it.each([
    ['comes back', 'double_payment', WORDS.en.paidTwice],
    ['must be returned by a person when the provider refuses', 'return_refused', WORDS.en.paidTwiceRefused],
  ])('%s', (_, code, text) => {
    const attention = { code, detail: 'THB 1,500.00 of chrg_2' };
    const paid = checkoutOf('a', { status: 'paid', payment: { charge_id: 'chrg_1' }, attention });
    expect(textOf('paid', paid, { language: 'en', words: WORDS.en })).toBe(text);
  });
});

describe('a payment that came too late', () => {
  it.each([
    ['comes back', 'late_payment', WORDS.en.screens.late.text],
    ['must be returned by a person when the provider refuses', 'return_refused', WORDS.en.returnRefused],
  ])('%s', (_, code, text) => {
    const late = checkoutOf('a', { status: 'expired', paid_at: '2026-11-24T12:01:00Z', attention: { code } });
    expect(textOf('late', late, { language: 'en', words: WORDS.en })).toBe(text);
  });
});
