import type { Receipt } from '@tillflow/payments-client';
import { describe, expect, it } from 'vitest';
import { toReceipt } from './receipts.js';

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
