import { COMPARED_SECTIONS, compareRecords, type ProviderRecords } from '@tillflow/tools/chaos';
import type { Findings } from '@tillflow/workflows/testing';
import { expect } from 'vitest';
import { ALWAYS_VOIDABLE_MINUTES, type Stack } from './stack.js';

/** Less than the deadline and the settle delay of every policy in these tests. */
const IN_FLIGHT_MS = 350;

export type Expected = {
  readonly status: string;
  /** Smallest currency unit. */
  readonly refunds: readonly number[];
  readonly kind?: 'void' | 'refund';
};

/** Compares the checkout's records with the provider's. */
export async function findingsOf(stack: Stack, id: string): Promise<Findings> {
  const records = stack.sandbox.state(COMPARED_SECTIONS) as ProviderRecords;
  const memo = await stack.memoOf(id);
  return compareRecords(records, { memo, voidDateOffsetMinutes: ALWAYS_VOIDABLE_MINUTES, inFlightMs: IN_FLIGHT_MS });
}

/** Expects one charge and these refunds in both records, no blind repetition and no attention. */
export async function expectRecords(stack: Stack, id: string, { status, refunds, kind }: Expected): Promise<void> {
  expect((await findingsOf(stack, id)).breaches).toEqual([]);
  const [charge, ...others] = stack.chargesOf(id);
  expect(others).toEqual([]);
  const made = stack.sandbox.state().refunds.filter((refund) => refund.charge === charge?.id);
  expect(made.map(({ amount }) => amount)).toEqual(refunds);
  expect(charge?.refunded_amount).toBe(refunds.reduce((sum, amount) => sum + amount, 0));
  if (kind !== undefined) expect(made.every(({ voided }) => voided === (kind === 'void'))).toBe(true);
  const { state } = await stack.memoOf(id);
  expect(state).toMatchObject({ status, attention: null });
}
