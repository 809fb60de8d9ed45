import type { Attempt, Charge, ModelState } from './state.js';

/** A record without what is as it always was, so that the start of a run which stays open for a year is small. */
export type Snapshot = Partial<Omit<ModelState, 'attempts' | 'charges' | 'timeline'>> & {
  readonly attempts: readonly Partial<Attempt>[];
  readonly charges: readonly Partial<Charge>[];
};

/** A checkout of which nothing is known yet. Never changed, only added to: histories were packed against it. */
export const emptyState = (): ModelState => ({
  attempts: [],
  charges: [],
  refunds: [],
  opening: null,
  inProgress: null,
  acceptedCharge: null,
  lateAfter: null,
  cancelRequested: false,
  replacedAttempt: null,
  endedAt: null,
  reported: 'creating',
  version: 0,
  silentSince: null,
  unrecognized: [],
  adopting: null,
  lateEffectCheck: null,
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
  retrievedAt: 0,
  retrieveAt: null,
  lateEffectCheckAt: null,
  pendingRechecks: [],
  hinted: false,
  hintedAt: null,
  unansweredRetrieves: 0,
  expireCalls: 0,
  expiringSince: null,
  nextExpireAt: null,
});

/** The timeline is left out: it is in the memo. */
export function pack(state: ModelState): Snapshot {
  return {
    ...without({ ...emptyState(), timeline: state.timeline }, state),
    attempts: state.attempts.map((attempt) => without(emptyAttempt(), attempt)),
    charges: state.charges.map((charge) => without(emptyCharge(), charge)),
  };
}

export function unpack(packed: Snapshot, timeline: ModelState['timeline']): ModelState {
  return {
    ...emptyState(),
    ...packed,
    attempts: packed.attempts.map((attempt) => ({ ...emptyAttempt(), ...attempt })),
    charges: packed.charges.map((charge) => ({ ...emptyCharge(), ...charge })),
    timeline,
  };
}

function without<T extends object>(empty: T, full: Partial<T>): Partial<T> {
  const defaults = new Map<string, unknown>(Object.entries(empty));
  const acceptedCharge = Object.entries(full).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(defaults.get(name)),
  );
  return Object.fromEntries(acceptedCharge) as Partial<T>;
}
