import { makeContinueAsNewFunc, workflowInfo } from '@temporalio/workflow';
import { CheckoutBook } from '../book/book.js';
import { DEFAULT_POLICY, type CheckoutPolicy } from '../book/policy.js';
import { unpack, type PackedRecord } from '../book/packed.js';
import { clock } from '../clock.js';
import { keep } from '../keep.js';
import { tell } from '../report.js';
import type { CheckoutMemo, CheckoutResult } from '../view.js';

/** Intent and timeline are in the memo already: the start of a run that stays open for a year is kept small. */
export type AftercareInput = {
  readonly record: PackedRecord;
  /** What differs from {@link DEFAULT_POLICY}. */
  readonly policy?: Partial<CheckoutPolicy>;
};

/**
 * A paid checkout: its void window, its refund window, its refunds, and money that comes late or twice. Closes when
 * nothing can be refunded any more. Source: API reference, "Merchant-presented QR payment", void and refund rules.
 */
export function aftercare(input: AftercareInput): Promise<CheckoutResult> {
  const { intent, timeline = [] } = workflowInfo().memo as CheckoutMemo;
  const policy = { ...DEFAULT_POLICY, ...input.policy };
  const book = CheckoutBook.resume(intent, policy, unpack(input.record, [...timeline]));

  return keep(book, {
    asTheSame: () => {
      const memo = tell(book, clock());
      return makeContinueAsNewFunc<typeof aftercare>({ memo })({ ...input, record: book.packedRecord });
    },
    asPaid: null,
  });
}
