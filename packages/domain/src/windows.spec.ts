import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatInstant, instant, parseInstant, plus, type Instant } from './instant.js';
import { isRefundable, isVoidable, nextCutOff, refundableUntil, voidableUntil, voidRule } from './windows.js';

const at = parseInstant;
const DAY = 86_400_000;
const text = (instantOrNull: Instant | null): string | null =>
  instantOrNull === null ? null : formatInstant(instantOrNull);
const anyInstant = fc
  .integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2100, 0, 1) })
  .map((milliseconds) => instant(milliseconds));

describe('the void window', () => {
  it('is open one millisecond before 16:15:00.000 UTC, and closed from that instant on', () => {
    const paidAt = at('2026-03-10T09:00:00Z');
    expect(isVoidable(paidAt, at('2026-03-10T16:14:59.999Z'))).toBe(true);
    expect(isVoidable(paidAt, at('2026-03-10T16:15:00.000Z'))).toBe(false);
  });

  it('never opens for a payment at or after 16:15 UTC', () => {
    const paidAt = at('2026-03-10T16:15:00.000Z');
    expect(isVoidable(paidAt, paidAt)).toBe(false);
    expect(isVoidable(paidAt, plus(paidAt, 1))).toBe(false);
    // A clock that is behind does not open it.
    expect(isVoidable(paidAt, plus(paidAt, -1))).toBe(false);
  });

  it.each([
    ['2026-03-10T00:00:00.000Z', '2026-03-10T16:15:00.000Z'],
    ['2026-03-10T16:14:59.999Z', '2026-03-10T16:15:00.000Z'],
    ['2026-03-10T16:15:00.000Z', null],
    ['2026-03-10T23:59:59.999Z', null],
    ['2024-02-29T10:00:00.000Z', '2024-02-29T16:15:00.000Z'],
  ])('of a payment at %s ends at %s with dates in UTC', (paidAt, until) => {
    expect(text(voidableUntil(at(paidAt)))).toBe(until);
  });

  it.each([
    // 18:00 UTC is already 01:00 of the next day in Bangkok: that day's cut-off is still ahead.
    ['2026-03-10T18:00:00.000Z', '2026-03-11T16:15:00.000Z'],
    ['2026-03-10T16:59:59.999Z', null],
    ['2026-03-10T17:00:00.000Z', '2026-03-11T16:15:00.000Z'],
    ['2026-12-31T17:00:00.000Z', '2027-01-01T16:15:00.000Z'],
    ['2024-02-28T17:00:00.000Z', '2024-02-29T16:15:00.000Z'],
  ])('of a payment at %s ends at %s with dates in Bangkok', (paidAt, until) => {
    expect(text(voidableUntil(at(paidAt), voidRule(420)))).toBe(until);
  });

  it('follows the zone on both sides of the date line', () => {
    const paidAt = at('2026-03-10T11:00:00Z');
    expect(text(voidableUntil(paidAt, voidRule(840)))).toBe('2026-03-11T16:15:00.000Z');
    expect(text(voidableUntil(paidAt, voidRule(-720)))).toBe(null);
    expect(text(voidableUntil(at('2026-03-10T12:00:00Z'), voidRule(-720)))).toBe('2026-03-10T16:15:00.000Z');
  });

  it('always ends at 16:15 UTC, after the payment, within two days', () => {
    fc.assert(
      fc.property(anyInstant, fc.integer({ min: -720, max: 840 }), (paidAt, offset) => {
        const until = voidableUntil(paidAt, voidRule(offset));
        if (until === null) return;
        expect(formatInstant(until).slice(11)).toBe('16:15:00.000Z');
        expect(until).toBeGreaterThan(paidAt);
        expect(until - paidAt).toBeLessThanOrEqual(2 * DAY);
      }),
    );
  });

  it('in UTC exists exactly for payments before the cut-off of their own date', () => {
    fc.assert(
      fc.property(anyInstant, (paidAt) => {
        const early = formatInstant(paidAt).slice(11) < '16:15:00.000Z';
        expect(voidableUntil(paidAt) !== null).toBe(early);
      }),
    );
  });

  it.each([-721, 841, 0.5, Number.NaN])('refuses the zone offset %s', (offset) => {
    expect(() => voidRule(offset)).toThrow(new RangeError(`Not a zone offset in minutes: ${offset}`));
  });
});

describe('the refund window', () => {
  it.each([
    ['2026-03-10T09:00:00.123Z', '2027-03-10T09:00:00.123Z'],
    ['2024-02-29T10:00:00.000Z', '2025-02-28T10:00:00.000Z'],
    ['2023-02-28T10:00:00.000Z', '2024-02-28T10:00:00.000Z'],
    ['2023-03-01T00:00:00.000Z', '2024-03-01T00:00:00.000Z'],
    ['2026-12-31T23:59:59.999Z', '2027-12-31T23:59:59.999Z'],
  ])('of a payment at %s ends at %s', (paidAt, until) => {
    expect(formatInstant(refundableUntil(at(paidAt)))).toBe(until);
  });

  it('includes its last millisecond and nothing after it', () => {
    const paidAt = at('2026-03-10T09:00:00Z');
    expect(isRefundable(paidAt, at('2027-03-10T09:00:00.000Z'))).toBe(true);
    expect(isRefundable(paidAt, at('2027-03-10T09:00:00.001Z'))).toBe(false);
  });

  it('is 365 or 366 days long, at the same time of day, and outlasts the void window', () => {
    fc.assert(
      fc.property(anyInstant, (paidAt) => {
        const until = refundableUntil(paidAt);
        expect([365, 366]).toContain((until - paidAt) / DAY);
        expect(formatInstant(until).slice(10)).toBe(formatInstant(paidAt).slice(10));
        expect(voidableUntil(paidAt) ?? paidAt).toBeLessThan(until);
      }),
    );
  });

  it('never ends earlier for a later payment', () => {
    fc.assert(
      fc.property(anyInstant, fc.integer({ min: 0, max: 400 * DAY }), (paidAt, later) => {
        expect(refundableUntil(instant(paidAt + later))).toBeGreaterThanOrEqual(refundableUntil(paidAt));
      }),
    );
  });
});

describe('the next void cut-off', () => {
  it.each([
    ['2026-11-21T00:00:00Z', '2026-11-21T16:15:00.000Z'],
    ['2026-11-21T16:14:59.999Z', '2026-11-21T16:15:00.000Z'],
    ['2026-11-21T16:15:00Z', '2026-11-22T16:15:00.000Z'],
    ['2026-12-31T23:59:59Z', '2027-01-01T16:15:00.000Z'],
  ])('after %s is %s', (after, expected) => {
    expect(text(nextCutOff(at(after)))).toBe(expected);
  });
});
