import { describe, expect, it } from 'vitest';
import { writeAmount, writeTime } from './formats.js';
import { receiptHtml } from './html.js';
import { chooseLanguage, LANGUAGES } from './languages.js';
import { receiptExample, type CheckoutReceipt } from './receipts.schema.js';

const EXAMPLE: CheckoutReceipt = receiptExample;

describe('the language of a receipt', () => {
  it.each([
    [undefined, 'en'],
    ['', 'en'],
    ['*', 'en'],
    ['fr', 'en'],
    ['th-TH,th;q=0.9,en;q=0.8', 'th'],
    ['en;q=0.4, MS-my', 'ms'],
    ['zh-CN', 'zh-Hans'],
    ['zh-Hans-SG', 'zh-Hans'],
    ['th;q=0, en', 'en'],
    ['fr, ms;q=0.5', 'ms'],
    ['not a language;q=x', 'en'],
  ])('that asks for %j is %s', (header, language) => {
    expect(chooseLanguage(header)).toBe(language);
  });
});

describe('an amount', () => {
  it.each([
    [150_000, 'THB', ['THB 1,500.00', '฿1,500.00', 'THB 1,500.00', 'THB 1,500.00']],
    [1, 'SGD', ['SGD 0.01', 'SGD 0.01', 'SGD 0.01', 'SGD 0.01']],
    [15_000_000, 'MYR', ['MYR 150,000.00', 'MYR 150,000.00', 'RM 150,000.00', 'MYR 150,000.00']],
    // The yen has no decimals, the dinar three, and the rupiah two, although daily use drops them.
    [1_500, 'JPY', ['JPY 1,500', 'JPY 1,500', 'JPY 1,500', 'JPY 1,500']],
    [150_000, 'IDR', ['IDR 1,500.00', 'IDR 1,500.00', 'IDR 1,500.00', 'IDR 1,500.00']],
    [1_500, 'KWD', ['KWD 1.500', 'KWD 1.500', 'KWD 1.500', 'KWD 1.500']],
    [1, 'no currency', [null, null, null, null]],
  ])('of %i %s is written as each language does', (amount, currency, written) => {
    expect(LANGUAGES.map((language) => writeAmount(amount, currency, language))).toEqual(written);
  });
});

describe('a time', () => {
  it.each([
    ['UTC', '21 Nov 2026 05:30:18 GMT'],
    ['Asia/Bangkok', '21 Nov 2026 12:30:18 GMT+7'],
    ['Asia/Kathmandu', '21 Nov 2026 11:15:18 GMT+5:45'],
    ['America/New_York', '21 Nov 2026 00:30:18 GMT-5'],
  ])('the time zone %s writes the time as %s', (zone, written) => {
    expect(writeTime('2026-11-21T05:30:18.021Z', zone, 'en')).toBe(written);
  });
});

describe('the page of a receipt', () => {
  it('shows text of callers and of the provider as text', () => {
    const html = receiptHtml({ ...EXAMPLE, description: '<script>alert("1")</script> & more' });
    expect(html).toContain('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; more');
    expect(html).not.toContain('<script');
  });
});
