import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { writeAmount, writeTime } from './formats.js';
import { LANGUAGES, type Language } from './languages.js';
import { columnsOf, receiptText } from './plain-text.js';
import { receiptExample, type CheckoutReceipt } from './receipts.schema.js';

const EXAMPLE: CheckoutReceipt = receiptExample;

function receiptIn(language: Language, changes: Partial<CheckoutReceipt> = {}): CheckoutReceipt {
  const receipt = { ...EXAMPLE, language, ...changes };
  const { amount, currency, time, time_zone: zone } = receipt;
  return {
    ...receipt,
    amount_text: writeAmount(amount, currency, language) ?? '',
    time_text: time === null ? null : writeTime(time, zone, language),
  };
}

const REFUND: Partial<CheckoutReceipt> = {
  kind: 'refund',
  amount: 50_000,
  time: '2026-11-21T06:02:11.480Z',
  refund: { id: 'rfnd_test_5xk0h3u6a0s1c8w2m4z', key: 'return-17', kind: 'refund' },
};

/** One character for a reader, and wider than the paper. */
const WIDE = fc.constantFrom(`क${'ा'.repeat(60)}`, `ก${'ำ'.repeat(60)}`, `ｶ${'ﾞ'.repeat(60)}`);

describe('the text of a receipt', () => {
  it.each([
    [0.2143, true],
    [4.666, false],
  ])('with the rate %s shows it: %s, because a provider may write rates the other way round', (rate, isShown) => {
    const foreign = { customer_amount: 32_145, customer_currency: 'CNY', customer_exchange_rate: rate };
    const text = receiptText(receiptIn('en', { payment: { ...EXAMPLE.payment, ...foreign } }));
    expect(text).toContain('CNY 321.45');
    expect(text.includes('Exchange rate')).toBe(isShown);
  });

  it('is in English', () => {
    expect(receiptText(receiptIn('en'))).toMatchInlineSnapshot(`
      "              Sunrise Coffee
                   99 Rama IV Road
                    Bangkok 10500
                 Tax ID 0105551234567

                       Receipt
      ------------------------------------------
      Store                           Silom Road
      Till                                till-7
      Reference                    till-7-000142
      Date            21 Nov 2026 12:31:02 GMT+7
      For                            Two coffees
      ------------------------------------------
      Paid                          THB 1,500.00
      ------------------------------------------
      Paid with                      Example Pay
      Network reference     20261121053102000142
      Approval code                       481516
      Payment ID   chrg_test_ym45mfiva1bdny558nb
      "
    `);
  });

  it('is in Thai, with the sign of the baht and the years of the Buddhist calendar', () => {
    const shop = { name: 'ร้านกาแฟอรุณ', address: ['99 ถนนพระราม 4', 'กรุงเทพฯ 10500'], tax_id: '0105551234567' };
    expect(receiptText(receiptIn('th', { shop, description: 'กาแฟเย็น 2 แก้ว' }))).toMatchInlineSnapshot(`
      "                ร้านกาแฟอรุณ
                    99 ถนนพระราม 4
                    กรุงเทพฯ 10500
           เลขประจำตัวผู้เสียภาษี 0105551234567

                     ใบเสร็จรับเงิน
      ------------------------------------------
      สาขา                            Silom Road
      เครื่องคิดเงิน                          till-7
      เลขที่อ้างอิง                    till-7-000142
      วันที่            21 พ.ย. 2569 12:31:02 GMT+7
      รายการ                       กาแฟเย็น 2 แก้ว
      ------------------------------------------
      ยอดชำระ                          ฿1,500.00
      ------------------------------------------
      ชำระด้วย                        Example Pay
      รหัสอ้างอิงเครือข่าย       20261121053102000142
      รหัสอนุมัติ                             481516
      รหัสการชำระ   chrg_test_ym45mfiva1bdny558nb
      "
    `);
  });

  it('is in Malay', () => {
    const sale = { currency: 'MYR', amount: 1_250, time_zone: 'Asia/Kuala_Lumpur' };
    expect(receiptText(receiptIn('ms', sale))).toMatchInlineSnapshot(`
      "              Sunrise Coffee
                   99 Rama IV Road
                    Bangkok 10500
               No. cukai 0105551234567

                        Resit
      ------------------------------------------
      Cawangan                        Silom Road
      Kaunter                             till-7
      Rujukan                      till-7-000142
      Tarikh          21 Nov 2026 13:31:02 GMT+8
      Butiran                        Two coffees
      ------------------------------------------
      Dibayar                           RM 12.50
      ------------------------------------------
      Dibayar dengan                 Example Pay
      Rujukan rangkaian     20261121053102000142
      Kod kelulusan                       481516
      ID bayaran   chrg_test_ym45mfiva1bdny558nb
      "
    `);
  });

  it('is in Simplified Chinese, with what the wallet took in its own currency', () => {
    const payment = {
      ...EXAMPLE.payment,
      customer_amount: 31_020,
      customer_currency: 'CNY',
      customer_exchange_rate: 0.2068,
    };
    expect(receiptText(receiptIn('zh-Hans', { payment, description: '两杯咖啡' }))).toMatchInlineSnapshot(`
      "              Sunrise Coffee
                   99 Rama IV Road
                    Bangkok 10500
                  税号 0105551234567

                         收据
      ------------------------------------------
      门店                            Silom Road
      收银台                              till-7
      单号                         till-7-000142
      日期         2026年11月21日 12:31:02 GMT+7
      说明                              两杯咖啡
      ------------------------------------------
      支付金额                      THB 1,500.00
      ------------------------------------------
      钱包扣款                        CNY 310.20
      汇率                    1 THB = 0.2068 CNY
      支付方式                       Example Pay
      网络参考号            20261121053102000142
      授权码                              481516
      支付编号     chrg_test_ym45mfiva1bdny558nb
      "
    `);
  });

  it('of a refund names the refund and the original payment', () => {
    expect(receiptText(receiptIn('en', REFUND))).toMatchInlineSnapshot(`
      "              Sunrise Coffee
                   99 Rama IV Road
                    Bangkok 10500
                 Tax ID 0105551234567

                    Refund receipt
      ------------------------------------------
      Store                           Silom Road
      Till                                till-7
      Reference                    till-7-000142
      Date            21 Nov 2026 13:02:11 GMT+7
      For                            Two coffees
      Refund ID    rfnd_test_5xk0h3u6a0s1c8w2m4z
      ------------------------------------------
      Refunded                        THB 500.00
      ------------------------------------------
      Original payment
      Amount paid                   THB 1,500.00
      Paid on         21 Nov 2026 12:31:02 GMT+7
      Paid with                      Example Pay
      Network reference     20261121053102000142
      Approval code                       481516
      Payment ID   chrg_test_ym45mfiva1bdny558nb
      "
    `);
  });

  it('has no line for a value that is not known', () => {
    const unknown = { provider_1: null, provider_2: null, acquirer: null, approval_code: null };
    const text = receiptText(
      receiptIn('en', {
        shop: { name: null, address: [], tax_id: null },
        store: null,
        terminal: null,
        description: null,
        network: null,
        payment: { ...EXAMPLE.payment, references: unknown },
      }),
    );
    expect(text).toMatchInlineSnapshot(`
      "
                       Receipt
      ------------------------------------------
      Reference                    till-7-000142
      Date            21 Nov 2026 12:31:02 GMT+7
      ------------------------------------------
      Paid                          THB 1,500.00
      ------------------------------------------
      Paid with                          QR code
      Payment ID   chrg_test_ym45mfiva1bdny558nb
      "
    `);
  });

  it('breaks a word that is longer than a line, and Thai between words', () => {
    const address = ['ชั้น 12 อาคารศูนย์การค้าอรุณรุ่งพลาซ่าถนนพระรามสี่แขวงสีลมเขตบางรัก', 'X'.repeat(50)];
    const shop = { name: null, address, tax_id: null };
    expect(receiptText(receiptIn('th', { shop })).split('\n').slice(0, 5)).toMatchInlineSnapshot(`
      [
        "                  ชั้น 12",
        " อาคารศูนย์การค้าอรุณรุ่งพลาซ่าถนนพระรามสี่แขวงสีลม",
        "                 เขตบางรัก",
        "XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
        "                 XXXXXXXX",
      ]
    `);
  });

  it('contains no control character that a printer would obey', () => {
    const text = receiptText(receiptIn('en', { description: 'a\u001b@b\u0007' }));
    expect(text).toContain(String.raw`a\u001b@b\u0007`);
  });

  it.each(LANGUAGES)('in %s has no line of more than 42 columns, whatever the values are', (language) => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: 'binary' }), WIDE),
        fc.lorem({ maxCount: 12 }),
        fc.boolean(),
        (odd, words, isRefund) => {
          const receipt = receiptIn(language, {
            ...(isRefund ? REFUND : {}),
            shop: { name: odd, address: [words, `${odd}${odd}`], tax_id: words },
            description: `${words}${odd}`,
            terminal: odd,
          });
          const widths = receiptText(receipt)
            .split('\n')
            .map((line) => columnsOf(line));
          expect(Math.max(...widths)).toBeLessThanOrEqual(42);
        },
      ),
    );
  });
});
