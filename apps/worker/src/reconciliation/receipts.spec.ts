import { parseInstant } from '@tillflow/domain';
import type { PaymentsClient, Receipt } from '@tillflow/payments-client';
import { describe, expect, it } from 'vitest';
import { compareReceipts, toReceipt } from './receipts.js';

const receipt = (fields: Readonly<Record<string, unknown>>): Receipt =>
  ({
    object: 'receipt',
    id: 'rcpt_test_1',
    currency: 'THB',
    total: 107,
    issued_on: '2026-12-01',
    created_at: '2026-12-02T00:00:00Z',
    ...fields,
  }) as unknown as Receipt;

describe('toReceipt', () => {
  it.each([
    ['a day', '2026-12-01', '2026-12-01T00:00:00.000Z'],
    ['a time', '2026-12-01T09:00:00+07:00', '2026-12-01T00:00:00.000Z'],
    ['a text that is none', 'first of December', '2026-12-02T00:00:00.000Z'],
    ['nothing', null, '2026-12-02T00:00:00.000Z'],
  ])('reads the date of a receipt that was issued %s', (_, issued_on, expected) => {
    expect(new Date(toReceipt(receipt({ issued_on }))?.issuedOn ?? 0).toISOString()).toBe(expected);
  });

  it.each([
    ['what it is over', { total: null }],
    ['in which currency it is', { currency: null }],
    ['when it was issued', { issued_on: '1 Dec', created_at: null }],
  ])('is null for a receipt without %s', (_, fields) => {
    expect(toReceipt(receipt(fields))).toBeNull();
  });
});

describe('compareReceipts', () => {
  /** The fees of November 2026 are THB 10.00 and THB 0.70 of VAT. */
  const CHARGE = { id: 'chrg_1', currency: 'THB', fee: 1_000, fee_vat: 70, paid_at: '2026-11-20T09:00:00Z' };
  const INVOICE = { id: 'rcpt_test_1', total: 1_200, issued_on: '2026-12-01', created_at: '2026-12-01T00:00:00Z' };
  const CREDIT_NOTE = {
    id: 'rcpt_test_2',
    credit_note: true,
    total: -130,
    issued_on: '2026-12-05',
    created_at: '2026-12-05T00:00:00Z',
  };

  /** Compares the receipts that were issued in a window, at a provider that lists records by their creation. */
  const compare = (from: string, to: string, ...receipts: readonly Readonly<Record<string, unknown>>[]) => {
    const client = {
      receipts: {
        async *iterate(bounds: { readonly from: string; readonly to: string }) {
          for (const one of receipts) {
            const at = new Date(String(one['created_at'])).toISOString();
            if (at >= bounds.from && at <= bounds.to) yield await Promise.resolve(receipt(one));
          }
        },
      },
      charges: {
        async *iterate() {
          yield await Promise.resolve(CHARGE);
        },
      },
    } as unknown as PaymentsClient;
    const window = { from: parseInstant(from), to: parseInstant(to) };
    const rules = { now: window.to, youngMs: 0, settleWithinMs: null };
    return compareReceipts(client, window, rules, {});
  };
  const MONTH = ['2026-12-01T00:00:00Z', '2027-01-01T00:00:00Z'] as const;
  const DAY_OF_THE_CREDIT_NOTE = ['2026-12-05T00:00:00Z', '2026-12-06T00:00:00Z'] as const;
  const OTHER_MONTH = { ...INVOICE, id: 'rcpt_test_3', issued_on: '2026-11-01', created_at: '2026-11-01T00:00:00Z' };

  it('finds no break where the invoice and the credit note of a month together state its fees', async () => {
    expect(await compare(...MONTH, INVOICE, CREDIT_NOTE)).toEqual([]);
  });

  it('compares a credit note together with the invoice that an earlier run has seen', async () => {
    expect(await compare(...DAY_OF_THE_CREDIT_NOTE, INVOICE, CREDIT_NOTE, OTHER_MONTH)).toEqual([]);
  });

  it('reports one break of a month and names its first receipt, whichever of its receipts is new', async () => {
    const [found, ...others] = await compare(...DAY_OF_THE_CREDIT_NOTE, INVOICE, { ...CREDIT_NOTE, total: -100 });
    expect(found).toMatchObject({
      type: 'receipt_total',
      receipt_id: 'rcpt_test_1',
      expected: { amount: 1_070 },
      actual: { amount: 1_100 },
    });
    expect(others).toEqual([]);
  });

  it('compares each currency of a month for itself', async () => {
    const other = { ...INVOICE, id: 'rcpt_test_4', currency: 'SGD', total: 5 };
    const breaks = await compare(...MONTH, INVOICE, CREDIT_NOTE, other);
    expect(breaks.map(({ receipt_id, expected }) => [receipt_id, expected?.amount])).toEqual([['rcpt_test_4', 0]]);
  });

  it('compares a receipt that was created long after its date', async () => {
    const late = { ...INVOICE, created_at: '2027-02-10T00:00:00Z' };
    expect(await compare('2027-02-10T00:00:00Z', '2027-02-11T00:00:00Z', late, CREDIT_NOTE)).toEqual([]);
    expect(await compare('2027-02-10T00:00:00Z', '2027-02-11T00:00:00Z', late)).toHaveLength(1);
  });

  it('compares nothing when no receipt was issued in the window', async () => {
    expect(await compare('2026-12-06T00:00:00Z', '2026-12-07T00:00:00Z', INVOICE, CREDIT_NOTE)).toEqual([]);
    expect(await compare('2026-12-07T00:00:00Z', '2026-12-06T00:00:00Z', INVOICE, CREDIT_NOTE)).toEqual([]);
  });
});
