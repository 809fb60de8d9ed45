import { isFinalCharge } from '@tillflow/domain';
import { emptyAttempt, type Attempt, type AttemptsState } from './attempts.js';
import type { ChargesState } from './charges/charges.js';
import { emptyCharge, type Charge } from './charges/polling.js';
import type { CheckoutMemo } from '../types.js';
import { emptyState, type ModelState } from './state.js';

/**
 * The state without the fields that still have their initial value. This keeps the start of a run small that stays open
 * for a year. The timeline and the details of the payment are left out: they are in the memo.
 */
export type Snapshot = Partial<Omit<ModelState, 'attempts' | 'charges' | 'timeline'>> & {
  readonly attempts: Partial<Omit<AttemptsState, 'list'>> & { readonly list: readonly Partial<Attempt>[] };
  readonly charges: Partial<Omit<ChargesState, 'all' | 'payment'>> & { readonly all: readonly Partial<Charge>[] };
};

export function toSnapshot(state: ModelState): Snapshot {
  const { attempts } = state;
  const { payment: _inMemo, ...charges } = state.charges;
  const empty = emptyState();
  return {
    // The next run notices the end again; only an unpaid checkout counts the time since.
    ...changedFields(empty, { ...state, timeline: [], endedAt: null }),
    attempts: {
      ...changedFields(empty.attempts, attempts),
      list: attempts.list.map((attempt) => changedFields(emptyAttempt(), attempt)),
    },
    charges: {
      ...changedFields(empty.charges, charges),
      // After a final status, the time of the last retrieve decides nothing.
      all: charges.all.map(({ retrievedAt, ...charge }) =>
        changedFields(emptyCharge(), isFinalCharge(charge.status) ? charge : { ...charge, retrievedAt }),
      ),
    },
  };
}

/** @param memo as it was when the snapshot was taken */
export function restore(
  { attempts, charges, ...changed }: Snapshot,
  memo: Pick<CheckoutMemo, 'state' | 'timeline'>,
): ModelState {
  const { timeline = [], state: { payment } = {} } = memo;
  const empty = emptyState();
  return {
    ...empty,
    ...changed,
    timeline: [...timeline],
    attempts: {
      ...empty.attempts,
      ...attempts,
      list: attempts.list.map((attempt) => ({ ...emptyAttempt(), ...attempt })),
    },
    charges: {
      ...empty.charges,
      ...charges,
      ...(payment === undefined ? {} : { payment }),
      all: charges.all.map((charge) => ({ ...emptyCharge(), ...charge })),
    },
  };
}

function changedFields<T extends object>(empty: T, full: Partial<T>): Partial<T> {
  const initial = new Map<string, unknown>(Object.entries(empty));
  const changed = Object.entries(full).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(initial.get(name)),
  );
  return Object.fromEntries(changed) as Partial<T>;
}
