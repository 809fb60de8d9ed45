import { audit, AUDITED_SECTIONS, type Findings, type ProviderBooks } from '@tillflow/tools/chaos';
import { expect } from 'vitest';
import { ALWAYS_VOIDABLE_MINUTES, type Stack } from './stack.js';

/** Less than deadline and settle delay of every policy that these tests use. */
const QUIET_MS = 350;

export type Expected = {
  readonly status: string;
  /** Smallest currency unit. */
  readonly refunds: readonly number[];
  readonly kind?: 'void' | 'refund';
};

/** Compares the checkout's own records with the provider's, line by line. */
export async function auditOf(stack: Stack, id: string): Promise<Findings> {
  const books = stack.sandbox.state(AUDITED_SECTIONS) as ProviderBooks;
  const memo = await stack.memoOf(id);
  return audit(books, { memo, voidDateOffsetMinutes: ALWAYS_VOIDABLE_MINUTES, quietMs: QUIET_MS });
}

/** Both sides have one charge and these refunds; no call was repeated blindly, and no person is needed. */
export async function expectRecords(stack: Stack, id: string, { status, refunds, kind }: Expected): Promise<void> {
  expect((await auditOf(stack, id)).breaches).toEqual([]);
  const [charge, ...others] = stack.chargesOf(id);
  expect(others).toEqual([]);
  const made = stack.sandbox.state().refunds.filter((refund) => refund.charge === charge?.id);
  expect(made.map(({ amount }) => amount)).toEqual(refunds);
  expect(charge?.refunded_amount).toBe(refunds.reduce((sum, amount) => sum + amount, 0));
  if (kind !== undefined) expect(made.every(({ voided }) => voided === (kind === 'void'))).toBe(true);
  const { state } = await stack.memoOf(id);
  expect(state).toMatchObject({ status, attention: null });
}
