import { emptyAttempt, type Attempt, type AttemptsState } from './attempts.js';
import type { ChargesState } from './charges/charges.js';
import { emptyCharge, type Charge } from './charges/polling.js';
import { emptyState, type ModelState } from './state.js';

/**
 * The state without the fields that still have their initial value. This keeps the start of a run small that stays open
 * for a year. The timeline is left out: it is in the memo.
 */
export type Snapshot = Partial<Omit<ModelState, 'attempts' | 'charges' | 'timeline'>> & {
  readonly attempts: Partial<Omit<AttemptsState, 'list'>> & { readonly list: readonly Partial<Attempt>[] };
  readonly charges: Partial<Omit<ChargesState, 'all'>> & { readonly all: readonly Partial<Charge>[] };
};

export function toSnapshot(state: ModelState): Snapshot {
  const { attempts, charges } = state;
  const empty = emptyState();
  return {
    ...changedFields(empty, { ...state, timeline: [] }),
    attempts: {
      ...changedFields(empty.attempts, attempts),
      list: attempts.list.map((attempt) => changedFields(emptyAttempt(), attempt)),
    },
    charges: {
      ...changedFields(empty.charges, charges),
      all: charges.all.map((charge) => changedFields(emptyCharge(), charge)),
    },
  };
}

export function restore({ attempts, charges, ...changed }: Snapshot, timeline: ModelState['timeline']): ModelState {
  const empty = emptyState();
  return {
    ...empty,
    ...changed,
    timeline,
    attempts: {
      ...empty.attempts,
      ...attempts,
      list: attempts.list.map((attempt) => ({ ...emptyAttempt(), ...attempt })),
    },
    charges: {
      ...empty.charges,
      ...charges,
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
