import { makeContinueAsNewFunc } from '@temporalio/workflow';
import type { aftercare } from '../aftercare/workflow.js';
import type { Attributed } from '../asker.js';
import { CheckoutBook } from '../book/book.js';
import { DEFAULT_POLICY, type CheckoutPolicy } from '../book/policy.js';
import type { CheckoutRecord } from '../book/record.js';
import { clock } from '../clock.js';
import { keep } from '../keep.js';
import { AFTERCARE_WORKFLOW } from '../messages.js';
import { attributesOf, tell } from '../report.js';
import type { CheckoutIntent, CheckoutResult } from '../view.js';

/** `by` asked for the checkout. */
export type CheckoutInput = Attributed & {
  readonly intent: CheckoutIntent;
  /** What differs from {@link DEFAULT_POLICY}. */
  readonly policy?: Partial<CheckoutPolicy>;
  /** What an earlier run of the same checkout knew, when it continued as new. */
  readonly resume?: CheckoutRecord;
};

/** One reference, from its first QR until it is paid or no one can pay any more. Source: API reference, "Merchant-presented QR payment". */
export function checkout(input: CheckoutInput): Promise<CheckoutResult> {
  const { intent, resume } = input;
  const policy = { ...DEFAULT_POLICY, ...input.policy };
  const book =
    resume === undefined
      ? CheckoutBook.open(intent, policy, clock(), input)
      : CheckoutBook.resume(intent, policy, resume);

  return keep(book, {
    // The memo of the start would come back otherwise.
    asTheSame: () =>
      makeContinueAsNewFunc<typeof checkout>({ memo: tell(book, clock()) })({ ...input, resume: book.record }),
    asPaid: () => {
      const memo = tell(book, clock());
      return makeContinueAsNewFunc<typeof aftercare>({
        workflowType: AFTERCARE_WORKFLOW,
        memo,
        typedSearchAttributes: attributesOf(book, clock()),
      })({ record: book.packedRecord, ...(input.policy === undefined ? {} : { policy: input.policy }) });
    },
  });
}
