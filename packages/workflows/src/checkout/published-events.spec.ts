import { expect, it } from 'vitest';
import { eventsBetween } from './published-events.js';

type State = Parameters<typeof eventsBetween>[1];
const NEW: State = { status: 'creating', attempts: [], paid_at: null, refunded_amount: 0, attention: null };
const attempt = (number: number) => ({ number }) as State['attempts'][number];
const OPEN: State = { ...NEW, status: 'awaiting_payment', attempts: [attempt(1)] };
const PAID: State = { ...OPEN, status: 'paid', paid_at: '2026-11-21T05:30:18.000Z' };
const DETAILED: State = { ...PAID, payment: { fees: [150, 11, 9_839] } };
const attention = { code: 'outcome_unknown', since: '2026-11-21T05:31:02.000Z' } as NonNullable<State['attention']>;

it.each<[name: string, before: State | undefined, after: State, events: string[]]>([
  ['the first QR code', undefined, OPEN, ['awaiting_payment']],
  ['a checkout that is being created', undefined, NEW, []],
  [
    'a new QR code in place of an open one',
    OPEN,
    { ...OPEN, attempts: [attempt(1), attempt(2)] },
    ['awaiting_payment'],
  ],
  ['the same QR code', OPEN, OPEN, []],
  ['a payment', OPEN, PAID, ['paid']],
  [
    'a payment that is published with its refund',
    OPEN,
    { ...PAID, status: 'refunded', refunded_amount: 7 },
    ['paid', 'refunded'],
  ],
  ['a refund', PAID, { ...PAID, status: 'partially_refunded', refunded_amount: 7 }, ['refunded']],
  ['a further refund', { ...PAID, refunded_amount: 7 }, { ...PAID, refunded_amount: 9 }, ['refunded']],
  ['the end of the time to pay', OPEN, { ...OPEN, status: 'expired' }, ['expired']],
  ['a refused payment', OPEN, { ...OPEN, status: 'failed' }, ['failed']],
  ['a cancellation', OPEN, { ...OPEN, status: 'cancelled' }, ['cancelled']],
  ['a late payment that is kept', { ...OPEN, status: 'expired' }, PAID, ['paid']],
  [
    'a late payment that is returned',
    { ...OPEN, status: 'cancelled' },
    { ...OPEN, status: 'refunded', refunded_amount: 7 },
    ['refunded'],
  ],
  ['a need for a person', PAID, { ...PAID, attention }, ['attention']],
  ['the same need', { ...PAID, attention }, { ...PAID, attention }, []],
  [
    'another need',
    { ...PAID, attention },
    { ...PAID, attention: { ...attention, code: 'worker_late' } },
    ['attention'],
  ],
  ['the end of the need', { ...PAID, attention }, PAID, ['attention']],
  ['a fee that the provider names later', PAID, DETAILED, ['paid']],
  [
    'a fee that it names after a refund',
    { ...PAID, refunded_amount: 7 },
    { ...DETAILED, refunded_amount: 7 },
    ['paid'],
  ],
  [
    'a fee of a late payment that was returned',
    { ...PAID, status: 'refunded', refunded_amount: 7 },
    { ...DETAILED, status: 'refunded', refunded_amount: 7 },
    ['refunded'],
  ],
  [
    'a charge that is found after the end',
    { ...OPEN, status: 'expired' },
    { ...OPEN, status: 'expired', attempts: [{ number: 1, charge_id: 'chrg_1' } as State['attempts'][number]] },
    ['expired'],
  ],
  [
    'the end of a void window, which readers see by the time',
    { ...PAID, voidable_until: '2026-11-21T16:15:00.000Z' } as State,
    { ...PAID, voidable_until: null } as State,
    [],
  ],
  ['a new detail of an open QR code', OPEN, { ...OPEN, attempts: [{ ...attempt(1), source_id: 'src_1' }] }, []],
])('%s makes the events of this list', (_, before, after, events) => {
  expect(eventsBetween(before, after)).toEqual(events);
});

it('a fee of a payment that was refunded completely repeats its payment', () => {
  const refunded = { status: 'refunded', refunded_amount: 7 } as const;
  expect(eventsBetween({ ...PAID, ...refunded }, { ...DETAILED, ...refunded }, { paid: [2, 1] })).toEqual(['paid']);
});
