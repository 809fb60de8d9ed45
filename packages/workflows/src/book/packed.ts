import type { Attempt, Charge, CheckoutRecord } from './record.js';

/** A record without what is as it always was, so that the start of a run which stays open for a year is small. */
export type PackedRecord = Partial<Omit<CheckoutRecord, 'attempts' | 'charges' | 'timeline'>> & {
  readonly attempts: readonly Partial<Attempt>[];
  readonly charges: readonly Partial<Charge>[];
};

/** A checkout of which nothing is known yet. Never changed, only added to: histories were packed against it. */
export const emptyRecord = (): CheckoutRecord => ({
  attempts: [],
  charges: [],
  refunds: [],
  opening: null,
  refunding: null,
  kept: null,
  lateAfter: null,
  cancelRequested: false,
  superseded: null,
  endedAt: null,
  reported: 'creating',
  version: 0,
  silentSince: null,
  strays: [],
  adopting: null,
  secondLook: null,
  closed: false,
  reopened: false,
  attentions: [],
  timeline: [],
});

const emptyAttempt = (): Attempt => ({
  number: 1,
  sourceId: null,
  chargeId: null,
  status: 'pending',
  failureCode: null,
  failureMessage: null,
  createdAt: 0,
  expiresAt: 0,
  qr: null,
});

export const emptyCharge = (): Charge => ({
  id: '',
  attempt: 1,
  status: 'pending',
  paidAt: null,
  refunded: 0,
  lookedAt: 0,
  lookAt: null,
  secondLookAt: null,
  owed: [],
  hinted: false,
  hintedAt: null,
  misses: 0,
  closings: 0,
  closingSince: null,
  closeAt: null,
});

/** The timeline is left out: it is in the memo. */
export function pack(record: CheckoutRecord): PackedRecord {
  return {
    ...without({ ...emptyRecord(), timeline: record.timeline }, record),
    attempts: record.attempts.map((attempt) => without(emptyAttempt(), attempt)),
    charges: record.charges.map((charge) => without(emptyCharge(), charge)),
  };
}

export function unpack(packed: PackedRecord, timeline: CheckoutRecord['timeline']): CheckoutRecord {
  return {
    ...emptyRecord(),
    ...packed,
    attempts: packed.attempts.map((attempt) => ({ ...emptyAttempt(), ...attempt })),
    charges: packed.charges.map((charge) => ({ ...emptyCharge(), ...charge })),
    timeline,
  };
}

function without<T extends object>(empty: T, full: Partial<T>): Partial<T> {
  const defaults = new Map<string, unknown>(Object.entries(empty));
  const kept = Object.entries(full).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(defaults.get(name)),
  );
  return Object.fromEntries(kept) as Partial<T>;
}
