import { makeContinueAsNewFunc } from '@temporalio/workflow';
import type { aftercare } from './aftercare.js';
import type { Attributed } from '../shared/requester.js';
import { CheckoutModel } from './model/checkout-model.js';
import { DEFAULT_POLICY, type CheckoutPolicy } from '../shared/policy.js';
import type { ModelState } from './model/state.js';
import { clock } from '../shared/clock.js';
import { keep } from './handlers.js';
import { AFTERCARE_WORKFLOW } from './messages.js';
import { attributesOf, tell } from './publish.js';
import type { CheckoutIntent, CheckoutResult } from './types.js';

/** `by` asked for the checkout. */
export type CheckoutInput = Attributed & {
  readonly intent: CheckoutIntent;
  /** What differs from {@link DEFAULT_POLICY}. */
  readonly policy?: Partial<CheckoutPolicy>;
  /** What an earlier run of the same checkout knew, when it continued as new. */
  readonly resume?: ModelState;
};

/** One reference, from its first QR until it is paid or no one can pay any more. Source: API reference, "Merchant-presented QR payment". */
export function checkout(input: CheckoutInput): Promise<CheckoutResult> {
  const { intent, resume } = input;
  const policy = { ...DEFAULT_POLICY, ...input.policy };
  const model =
    resume === undefined
      ? CheckoutModel.open(intent, policy, clock(), input)
      : CheckoutModel.resume(intent, policy, resume);

  return keep(model, {
    // The memo of the start would come back otherwise.
    asTheSame: () =>
      makeContinueAsNewFunc<typeof checkout>({ memo: tell(model, clock()) })({ ...input, resume: model.state }),
    asPaid: () => {
      const memo = tell(model, clock());
      return makeContinueAsNewFunc<typeof aftercare>({
        workflowType: AFTERCARE_WORKFLOW,
        memo,
        typedSearchAttributes: attributesOf(model, clock()),
      })({ state: model.snapshot, ...(input.policy === undefined ? {} : { policy: input.policy }) });
    },
  });
}
