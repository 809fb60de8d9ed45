import type { Json } from './kinds.js';
import type { Form } from './provider.js';
import type { ChargeState } from './samples.js';

/**
 * What a charge shows in each state. Source: API reference, "Charge", "States and transitions"; assumption, "Flags".
 */
export const STATES: Readonly<Record<ChargeState, Readonly<Record<string, Json>>>> = {
  pending: {
    status: 'pending',
    'source.charge_status': 'pending',
    'source.flow': 'offline',
    'source.type': 'wallet_mpm',
    'source.scannable_code.type': 'qr',
    'source.scannable_code.image.kind': 'qr',
    'source.scannable_code.image.filename': 'qrcode.svg',
    paid: false,
    authorized: false,
    expired: false,
    capture: true,
    capturable: false,
    refundable: false,
    partially_refundable: false,
    reversible: false,
    reversed: false,
    disputable: false,
    voided: false,
    can_perform_void: false,
    failure_code: null,
    failure_message: null,
    paid_at: null,
    authorized_at: null,
    expired_at: null,
    reversed_at: null,
    transaction: null,
    refunded_amount: 0,
    'refunds.total': 0,
    link: null,
    card: null,
    schedule: null,
    linked_account: null,
    customer: null,
    dispute: null,
    branch: null,
    terminal: null,
    device: null,
    description: null,
    return_uri: null,
    metadata: {},
  },
  successful: {
    status: 'successful',
    'source.charge_status': 'successful',
    paid: true,
    authorized: true,
    expired: false,
    capturable: false,
    refundable: true,
    voided: false,
    failure_code: null,
    failure_message: null,
    expired_at: null,
    reversed_at: null,
    refunded_amount: 0,
  },
  failed: {
    status: 'failed',
    'source.charge_status': 'failed',
    paid: false,
    expired: false,
    refundable: false,
    can_perform_void: false,
    voided: false,
    paid_at: null,
    expired_at: null,
    transaction: null,
  },
  expired: {
    status: 'expired',
    'source.charge_status': 'expired',
    paid: false,
    expired: true,
    refundable: false,
    can_perform_void: false,
    voided: false,
    failure_code: null,
    failure_message: null,
    paid_at: null,
    transaction: null,
  },
  refunded: {
    status: 'successful',
    paid: true,
    refundable: true,
    voided: false,
    refunded_amount: 50_000,
    'refunds.total': 1,
    can_perform_void: false,
    failure_code: null,
  },
  voided: {
    status: 'successful',
    paid: true,
    voided: true,
    refunded_amount: 150_000,
    reversed_at: null,
    reversed: false,
    refundable: false,
    can_perform_void: false,
    failure_code: null,
  },
};

export type Trigger = 'mark_as_paid' | 'mark_as_failed' | 'expire' | 'refund' | 'void';

export const TRIGGERS: Readonly<Record<Trigger, { readonly path: string; readonly form?: Form }>> = {
  mark_as_paid: { path: 'mark_as_paid' },
  mark_as_failed: { path: 'mark_as_failed' },
  expire: { path: 'expire' },
  refund: { path: 'refunds', form: { amount: 1_000 } },
  void: { path: 'refunds', form: { void: true, amount: 150_000 } },
};

/** Where a trigger leads: a status and the event that reports it, or the refusal. */
export type Transition = {
  readonly from: ChargeState;
  readonly trigger: Trigger;
  readonly to?: { readonly status: string; readonly event: string };
  /** Code of the 400; null where neither reference nor assumption names one. */
  readonly refused?: string | null;
};

const refusals = (from: ChargeState, codes: Readonly<Partial<Record<Trigger, string | null>>>): Transition[] =>
  Object.entries(codes).map(([trigger, refused]) => ({ from, trigger: trigger as Trigger, refused }));
const NOT_PENDING = { mark_as_paid: null, mark_as_failed: null, expire: 'failed_expire' } as const;
const NOT_PAID = { refund: 'failed_refund', void: 'failed_refund' } as const;

/** Every state with every trigger. Source: API reference, "States and transitions"; assumptions. */
export const TRANSITIONS: readonly Transition[] = [
  { from: 'pending', trigger: 'mark_as_paid', to: { status: 'successful', event: 'charge.complete' } },
  { from: 'pending', trigger: 'mark_as_failed', to: { status: 'failed', event: 'charge.complete' } },
  { from: 'pending', trigger: 'expire', to: { status: 'expired', event: 'charge.expire' } },
  ...refusals('pending', NOT_PAID),
  ...refusals('successful', NOT_PENDING),
  { from: 'successful', trigger: 'refund', to: { status: 'successful', event: 'refund.create' } },
  ...refusals('failed', { ...NOT_PENDING, ...NOT_PAID }),
  ...refusals('expired', { ...NOT_PENDING, ...NOT_PAID }),
  ...refusals('refunded', NOT_PENDING),
  { from: 'refunded', trigger: 'refund', to: { status: 'successful', event: 'refund.create' } },
  ...refusals('refunded', { void: null }),
  ...refusals('voided', { ...NOT_PENDING, refund: 'failed_refund', void: null }),
];

/** Inclusive bounds in the smallest unit. Source: API reference, "Limits". */
export const AMOUNT_LIMITS = [
  { currency: 'THB', minimum: 2_000, maximum: 15_000_000 },
  { currency: 'SGD', minimum: 100, maximum: 2_000_000 },
  { currency: 'MYR', minimum: 100, maximum: 3_000_000 },
] as const;

/** Source: API reference, "Errors". */
export const FAILURES = [
  { code: 'payment_expired', message: 'Payment expired.' },
  { code: 'payment_rejected', message: 'Payment rejected by the issuer.' },
  {
    code: 'insufficient_fund',
    message: 'Insufficient funds in the account, or the payment method reached its limit.',
  },
  { code: 'failed_processing', message: 'General payment processing failure.' },
] as const;

/**
 * Worked by hand: 1.65 % of the amount, 7 % VAT on that fee, each rounded half up. The second row is a half twice:
 * 49.5 and 3.5. Source: assumption, "Fees".
 */
export const FEES = [
  { amount: 150_000, currency: 'THB', fee: 2_475, feeVat: 173, net: 147_352 },
  { amount: 3_000, currency: 'THB', fee: 50, feeVat: 4, net: 2_946 },
  { amount: 5_000, currency: 'THB', fee: 83, feeVat: 6, net: 4_911 },
  { amount: 2_000, currency: 'THB', fee: 33, feeVat: 2, net: 1_965 },
  { amount: 15_000_000, currency: 'THB', fee: 247_500, feeVat: 17_325, net: 14_735_175 },
  { amount: 100, currency: 'SGD', fee: 2, feeVat: 0, net: 98 },
  { amount: 3_000_000, currency: 'MYR', fee: 49_500, feeVat: 3_465, net: 2_947_035 },
] as const;

/** Source: assumption, "Version per request". */
export const VERSIONS = ['2014-07-27', '2015-11-17', '2017-11-02', '2019-05-29', '2025-05-27', '2025-06-09'] as const;
